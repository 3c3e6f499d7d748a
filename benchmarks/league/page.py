"""The league's page: tables of figures, and correlations of measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from benchmarks.lda_trainers.table import markdown
from benchmarks.league.cells import SIZES
from benchmarks.league.tables import LOWER, STABILITY
from benchmarks.league.trainers import TRAINERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.league.tables import Entry, Table

DRAWS = 2000
MIN_TRAINERS = 8
"""Trainers of a table below which correlations have no interval: of five simulated ones, intervals
by draws with replacement had the truth in 63 to 95 %, of eight in 93 to 97 %."""
ORDER = (
    *(LOWER, "c_npmi", "diversity", "exclusivity", *STABILITY.values()),
    *("purity", "nmi", "ari", "homogeneity", "accuracy"),
)


HEAD = """# A league of topic models

    {command}
    python -m benchmarks.league --output DIR --show docs/league.md

trains and scores on the same documents, and makes this page, of {n_models:,} models. The second
command stores each table of `DIR` in `docs/league/`, unless one of more models is there, and makes
the page of what is stored.

{sizes}

Without options the first command runs all of it: 4 corpora, 3 numbers of topics and 5 seeds for 8
trainers. It can be given again, in parts; what is there stays. It needs
`pip install 'wikitopics[peers]'` and the reference corpora.

Trainers have the usual settings of their libraries: samplers make 200 sweeps, variational trainers
20 passes, GaP its default. tomotopy begins with alpha 0.1 and eta 0.01, gensim learns both, and
nothing was tuned. So this compares what a user gets, not algorithms. Seconds are of one
processor, with others at work on it.

