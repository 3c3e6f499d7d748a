"""Gamma-Poisson likelihoods by LDA's estimators, of tilted topics (see `TiltedTopics`).

    log p(y) = Σ_k r_k log(1 - Q_k) + log Γ(R + N) - log Γ(R) - Σ_w log y_w! + log p_LDA(tokens)

All but the last term is known exactly, so an estimator is here as it is for LDA: exact,
unbiased or a bound, and with the same standard error. Exact in time polynomial in the number N of
tokens, where Capdevila et al. 2018 (Sec. 3.2) sum over ∏_w binom(y_w + K - 1, K - 1) partitions.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from evaluation.arrays import Floats
from evaluation.convention import log_change, log_factorials
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.gamma_poisson.length import log_length_probability
from models import GammaPoissonTopics

Estimator = Callable[..., LikelihoodEstimate]


def by_lda(method: Estimator) -> Estimator:
    """An estimator of log p(y), of counts and lengths, out of one of LDA's."""

    def estimator(
        topics: GammaPoissonTopics, documents: DocumentBlock, **settings: Any
    ) -> LikelihoodEstimate:
        estimate = method(topics.tilted, documents, **settings)
        return replace(
            estimate,
            log_likelihood=estimate.log_likelihood + log_factor(topics, documents.counts),
            convention="bag-and-length",
        )

    estimator.__doc__ = method.__doc__
    return estimator


def log_factor(topics: GammaPoissonTopics, counts: sparse.csr_array) -> Floats:
    """Return the term (D,) to add to the log-probability of tokens by LDA with tilted topics."""
    total = topics.shape.sum()
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
    rising = gammaln(total + n_tokens) - gammaln(total)
    result: Floats = topics.tilted.log_empty + rising - log_factorials(counts)
    return result


def log_factor_of_tokens(topics: GammaPoissonTopics, counts: sparse.csr_array) -> Floats:
    """Return the same term (D,) for the log-probability of tokens in order, given their number."""
    factor = log_factor(topics, counts)
    return factor + log_change(topics, counts, "bag-and-length", "sequence", log_length_probability)
