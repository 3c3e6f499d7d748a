"""The estimators of each kind of model, and documents scored by one of them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluation.completion import completion
from evaluation.convention import in_convention
from evaluation.gamma_poisson.by_lda import BY_LDA, by_lda
from evaluation.gamma_poisson.direct_sampling import direct_sampling
from evaluation.gamma_poisson.harmonic_mean import harmonic_mean as gamma_poisson_harmonic_mean
from evaluation.gamma_poisson.left_to_right import left_to_right, left_to_right_exact
from evaluation.lda.annealed_likelihood import annealed
from evaluation.lda.exact import checked_costs, exact
from evaluation.lda.harmonic_mean import harmonic_mean
from evaluation.lda.left_to_right import left_to_right_particle
from evaluation.lda.left_to_right_sequential import left_to_right_sequential
from evaluation.lda.mean_field import mean_field_is_1, mean_field_is_2
from evaluation.lda.variational_bound import variational_bound
from evaluation.monte_carlo.target_error import reach_standard_error
from evaluation.poisson_mrf.annealed import annealed as poisson_mrf_annealed
from evaluation.poisson_mrf.best_split import best_split
from evaluation.poisson_mrf.exact_likelihood import check_affordable
from evaluation.poisson_mrf.exact_likelihood import exact as poisson_mrf_exact
from evaluation.poisson_mrf.mixture_likelihood import mixture_exact
from models import (
    FixedLengthPoissonMRF,
    GammaPoissonTopics,
    LDATopics,
    PoissonMRFMixture,
    PoissonMRFTopicModel,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import sparse

    from evaluation.estimate import Convention, LikelihoodEstimate

UNBIASED = {
    "annealed-importance-sampling",
    "direct-sampling",
    "left-to-right-sequential",
    "mean-field-is-1",
    "mean-field-is-2",
}
"""Methods that more samples bring to the truth, with a standard error that says how far."""
NOT_SAMPLED = {"best-split", "exact", "variational-bound"}

METHODS: dict[type, dict[str, Callable[..., LikelihoodEstimate]]] = {
    LDATopics: {
        "annealed-importance-sampling": annealed,
        "completion": completion,
        "exact": exact,
        "harmonic-mean": harmonic_mean,
        "left-to-right-particle": left_to_right_particle,
        "left-to-right-sequential": left_to_right_sequential,
        "mean-field-is-1": mean_field_is_1,
        "mean-field-is-2": mean_field_is_2,
        "variational-bound": variational_bound,
    },
    GammaPoissonTopics: {
        **BY_LDA,
        "annealed-importance-sampling": by_lda(annealed),
        "completion": completion,
        "direct-sampling": direct_sampling,
        "harmonic-mean": gamma_poisson_harmonic_mean,
        "left-to-right": left_to_right,
        "left-to-right-exact": left_to_right_exact,
    },
    PoissonMRFTopicModel: {
        "annealed-importance-sampling": poisson_mrf_annealed,
        "best-split": best_split,
        "exact": poisson_mrf_exact,
    },
    PoissonMRFMixture: {
        "best-split": best_split,
        "exact": mixture_exact,
    },
}
"""For each kind of model its estimators: function(model, counts, n_samples, seed, n_jobs)."""
DEFAULT_METHODS: dict[type, str] = {
    LDATopics: "completion",
    GammaPoissonTopics: "completion",
    PoissonMRFTopicModel: "annealed-importance-sampling",
    PoissonMRFMixture: "exact",
}
"""What each kind is scored by if nothing else is asked for."""


def score_block(
    topics: Any,
    counts: sparse.csr_array,
    method: str,
    *,
    n_samples: int | None = None,
    target_standard_error: float | None = None,
    convention: Convention | None = None,
    max_memory: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> LikelihoodEstimate:
    """What `log_likelihood` gives of documents, by themselves or as a block, to the same bits.

    Nothing is warned of (see `warn_of`), and all has been checked: `counts` (D, V) by
    `checked_counts` and `check_possible`, the rest as `log_likelihood` does, whose parameters the
    others are.

    Parameters
    ----------
    topics : LDATopics, GammaPoissonTopics, PoissonMRFTopicModel or PoissonMRFMixture
        Smoothed if they are to be.
    counts : csr_array
        All documents there are, or a `DocumentBlock` of them.

    Raises
    ------
    ExactCostError
        If the exact likelihood would take too much memory or time.
    """
    function = METHODS[kind_of(topics, topics)][method]
    settings: dict[str, Any] = {"n_samples": n_samples, "seed": seed, "n_jobs": n_jobs}
    if method == "exact" and max_memory is not None:
        settings["max_memory"] = max_memory
    if target_standard_error is None or method in NOT_SAMPLED:
        estimate = function(topics, counts, **settings)
    else:
        estimate = reach_standard_error(function, topics, counts, target_standard_error, **settings)
    if convention is not None:
        estimate = in_convention(estimate, topics, counts, convention)
    return estimate


def check_cost(
    topics: Any,
    counts: sparse.csr_array,
    method: str,
    max_memory: int,
    n_jobs: int | None = None,
) -> None:
    """Raise the ExactCostError that `score_block` would, and score nothing."""
    if method != "exact":
        return
    if isinstance(topics, PoissonMRFTopicModel):
        check_affordable(topics, counts, max_memory, n_jobs)
    elif isinstance(topics, (LDATopics, GammaPoissonTopics)):
        weighted = topics.tilted if isinstance(topics, GammaPoissonTopics) else topics
        checked_costs(weighted, counts, max_memory)


def kind_of(topics: Any, model: Any) -> type:
    """Which of `METHODS` the topics of a model are.

    Raises
    ------
    TypeError
        If they are none.
    """
    kind = next((kind for kind in METHODS if isinstance(topics, kind)), None)
    if kind is None:
        advice = ""
        if isinstance(topics, FixedLengthPoissonMRF):
            advice = (
                ", which has no partition functions of its own: make a mixture of one, "
                "PoissonMRFMixture.of_fields([mrf], table, [1.0]), with the table of "
                "models.poisson_mrf.partition_table"
            )
        raise TypeError(f"no likelihood estimator for a {type(model).__name__}{advice}")
    return kind
