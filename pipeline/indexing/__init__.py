"""Indexes of reference corpora, in which the coherence of any topics is counted."""
