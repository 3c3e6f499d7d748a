"""Figure 4 of Inouye et al. 2015: growth of the time of fitting."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.worker_pool import available_cores
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.reproduce.claims import finding
from pipeline.reproduce.counts import Named, one_corpus
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, plain
from pipeline.reproduce.inouye2015.published import ANY_WIKIPEDIA
from pipeline.reproduce.inouye2015.scaling import (
    PARTS,
    Scaling,
    ScalingSettings,
    Timing,
    penalty_for,
    steps,
    warm_up,
)
from pipeline.reproduce.tables import Column, Headline, Table, grouped, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.inouye2015.scaling import Power
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "lpmrf-scaling"
MOST_WORDS = {"quick": 2_000, "full": 10_000}
FULL_SHARES, QUICK_SHARES = (0.1, 0.2, 0.5, 1.0), (0.25, 0.5, 1.0)
"""Shares of the largest number of words."""
QUICK: dict[str, Any] = {
    "documents": (1_000, 2_000, 4_000),
    "matrix_documents": (1_000, 2_000, 4_000),
    "topics": (3, 5, 10),
    "n_nonzeros": 40_000,
    "field_documents": 2_000,
    "n_samples": 20,
    "n_temperatures": 50,
}
LINEAR = "Regressions take time linear in documents and words, annealing in the nonzeros."
SLACK = 0.2
"""Tolerance of exponents."""


def protocol(settings: ReproduceSettings, n_words: int) -> ScalingSettings:
    """Return the protocol of a scale; raises UsageError if there are too few words."""
    is_full = settings.scale == "full"
    most = min(MOST_WORDS[settings.scale], n_words)
    shares = FULL_SHARES if is_full else QUICK_SHARES
    words = tuple(round(share * most) for share in shares)
    if min(words) < 2:
        raise UsageError(f"--counts: {NAME} takes {math.ceil(2 / shares[0])} words at least")
    scale = {} if is_full else QUICK
    annealed = tuple(words[i] for i in (0, -2, -1))
    sizes = {"words": words, "matrix_words": words[-2:], "annealing_words": annealed}
    return ScalingSettings(**(scale | sizes), seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Time all parts; cached times are taken as they are."""
    corpus = one_corpus(settings)
    counts = corpus.counts
    wanted = protocol(settings, counts.shape[1])
    n_threads = effective_n_jobs(settings.threads)
    group = cache.group(
        f"experiment-{NAME}",
        settings=wanted,
        threads=n_threads,
        cores=available_cores(),
        counts=counts,
    )

    def chosen() -> dict[str, Any]:
        try:
            return dict(zip(("penalty", "is_published"), penalty_for(counts, wanted), strict=True))
        except ValueError as error:
            raise UsageError(f"{corpus.name}: {error}") from error

    warm_up(wanted)
    found = group.arrays("penalty", ("penalty", "is_published"), chosen)
    penalty = float(found["penalty"])
    timings: list[Timing] = []
    todo = list(steps(counts, wanted, penalty, n_threads))
    with Progress(f"{corpus.name}: timing", len(todo), "steps") as progress:
        for name, measure in todo:
            progress.update(0, name)
            compute = partial(_measured, measure)
            timings += _timings(group.arrays(f"step {name}", Timing._fields, compute))
            progress.update(1)
    scaling = Scaling(wanted, penalty, bool(found["is_published"]), tuple(timings))
    return Found(as_json(corpus, n_threads, scaling), scaling)


def _measured(measure: Callable[[], list[Timing]]) -> dict[str, NDArray[Any]]:
    """The times of one step, by field."""
    timings = measure()
    return {name: np.array([getattr(each, name) for each in timings]) for name in Timing._fields}


def _timings(columns: dict[str, NDArray[Any]]) -> list[Timing]:
    rows = zip(*(columns[name].tolist() for name in Timing._fields), strict=True)
    return [Timing(*row) for row in rows]


def as_json(corpus: Named, n_threads: int, scaling: Scaling) -> dict[str, Any]:
    """Return a row for each time, and the powers of sizes that fit them."""
    return {
        "name": NAME,
        "corpus": corpus.name,
        "documents": corpus.counts.shape[0],
        "words": corpus.counts.shape[1],
        "cores": available_cores(),
        "threads": n_threads,
        "penalty": scaling.penalty,
        "penalty_is_published": scaling.is_published,
        "samples": scaling.settings.n_samples,
        "temperatures": scaling.settings.n_temperatures,
        "rows": [each._asdict() for each in scaling.timings],
        "powers": [
            {
                "part": part,
                "of": name,
                "exponent": power.exponent,
                "standard_error": plain(power.standard_error),
            }
            for part in PARTS
            for name, power in scaling.powers[part].items()
        ],
    }


