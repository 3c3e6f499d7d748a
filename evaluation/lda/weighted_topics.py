"""What LDA's estimators need to know of a model."""

from __future__ import annotations

from models import LDATopics
from models.gamma_poisson.tilted import TiltedTopics

WeightedTopics = LDATopics | TiltedTopics
"""Topics and alpha. Rows of topics may sum to less than 1: what is said of probabilities of tokens
then holds of products of weights, E_θ[∏_l Σ_k θ_k φ_k,j_l], all the same."""
