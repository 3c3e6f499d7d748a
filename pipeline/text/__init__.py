"""From articles to a corpus: tokens, bigrams, vocabulary, counts."""
