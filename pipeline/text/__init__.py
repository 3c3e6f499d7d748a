"""Articles to a corpus: tokens, bigrams, vocabulary, counts."""
