"""`log_likelihood`: one call for every model and every estimator."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evaluation.checked_counts import check_possible, checked_counts
from evaluation.completion import NO_HALVES
from evaluation.convention import CONVENTIONS
from evaluation.estimate import UNSURE_BELOW
from evaluation.methods import (
    DEFAULT_METHODS,
    METHODS,
    NOT_SAMPLED,
    UNBIASED,
    kind_of,
    score_block,
)
from evaluation.monte_carlo.target_error import MISSED, has_missed
from models import PoissonMRFMixture, PoissonMRFTopicModel, seed_from

if TYPE_CHECKING:
    from evaluation.estimate import Convention, LikelihoodEstimate

__all__ = ["DEFAULT_METHODS", "METHODS", "NOT_SAMPLED", "UNBIASED", "log_likelihood", "warn_of"]

logger = logging.getLogger(__name__)


def log_likelihood(
    model: Any,
    counts: Any,
    method: str | None = None,
    *,
    n_samples: int | None = None,
    target_standard_error: float | None = None,
    smoothing: float = 0.0,
    convention: Convention | None = None,
    max_memory: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LikelihoodEstimate:
    """How probable documents are under a model.

    Parameters
    ----------
    model : LDATopics, GammaPoissonTopics, PoissonMRFTopicModel or PoissonMRFMixture
        Or an estimator with a fitted `topics_`.
    counts : sparse or dense (D, V)
        How often each word occurs in each document; whole numbers, none negative.
    method : str, optional
        For LDA "exact" (short documents, few topics), "left-to-right-sequential" (the best of those
        that sample), "annealed-importance-sampling", "mean-field-is-1", "mean-field-is-2",
        "left-to-right-particle", "harmonic-mean" (known to be bad), "variational-bound", or
        "completion", the default, which is of half of each document. For Gamma-Poisson models these
        but for "left-to-right-particle", and "left-to-right", "left-to-right-exact" and
        "direct-sampling" (Capdevila et al. 2018). For topic models of Poisson MRFs
        "annealed-importance-sampling", the default, or "exact", and for mixtures of them "exact",
        the default, all given their estimates of partition functions; and for both "best-split",
        with which Inouye et al. (2015) compare, and which is no probability.
    n_samples : int, optional
        Monte Carlo samples a document; each method has a default. Deterministic ones ignore it.
    target_standard_error : float, optional
        In nats: each document gets as many samples as its Monte Carlo error takes to come down to
        about this; `n_samples` is then what is first tried. For unbiased methods.
    smoothing : float
        Share of each topic that is spread evenly over all words before documents are scored, so
        that none is impossible; 0, no smoothing, by default (see `smoothed` of the topics).
    convention : {"sequence", "bag", "bag-and-length"}, optional
        What log p is of: tokens in order or counts, given how many tokens, or counts and how many
        (see `evaluation.convention`). By default "sequence" for LDA and Poisson MRFs, but "bag" for
        "best-split", and for Gamma-Poisson models "bag-and-length", but for "completion". Only the
        first two compare between families.
    max_memory : int, optional
        Bytes that "exact" may take, 2 GiB by default; what needs more is refused. Others ignore it.
    random_state : int, Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.

    Returns
    -------
    LikelihoodEstimate
        One log-probability a document, in nats.

    Raises
    ------
    ZeroProbabilityError
        If a document holds a word that no topic has: a ValueError.
    ExactCostError
        If the exact likelihood would take too much memory or time: a ValueError.
    ValueError
        If the method is not one of the model's, or `counts` does not fit the model, or holds a
        value that is no count.
    TypeError
        If nothing is known about this kind of model.
    sklearn.exceptions.NotFittedError
        If the model is an estimator that has not been fitted.
    """
    if hasattr(model, "fit"):
        check_is_fitted(model)
    topics: Any = getattr(model, "topics_", model)
    kind = kind_of(topics, model)
    methods = METHODS[kind]
    if method is None:
        method = DEFAULT_METHODS[kind]
    if method not in methods:
        is_half = method == "completion" and kind in (PoissonMRFTopicModel, PoissonMRFMixture)
        raise ValueError(
            f"method = {method!r} is not an estimator for {kind.__name__}: use one of "
            + ", ".join(sorted(methods))
            + (f"; {NO_HALVES}" if is_half else "")
        )
    if n_samples is not None:
        _check_n_samples(n_samples)
    if target_standard_error is not None:
        _check_target(target_standard_error, method)
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float, np.number)):
        raise TypeError(f"smoothing must be a number, found {smoothing!r}")
    _check_convention(convention)
    documents = checked_counts(counts, topics.n_words)
    topics = topics.smoothed(smoothing) if smoothing else topics
    check_possible(topics, documents)
    estimate = score_block(
        topics,
        documents,
        method,
        n_samples=n_samples,
        target_standard_error=target_standard_error,
        convention=convention,
        max_memory=max_memory,
        seed=seed_from(random_state),
        n_jobs=n_jobs,
    )
    warn_of(estimate, target_standard_error)
    return estimate


def warn_of(estimate: LikelihoodEstimate, target_standard_error: float | None = None) -> None:
    """Log what is to be known of an estimate of all documents, once."""
    if target_standard_error is not None:
        n_missed = int(has_missed(estimate, target_standard_error).sum())
        if n_missed:
            logger.warning(
                "%s documents have a standard error above %g nats, with at most %s samples",
                *(f"{n_missed:,}", MISSED * target_standard_error),
                f"{estimate.n_samples.max():,}",
            )
    _warn_if_unsure(estimate)


def _check_n_samples(n_samples: Any) -> None:
    if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)):
        raise TypeError(f"n_samples must be an integer, found {n_samples!r}")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, found {n_samples}")


def _check_convention(convention: Any) -> None:
    if convention is not None and convention not in CONVENTIONS:
        raise ValueError(f"convention must be one of {CONVENTIONS}, found {convention!r}")


def _check_target(target: Any, method: str) -> None:
    if isinstance(target, bool) or not isinstance(target, (int, float, np.number)):
        raise TypeError(f"target_standard_error must be a number, found {target!r}")
    if not (np.isfinite(target) and target > 0):
        raise ValueError(f"target_standard_error must be positive, found {target}")
    if method not in NOT_SAMPLED | UNBIASED:
        raise ValueError(
            f"target_standard_error: more samples do not bring {method} to the truth; use one of "
            + ", ".join(sorted(UNBIASED))
        )


def _warn_if_unsure(estimate: LikelihoodEstimate) -> None:
    """A few samples cannot tell an error from a larger one: theirs is hardly above 1 nat."""
    if estimate.direction == "unbiased":
        n_unsure = int(estimate.is_unsure.sum())
        if n_unsure:
            logger.warning(
                "%s of %s documents have an effective sample size below %g: their log-likelihood "
                "is most likely too low, by more than its standard error says; take more samples",
                *(f"{n_unsure:,}", f"{estimate.n_documents:,}", UNSURE_BELOW),
            )
