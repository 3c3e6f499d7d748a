"""Non-negative matrix factorisation of counts under the Kullback-Leibler divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy
from sklearn.utils.validation import check_is_fitted

from models.gamma_poisson.factor_estimator import Counts, FactorEstimator
from models.gamma_poisson.factor_updates import log_mixtures
from models.gamma_poisson.gamma_fit import fit_scores
from models.gamma_poisson.topics import GammaPoissonTopics
from models.parallel import effective_n_jobs

if TYPE_CHECKING:
    from models.arrays import Floats
    from models.gamma_poisson.factor_state import KLNMFState


class KLNMF(FactorEstimator):
    """Factors Θ (D, K) and φ (K, V), not negative, whose product ŷ diverges least from counts y.

        D(y | ŷ) = Σ_dw y_dw log(y_dw / ŷ_dw) - y_dw + ŷ_dw

    This is -log p(y) for y_dw ~ Poisson(ŷ_dw), up to a constant of the counts. The updates are the
    multiplicative ones of Lee & Seung 2001, relaxed (see `FactorEstimator`).

    Memory, in bytes: 24·(D + V)·K for factors, and 24 for each entry of `X`.

    Parameters
    ----------
    n_topics : int
        K.
    n_iter : int
        Sweeps that `fit` makes at most. A sweep updates Θ, then φ, then parameters of the prior.
    tolerance : float
        Training ends after a sweep that improves the objective by no more than this share of it.
    doc_updates : int
        Updates of Θ a sweep. More than one costs less than a sweep each, but hardly ever pays.
    relaxation : float
        Largest exponent of updates, from 1, plain updates, to below 2.
    init : "random" or a pair of arrays
        Initial scores Θ (D, K) and topics φ (K, V). What is 0 stays 0, so their product must be
        above 0 wherever a count is.
    random_state : int, numpy Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`. If None a seed is drawn; see `seed_`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.
    """

    _sign = -1.0

    @property
    def components_(self) -> Floats:
        """φ (K, V), as the factorisation has it."""
        check_is_fitted(self, "state_")
        return self.state_.word_topic.T

    @property
    def reconstruction_err_(self) -> float:
        """√(2 D), as scikit-learn's `NMF` has it."""
        check_is_fitted(self, "state_")
        return float(np.sqrt(2.0 * max(0.0, self.state_.objective)))

    @property
    def topics_(self) -> GammaPoissonTopics:
        """φ in rows that sum to 1, with the Gamma prior that fits Θ best
        (`models.gamma_poisson.gamma_fit`).
        A topic whose weights are all 0 is even over all words, and a millionth of a token is
        expected of it; of one that is faint in every document, as much as documents have.
        """
        check_is_fitted(self, "state_")
        weight = self.state_.word_topic
        total = weight.sum(axis=0)
        shape, rate = fit_scores(self.state_.doc_topic * total)
        even = np.full_like(weight, 1.0 / len(weight))
        topic_word = np.divide(weight, total, out=even, where=total > 0).T
        return GammaPoissonTopics(topic_word, shape, 1.0 / (1.0 + rate))

    def _constant_of(self, data: Floats) -> float:
        return float((xlogy(data, data) - data).sum())

    def _objective_of(self, data: Counts, state: KLNMFState) -> float:
        n_threads = effective_n_jobs(self.n_jobs)
        mixed = log_mixtures(data.rows, state.word_topic, state.doc_topic, n_threads)
        expected = state.doc_topic.sum(axis=0) @ state.word_topic.sum(axis=0)
        return float(data.constant - mixed + expected)

    def _update(self, data: Counts, state: KLNMFState, relaxation: float) -> None:
        none = np.zeros(self.n_topics)
        self._update_factors(data, state, none, state.word_topic.sum(axis=0), relaxation)
