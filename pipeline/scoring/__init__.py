"""Held-out likelihoods of models: the same documents, words and method for all."""
