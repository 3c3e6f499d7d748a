"""Inouye et al. 2015: fixed-length Poisson MRFs."""
