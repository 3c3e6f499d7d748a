"""Log marginals of allocation models over their rank, by SMC and VB, at strengths of the prior.

What Figures 12 and 15 of Cemgil et al. 2019 have in common: trials by graph, method, a and rank,
and rows, claims, tables and figures of their scores.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import INK, series_style
from pipeline.reproduce.cemgil2019.scores import BY_PARTICLES, NAMES, SCORING, WITH_MOVES, in_words
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import number, plain
from pipeline.reproduce.tables import Table, grouped, indexed, text, text_table
from pipeline.reproduce.trials import run_trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pipeline.cache.results import ResultGroup
    from pipeline.reproduce.claims import Finding

LINES = {"smc": ":", WITH_MOVES: "-", "vb": "--"}
ROUNDING = 1e-6
"""Nats: what is below VB's bound by less is not."""


def score_rows(
    group: ResultGroup,
    graphs: Sequence[str],
    levels: tuple[Sequence[float], Sequence[int]],
    compute: Callable[..., Mapping[str, Any]],
    stage: str,
) -> dict[str, list[dict[str, Any]]]:
    """Return a row for each strength, graph, method and rank, and the best ranks.

    `levels` are strengths and ranks; `compute` takes graph, method, a and rank. Small ranks come
    first, so that something can be seen of all curves early.
    """
    strengths, ranks = levels
    keys = [(g, m, a, r) for r, a, g, m in product(sorted(ranks), strengths, graphs, SCORING)]
    scores = run_trials(group, keys, compute, stage)
    rows, best = [], []
    for a, graph, method in product(strengths, graphs, SCORING):
        named = {"a": a, "graph": graph, "method": method}
        found = [scores[graph, method, a, rank] for rank in ranks]
        for rank, each in zip(ranks, found, strict=True):
            sizes = each.get("path/effective_sample_size")
            rows.append(
                plain(
                    {
                        **named,
                        "direction": each["direction"],
                        "rank": rank,
                        "log_marginal": each["log_marginal"],
                        "standard_error": each["standard_error"],
                        "lowest_repeat": _ends(each)[0],
                        "highest_repeat": _ends(each)[1],
                        "smallest_effective_sample_size": None
                        if sizes is None
                        else sizes.min(axis=1).mean(),
                        "seconds": each["seconds"],
                    }
                )
            )
        top = int(np.argmax([each["log_marginal"] for each in found]))
        score = plain(found[top]["log_marginal"])
        best.append({**named, "rank": ranks[top], "log_marginal": score})
    return {"rows": rows, "best": best}


def _ends(score: Any) -> tuple[Any, Any]:
    """Return the lowest and the highest repeat; of VB the bound itself, twice."""
    if score["method"] == "vb":
        return score["log_marginal"], score["log_marginal"]
    return score["repeats"].min(), score["repeats"].max()


class Curves:
    """Scores of a result over ranks, −∞ where there is none."""

    def __init__(self, result: Any) -> None:
        self.curves = grouped(result["rows"], "graph", "method", "a")
        graphs, _, strengths = (dict.fromkeys(part) for part in zip(*self.curves, strict=True))
        self.graphs, self.strengths = tuple(graphs), tuple(strengths)
        self.ranks = np.array(list(grouped(result["rows"], "rank")))
        self.best = indexed(result["best"], "graph", "method", "a")

    def of(self, graph: str, method: str, a: float, field: str = "log_marginal") -> NDArray[Any]:
        """Return the scores (R,), or another field of the rows."""
        return np.array([number(row[field], -np.inf) for row in self.curves[graph, method, a]])

    def is_below_bound(self, graph: str, method: str, a: float) -> NDArray[np.bool_]:
        """Return (R,) whether a score is below VB's bound, so that it is below the truth.

        The log of an unbiased estimate is mostly too low where runs differ by many nats.
        """
        below: NDArray[np.bool_] = self.of(graph, method, a) < self.of(graph, "vb", a) - ROUNDING
        return below

    def at(self, fails: Any, graphs: Iterable[str], method: str, a: float) -> list[str]:
        """Return the ranks at which something `fails` (R,).

        A note says if the score is below VB's bound: it is then known to be too low, no evidence.
        """
        below = np.any([self.is_below_bound(graph, method, a) for graph in graphs], axis=0)
        notes = np.where(below, " (below VB's bound)", "")
        places = zip(self.ranks, notes, fails, strict=True)
        return [f"rank {rank}{note}" for rank, note, failed in places if failed]

    def above_bound(self) -> list[Finding]:
        """Decide where SMC is no lower than VB's bound: else too few particles found the mass."""
        return [
            finding(
                f"{method}-above-bound",
                f"a = {a:g}, {graph}: {NAMES[method]} no lower than the bound of VB",
                [f"rank {rank}" for rank in self.ranks[self.is_below_bound(graph, method, a)]],
            )
            for a, graph, method in product(self.strengths, self.graphs, BY_PARTICLES)
        ]


def draw_curves(figure: Any, result: Any) -> None:
    """Draw log marginals over rank, a panel for each strength; bars span the repeats."""
    curves = Curves(result)
    complete = indexed(result.get("complete_graph", ()), "a")
    panels = figure.subplots(1, len(curves.strengths), squeeze=False)[0]
    for axes, a in zip(panels, curves.strengths, strict=True):
        if a in complete:
            level = complete[a]["log_marginal"]
            axes.axhline(level, color=INK, linewidth=1.0, label="complete graph")
        for (g, graph), method in product(enumerate(curves.graphs), SCORING):
            level = curves.of(graph, method, a)
            ends = [curves.of(graph, method, a, f"{end}_repeat") for end in ("lowest", "highest")]
            axes.errorbar(
                curves.ranks,
                level,
                yerr=None if method == "vb" else [level - ends[0], ends[1] - level],
                linestyle=LINES[method],
                **series_style(g),
                alpha=1.0 if method == WITH_MOVES else 0.5,
                label=f"{graph}, {NAMES[method]}",
            )
        axes.set_title(f"a = {a:g}")
        axes.set_xlabel("rank")
    panels[0].set_ylabel("log marginal, nats (of VB a lower bound)")
    panels[0].legend(fontsize="small", framealpha=0.6)


def curve_tables(result: Any) -> list[Table]:
    """Return log marginals over ranks, a table for each strength and graph, and the best ranks."""
    complete = indexed(result.get("complete_graph", ()), "a")
    methods = [NAMES[method] for method in SCORING]
    tables = []
    for (a, graph), rows in grouped(result["rows"], "a", "graph").items():
        note = f"In brackets the lowest and the highest run. {in_words(result)}"
        if a in complete:
            note += f" Complete graph: {text(complete[a]['log_marginal'], '.2f')}."
        title = f"a = {text(a, 'g')}, {graph}: log marginal likelihood, nats"
        ranks = grouped(rows, "rank").items()
        cells = [(str(rank), *map(_score, _in_order(of_rank))) for rank, of_rank in ranks]
        tables.append(text_table(title, ("rank", *methods), cells, note=note))
    best = [
        (text(a, "g"), graph, *(str(row["rank"]) for row in _in_order(rows)))
        for (a, graph), rows in grouped(result["best"], "a", "graph").items()
    ]
    return [*tables, text_table("Best rank", ("a", "graph", *methods), best, headings=2)]


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: SCORING.index(row["method"]))


def _score(row: dict[str, Any]) -> str:
    score = text(row["log_marginal"], ".2f")
    if row["method"] == "vb":
        return score
    return f"{score} ({text(row['lowest_repeat'], '.1f')} to {text(row['highest_repeat'], '.1f')})"
