"""The text stage: what spaCy says of articles, kept on disk; which of it are words; bigrams."""
