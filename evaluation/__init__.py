"""How good a model is: held-out likelihood with standard errors."""
