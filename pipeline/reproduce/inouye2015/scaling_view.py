"""Figure 4 of Inouye et al. 2015: what fitting takes, and how that grows."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.worker_pool import available_cores
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019.rank_scores_view import print_findings
from pipeline.reproduce.counts import Named, corpora_of
from pipeline.reproduce.inouye2015.scaling import (
    PARTS,
    Scaling,
    ScalingSettings,
    Timing,
    penalty_for,
    steps,
    warm_up,
)
from pipeline.reproduce.panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.inouye2015.scaling import Power
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "lpmrf-scaling"
MOST_WORDS = {"quick": 2_000, "full": 10_000}
FULL_SHARES, QUICK_SHARES = (0.1, 0.2, 0.5, 1.0), (0.25, 0.5, 1.0)
"""Numbers of words, of the most."""
QUICK: dict[str, Any] = {
    "documents": (1_000, 2_000, 4_000),
    "matrix_documents": (1_000, 2_000, 4_000),
    "topics": (3, 5, 10),
    "n_nonzeros": 40_000,
    "field_documents": 2_000,
    "n_samples": 20,
    "n_temperatures": 50,
}
SLACK = 0.2
"""An exponent may be so much above what it should be."""
TITLES = {
    "regressions": "p regressions of n documents",
    "matrices": "topic matrices of n documents",
    "annealing": "annealing",
}
SYMBOLS = {"n_docs": "n", "n_words": "p", "n_topics": "k", "nonzeros": "nonzeros"}


def protocol(settings: ReproduceSettings, n_words: int) -> ScalingSettings:
    """What the scale stands for, for a corpus of so many words.

    Raises
    ------
    UsageError
        If they are too few.
    """
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


def run(settings: ReproduceSettings, cache: ResultCache) -> tuple[Named, int, Scaling]:
    """All parts; what was timed before is taken as it is.

    Returns the corpus, the threads and what was found.
    """
    corpora = corpora_of(settings)
    if len(corpora) > 1:
        raise UsageError(f"--counts: {NAME} is of one file, found {len(corpora)}")
    (corpus,) = corpora
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
    return corpus, n_threads, Scaling(wanted, penalty, bool(found["is_published"]), tuple(timings))


def _measured(measure: Callable[[], list[Timing]]) -> dict[str, NDArray[Any]]:
    """The times of one step, by field."""
    timings = measure()
    return {name: np.array([getattr(each, name) for each in timings]) for name in Timing._fields}


def _timings(columns: dict[str, NDArray[Any]]) -> list[Timing]:
    rows = zip(*(columns[name].tolist() for name in Timing._fields), strict=True)
    return [Timing(*row) for row in rows]


def as_json(found: tuple[Named, int, Scaling]) -> dict[str, Any]:
    """A row for each time, the powers of sizes that fit them, and what the paper says of these."""
    corpus, n_threads, scaling = found
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
                "standard_error": finite(power.standard_error),
            }
            for part in PARTS
            for name, power in scaling.powers[part].items()
        ],
        "findings": _findings(scaling),
    }


def _findings(scaling: Scaling) -> list[dict[str, Any]]:
    """What the paper says of the exponents, and which of ours are above, or not that."""
    of = scaling.powers
    return [
        {
            "claim": f"regressions take no more than n p: exponents {_all(of['regressions'])}",
            "fails_at": _above(of["regressions"], {"n_docs": 1.0, "n_words": 1.0}),
        },
        {
            "claim": f"topic matrices take no more than n p k²: exponents {_all(of['matrices'])}",
            "fails_at": _above(of["matrices"], {"n_docs": 1.0, "n_words": 1.0, "n_topics": 2.0}),
        },
        {
            "claim": f"annealing takes no more than linear time in the nonzeros of Φ, irrespective "
            f"of p: exponents {_all(of['annealing'])}",
            "fails_at": _above(of["annealing"], {"nonzeros": 1.0, "n_words": 0.0}),
        },
    ]


def _above(powers: dict[str, Power], most: dict[str, float]) -> list[str]:
    """The sizes whose exponents are above what they may be."""
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


def print_result(result: dict[str, Any]) -> None:
    """A table for each part, then what should hold."""
    why = "as published" if result["penalty_is_published"] else "as 1 gives next to no nonzeros"
    print(
        f"{result['corpus']}: {result['documents']:,} documents, {result['words']:,} words; "
        f"seconds with {result['threads']} threads on {result['cores']} cores\n"
        f"λ = {result['penalty']:.4g} of regressions and topic matrices, {why}; annealing: 50 "
        f"lengths, {result['samples']} samples, {result['temperatures']} temperatures"
    )
    for part, title in TITLES.items():
        rows = [row for row in result["rows"] if row["part"] == part]
        names = [name for name in SYMBOLS if any(row[name] for row in rows)]
        print(f"\n{title}")
        print("".join(f"{SYMBOLS[name]:>10s}" for name in names) + f"{'seconds':>12s}")
        for row in rows:
            print("".join(f"{row[name]:10,d}" for name in names) + f"{row['seconds']:12.3f}")
    print_findings(result["findings"])


def pictures(found: tuple[Named, int, Scaling]) -> dict[str, Callable[[Any], None]]:
    """Figure 4, its three panels; both axes of each are logarithmic."""
    _, _, scaling = found

    def draw(figure: Any) -> None:
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

    return {NAME: draw}


def _key(timing: Timing, names: list[str]) -> tuple[int, ...]:
    return tuple(getattr(timing, name) for name in names)
