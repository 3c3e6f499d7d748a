"""Gamma-Poisson factor analysis."""