def _findings(scaling: Scaling) -> list[Finding]:
    """Compare the exponents with those of the paper."""
    of = scaling.powers
    return [
        finding(
            "regressions-linear",
            f"regressions take no more than n p: exponents {_all(of['regressions'])}",
            _above(of["regressions"], {"n_docs": 1.0, "n_words": 1.0}),
            LINEAR,
        ),
        finding(
            "matrices-time",
            f"topic matrices take no more than n p k²: exponents {_all(of['matrices'])}",
            _above(of["matrices"], {"n_docs": 1.0, "n_words": 1.0, "n_topics": 2.0}),
            LINEAR,
        ),
        finding(
            "annealing-linear",
            f"annealing takes no more than linear time in the nonzeros of Φ, irrespective "
            f"of p: exponents {_all(of['annealing'])}",
            _above(of["annealing"], {"nonzeros": 1.0, "n_words": 0.0}),
            LINEAR,
        ),
    ]


def _above(powers: dict[str, Power], most: dict[str, float]) -> list[str]:
    """Return the sizes whose exponents are too large."""
    return [
        SYMBOLS[name]
        for name, limit in most.items()
        if name in powers and powers[name].exponent > limit + SLACK
    ]


def _all(powers: dict[str, Power]) -> str:
    return ", ".join(
        f"{power.exponent:.2f} ± {power.standard_error:.2f} of {SYMBOLS[name]}"
        for name, power in powers.items()
    )


def _key(timing: Timing, names: list[str]) -> tuple[int, ...]:
    return tuple(getattr(timing, name) for name in names)


SYMBOLS = {"n_docs": "n", "n_words": "p", "n_topics": "k", "nonzeros": "nonzeros of Φ"}
TITLES = {
    "regressions": "Seconds of p regressions of n documents",
    "matrices": "Seconds of topic matrices of n documents",
    "annealing": "Seconds of annealing",
}
PUBLISHED = {
    ("regressions", "n_docs"): "1",
    ("regressions", "n_words"): "1",
    ("matrices", "n_docs"): "1",
    ("matrices", "n_words"): "1",
    ("matrices", "n_topics"): "2",
    ("annealing", "nonzeros"): "1",
    ("annealing", "n_words"): "0",
}


def tables(result: Any) -> list[Table]:
    """Return exponents, and the seconds that they are fitted to."""
    why = "as published" if result["penalty_is_published"] else "as 1 gives next to no nonzeros"
    exponents = Table(
        "Exponents of seconds",
        (
            Column("part", "part"),
            Column("of", lambda each: SYMBOLS[each["of"]]),
            Column("ours", "exponent", ".2f", "standard_error"),
            Column("published", lambda each: PUBLISHED.get((each["part"], each["of"]))),
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
        names = [name for name in SYMBOLS if any(row[name] for row in rows)]
        columns = (
            *(Column(SYMBOLS[name], name, ",") for name in names),
            Column("seconds", "seconds", ".3f"),
        )
        seconds.append(Table(TITLES[part], columns, rows, headings=len(names)))
    return [exponents, *seconds]


def headline(result: Any) -> Headline:
    """Return the growth of the regressions."""
    ours = [
        f"{SYMBOLS[each['of']]}^{text(each['exponent'], '.2f')}"
        for each in result["powers"]
        if each["part"] == "regressions"
    ]
    return Headline("growth of the seconds of regressions", " ".join(ours), "n^1 p^1, at most")


def _draw(figure: Any, _: Any, scaling: Scaling) -> None:
    figure.set_size_inches(12, 4.5)
    sides = ("n_words", "n_docs"), ("n_topics", "n_words", "n_docs"), ("nonzeros", "n_words")
    panels = figure.subplots(1, len(PARTS))
    for axes, part, (x, *others) in zip(panels, PARTS, sides, strict=True):
        for line in dict.fromkeys(_key(each, others) for each in scaling.of(part)):
            points = [each for each in scaling.of(part) if _key(each, others) == line]
            named = zip(others, line, strict=True)
            axes.loglog(
                [getattr(each, x) for each in points],
                [each.seconds for each in points],
                label=", ".join(f"{SYMBOLS[name]} = {size:,}" for name, size in named),
            )
        axes.tick_params(axis="x", which="minor", labelbottom=False)  # they would overlap
        marked = sorted({getattr(each, x) for each in scaling.of(part)})
        if x != "nonzeros":
            axes.set_xticks(marked, [f"{size:,}" for size in marked])
        axes.set_title(TITLES[part])
        axes.set_xlabel(SYMBOLS[x])
        axes.legend(fontsize="small")
    panels[0].set_ylabel("seconds")


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 4",
    shows="How the seconds of fitting grow with documents, words, topics and nonzeros.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=(Figure("", "Figure 4: seconds against sizes, both logarithmic", _draw),),
    data=lambda result: data_note(ANY_WIKIPEDIA, result["corpus"]),
)
