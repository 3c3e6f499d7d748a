"""spaCy's small convolutional taggers and rule lemmatizers, several times faster, word for word.

    text → chunks → rows of the lexicon → tags (convolution) → part of speech and lemma (tables)

What a token's form decides is computed once for each form, by spaCy's own components. What its
neighbours decide is the convolution, whose tiles stay in the processor's cache.
"""
