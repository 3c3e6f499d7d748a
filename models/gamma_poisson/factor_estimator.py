"""Base of trainers that factorise counts: sweeps that never worsen the objective."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from models.arrays import Floats
from models.checks import check_number
from models.estimator import CompletingEstimator
from models.gamma_poisson.factor_state import FactorStep, KLNMFState
from models.gamma_poisson.factor_updates import Rows, update_factor
from models.parallel import effective_n_jobs
from models.seed import seed_from
from models.variational.fixed_point import TINY

RELAXATION_GROWTH = 1.2  # Growth of the exponent after a sweep that improved the objective
START_SHAPE = 2.0
"""Shape of the Gamma noise, of mean 1, of a random start: a larger shape makes less noise."""
NUMBERS_A_CHUNK = 1 << 20  # Entries times topics to check of a given start at a time


class Counts(NamedTuple):
    """The data as sweeps take them."""

    rows: Rows  # Counts by document (D, V)
    columns: Rows  # Counts by word (V, D)
    constant: float  # Part of the objective that depends on the counts alone


@dataclass(eq=False, repr=False)
class FactorEstimator(CompletingEstimator):
    """Base of estimators whose sweep updates Θ (D, K), then φ, and has an objective.

    Updates are overrelaxed (adaptive overrelaxation, Salakhutdinov & Roweis 2003): the factor of an
    entry is raised to a power, the relaxation, that grows from sweep to sweep up to a setting. If
    that made the objective worse, or no number, the sweep is made again with exponent 1, and the
    next one tries half of what was too much.
    """

    n_topics: int = 20
    _: KW_ONLY
    n_iter: int = 200
    tolerance: float = 1e-5
    doc_updates: int = 1
    relaxation: float = 1.9
    init: Any = "random"
    random_state: Any = None
    n_jobs: int | None = None
    state_: KLNMFState = field(init=False)
    _sign: ClassVar[float]  # 1 for an objective that grows, -1 for one that falls

    def iterate(self, X: Any, y: object = None, state: Any = None) -> Iterator[FactorStep]:
        """Train as `fit` does, yielding after each sweep; `topics_` and `state_` are then current.

        Training continues from `state`, of an earlier run on the same data with the same settings,
        to the same bits as an uninterrupted run. The state changes in place.
        """
        del y
        data = self._begin(X, state)
        state = self.state_
        while state.n_sweeps < self.n_iter and (state.gain > self.tolerance * abs(state.objective)):
            self._sweep(data)
            yield FactorStep(
                n_sweeps=state.n_sweeps,
                n_documents=state.n_documents,
                n_passes=float(state.n_sweeps),
                objective=state.objective,
                relaxation=state.relaxation,
            )

    @property
    def n_iter_(self) -> int:
        """Sweeps made."""
        check_is_fitted(self, "state_")
        return self.state_.n_sweeps

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        self._check_integers({"n_topics": 1, "n_iter": 1, "doc_updates": 1}, ())
        for name, least, most in (("tolerance", 0.0, np.inf), ("relaxation", 1.0, 2.0)):
            value = getattr(self, name)
            check_number(name, value)
            if not least <= value < most:
                raise ValueError(f"{name} must be from {least:g} to below {most:g}, found {value}")
        effective_n_jobs(self.n_jobs)
        is_pair = isinstance(self.init, (tuple, list)) and len(self.init) == 2
        if not is_pair and not (isinstance(self.init, str) and self.init == "random"):
            raise ValueError(
                'init must be "random" or a pair of arrays, scores (n_docs, n_topics) and topics '
                f"(n_topics, n_words), found {self.init!r}"
            )

    def _begin(self, X: Any, state: Any) -> Counts:
        """Set `state_`, to `state` if there is one; returns the data as sweeps take them."""
        self.check_settings()
        counts = self._check_counts(X, reset=True).astype(np.float64, copy=False)
        if state is not None:
            found = (*state.doc_topic.shape, len(state.word_topic))
            if found != (counts.shape[0], self.n_topics, counts.shape[1]):
                raise ValueError(
                    f"the state is of {found[0]} documents, {found[2]} words and {found[1]} "
                    f"topics, the data have {counts.shape[0]} documents and {counts.shape[1]} "
                    f"words, and n_topics = {self.n_topics}"
                )
        constant = self._constant_of(counts.data)
        data = Counts(Rows.of(counts), Rows.of(counts.T.tocsr()), constant)
        if state is None:
            seed = seed_from(self.random_state)
            with np.errstate(over="ignore", invalid="ignore"):  # the objective is checked
                state = self._starting_state(data, *self._starting_factors(counts, seed), seed)
                if not isinstance(self.init, str):
                    _check_start(data.rows, state.doc_topic, state.word_topic)
                state.objective = self._objective_of(data, state)
        _check_finite(state.objective)
        self.state_ = state
        return data

    def _starting_state(
        self,
        data: Counts,  # noqa: ARG002
        doc_topic: Floats,
        word_topic: Floats,
        seed: int,
    ) -> KLNMFState:
        """Return the state before the first sweep; its objective is not set yet."""
        worst = -self._sign * np.inf
        return KLNMFState(doc_topic, word_topic, worst, np.inf, 1.0, 0, 0, seed)

    def _constant_of(self, data: Floats) -> float:
        """Part of the objective that depends on the counts alone, for their entries (nnz,)."""
        raise NotImplementedError

    def _objective_of(self, data: Counts, state: Any) -> float:
        raise NotImplementedError

    def _update(self, data: Counts, state: Any, relaxation: float) -> None:
        """Update Θ, then φ, then the prior, of `state`, which may be written to."""
        raise NotImplementedError

    def _update_factors(
        self, data: Counts, state: Any, offset: Floats, norm: Floats, relaxation: float
    ) -> None:
        """Update Θ with `offset` and `norm` (K,) (see `update_factor`), then φ with neither."""
        doc_topic, word_topic = state.doc_topic, state.word_topic
        how: Any = {"relaxation": relaxation, "n_threads": effective_n_jobs(self.n_jobs)}
        times = self.doc_updates
        update_factor(data.rows, word_topic, offset, norm, doc_topic, n_updates=times, **how)
        total = doc_topic.sum(axis=0)
        update_factor(data.columns, doc_topic, np.zeros_like(total), total, word_topic, **how)

    def _sweep(self, data: Counts) -> None:
        state, relaxation = self.state_, min(self.state_.relaxation, float(self.relaxation))
        updated = self._updated(data, relaxation)
        if relaxation > 1.0 and not 0.0 <= self._gain(updated) < np.inf:
            following = 1.0 + (relaxation - 1.0) / 2.0
            updated = self._updated(data, 1.0)
        else:
            following = min(float(self.relaxation), relaxation * RELAXATION_GROWTH)
        gain = self._gain(updated)
        _check_finite(updated.objective, gain)
        state.gain, state.relaxation = max(0.0, gain), following
        if state.gain > 0.0:  # if not, there is nothing left but rounding
            kept = ("gain", "relaxation", "n_sweeps", "n_documents", "seed")
            for name, value in vars(updated).items():
                if name not in kept:
                    setattr(state, name, value)
        state.n_sweeps += 1
        state.n_documents += len(state.doc_topic)

    def _updated(self, data: Counts, relaxation: float) -> Any:
        state = self.state_
        copied = replace(
            state, doc_topic=state.doc_topic.copy(), word_topic=state.word_topic.copy()
        )
        with np.errstate(over="ignore", invalid="ignore"):  # the objective is checked
            self._update(data, copied, relaxation)
            copied.objective = self._objective_of(data, copied)
        return copied

    def _gain(self, updated: Any) -> float:
        return float(self._sign * (updated.objective - self.state_.objective))

    def _starting_factors(self, counts: sparse.csr_array, seed: int) -> tuple[Floats, Floats]:
        """Θ (D, K) and φ by word (V, K): those given, or the best ones of rank one times noise."""
        n_docs, n_words = counts.shape
        if not isinstance(self.init, str):
            return (
                _given("scores", self.init[0], (n_docs, self.n_topics)),
                np.ascontiguousarray(_given("topics", self.init[1], (self.n_topics, n_words)).T),
            )
        rng = np.random.default_rng([seed, 0])
        of_doc = np.asarray(counts.sum(axis=1)).reshape(-1, 1) / self.n_topics
        of_word = np.asarray(counts.sum(axis=0)).reshape(-1, 1)
        total = of_word.sum()
        share = of_word / total if total > 0 else np.full_like(of_word, 1.0 / n_words)
        doc_topic = of_doc * rng.gamma(START_SHAPE, 1.0 / START_SHAPE, (n_docs, self.n_topics))
        word_topic = share * rng.gamma(START_SHAPE, 1.0 / START_SHAPE, (n_words, self.n_topics))
        return doc_topic, word_topic


def _given(name: str, values: Any, shape: tuple[int, int]) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"the {name} of init must be of shape {shape}, found {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"the {name} of init must be finite and not negative")
    return array


def _check_start(rows: Rows, doc_topic: Floats, word_topic: Floats) -> None:
    """Refuse factors that mix to nothing where there is a count: no update would mend that."""
    size = max(1, NUMBERS_A_CHUNK // doc_topic.shape[1])
    for first in range(0, len(rows.counts), size):
        entries = np.arange(first, min(first + size, len(rows.counts)))
        document, word = np.searchsorted(rows.start, entries, "right") - 1, rows.column_of[entries]
        mixed = np.einsum("ek,ek->e", doc_topic[document], word_topic[word])
        missing = np.flatnonzero((mixed < TINY) & (rows.counts[entries] > 0))
        if len(missing):
            d, w = document[missing[0]], word[missing[0]]
            raise ValueError(
                f"init must expect at least {TINY:g} of each word that a document has, scores @ "
                f"topics is {mixed[missing[0]]:g} for document {d} and word {w}, whose count is "
                f"{rows.counts[first + missing[0]]:g}: what is 0 stays 0, so add a small number "
                "to the scores and the topics"
            )


def _check_finite(*objective: float) -> None:
    if not np.isfinite(objective).all():
        raise ValueError(
            f"the objective must stay finite, found {objective[0]}: the counts in X, or the "
            "numbers in init, are too large or too small to go on from; divide them by a constant"
        )
