"""What the experiments that score allocation models over their rank have in common."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.allocation.marginal_estimate import TimedMarginal, timed
from pipeline.figures.style import INK, series_style
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019.rank_scores import BY_PARTICLES, SCORING, RankCell, RankCurves
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES
from pipeline.reproduce.panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evaluation.allocation.marginal_estimate import MarginalEstimate
    from pipeline.cache.results import ResultCache, ResultGroup
    from pipeline.reproduce.cemgil2019.abalone import AbaloneSettings
    from pipeline.reproduce.cemgil2019.letters import LettersSettings

LINES = {"smc": ":", WITH_MOVES: "-", "vb": "--"}
BELOW = "below VB's bound"


def results_of(
    cache: ResultCache,
    experiment: str,
    settings: AbaloneSettings | LettersSettings,
    left_out: Sequence[str],
    **data: NDArray[Any],
) -> ResultGroup:
    """The cached results of these data and of all settings but those `left_out`.

    Those say which results there are, not what one of them is.
    """
    table = {name: value for name, value in asdict(settings).items() if name not in left_out}
    return cache.group(f"experiment-{experiment}", settings=table, data=data)


def cached_scores(
    group: ResultGroup, work: Mapping[str, Callable[[], MarginalEstimate]], *, stage: str
) -> dict[str, TimedMarginal]:
    """The estimates by name: those in the cache, and the rest computed, timed and put there.

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
    """The scores of all cells of the settings, from the cache as far as they are in it."""
    cells = {cell.name: cell for cell in settings.cells}
    work = {name: lambda cell=cell: estimate(cell) for name, cell in cells.items()}
    found = cached_scores(group, work, stage=stage)
    graphs = tuple(dict.fromkeys(cell.graph for cell in cells.values()))
    scores = {cell: found[name] for name, cell in cells.items()}
    return RankCurves(graphs, settings.strengths, settings.ranks, scores)


def rows_of(curves: RankCurves) -> list[dict[str, Any]]:
    """A row for each strength, graph, method and rank."""
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
                        effective = finite(sizes.min(axis=1).mean())
                    rows.append(
                        {
                            "a": a,
                            "graph": graph,
                            "method": method,
                            "direction": estimate.direction,
                            "rank": rank,
                            "log_marginal": finite(estimate.log_marginal),
                            "standard_error": finite(estimate.standard_error),
                            "lowest_repeat": finite(lowest[r]),
                            "highest_repeat": finite(highest[r]),
                            "smallest_effective_sample_size": effective,
                            "seconds": seconds,
                        }
                    )
    return rows


def best_ranks(curves: RankCurves) -> list[dict[str, Any]]:
    """The rank that each method likes best for each graph and strength."""
    return [
        {
            "a": a,
            "graph": graph,
            "method": method,
            "rank": curves.best_rank(graph, method, a),
            "log_marginal": finite(curves.log_marginal(graph, method, a).max()),
        }
        for a in curves.strengths
        for graph in curves.graphs
        for method in SCORING
    ]


def at_ranks(
    curves: RankCurves, fails: Any, graphs: Sequence[str], method: str, a: float
) -> list[str]:
    """The ranks at which something `fails` (R,), and whether a score there is known to be too low.

    It is if it is below VB's bound: what it speaks for is then no evidence.
    """
    below = np.any([curves.is_below_bound(graph, method, a) for graph in graphs], axis=0)
    return [
        f"rank {rank}" + (f" ({BELOW})" if below[r] else "")
        for r, rank in enumerate(curves.ranks)
        if fails[r]
    ]


def below_the_bound(curves: RankCurves) -> list[dict[str, Any]]:
    """Where SMC is below what VB shows the truth to be at least: too few particles met it."""
    return [
        {
            "claim": f"a = {a:g}, {graph}: {NAMES[method]} no lower than the bound of VB",
            "fails_at": [
                f"rank {rank}"
                for rank, below in zip(
                    curves.ranks, curves.is_below_bound(graph, method, a), strict=True
                )
                if below
            ],
        }
        for a in curves.strengths
        for graph in curves.graphs
        for method in BY_PARTICLES
    ]


def print_curves(rows: list[dict[str, Any]], extra: dict[float, tuple[str, float]]) -> None:
    """A table for each strength and graph: methods beside each other, a line for each rank.

    `extra` is a name and a log marginal of no rank for each strength.
    """
    for a, graph in dict.fromkeys((row["a"], row["graph"]) for row in rows):
        of_graph = [row for row in rows if (row["a"], row["graph"]) == (a, graph)]
        found = {(row["method"], row["rank"]): row for row in of_graph}
        note = f"; {extra[a][0]} {extra[a][1]:.2f}" if a in extra else ""
        print(f"\na = {a:g}, {graph}{note}")
        print("rank" + "".join(f"{NAMES[method]:>{_width(method)}s}" for method in SCORING))
        for rank in dict.fromkeys(row["rank"] for row in of_graph):
            print(f"{rank:4d}" + "".join(_entry(found[method, rank]) for method in SCORING))


def _width(method: str) -> int:
    return 13 if method == "vb" else 39


def _entry(row: dict[str, Any]) -> str:
    def text(name: str) -> str:
        return "-" if row[name] is None else f"{row[name]:.2f}"

    if row["method"] == "vb":
        return f"{text('log_marginal'):>{_width('vb')}s}"
    ends = f"({text('lowest_repeat')} to {text('highest_repeat')})"
    return f"{text('log_marginal'):>13s}{ends:>{_width(row['method']) - 13}s}"


def print_best(best: list[dict[str, Any]]) -> None:
    """A line for each strength and graph: which rank is best."""
    print("\nbest rank")
    for a in dict.fromkeys(each["a"] for each in best):
        for graph in dict.fromkeys(each["graph"] for each in best):
            ranks = ", ".join(
                f"{each['rank']} by {NAMES[each['method']]}"
                for each in best
                if (each["a"], each["graph"]) == (a, graph)
            )
            print(f"a = {a:g}, {graph}: {ranks}")


def print_findings(findings: list[dict[str, Any]]) -> None:
    """What holds, and where it does not."""
    print()
    for each in findings:
        failed = ", ".join(map(str, each["fails_at"]))
        print(f"{each['claim']}: {f'not at {failed}' if failed else 'yes'}")


def draw_curves(figure: Any, curves: RankCurves, extra: dict[float, tuple[str, float]]) -> None:
    """A panel for each strength: log marginal over rank, bars from the lowest repeat to the top."""
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
