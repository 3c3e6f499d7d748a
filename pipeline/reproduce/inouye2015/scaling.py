"""Inouye et al. 2015, Figure 4: growth of the time of regressions, topic matrices and annealing.

Documents of a corpus over its most frequent words are taken, repeatedly if there are too few. The
paper finds that seconds grow as n p for the regressions of n documents over p words, as n p k² for
topic matrices of k topics, and as the nonzeros of Φ, whatever p, for annealing. Exponents are
fitted by least squares of log seconds.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from corpora.worker_pool import available_cores
from models.parallel import effective_n_jobs
from models.poisson_mrf import node_regressions
from models.poisson_mrf.annealed_partition import log_weights_at
from models.poisson_mrf.field_estimator import filled
from models.poisson_mrf.field_fitting import FieldSettings, fit_fields
from models.poisson_mrf.node_regressions import fit_nodes, fit_path, largest_penalty
from models.poisson_mrf.partition_table import N_ENVELOPE
from models.poisson_mrf.topic_matrices import map_assignment
from models.poisson_mrf.topics import LPMRFTopics
from pipeline.errors import UsageError
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.counts import Counts, most_frequent_words, one_corpus
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, number, rows_of
from pipeline.reproduce.inouye2015.published import ANY_WIKIPEDIA
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, grouped, text
from pipeline.reproduce.trials import group_of, run_trials, scaled

NAME = "lpmrf-scaling"
PUBLISHED_PENALTY = 1.0  # λ of regressions and topic matrices
MIN_SECONDS, MAX_RUNS = 0.5, 5  # Shorter work is timed again, and the quickest run counts
DRAWING, CLUSTERING = 0, 1  # Streams of random numbers
MAX_WORDS = {"quick": 2_000, "full": 10_000}
SHARES = {"quick": (0.25, 0.5, 1.0), "full": (0.1, 0.2, 0.5, 1.0)}  # Shares of the most words
QUICK: dict[str, Any] = {
    "documents": (1_000, 2_000, 4_000),
    "matrix_documents": (1_000, 2_000, 4_000),
    "topics": (3, 5, 10),
    "n_nonzeros": 40_000,
    "field_documents": 2_000,
    "n_samples": 20,
    "n_temperatures": 50,
}
SYMBOLS = {"n_docs": "n", "n_words": "p", "n_topics": "k", "nonzeros": "nonzeros of Φ"}
TITLES = {
    "regressions": "Seconds of p regressions of n documents",
    "matrices": "Seconds of topic matrices of n documents",
    "annealing": "Seconds of annealing",
}
# Exponents of seconds, by part and size
PUBLISHED = {
    "regressions": {"n_docs": 1, "n_words": 1},
    "matrices": {"n_docs": 1, "n_words": 1, "n_topics": 2},
    "annealing": {"nonzeros": 1, "n_words": 0},
}
# Sizes in the order of `SYMBOLS`, 0 if they do not vary, and seconds. Nonzeros are of all topics;
# each pair of words counts twice.
Timing = tuple[int, int, int, int, float]
LINEAR_IN_NONZEROS = "no more than linear time in the nonzeros of Φ, irrespective of p"
CLAIMS = {
    "regressions": ("regressions-linear", "regressions take no more than n p"),
    "matrices": ("matrices-time", "topic matrices take no more than n p k²"),
    "annealing": ("annealing-linear", f"annealing takes {LINEAR_IN_NONZEROS}"),
}
LINEAR = "Regressions take time linear in documents and words, annealing in the nonzeros."
TOLERANCE = 0.2  # Tolerance of exponents


@dataclass(frozen=True)
class ScalingSettings:
    """Sizes and effort; the defaults are the paper's."""

    documents: tuple[int, ...] = (5_000, 10_000, 50_000, 100_000)  # n of regressions
    words: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000)  # p of regressions
    matrix_documents: tuple[int, ...] = (50_000, 100_000)
    matrix_words: tuple[int, ...] = (5_000, 10_000)
    topics: tuple[int, ...] = (3, 10)
    annealing_words: tuple[int, ...] = (1_000, 5_000, 10_000)
    n_nonzeros: int = 500_000  # Most in annealing, about; the fewest are a sixteenth
    wanted_nonzeros: int = 20_000  # In the other parts, if the published penalty gives almost none
    field_documents: int = 10_000  # For fields of topics, and those that are annealed
    n_samples: int = 100
    n_temperatures: int = 100
    seed: int = 0


