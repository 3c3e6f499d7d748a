"""Base of trainers of Poisson MRFs: rounds, and the settings of fields."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from models.arrays import Floats, Ints
from models.checks import check_number
from models.counts import whole_numbers
from models.estimator import TopicEstimator
from models.family import Schedule
from models.parallel import effective_n_jobs
from models.poisson_mrf.field_fitting import FieldSettings, FittedMRFs, fit_fields
from models.poisson_mrf.field_state import PoissonMRFState, PoissonMRFStep
from models.poisson_mrf.partition_table import checked_partition
from models.poisson_mrf.topic_matrices import single_topic_scores
from models.poisson_mrf.topics import LPMRFClusters, LPMRFModel, LPMRFTopics
from models.seed import seed_from

KMEANS_STARTS = 10
MAX_ROUNDS = 100  # Default number of rounds of a stage
MAX_TOKENS = np.iinfo(np.int32).max
REFILL = 10  # Documents for a cluster without any


@dataclass(eq=False, repr=False)
class LPMRFTrainer(TopicEstimator):
    """Base of estimators that share documents out among topics and fit a field to each share.
    Documents without a token are left out.
    """

    n_topics: int = 10
    _: KW_ONLY
    penalty: float = 0.03
    length_scale: float = 1.5
    smoothing: float = 1e-4
    partition: str = "smc"
    n_samples: int = 50
    n_temperatures: int | None = None
    n_iter: int | None = None
    tolerance: float = 0.0
    random_state: Any = None
    n_jobs: int | None = None
    state_: PoissonMRFState = field(init=False)
    _kind: ClassVar[type[LPMRFClusters] | type[LPMRFTopics]]

    def iterate(self, X: Any, y: object = None, state: Any = None) -> Iterator[PoissonMRFStep]:
        """Train as `fit` does, yielding after each round; `topics_` and `state_` are then current.

        Training continues from `state`, of an earlier run on the same data with the same settings,
        to the same bits as an uninterrupted run. The state changes in place.
        """
        del y
        counts = self._begin(X, state)
        state = self.state_
        while state.stage != "done":
            stage = state.stage
            self._round(counts)
            state.n_rounds += 1
            state.n_documents += counts.shape[0]
            yield PoissonMRFStep(
                stage, state.n_rounds, state.n_documents, float(state.n_rounds), state.objective
            )

    @property
    def schedule(self) -> Schedule:
        """Length of training with these settings, if nothing ends it early."""
        n_stages = len(self._stages())
        return Schedule(n_stages * self._max_rounds, "round", n_stages)

    @property
    def is_ready(self) -> bool:
        """Whether there was a round with interactions, or there will be none."""
        check_is_fitted(self, "state_")
        state = self.state_
        is_past_first_round = state.stage == "fields" and state.stage_rounds > 0
        return state.stage == "done" or is_past_first_round

    @property
    def _max_rounds(self) -> int:
        """Rounds in a stage, at most."""
        return MAX_ROUNDS if self.n_iter is None else self.n_iter

    @property
    def n_iter_(self) -> int:
        """Rounds made, in all stages."""
        check_is_fitted(self, "state_")
        return self.state_.n_rounds

    @property
    def topics_(self) -> LPMRFClusters | LPMRFTopics:
        """Learned model; computed at each call."""
        check_is_fitted(self, "state_")
        if not self.state_.topic_word.size:
            raise NotFittedError(
                f"this {type(self).__name__} has made no round yet, and so has no topics: go on "
                "with iterate, or call fit"
            )
        return self.state_.model(self._kind)

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        lowest = {"n_topics": 1, "n_iter": 1, "n_samples": 1, "n_temperatures": 2}
        self._check_integers(lowest, ("n_iter", "n_temperatures"))
        for name in ("penalty", "length_scale", "smoothing", "tolerance"):
            value = getattr(self, name)
            check_number(name, value)
            if math.isnan(value) or value < 0 or (value == 0 and name != "tolerance"):
                raise ValueError(f"{name} must be positive, found {value}")
        if not math.isfinite(self.smoothing):
            raise ValueError(f"smoothing must be finite, found {self.smoothing}")
        checked_partition(self.partition)
        effective_n_jobs(self.n_jobs)

    def _begin(self, X: Any, state: Any) -> sparse.csr_array:
        """Set `state_`, to `state` if there is one; returns the data as rounds take them."""
        self.check_settings()
        counts = filled_documents(self._check_counts(X, reset=True))
        if counts.shape[0] < self.n_topics:
            raise ValueError(
                f"{self.n_topics} topics need as many documents with a token, found n_samples = "
                f"{counts.shape[0]}: take fewer topics, or more documents"
            )
        if state is None:
            state = self._first_state(counts, seed_from(self.random_state))
        else:
            self._check_state(counts, state)
        self.state_ = state
        return counts

    def _check_state(self, counts: sparse.csr_array, state: PoissonMRFState) -> None:
        """Raise ValueError if a state is not one of these data and settings."""
        shape = (self.n_topics, counts.shape[1])
        if state.topic_word.size and state.topic_word.shape != shape:
            raise ValueError(
                f"the state is of {state.topic_word.shape[0]} topics and "
                f"{state.topic_word.shape[1]} words, n_topics is {self.n_topics}, and the data "
                f"have {counts.shape[1]} words"
            )
        stages = self._stages()
        if state.stage not in {*stages, "done"}:
            raise ValueError(
                f"the state is of a training at {state.stage!r}, which comes to {stages}: it "
                "belongs to another estimator"
            )
        stage = stages[-2] if state.stage in {"fields", "done"} else state.stage
        expected = {
            "mixture": (counts.shape[0],),
            "multinomial": (counts.nnz, self.n_topics),
            "lda": (int(counts.data.sum()),),
        }[stage]
        if state.assignment.shape != expected:
            raise ValueError(
                f"the state assigns topics of shape {state.assignment.shape}, these data have them "
                f"of shape {expected}: it belongs to other data"
            )
        if state.assignment.ndim == 1 and not (
            state.assignment.min() >= 0 and state.assignment.max() < self.n_topics
        ):
            raise ValueError(
                f"the state assigns topics from {state.assignment.min()} to "
                f"{state.assignment.max()}, of {self.n_topics} topics"
            )

    def _stages(self) -> tuple[str, ...]:
        """Stages of training in order; "fields" is the last."""
        raise NotImplementedError

    def _first_state(self, counts: sparse.csr_array, seed: int) -> PoissonMRFState:
        """First state of training on documents `counts` (D, V)."""
        raise NotImplementedError

    def _fit_fields(
        self, parts: Sequence[sparse.csr_array], longest: int, *, interacting: bool
    ) -> FittedMRFs:
        """Fields of the parts, of single words or as the penalty has them."""
        settings = FieldSettings(
            self.penalty if interacting else math.inf,
            self.length_scale,
            self.smoothing,
            checked_partition(self.partition),
            self.n_samples,
            self.n_temperatures,
        )
        before = self.state_.regressions(settings.penalty, self.smoothing) if interacting else None
        fitted = fit_fields(
            parts, longest, settings, before=before, seed=self.state_.seed, n_jobs=self.n_jobs
        )
        if interacting:
            self.state_.keep_regressions(fitted)
        return fitted

    def _next_stage(self) -> None:
        """Go on to the stage after this one; without interactions "fields" is left out."""
        state, stages = self.state_, self._stages()
        after = [*stages, "done"][stages.index(state.stage) + 1]
        if after == "fields" and math.isinf(self.penalty):
            after = "done"
        state.stage, state.stage_rounds = after, 0

    def _round(self, counts: sparse.csr_array) -> None:
        """Hard EM: a field for each cluster, then each document to its likeliest field."""
        state, labels = self.state_, self.state_.assignment
        longest = int(counts.sum(axis=1).max())
        before = replace(state)
        parts = [sparse.csr_array(counts[labels == k]) for k in range(self.n_topics)]
        fitted = self._fit_fields(parts, longest, interacting=state.stage == "fields")
        sizes = np.bincount(labels, minlength=self.n_topics).astype(np.float64)
        model = LPMRFClusters.of_fields(fitted.fields, fitted.log_partition, sizes)
        scores = single_topic_scores(model, counts)
        objective = float(scores.max(axis=1).sum())
        found = filled(scores.argmax(axis=1), scores)
        is_same = np.array_equal(found, labels)
        self._end_round(before, model, objective, found, is_same=is_same)

    def _end_round(
        self,
        before: PoissonMRFState,
        model: LPMRFModel,
        objective: float,
        assignment: Any,
        *,
        is_same: bool,
    ) -> None:
        """Keep the model and the next assignment; undo a round that lowers the objective.

        Such a round ends the stage, as does one that gains little or moves nothing.
        """
        state = self.state_
        gain = objective - before.objective if before.stage_rounds else np.inf
        if gain < 0:
            state.__dict__.update(vars(before))
        else:
            state.keep_model(model)
            state.objective = objective
        state.stage_rounds += 1
        is_small = gain <= self.tolerance * abs(objective)
        if is_small or is_same or state.stage_rounds >= self._max_rounds:
            self._next_stage()
        else:
            state.assignment = assignment


def kmeans_labels(counts: sparse.csr_array, n_clusters: int, seed: int) -> Ints:
    """(D,), clusters of documents by k-means on their counts (Inouye et al. 2015, Sec. 4)."""
    kmeans = KMeans(n_clusters, n_init=KMEANS_STARTS, random_state=seed % 2**32)
    with threadpool_limits(1):  # several add inertias in an order that depends on timing
        labels = kmeans.fit(counts.astype(np.float64)).labels_.astype(np.int64)
    # Where fewer documents differ than there are clusters, some have none.
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    return filled(labels, np.repeat(n_tokens[:, None], n_clusters, axis=1))


def filled(labels: Ints, scores: Floats) -> Ints:
    """Labels (D,) with ten documents of high score in each empty cluster; none becomes empty."""
    labels = labels.copy()
    n_clusters = scores.shape[1]
    for k in range(n_clusters):
        if (labels == k).any():
            continue
        sizes = np.bincount(labels, minlength=n_clusters)
        n_given = 0
        for d in np.argsort(-scores[:, k], kind="stable"):
            if sizes[labels[d]] > 1 and n_given < REFILL:
                sizes[labels[d]] -= 1
                labels[d] = k
                n_given += 1
    return labels


def filled_documents(counts: sparse.csr_array) -> sparse.csr_array:
    """Documents of counts (D, V) with a token, as int64, no zeros; fractions by `whole_numbers`."""
    n_tokens = counts.sum(axis=1, dtype=np.float64)
    if n_tokens.max(initial=0.0) > MAX_TOKENS:
        raise ValueError(
            f"a document must not have more than {MAX_TOKENS} tokens, found {n_tokens.max():g}"
        )
    kind = np.int32 if counts.nnz <= np.iinfo(np.int32).max else np.int64  # as k-means wants them
    indices, indptr = counts.indices.astype(kind), counts.indptr.astype(kind)
    data: Any = whole_numbers(counts, None).data.astype(np.int64)
    found = sparse.csr_array((data, indices, indptr), shape=counts.shape)
    found.eliminate_zeros()
    return sparse.csr_array(found[np.diff(found.indptr) > 0])
