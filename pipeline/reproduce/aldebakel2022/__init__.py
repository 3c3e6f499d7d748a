"""Aldebakel et al. 2022: variational inference and Gibbs sampling of LDA of Wikipedia."""