Figures are means over seeds, on held-out documents that no trainer saw ([what they
are](guides/evaluate.md#all-measures-in-one-table)): ± is a standard error over documents and
seeds, of `diversity` and `exclusivity` over topics and seeds, of `cosine`, `rbo` and `found
again` over seeds, for which models of the same trainer are compared. The best of a column is
bold, and with it all that are not told apart from it at the level of 5 % (Welch's t, Holm's
correction). With few seeds figures that depend much on the seed are told apart from little:
bold is then no praise.

`c_npmi` has neither a ± nor a bold figure. Where pairs of top words are rare, coherence in so few
documents is too low, by more than any error over documents says ([of ten words in 300 documents few
have an error](benchmarks.md#intervals-of-all-measures)): this column tells no trainer apart. Where
the best figure of a column has no ±, nothing is bold: `nmi` and `homogeneity` have none if
documents are few, `cosine` and `rbo` none of two seeds, and `found again` none of fewer than five.
"""
FOOT = """\
Spearman's rank correlation of each measure with the likelihood over the trainers of a table, mean
over tables that are complete; +1: the more probable held-out documents, the higher the measure.
Intervals are from {draws:,} draws of trainers with replacement, the same for all tables: for other
trainers like these; of fewer than {min_trainers} there is none. Eight are few: an interval that has
0 says that the order of the two may be unrelated.
"""


def page(tables: Sequence[Table]) -> str:
    """Return the page of tables of two trainers or more, as Markdown."""
    tables = [table for table in tables if len(table.rows) > 1]
    foot = FOOT.format(draws=DRAWS, min_trainers=MIN_TRAINERS)
    return "\n".join(
        [
            _head(tables),
            "## Figures\n",
            *(f"{_section(table)}\n" for table in tables),
            f"## Do measures agree?\n\n{foot}\n{_correlations(tables)}\n",
        ]
    )


def _head(tables: Sequence[Table]) -> str:
    """Return what was run: the command, and sizes, numbers of topics and seeds of each corpus."""
    by_corpus: dict[str, list[Table]] = {}
    for table in tables:
        by_corpus.setdefault(table.corpus, []).append(table)
    command = (
        f"python -m benchmarks.league --output DIR --corpora {' '.join(by_corpus)} "
        f"--topics {_topics(tables, ' ')} --seeds {_seeds(tables, ' ')}"
    )
    rows = [
        [
            corpus,
            *(
                " or ".join(f"{n:,}" for n in sorted({t.sizes[name] for t in some}))
                for name in SIZES
            ),
            _topics(some, ", "),
            _seeds(some, ", "),
        ]
        for corpus, some in by_corpus.items()
    ]
    head = ["corpus", "training documents", "tokens", "words", "held-out documents", "K", "seeds"]
    n_models = sum(table.n_models for table in tables)
    return HEAD.format(command=command, n_models=n_models, sizes=markdown([head, *rows]))


def _topics(tables: Sequence[Table], separator: str) -> str:
    return separator.join(map(str, sorted({table.n_topics for table in tables})))


def _seeds(tables: Sequence[Table], separator: str) -> str:
    return separator.join(map(str, sorted({seed for table in tables for seed in table.seeds})))


def _section(table: Table) -> str:
    """Return the heading, a sentence on seeds and documents, and the figures."""
    measures = [m for m in ORDER if any(m in row.entries for row in table.rows.values())]
    body = [
        [trainer, *(_shown(row.entries.get(m)) for m in measures), f"{row.seconds:.0f}"]
        for trainer, row in table.rows.items()
    ]
    seeds = " or ".join(
        ", ".join(map(str, s)) for s in sorted({r.seeds for r in table.rows.values()})
    )
    note = f" {table.note}" if table.note else ""
    return (
        f"### {table.corpus}, K = {table.n_topics}\n\n"
        f"Seeds {seeds}; {table.sizes['documents']:,} held-out documents.{note}\n\n"
        f"{markdown([['trainer', *measures, 'CPU s'], *body])}"
    )


def _shown(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    mark = "**" if entry.is_best else ""
    spread = "" if entry.error is None else f" ± {entry.error:.3f}"
    return f"{mark}{entry.value:.3f}{mark}{spread}"


def _correlations(tables: Sequence[Table]) -> str:
    """Return a table of mean rank correlations with the likelihood, with intervals."""
    everyone = {trainer for table in tables for trainer in table.rows}
    body = []
    for measure in ORDER:
        groups = [
            {
                trainer: (-row.entries[LOWER].value, row.entries[measure].value)
                for trainer, row in table.rows.items()
                if measure in row.entries
            }
            for table in tables
        ]
        groups = [each for each in groups if set(each) == everyone]
        if measure == LOWER or not groups or len(everyone) < 3:
            continue
        value = _mean_correlation(groups, list(TRAINERS))
        body.append([measure, f"{len(groups)}", f"{value:+.2f}", _interval(groups)])
    return markdown([["measure", "tables", "rank correlation", "95 % interval"], *body])


def _interval(groups: Sequence[dict[str, tuple[float, float]]]) -> str:
    """Return the interval by draws of trainers; a dash for too few, or if none varies."""
    if min(map(len, groups)) < MIN_TRAINERS:
        return "–"
    rng = np.random.default_rng(0)
    drawn = [
        _mean_correlation(groups, rng.choice(list(TRAINERS), len(TRAINERS)).tolist())
        for _ in range(DRAWS)
    ]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    if np.isclose(low, high):
        return "–"
    return f"{low:+.2f} to {high:+.2f}"


def _mean_correlation(
    groups: Sequence[dict[str, tuple[float, float]]], trainers: Sequence[str]
) -> float:
    """Return the mean over tables of Spearman's ρ over trainers, some of them repeated."""
    found = []
    for group in groups:
        pairs = np.array([group[t] for t in trainers if t in group])
        if len(pairs) > 2 and (np.ptp(pairs, axis=0) > 0).all():
            found.append(float(stats.spearmanr(pairs[:, 0], pairs[:, 1])[0]))
    return float(np.mean(found)) if found else float("nan")
