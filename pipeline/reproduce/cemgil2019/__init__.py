"""Cemgil et al. 2019: marginal likelihoods of Bayesian allocation models."""
