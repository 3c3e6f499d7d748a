"""The Bayesian allocation model: tensors, topic models and Bayesian networks as one urn."""
