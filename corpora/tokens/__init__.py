"""The text stage: articles to lemmas by spaCy, stored as blocks of integers; bigrams."""
