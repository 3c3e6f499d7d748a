"""Sequential Monte Carlo over the tokens of an allocation model."""
