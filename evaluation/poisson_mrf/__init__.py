"""Fixed-length Poisson Markov random fields."""
