"""Inouye et al. 2015, Figure 4: what regressions, topic matrices and annealing take.

Documents of a corpus over its most frequent words are taken, more of them than there are by drawing
again. The paper finds that seconds grow as n p of the regressions of n documents over p words, as
n p k² of topic matrices of k topics, and as the nonzeros of Φ, whatever p, of annealing. A power of
each is fitted by least squares of log seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from models.poisson_mrf.annealed_partition import log_weights_at
from models.poisson_mrf.field_estimator import filled
from models.poisson_mrf.field_fitting import FieldSettings, fit_fields
from models.poisson_mrf.node_regressions import fit_nodes, fit_path, largest_penalty
from models.poisson_mrf.partition_table import N_ENVELOPE
from models.poisson_mrf.topic_matrices import map_assignment
from models.poisson_mrf.topics import LPMRFTopics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from models.poisson_mrf.node_regressions import NodeRegressions

Floats = NDArray[np.float64]

PARTS = ("regressions", "matrices", "annealing")
"""Left, middle and right."""
PUBLISHED_PENALTY = 1.0
"""λ of the first two."""
LEAST_SECONDS = 0.5
"""What takes less is timed again, and the quickest counts."""
MOST_RUNS = 5
ROOMS = (0, 1)
"""What random numbers are for: which documents; which clusters."""


class Timing(NamedTuple):
    """One point of the figure; what does not vary in a part is 0."""

    part: str
    n_docs: int
    n_words: int
    n_topics: int
    nonzeros: int
    """Of Φ, both of a pair; of all topics."""
    seconds: float


@dataclass(frozen=True)
class ScalingSettings:
    """The protocol; the defaults are the paper's.

    Raises
    ------
    ValueError
        If a number is too small to make sense.
    """

    documents: tuple[int, ...] = (5_000, 10_000, 50_000, 100_000)
    """n of regressions."""
    words: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000)
    """p of regressions."""
    matrix_documents: tuple[int, ...] = (50_000, 100_000)
    matrix_words: tuple[int, ...] = (5_000, 10_000)
    topics: tuple[int, ...] = (3, 10)
    annealing_words: tuple[int, ...] = (1_000, 5_000, 10_000)
    n_nonzeros: int = 500_000
    """Of Φ, in annealing: from a sixteenth of these on, or a little more."""
    wanted_nonzeros: int = 20_000
    """Of Φ in the others, where the published penalty gives less than a thousandth of this."""
    field_documents: int = 10_000
    """Documents that fields of topics, and those that are annealed, are fitted to."""
    n_samples: int = 100
    n_temperatures: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("documents", "words", "matrix_documents", "matrix_words", "annealing_words"):
            if not getattr(self, name) or min(getattr(self, name)) < 2:
                raise ValueError(f"{name} must all be at least 2, found {getattr(self, name)}")
        if not self.topics or min(self.topics) < 1:
            raise ValueError(f"topics must be positive, found {self.topics}")
        for name, least in {"n_nonzeros": 1, "n_samples": 1, "n_temperatures": 2}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, found {getattr(self, name)}")

    @property
    def most_words(self) -> int:
        """The largest p."""
        return max(*self.words, *self.matrix_words, *self.annealing_words)


def documents_of(
    counts: sparse.csr_array, n_docs: int, n_words: int, seed: int
) -> sparse.csr_array:
    """(n_docs, n_words), documents over the most frequent words; those without any are left out.

    Each document comes once before any comes twice, and more words or documents add to the fewer.

    Raises
    ------
    ValueError
        If there are fewer words, or no document has any of them.
    """
    if n_words > counts.shape[1]:
        raise ValueError(f"expected {n_words:,} words at least, found {counts.shape[1]:,}")
    total = np.asarray(counts.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-total, kind="stable")[:n_words])
    some = sparse.csr_array(counts[:, kept])
    filled_ones = np.flatnonzero(np.asarray(some.sum(axis=1)).ravel() > 0)
    if not len(filled_ones):
        raise ValueError(f"expected documents with some of {n_words:,} words, found none")
    rng = np.random.default_rng([seed, ROOMS[0]])
    rounds = [rng.permutation(filled_ones) for _ in range(-(-n_docs // len(filled_ones)))]
    return sparse.csr_array(some[np.concatenate(rounds)[:n_docs]])


def penalty_for(counts: sparse.csr_array, settings: ScalingSettings) -> tuple[float, bool]:
    """λ of the first two parts, and whether it is the published one.

    Where that gives next to no nonzeros of Φ over the most words, it is one that gives about as
    many as are wanted, by a line through the logarithms of two penalties and their nonzeros.
    """
    documents = documents_of(counts, min(settings.documents), max(settings.words), settings.seed)
    if _nonzeros(fit_nodes(documents, PUBLISHED_PENALTY)) * 1000 >= settings.wanted_nonzeros:
        return PUBLISHED_PENALTY, True
    before: tuple[float, int] | None = None
    for found in fit_path(documents, _halvings(largest_penalty(documents))):
        at = found.penalty, _nonzeros(found)
        if at[1] >= settings.wanted_nonzeros:
            break
        before = at if at[1] else None
    if before is None or at[1] <= settings.wanted_nonzeros:
        return at[0], False
    share = np.log(settings.wanted_nonzeros / before[1]) / np.log(at[1] / before[1])
    return float(before[0] * (at[0] / before[0]) ** share), False


def time_regressions(
    counts: sparse.csr_array,
    settings: ScalingSettings,
    penalty: float,
    size: tuple[int, int],
    n_jobs: int | None = None,
) -> Timing:
    """Seconds of p regressions of n documents, `size` (n, p)."""
    documents = documents_of(counts, *size, settings.seed)
    found: list[NodeRegressions] = []
    seconds = quickest(lambda: found.append(fit_nodes(documents, penalty, n_jobs=n_jobs)))
    return Timing("regressions", *size, 0, _nonzeros(found[0]), seconds)


def time_matrices(
    counts: sparse.csr_array,
    settings: ScalingSettings,
    penalty: float,
    size: tuple[int, int],
    n_jobs: int | None = None,
) -> list[Timing]:
    """Seconds of the topic matrices of each number of documents, `size` (p, k).

    Fields are of clusters of documents, and their partition functions roughly annealed.
    """
    n_words, n_topics = size
    documents = documents_of(counts, max(settings.matrix_documents), n_words, settings.seed)
    some = documents[: settings.field_documents]
    random = np.random.default_rng([settings.seed, ROOMS[1]]).integers(2**32)
    labels = KMeans(n_topics, n_init=1, random_state=int(random)).fit(some.astype(float)).labels_
    labels = filled(labels.astype(np.int64), np.zeros((some.shape[0], n_topics)))
    parts = [sparse.csr_array(some[labels == k]) for k in range(n_topics)]
    fields = fit_fields(
        parts,
        int(documents.sum(axis=1).max()),
        FieldSettings(penalty, 1.5, 1e-4, "smc", n_samples=20, n_temperatures=20),
        seed=settings.seed,
        n_jobs=n_jobs,
    )
    prior = np.ones(n_topics)
    model = LPMRFTopics.of_fields(fields.fields, fields.log_partition, prior)
    timings = []
    for n_docs in settings.matrix_documents:
        ours = documents[:n_docs]
        seconds = quickest(lambda ours=ours: map_assignment(model, ours, n_jobs=n_jobs))  # type: ignore[misc]
        nonzeros = sum(field.interactions.nnz for field in model.fields)
        timings.append(Timing("matrices", n_docs, n_words, n_topics, nonzeros, seconds))
    return timings


def time_annealing(
    counts: sparse.csr_array, settings: ScalingSettings, n_words: int, n_jobs: int | None = None
) -> list[Timing]:
    """Seconds of annealing fields over p words, for penalties that give more and more nonzeros.

    All have the lengths that documents have over the most words, so that only p and the nonzeros
    vary; as published, 50 of them from half to three times the mean.
    """
    n_docs = settings.field_documents
    widest = documents_of(counts, n_docs, settings.most_words, settings.seed)
    mean_length = float(widest.sum()) / n_docs
    lengths = np.ceil(mean_length * np.linspace(0.5, 3.0, N_ENVELOPE)).astype(np.int64).tolist()
    documents = documents_of(counts, n_docs, n_words, settings.seed)
    timings: list[Timing] = []
    penalties = _halvings(largest_penalty(documents))
    for regressions in fit_path(documents, penalties, n_jobs=n_jobs):
        field = regressions.field(1.5 * mean_length)
        nonzeros = int(field.interactions.nnz)
        if nonzeros < settings.n_nonzeros // 16 and regressions.penalty > min(penalties):
            continue
        seconds = quickest(
            lambda field=field: log_weights_at(  # type: ignore[misc]
                field,
                lengths,
                n_samples=settings.n_samples,
                n_temperatures=settings.n_temperatures,
                seed=settings.seed,
                n_jobs=n_jobs,
            )
        )
        timings.append(Timing("annealing", n_docs, n_words, 0, nonzeros, seconds))
        if nonzeros >= settings.n_nonzeros:
            break
    return timings


def quickest(work: Callable[[], object]) -> float:
    """Seconds of the quickest of some runs, more of them the shorter they are."""
    best, spent, n_runs = np.inf, 0.0, 0
    while n_runs == 0 or (spent < LEAST_SECONDS and n_runs < MOST_RUNS):
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        best, spent, n_runs = min(best, seconds), spent + seconds, n_runs + 1
    return float(best)


def warm_up(settings: ScalingSettings) -> None:
    """Have kernels compiled, so that no seconds are those of the compiler."""
    counts = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (12, 4)))
    small = ScalingSettings(
        documents=(12,),
        words=(4,),
        matrix_documents=(12,),
        matrix_words=(4,),
        topics=(2,),
        annealing_words=(4,),
        n_nonzeros=1,
        field_documents=12,
        n_samples=2,
        n_temperatures=2,
        seed=settings.seed,
    )
    time_regressions(counts, small, 0.01, (12, 4))
    time_matrices(counts, small, 0.01, (4, 2))
    time_annealing(counts, small, 4)


def _halvings(largest: float) -> list[float]:
    """Penalties from a half of `largest` down to where all pairs of words would depend."""
    return [largest * 0.5**n for n in range(1, 15)]


def _nonzeros(regressions: NodeRegressions) -> int:
    """Of Φ, both of a pair."""
    return int(regressions.field().interactions.nnz)


class Power(NamedTuple):
    """seconds ∝ size^exponent."""

    exponent: float
    standard_error: float
    """Of least squares; NaN if there are no more points than powers."""


def powers(timings: list[Timing], names: tuple[str, ...]) -> dict[str, Power]:
    """The powers of some sizes that fit the seconds best, all others alike.

    Sizes that are the same in all timings have no power; of several that vary together, as `n_docs`
    and `n_words` may, it is the least ones that fit.
    """
    varied = [name for name in names if len({getattr(each, name) for each in timings}) > 1]
    seconds = np.log([each.seconds for each in timings])
    table = np.column_stack(
        [np.ones(len(timings))]
        + [np.log([getattr(each, name) for each in timings]) for name in varied]
    )
    found, _, rank, _ = np.linalg.lstsq(table, seconds, rcond=None)
    free = len(timings) - int(rank)
    variance = ((seconds - table @ found) ** 2).sum() / free if free > 0 else np.nan
    errors = np.sqrt(variance * np.diag(np.linalg.pinv(table.T @ table)))
    return {name: Power(float(found[1 + i]), float(errors[1 + i])) for i, name in enumerate(varied)}


@dataclass(frozen=True, eq=False)
class Scaling:
    """All three parts."""

    settings: ScalingSettings
    penalty: float
    is_published: bool
    """Whether λ is the published one."""
    timings: tuple[Timing, ...]

    def of(self, part: str) -> list[Timing]:
        """The timings of one part."""
        return [each for each in self.timings if each.part == part]

    @property
    def powers(self) -> Mapping[str, dict[str, Power]]:
        """Of each part, those of its sizes."""
        return {
            "regressions": powers(self.of("regressions"), ("n_docs", "n_words")),
            "matrices": powers(self.of("matrices"), ("n_docs", "n_words", "n_topics")),
            "annealing": powers(self.of("annealing"), ("nonzeros", "n_words")),
        }


def steps(
    counts: sparse.csr_array, settings: ScalingSettings, penalty: float, n_jobs: int | None = None
) -> Iterator[tuple[str, Callable[[], list[Timing]]]]:
    """What is to be measured, each with a name that can be one of a file."""
    for n in settings.documents:
        for p in settings.words:
            yield (
                f"regressions-{n}-{p}",
                lambda n=n, p=p: [time_regressions(counts, settings, penalty, (n, p), n_jobs)],  # type: ignore[misc]
            )
    for p in settings.matrix_words:
        for k in settings.topics:
            yield (
                f"matrices-{p}-{k}",
                lambda p=p, k=k: time_matrices(counts, settings, penalty, (p, k), n_jobs),  # type: ignore[misc]
            )
    for p in settings.annealing_words:
        yield f"annealing-{p}", lambda p=p: time_annealing(counts, settings, p, n_jobs)  # type: ignore[misc]
