"""Scores of allocation models over their rank: cached estimates, rows, tables, claims, figures."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.allocation.marginal_estimate import TimedMarginal, timed
from pipeline.figures.style import INK, series_style
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019.effort import in_words
from pipeline.reproduce.cemgil2019.rank_scores import BY_PARTICLES, SCORING, RankCell, RankCurves
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import plain
from pipeline.reproduce.tables import Table, grouped, text, text_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evaluation.allocation.marginal_estimate import MarginalEstimate
    from pipeline.cache.results import ResultCache, ResultGroup
    from pipeline.reproduce.cemgil2019.abalone import AbaloneSettings
    from pipeline.reproduce.cemgil2019.letters import LettersSettings
    from pipeline.reproduce.claims import Finding

LINES = {"smc": ":", WITH_MOVES: "-", "vb": "--"}
BELOW = "below VB's bound"


def results_of(
    cache: ResultCache,
    experiment: str,
    settings: AbaloneSettings | LettersSettings,
    left_out: Sequence[str],
    **data: NDArray[Any],
) -> ResultGroup:
    """Return the cached results of these data and of all settings except those `left_out`.

    Those decide which results there are, not what a result is.
    """
    table = {name: value for name, value in asdict(settings).items() if name not in left_out}
    return cache.group(f"experiment-{experiment}", settings=table, data=data)


def cached_scores(
    group: ResultGroup, work: Mapping[str, Callable[[], MarginalEstimate]], *, stage: str
) -> dict[str, TimedMarginal]:
    """Return the estimates by name; those that are not cached are computed and timed.

    Progress is shown under the name `stage`.
    """
    scores: dict[str, TimedMarginal] = {}
    with Progress(stage, len(work), "estimates") as progress:
        for name, estimate in work.items():
            progress.update(0, name)
            compute = partial(timed, estimate)
            scores[name] = group.cached(
                name, compute, TimedMarginal.to_arrays, TimedMarginal.from_arrays
            )
            progress.update(1)
    return scores


def cached_curves(
    group: ResultGroup,
    settings: AbaloneSettings | LettersSettings,
    estimate: Callable[[RankCell], MarginalEstimate],
    *,
    stage: str,
) -> RankCurves:
    """Return the scores of all cells of the settings."""
    cells = {cell.name: cell for cell in settings.cells}
    work = {name: lambda cell=cell: estimate(cell) for name, cell in cells.items()}
    found = cached_scores(group, work, stage=stage)
    graphs = tuple(dict.fromkeys(cell.graph for cell in cells.values()))
    scores = {cell: found[name] for name, cell in cells.items()}
    return RankCurves(graphs, settings.strengths, settings.ranks, scores)


def rows_of(curves: RankCurves) -> list[dict[str, Any]]:
    """Return a row for each strength, graph, method and rank."""
    rows = []
    for a in curves.strengths:
        for graph in curves.graphs:
            for method in SCORING:
                lowest, highest = curves.ends(graph, method, a)
                for r, rank in enumerate(curves.ranks):
                    estimate, seconds = curves.scores[RankCell(graph, method, a, rank)]
                    effective = None
                    if estimate.path is not None:
                        sizes = estimate.path.effective_sample_size
                        effective = plain(sizes.min(axis=1).mean())
                    rows.append(
                        {
                            "a": a,
                            "graph": graph,
                            "method": method,
                            "direction": estimate.direction,
                            "rank": rank,
                            "log_marginal": plain(estimate.log_marginal),
                            "standard_error": plain(estimate.standard_error),
                            "lowest_repeat": plain(lowest[r]),
                            "highest_repeat": plain(highest[r]),
                            "smallest_effective_sample_size": effective,
                            "seconds": seconds,
                        }
                    )
    return rows


def best_ranks(curves: RankCurves) -> list[dict[str, Any]]:
    """Return the best rank of each method, graph and strength."""
    return [
        {
            "a": a,
            "graph": graph,
            "method": method,
            "rank": curves.best_rank(graph, method, a),
            "log_marginal": plain(curves.log_marginal(graph, method, a).max()),
        }
        for a in curves.strengths
        for graph in curves.graphs
        for method in SCORING
    ]


def at_ranks(
    curves: RankCurves, fails: Any, graphs: Sequence[str], method: str, a: float
) -> list[str]:
    """Return the ranks at which something `fails` (R,).

    A note says if the score is below VB's bound: it is then known to be too low, and no evidence.
    """
    below = np.any([curves.is_below_bound(graph, method, a) for graph in graphs], axis=0)
    return [
        f"rank {rank}" + (f" ({BELOW})" if below[r] else "")
        for r, rank in enumerate(curves.ranks)
        if fails[r]
    ]


def below_the_bound(curves: RankCurves) -> list[Finding]:
    """Return where SMC is below VB's lower bound: too few particles found the mass."""
    return [
        finding(
            f"{method}-above-bound",
            f"a = {a:g}, {graph}: {NAMES[method]} no lower than the bound of VB",
            (
                f"rank {rank}"
                for rank, below in zip(
                    curves.ranks, curves.is_below_bound(graph, method, a), strict=True
                )
                if below
            ),
        )
        for a in curves.strengths
        for graph in curves.graphs
        for method in BY_PARTICLES
    ]


def draw_curves(figure: Any, curves: RankCurves, extra: dict[float, tuple[str, float]]) -> None:
    """Draw log marginals over rank, a panel for each strength; bars span the repeats."""
    panels = figure.subplots(1, len(curves.strengths), squeeze=False)[0]
    for axes, a in zip(panels, curves.strengths, strict=True):
        if a in extra:
            axes.axhline(extra[a][1], color=INK, linewidth=1.0, label=extra[a][0])
        for g, graph in enumerate(curves.graphs):
            for method in SCORING:
                level = curves.log_marginal(graph, method, a)
                lowest, highest = curves.ends(graph, method, a)
                bars = None if method == "vb" else [level - lowest, highest - level]
                axes.errorbar(
                    curves.ranks,
                    level,
                    yerr=bars,
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
    complete = {each["a"]: each["log_marginal"] for each in result.get("complete_graph", [])}
    tables = []
    for a, of_strength in grouped(result["rows"], "a").items():
        for graph, rows in grouped(of_strength, "graph").items():
            note = f"In brackets the lowest and the highest run. {in_words(result)}"
            if a in complete:
                note += f" Complete graph: {text(complete[a], '.2f')}."
            tables.append(
                text_table(
                    f"a = {text(a, 'g')}, {graph}: log marginal likelihood, nats",
                    ("rank", *(NAMES[method] for method in SCORING)),
                    [
                        (str(rank), *(_score(row) for row in _in_order(of_rank)))
                        for rank, of_rank in grouped(rows, "rank").items()
                    ],
                    note=note,
                )
            )
    return [*tables, _best(result["best"])]


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: SCORING.index(row["method"]))


def _score(row: dict[str, Any]) -> str:
    score = text(row["log_marginal"], ".2f")
    if row["method"] == "vb":
        return score
    ends = f"{text(row['lowest_repeat'], '.1f')} to {text(row['highest_repeat'], '.1f')}"
    return f"{score} ({ends})"


def _best(best: list[dict[str, Any]]) -> Table:
    return text_table(
        "Best rank",
        ("a", "graph", *(NAMES[method] for method in SCORING)),
        [
            (text(a, "g"), graph, *(str(row["rank"]) for row in _in_order(rows)))
            for a, of_strength in grouped(best, "a").items()
            for graph, rows in grouped(of_strength, "graph").items()
        ],
        headings=2,
    )
