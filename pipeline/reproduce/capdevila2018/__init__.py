"""Capdevila et al. 2018: left-to-right estimation for Gamma-Poisson factor analysis."""
