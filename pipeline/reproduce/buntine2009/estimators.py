"""Estimators of Buntine 2009, by their names in the paper, and one of ours."""

from collections.abc import Callable

from evaluation.estimate import LikelihoodEstimate
from evaluation.lda.harmonic_mean import harmonic_mean
from evaluation.lda.left_to_right import left_to_right_particle, straight_sequential
from evaluation.lda.left_to_right_sequential import left_to_right_sequential
from evaluation.lda.mean_field import mean_field_is_1, mean_field_is_2

REFINED = "LRS refined"
"""Sequential left-to-right estimator of `evaluation.log_likelihood`, which is not in the paper."""
ESTIMATORS: dict[str, Callable[..., LikelihoodEstimate]] = {
    "HM": harmonic_mean,
    "MFI 1st": mean_field_is_1,
    "MFI 2nd": mean_field_is_2,
    "LR": left_to_right_particle,
    "LRS": straight_sequential,
    REFINED: left_to_right_sequential,
}
"""Functions (topics, documents, n_samples, seed, n_jobs). LRS is the paper's algorithm, corrected:
each token is predicted from topics that have not seen it."""
