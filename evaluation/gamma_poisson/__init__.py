"""Held-out likelihood estimators for Gamma-Poisson factor analysis."""
