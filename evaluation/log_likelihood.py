"""`log_likelihood`: one call for every model and every estimator."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from evaluation.scorer import Scorer

if TYPE_CHECKING:
    from evaluation.estimate import Convention, LikelihoodEstimate

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
    model : LDATopics, GammaPoissonTopics, LPMRFTopics or LPMRFClusters
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
    scorer = Scorer.of(
        model,
        method,
        n_samples=n_samples,
        target_standard_error=target_standard_error,
        smoothing=smoothing,
        convention=convention,
        max_memory=max_memory,
        random_state=random_state,
    )
    estimate = scorer.score(scorer.checked(counts), n_jobs)
    for warning in estimate.warnings:
        logger.warning("%s", warning)
    return estimate
