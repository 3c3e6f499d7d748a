"""GaP: factors of counts with a Gamma prior (Canny 2004)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy
from sklearn.utils.validation import check_is_fitted

from models.arrays import Floats
from models.gamma_poisson.factor_estimator import Counts, FactorEstimator
from models.gamma_poisson.factor_state import GaPState
from models.gamma_poisson.factor_updates import log_mixtures
from models.gamma_poisson.gamma_fit import MAX_RATE, MIN_RATE
from models.gamma_poisson.topics import GammaPoissonTopics
from models.parallel import effective_n_jobs

MIN_START = 1e-10  # Minimum initial score


@dataclass(kw_only=True, eq=False, repr=False)
class GaP(FactorEstimator):
    """Topics φ (K, V), whose rows sum to 1, and the most probable scores Θ (D, K) by EM.

        θ_dk ~ Gamma(shape a_k, rate b_k),   y_dw ~ Poisson(Σ_k θ_dk φ_kw)

    (Canny 2004). EM takes θ to the mode of its posterior and φ to its maximum likelihood. The
    objective is log p(y, θ | φ, a, b), and no sweep lowers it.

    It can grow without end if b is learned. A topic with a rate of its own of which documents have
    less than a token on average fades, as ever smaller scores have ever higher densities; in
    Wikipedia, of 25 topics 8 did within 60 sweeps. A rate that topics have in common prevents it,
    as long as documents have more than K tokens on average, but then the model expects K fewer. The
    default holds it where the model expects documents of the length that they have.

    Memory, in bytes: 24·(D + 2V)·K for factors, and 24 for each entry of `X`.

    Parameters
    ----------
    shape : float or array (K,)
        a, at least 1: below, the density of a score of 0 is infinite, so that there is no mode.
    rate : "length", "common", "topic", float or array (K,)
        b: Σ a over the mean length; or learned in each sweep, as the most likely given Θ, as one
        number or as one for each topic, as in the paper, where it is a scale; or given.
    n_topics, n_iter, tolerance, doc_updates, relaxation, init, random_state, n_jobs
        As of `KLNMF`. Only φ stays 0 where it is 0 in `init`.
    """

    shape: Any = 1.1
    rate: Any = "length"
    state_: GaPState = field(init=False)
    _sign = 1.0

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        super().check_settings()
        shape = self._of_topics("shape")
        if (shape < 1.0).any():
            raise ValueError(
                f"shape must be at least 1, found {shape.min():g}: below, the density of a score "
                "of 0 is infinite and the posterior has no mode to find"
            )
        if isinstance(self.rate, str):
            if self.rate not in {"length", "common", "topic"}:
                raise ValueError(
                    f'rate must be "length", "common", "topic", a number or one for each topic, '
                    f"found {self.rate!r}"
                )
        elif not ((rate := self._of_topics("rate")) >= MIN_RATE).all() or (rate > MAX_RATE).any():
            raise ValueError(
                f"rate must be from {MIN_RATE:g} to {MAX_RATE:g}, "
                f"found {rate.min():g} to {rate.max():g}"
            )

    @property
    def topics_(self) -> GammaPoissonTopics:
        """φ, a, and p = 1 / (1 + b); rebuilt at each call."""
        check_is_fitted(self, "state_")
        state = self.state_
        shape = np.asarray(self._of_topics("shape"))
        return GammaPoissonTopics(state.word_topic.T, shape, 1.0 / (1.0 + state.rate))

    def _of_topics(self, name: str) -> Floats:
        """The setting `name` for each topic (K,)."""
        try:
            values = np.asarray(getattr(self, name), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name} must be a number or one for each topic, found {getattr(self, name)!r}"
            ) from error
        if values.shape not in {(), (self.n_topics,)} or not np.isfinite(values).all():
            raise ValueError(
                f"{name} must be a finite number, or {self.n_topics} of them, one for each topic, "
                f"found {getattr(self, name)!r}"
            )
        return np.broadcast_to(values, (self.n_topics,)).copy()

    def _starting_state(
        self, data: Counts, doc_topic: Floats, word_topic: Floats, seed: int
    ) -> GaPState:
        total = word_topic.sum(axis=0)
        if (total <= 0).any():
            raise ValueError(
                f"each topic of init needs a word that it has, found topic {total.argmin()} "
                "without any"
            )
        # A score starts above 0, as its prior has it, or the objective would be that of no model.
        doc_topic = np.maximum(doc_topic * total, MIN_START)
        begun = super()._starting_state(data, doc_topic, word_topic / total, seed)
        return GaPState(**vars(begun), rate=self._rate_of(data, doc_topic))

    def _rate_of(self, data: Counts, doc_topic: Floats) -> Floats:
        """The most likely b (K,) given Θ and a, or the one that `rate` holds it at.
        The likelihood of b has one maximum, so that the bounds do not make it fall.
        """
        if not isinstance(self.rate, str):
            return self._of_topics("rate")
        shape, mean = self._of_topics("shape"), doc_topic.mean(axis=0)
        if self.rate != "topic":
            shape = np.full_like(shape, shape.sum())
            length = data.rows.counts.sum() / len(doc_topic)
            mean = np.full_like(mean, mean.sum() if self.rate == "common" else length)
        with np.errstate(divide="ignore"):
            rate: Floats = np.clip(shape / mean, MIN_RATE, MAX_RATE)
        return rate

    def _constant_of(self, data: Floats) -> float:
        return -float(gammaln(data + 1.0).sum())

    def _objective_of(self, data: Counts, state: GaPState) -> float:
        n_threads = effective_n_jobs(self.n_jobs)
        shape, n_docs = self._of_topics("shape"), len(state.doc_topic)
        total = state.doc_topic.sum(axis=0)
        mixed = log_mixtures(data.rows, state.word_topic, state.doc_topic, n_threads)
        likelihood = data.constant + mixed - float(total @ state.word_topic.sum(axis=0))
        log_scores = xlogy(shape - 1.0, state.doc_topic).sum()
        norm = n_docs * (shape * np.log(state.rate) - gammaln(shape)).sum()
        return float(likelihood + norm + log_scores - state.rate @ total)

    def _update(self, data: Counts, state: GaPState, relaxation: float) -> None:
        shape, before = self._of_topics("shape"), state.word_topic.copy()
        # The weights of a topic sum to 1.
        self._update_factors(data, state, shape - 1.0, state.rate + 1.0, relaxation)
        total = state.word_topic.sum(axis=0)
        # A topic without tokens stays as it is.
        state.word_topic = np.where(
            total > 0, state.word_topic / np.where(total > 0, total, 1), before
        )
        state.rate = self._rate_of(data, state.doc_topic)