def protocol(settings: ReproduceSettings, n_words: int) -> ScalingSettings:
    """Return the protocol of a scale; raises UsageError if there are too few words."""
    shares = SHARES[settings.scale]
    largest = min(MAX_WORDS[settings.scale], n_words)
    words = tuple(round(share * largest) for share in shares)
    if min(words) < 2:
        raise UsageError(f"--counts: {NAME} takes {math.ceil(2 / shares[0])} words at least")
    annealed = tuple(words[i] for i in (0, -2, -1))
    sizes = {"words": words, "matrix_words": words[-2:], "annealing_words": annealed}
    return scaled(ScalingSettings(), settings, QUICK, **sizes)


def _run(settings: ReproduceSettings) -> Found:
    """Time all parts; cached times are taken as they are."""
    corpus = one_corpus(settings, NAME)
    counts, n_threads = corpus.counts, effective_n_jobs(settings.threads)
    wanted = protocol(settings, counts.shape[1])
    machine: dict[str, Any] = {"threads": n_threads, "cores": available_cores()}
    group = group_of(NAME, wanted, counts=counts, **machine)
    warm_up(wanted.seed)
    try:
        chosen = run_trials(group, [("penalty",)], lambda _: penalty_for(counts, wanted), NAME)
        penalty = chosen["penalty",]["penalty"]
        timer = Timer(counts, wanted, penalty, n_threads)

        def compute(part: str, *size: int) -> dict[str, Any]:
            return {"timings": getattr(timer, part)(*size)}

        timed = run_trials(group, trials_of(wanted), compute, f"{corpus.name}: timing", "steps")
    except ValueError as error:
        raise UsageError(f"--counts: {corpus.name}: {error}: give more documents") from error
    rows = [
        {"part": part, **dict(zip(SYMBOLS, map(int, sizes), strict=True)), "seconds": seconds}
        for (part, *_), found in timed.items()
        for *sizes, seconds in found["timings"].tolist()
    ]
    about = {"corpus": corpus.name, "documents": counts.shape[0], "words": counts.shape[1]}
    about |= {"penalty": penalty, "penalty_is_published": chosen["penalty",]["is_published"]}
    about |= {"samples": wanted.n_samples, "temperatures": wanted.n_temperatures, **machine}
    return Found({"name": NAME, **about, "rows": rows, "powers": powers(rows)})


def trials_of(settings: ScalingSettings) -> list[tuple[Any, ...]]:
    """Return the part and the sizes of all trials."""
    return [
        *product(["regressions"], settings.documents, settings.words),
        *product(["matrices"], settings.matrix_words, settings.topics),
        *product(["annealing"], settings.annealing_words),
    ]


