"""Variational inference of a document's topics under given topics, which several families share."""
