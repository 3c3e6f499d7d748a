"""M-step of online variational Bayes: update λ and priors by a batch's statistics.

    λ ← (1 - ρ) λ + ρ (eta + D/S · expected counts)    (Hoffman, Blei & Bach 2010, Algorithm 2)

λ is kept as eta + scale · excess, so that the decay of all words is one product, and only words of
the batch are written to. Priors move by ρ times a Newton step (ibid., Sec. 2.3).
"""

import numpy as np
from scipy.special import psi

from models.arrays import Floats, Ints32
from models.dirichlet_prior import newton_step, symmetric_newton_step
from models.lda.e_step import WORD_BLOCK, BatchStatistics
from models.lda.online_lda_state import OnlineLDAState
from models.parallel import for_blocks
from models.variational.inference import add_expected_counts, weigh_words

MIN_SCALE = 1e-50  # Scale below which it is multiplied into the excess
FAINT = 1e-30  # Maximal weight of a word below which its weights are computed from logarithms
MIN_ELOG = -600.0  # Minimal logarithm of a norm, whose exponential is still a normal number


def word_means(state: OnlineLDAState, words: Ints32) -> Floats:
    """Return E[φ_kw] (U, K) of words (U,) under λ, each row up to a factor."""
    eta = state.eta[words, None]
    weight = eta + state.scale * state.excess[words]
    weight /= state.eta.sum() + state.scale * state.excess_sum
    faint = weight.max(axis=1, initial=0.0) < FAINT
    weight[faint] /= weight[faint].max(axis=1, keepdims=True)
    return weight


def word_weights(state: OnlineLDAState, words: Ints32, n_threads: int) -> Floats:
    """Return exp E[log φ_kw] (U, K) of words (U,) under λ, each row up to a factor."""
    elog_norm = psi(state.eta.sum() + state.scale * state.excess_sum)
    norm = np.exp(np.maximum(elog_norm, MIN_ELOG))
    weight = np.empty((len(words), len(state.alpha)))
    for_blocks(
        lambda first, last: weigh_words(
            words, first, last, state.excess, state.scale, state.eta, norm, weight
        ),
        len(words),
        WORD_BLOCK,
        n_threads,
    )
    # Where all of a word's exp E[log φ_kw] underflow, their ratios still count.
    faint = np.flatnonzero(weight.max(axis=1) < FAINT)
    if faint.size:
        row = words[faint]
        elog = psi(state.eta[row, None] + state.scale * state.excess[row]) - elog_norm
        weight[faint] = np.exp(elog - elog.max(axis=1, keepdims=True))
    return weight


def update_topics(
    state: OnlineLDAState,
    statistics: BatchStatistics,
    weight: Floats,
    step_size: float,
    total_documents: float,
    n_threads: int,
) -> None:
    """Update λ in place; λ of frozen words stays eta. `weight` (U, K) are the `word_weights` in the
    E-step of the batch, `total_documents` is D, the number of documents that the batch represents.
    """
    n_words = len(statistics.words)
    _decay(state, 1.0 - step_size)
    factor = step_size * (total_documents / statistics.n_documents) / state.scale
    added = np.zeros((-(-n_words // WORD_BLOCK), len(state.alpha)))
    for_blocks(
        lambda first, last: add_expected_counts(
            statistics.words,
            first,
            last,
            statistics.sums,
            weight,
            factor,
            state.excess,
            added[first // WORD_BLOCK],
        ),
        n_words,
        WORD_BLOCK,
        n_threads,
    )
    state.excess_sum += added.sum(axis=0)
    if state.frozen.any():
        state.excess_sum -= state.excess[state.frozen].sum(axis=0)
        state.excess[state.frozen] = 0.0


def update_alpha(state: OnlineLDAState, statistics: BatchStatistics, step_size: float) -> None:
    """Move alpha towards its maximum likelihood on the documents of a batch."""
    n_docs = statistics.n_documents
    step = newton_step(state.alpha, statistics.elog_doc_topic / n_docs, n_docs)
    # A Newton step from far above would end below zero: an entry is at most halved.
    state.alpha = np.maximum(state.alpha + step_size * step, state.alpha / 2)


def update_eta(state: OnlineLDAState, step_size: float) -> None:
    """Move the symmetric eta towards its maximum likelihood on the present topics."""
    dirichlet = state.topic_word_dirichlet
    mean_log = float((psi(dirichlet).mean(axis=1) - psi(dirichlet.sum(axis=1))).mean())
    eta = float(state.eta[0])
    step = symmetric_newton_step(eta, mean_log, len(state.eta))
    state.eta = np.full_like(state.eta, max(eta + step_size * step, eta / 2))


def _decay(state: OnlineLDAState, keep: float) -> None:
    """Set λ - eta ← keep · (λ - eta) for all words."""
    state.scale *= keep
    if state.scale < MIN_SCALE:
        state.excess *= state.scale
        state.excess_sum = state.excess.sum(axis=0)
        state.scale = 1.0
