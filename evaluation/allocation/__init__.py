"""The marginal likelihood of count tensors under allocation models."""
