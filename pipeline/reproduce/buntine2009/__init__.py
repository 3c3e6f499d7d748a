"""Buntine 2009: estimators of the likelihood of documents under LDA."""