def documents_of(counts: Counts, n_docs: int, n_words: int, seed: int) -> Counts:
    """Return (n_docs, n_words): documents over the most frequent words; empty ones are left out.
    Each document comes once before any comes twice. Fewer documents are the first of more. Raises
    ValueError if no document has any of the words.
    """
    some = most_frequent_words(counts, n_words)
    filled_ones = np.flatnonzero(np.asarray(some.sum(axis=1)).ravel() > 0)
    if not len(filled_ones):
        raise ValueError(f"expected documents with some of {n_words:,} words, found none")
    rng = np.random.default_rng([seed, DRAWING])
    rounds = [rng.permutation(filled_ones) for _ in range(-(-n_docs // len(filled_ones)))]
    return sparse.csr_array(some[np.concatenate(rounds)[:n_docs]])


def penalty_for(counts: Counts, settings: ScalingSettings) -> dict[str, Any]:
    """Return λ of regressions and topic matrices, and whether it is the published one. If that
    gives almost no nonzeros of Φ over the most words, λ is one that gives about as many as wanted:
    it is interpolated between two penalties, linearly in logarithms.
    """
    wanted = settings.wanted_nonzeros
    documents = documents_of(counts, min(settings.documents), max(settings.words), settings.seed)
    if _nonzeros(fit_nodes(documents, PUBLISHED_PENALTY)) * 1000 >= wanted:
        return {"penalty": PUBLISHED_PENALTY, "is_published": True}
    fewer, larger = 0, math.nan
    for found in fit_path(documents, _halvings(largest_penalty(documents))):
        penalty, nonzeros = found.penalty, _nonzeros(found)
        if nonzeros >= wanted:
            break
        fewer, larger = nonzeros, penalty
    if fewer and nonzeros > wanted:
        share = np.log(wanted / fewer) / np.log(nonzeros / fewer)
        penalty = larger * (penalty / larger) ** share
    return {"penalty": float(penalty), "is_published": False}


@dataclass(frozen=True, eq=False)
class Timer:
    """Times each part of the figure, with the penalty λ."""

    counts: Counts
    settings: ScalingSettings
    penalty: float
    n_jobs: int | None = None

    def regressions(self, n_docs: int, n_words: int) -> list[Timing]:
        """Time p regressions of n documents."""
        documents = documents_of(self.counts, n_docs, n_words, self.settings.seed)
        fit = partial(fit_nodes, documents, self.penalty, n_jobs=self.n_jobs)
        found: list[Any] = []
        seconds = quickest(lambda: found.append(fit()))
        return [(n_docs, n_words, 0, _nonzeros(found[0]), seconds)]

    def matrices(self, n_words: int, n_topics: int) -> list[Timing]:
        """Time the topic matrices of each number of documents. Fields are of clusters of documents,
        and their partition functions roughly annealed.
        """
        settings, seed = self.settings, self.settings.seed
        common: dict[str, Any] = {"seed": seed, "n_jobs": self.n_jobs}
        documents = documents_of(self.counts, max(settings.matrix_documents), n_words, seed)
        some = documents[: settings.field_documents]
        random = int(np.random.default_rng([seed, CLUSTERING]).integers(2**32))
        labels = KMeans(n_topics, n_init=1, random_state=random).fit(some.astype(float)).labels_
        labels = filled(labels.astype(np.int64), np.zeros((some.shape[0], n_topics)))
        parts = [sparse.csr_array(some[labels == k]) for k in range(n_topics)]
        effort = FieldSettings(self.penalty, 1.5, 1e-4, "smc", n_samples=20, n_temperatures=20)
        fields = fit_fields(parts, int(documents.sum(axis=1).max()), effort, **common)
        model = LPMRFTopics.of_fields(fields.fields, fields.log_partition, np.ones(n_topics))
        nonzeros = sum(field.interactions.nnz for field in model.fields)
        assign = partial(map_assignment, model, n_jobs=self.n_jobs)
        return [
            (n, n_words, n_topics, nonzeros, quickest(partial(assign, documents[:n])))
            for n in settings.matrix_documents
        ]

    def annealing(self, n_words: int) -> list[Timing]:
        """Time annealing of fields over p words, for penalties that give more and more nonzeros.
        All have the lengths that documents have over the most words, so that only p and the
        nonzeros vary; as published, 50 of them from half to three times the mean.
        """
        settings, n_docs, seed = self.settings, self.settings.field_documents, self.settings.seed
        most_words = max(*settings.words, *settings.matrix_words, *settings.annealing_words)
        mean_length = float(documents_of(self.counts, n_docs, most_words, seed).sum()) / n_docs
        lengths = np.ceil(mean_length * np.linspace(0.5, 3.0, N_ENVELOPE)).astype(np.int64).tolist()
        effort: dict[str, Any] = {"n_samples": settings.n_samples, "n_jobs": self.n_jobs}
        effort |= {"n_temperatures": settings.n_temperatures, "seed": seed}
        documents = documents_of(self.counts, n_docs, n_words, seed)
        timings: list[Timing] = []
        penalties = _halvings(largest_penalty(documents))
        for regressions in fit_path(documents, penalties, n_jobs=self.n_jobs):
            field = regressions.field(1.5 * mean_length)
            nonzeros = int(field.interactions.nnz)
            if nonzeros < settings.n_nonzeros // 16 and regressions.penalty > min(penalties):
                continue
            seconds = quickest(partial(log_weights_at, field, lengths, **effort))
            timings.append((n_docs, n_words, 0, nonzeros, seconds))
            if nonzeros >= settings.n_nonzeros:
                break
        return timings


def quickest(work: Callable[[], object]) -> float:
    """Return the seconds of the quickest of some runs; the shorter they are, the more there are."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < MIN_SECONDS and len(seconds) < MAX_RUNS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def warm_up(seed: int) -> None:
    """Run all timers on a few counts, so that no seconds are those of the compiler."""
    counts = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (12, 4)))
    few = {"n_nonzeros": 1, "field_documents": 12, "n_samples": 2, "n_temperatures": 2}
    small = ScalingSettings((12,), (4,), (12,), (4,), (2,), (4,), **few, seed=seed)
    timer = Timer(counts, small, 0.01)
    for part, *size in trials_of(small):
        getattr(timer, part)(*size)


def _halvings(largest: float) -> list[float]:
    """Return penalties from a half of `largest` down to where all pairs of words depend."""
    return [largest * 0.5**n for n in range(1, 15)]


def _nonzeros(regressions: node_regressions.NodeRegressions) -> int:
    """Return the nonzeros of Φ; each pair of words counts twice."""
    return int(regressions.field().interactions.nnz)


def powers(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the exponents of the sizes of each part: seconds ∝ ∏ size^exponent, least squares.
    Sizes that do not vary have no exponent. Of sizes that vary together, the smallest exponents
    that fit are taken. Standard errors are None if there are no more rows than exponents.
    """
    found = []
    for part, timings in grouped(rows, "part").items():
        varied = [size for size in PUBLISHED[part] if len({row[size] for row in timings}) > 1]
        seconds = np.log([row["seconds"] for row in timings])
        logs = [np.log([row[size] for row in timings]) for size in varied]
        table = np.column_stack([np.ones(len(timings)), *logs])
        exponents, _, rank, _ = np.linalg.lstsq(table, seconds, rcond=None)
        free = len(timings) - int(rank)
        variance = ((seconds - table @ exponents) ** 2).sum() / free if free > 0 else np.nan
        errors = np.sqrt(variance * np.diag(np.linalg.pinv(table.T @ table)))
        columns = {"exponent": exponents[1:], "standard_error": errors[1:]}
        found += rows_of(part=[part] * len(varied), of=varied, **columns)
    return found


def _findings(result: Any) -> Findings:
    powers_of = grouped(result["powers"], "part")
    for part, (name, claim) in CLAIMS.items():
        ours, too_large = [], []
        for each in powers_of.get(part, ()):
            exponent, size = each["exponent"], SYMBOLS[each["of"]]
            ours.append(f"{exponent:.2f} ± {number(each['standard_error']):.2f} of {size}")
            if exponent > PUBLISHED[part][each["of"]] + TOLERANCE:
                too_large.append(size)
        yield Finding(name, f"{claim}: exponents {', '.join(ours)}", too_large, LINEAR)


def _tables(result: Any) -> list[Table]:
    why = "as published" if result["penalty_is_published"] else "as 1 gives next to no nonzeros"
    exponents = Table(
        "Exponents of seconds",
        (
            Column("part", "part"),
            Column("of", lambda each: SYMBOLS[each["of"]]),
            Column("ours", "exponent", ".2f", "standard_error"),
            Column("published", lambda each: PUBLISHED[each["part"]][each["of"]]),
        ),
        result["powers"],
        f"{result['corpus']}: {result['documents']:,} documents, {result['words']:,} words; "
        f"{result['threads']} threads on {result['cores']} cores. λ = {result['penalty']:.4g} of "
        f"regressions and topic matrices, {why}; annealing: 50 lengths, {result['samples']} "
        f"samples, {result['temperatures']} temperatures.",
        headings=2,
    )
    seconds = []
    for part, rows in grouped(result["rows"], "part").items():
        sizes = [size for size in SYMBOLS if any(row[size] for row in rows)]
        columns = (Column(SYMBOLS[size], size, ",") for size in sizes)
        shown = (*columns, Column("seconds", "seconds", ".3f"))
        seconds.append(Table(TITLES[part], shown, rows, headings=len(sizes)))
    return [exponents, *seconds]


def _headline(result: Any) -> Headline:
    powers_of = grouped(result["powers"], "part").get("regressions", ())
    ours = (f"{SYMBOLS[each['of']]}^{text(each['exponent'], '.2f')}" for each in powers_of)
    return Headline("growth of the seconds of regressions", " ".join(ours), "n^1 p^1, at most")


def _draw(figure: Any, result: Any, _: Any) -> None:
    figure.set_size_inches(12, 4.5)
    sides = ("n_words", "n_docs"), ("n_topics", "n_words", "n_docs"), ("nonzeros", "n_words")
    panels, parts = figure.subplots(1, len(TITLES)), grouped(result["rows"], "part")
    for axes, part, (x, *others) in zip(panels, TITLES, sides, strict=True):
        for line in grouped(parts[part], *others).values():
            label = ", ".join(f"{SYMBOLS[size]} = {line[0][size]:,}" for size in others)
            axes.loglog([row[x] for row in line], [row["seconds"] for row in line], label=label)
        axes.tick_params(axis="x", which="minor", labelbottom=False)  # they would overlap
        if x != "nonzeros":
            marked = sorted({row[x] for row in parts[part]})
            axes.set_xticks(marked, [f"{size:,}" for size in marked])
        axes.set(title=TITLES[part], xlabel=SYMBOLS[x])
        axes.legend(fontsize="small")
    panels[0].set_ylabel("seconds")


EXPERIMENT = Experiment(
    NAME,
    "Figure 4",
    "How the seconds of fitting grow with documents, words, topics and nonzeros.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "Figure 4: seconds against sizes, both logarithmic", _draw),),
    data=lambda result: data_note(ANY_WIKIPEDIA, result["corpus"]),
)
