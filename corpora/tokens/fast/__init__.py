"""spaCy's small convolutional taggers and rule lemmatizers, several times faster, word for word.

    text → chunks → rows of the lexicon → tags (convolution) → part of speech and lemma (tables)

What a token's form decides is worked out once for each form, by spaCy's own components, and looked
up from then on; what its neighbours decide is the convolution, whose matrix products run on tiles
that stay in the processor's cache.
"""
