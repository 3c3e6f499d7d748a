"""Collapsed Gibbs sampling: the sweeps, states and priors that all families fitted by it share."""
