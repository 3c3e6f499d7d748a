"""The league's page: tables of figures, and correlations of measures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from benchmarks.lda_trainers.table import markdown
from benchmarks.league.cells import Cell, loaded
from benchmarks.league.trainers import TRAINERS
from evaluation.figure import Figure, holm, mean_over_seeds
from evaluation.topics.agreement import model_agreement
from models import load_model
from models.described.topics import DescribedTopics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Rows = dict[str, dict[str, Figure]]
LOWER = "nats a word"
STABILITY = {"cosine": "cosine", "rank_biased_overlap": "rbo", "share": "found again"}
NO_ERROR = frozenset({"c_npmi"})
"""Measures whose intervals miss the truth in so few documents: no ±, and nobody is told apart."""
LEVEL, DRAWS = 0.05, 2000
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

trains and scores on the same documents, and makes this page of what is in `DIR`: the part of the
league that was run, of {n_cells:,} models.

{sizes}

Without options the first command runs all of it: also 25,000 Wikipedia
articles and 20,000 recombined ones, each K and five seeds. It can be given again, in parts;
what is there stays. It needs `pip install 'wikitopics[peers]'` and the reference corpora.

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


def page(output: Path) -> str:
    """Return the page of all cells in a folder, as Markdown."""
    tables = {key: rows for key, rows in of_all(output) if len(rows) > 1}
    parts = []
    for (corpus, n_topics), rows in tables.items():
        seeds, seconds = _about(output, corpus, n_topics)
        parts.append(f"### {corpus}, K = {n_topics}\n\n{seeds}\n\n{_table(rows, seconds)}\n")
    correlations = _correlations(tables)
    foot = FOOT.format(draws=DRAWS, min_trainers=MIN_TRAINERS)
    return "\n".join(
        [
            _head(output),
            "## Figures\n",
            *parts,
            f"## Do measures agree?\n\n{foot}\n{correlations}\n",
        ]
    )


def _head(output: Path) -> str:
    """Return what was run: the command, and sizes, numbers of topics and seeds of each corpus."""
    contents: dict[str, list[dict[str, object]]] = {}
    for path in sorted(output.glob("*/*/*.json")):
        contents.setdefault(path.parent.parent.name, []).append(json.loads(path.read_text()))
    everything = [each for some in contents.values() for each in some]
    topics, seeds = (_values(everything, name, " ") for name in ("n_topics", "seed"))
    command = (
        f"python -m benchmarks.league --output DIR --corpora {' '.join(contents)} "
        f"--topics {topics} --seeds {seeds}"
    )
    names = ("training_documents", "training_tokens", "words", "documents", "n_topics", "seed")
    rows = [
        [corpus, *(_values(some, name, ", ") for name in names)]
        for corpus, some in contents.items()
    ]
    head = ["corpus", "training documents", "tokens", "words", "held-out documents", "K", "seeds"]
    sizes = markdown([head, *rows])
    return HEAD.format(command=command, n_cells=len(everything), sizes=sizes)


def _values(contents: Sequence[dict[str, object]], name: str, separator: str) -> str:
    """Return the different values of an entry; of cells that do not have it a dash."""
    found = sorted({int(str(each[name])) for each in contents if name in each})
    return separator.join(f"{value:,}" for value in found) or "–"


def of_all(output: Path) -> Iterator[tuple[tuple[str, int], Rows]]:
    """Yield corpus and K, and the figures of each trainer there."""
    for folder in sorted(output.glob("*/*/"), key=lambda each: (each.parent.name, int(each.name))):
        rows = {}
        for trainer in TRAINERS:
            cells = _cells(folder, trainer)
            if cells:
                rows[trainer] = _of_trainer(output, cells, [_content(folder, c) for c in cells])
        yield (folder.parent.name, int(folder.name)), rows


def _cells(folder: Path, trainer: str) -> list[Cell]:
    names = sorted(folder.glob(f"{trainer}-*.json"), key=lambda each: int(each.stem.split("-")[-1]))
    corpus, n_topics = folder.parent.name, int(folder.name)
    return [Cell(corpus, n_topics, trainer, int(each.stem.split("-")[-1])) for each in names]


def _content(folder: Path, cell: Cell) -> dict[str, object]:
    text = (folder / f"{cell.trainer}-{cell.seed}.json").read_text()
    content: dict[str, object] = json.loads(text)
    return content


def _of_trainer(
    output: Path, cells: Sequence[Cell], contents: Sequence[dict[str, object]]
) -> dict[str, Figure]:
    figures = [loaded(each) for each in contents]
    mean = {name: mean_over_seeds([each[name] for each in figures]) for name in figures[0]}
    if len(cells) > 1:
        models = [DescribedTopics.of(load_model(each.model(output))) for each in cells]
        among = model_agreement(models)
        mean |= {shown: getattr(among, name) for name, shown in STABILITY.items()}
    return mean


def _about(output: Path, corpus: str, n_topics: int) -> tuple[str, dict[str, float]]:
    """Return a sentence on seeds and documents, and the mean CPU seconds of each trainer."""
    folder = output / corpus / str(n_topics)
    seconds, seeds, n_docs = {}, set(), 0
    for trainer in TRAINERS:
        contents = [_content(folder, each) for each in _cells(folder, trainer)]
        if contents:
            seconds[trainer] = float(np.mean([float(str(c["cpu_seconds"])) for c in contents]))
            seeds.add(tuple(int(str(each["seed"])) for each in contents))
            n_docs = int(str(contents[0]["documents"]))
    named = " or ".join(", ".join(map(str, each)) for each in sorted(seeds))
    return f"Seeds {named}; {n_docs:,} held-out documents.", seconds


def _table(rows: Rows, seconds: dict[str, float]) -> str:
    measures = [m for m in ORDER if any(m in row for row in rows.values())]
    best = {m: set() if m in NO_ERROR else _best(rows, m) for m in measures}
    head = ["trainer", *measures, "CPU s"]
    body = []
    for trainer, row in rows.items():
        cells = []
        for measure in measures:
            figure = row.get(measure)
            if figure is None or not figure.is_known:
                cells.append("–")
                continue
            mark = "**" if trainer in best[measure] else ""
            error = figure.standard_error
            has_error = np.isfinite(error) and measure not in NO_ERROR
            spread = f" ± {error:.3f}" if has_error else ""
            cells.append(f"{mark}{figure.value:.3f}{mark}{spread}")
        body.append([trainer, *cells, f"{seconds[trainer]:.0f}"])
    return markdown([head, *body])


def _best(rows: Rows, measure: str) -> set[str]:
    """Return the best trainer and those not told apart from it, by Holm's method at 5 %; none where
    the best has no error.
    """
    known = {t: r[measure] for t, r in rows.items() if measure in r and r[measure].is_known}
    if not known:
        return set()
    sign = -1 if measure == LOWER else 1
    first = max(known, key=lambda t: sign * known[t].value)
    has_error = {trainer for trainer in known if np.isfinite(known[trainer].standard_error)}
    if first not in has_error:
        return set()
    others = sorted(has_error - {first})
    worse = holm([known[first].minus(known[each]).p_value for each in others], LEVEL)
    return {first, *(each for each, is_worse in zip(others, worse, strict=True) if not is_worse)}


def _correlations(tables: dict[tuple[str, int], Rows]) -> str:
    """Return a table of mean rank correlations with the likelihood, with intervals."""
    measures = [m for m in ORDER if m != LOWER]
    everyone = {trainer for rows in tables.values() for trainer in rows}
    body = []
    for measure in measures:
        groups = [
            {
                trainer: (-row[LOWER].value, row[measure].value)
                for trainer, row in rows.items()
                if measure in row and row[measure].is_known
            }
            for rows in tables.values()
        ]
        groups = [each for each in groups if set(each) == everyone]
        if not groups or len(everyone) < 3:
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
