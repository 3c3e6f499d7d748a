"""How good a model is: held-out likelihood with standard errors."""

from evaluation.estimate import LikelihoodEstimate
from evaluation.log_likelihood import log_likelihood

__all__ = ["LikelihoodEstimate", "log_likelihood"]
