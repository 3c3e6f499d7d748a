"""Held-out likelihood estimators for LDA."""
