"""Collapsed Gibbs sampling, shared by all families: sweeps, states and priors."""
