"""What the experiments that score allocation models over their rank have in common."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evaluation.experiments.bam_rank_scores import SCORING, Effort, RankCell, RankCurves
from pipeline.reproduction.bam_cells import cells_directory, kept_scores
from pipeline.reproduction.l2r_panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evaluation.experiments.bam_abalone import AbaloneSettings
    from evaluation.experiments.bam_letters import LettersSettings
    from evaluation.marginal_estimate import MarginalEstimate
    from pipeline.settings import ReproduceSettings

NAMES = {"smc": "SMC", "vb": "VB"}
LINES = {"smc": "-", "vb": "--"}
ROUNDING = 1e-6
"""Nats."""


def effort_of(settings: ReproduceSettings) -> Effort:
    """What the scale, --particles and --repeats stand for."""
    effort = Effort() if settings.scale == "full" else Effort(n_repeats=4, n_starts=20)
    given = {"n_particles": settings.particles, "n_repeats": settings.repeats}
    return effort._replace(**{name: n for name, n in given.items() if n is not None})


def place_of(
    directory: Path,
    settings: AbaloneSettings | LettersSettings,
    left_out: Sequence[str],
    **data: NDArray[Any],
) -> Path:
    """The directory of results that are kept; of settings all but those `left_out` name it.

    Those say which results there are, not what one of them is.
    """
    table = {name: value for name, value in asdict(settings).items() if name not in left_out}
    return cells_directory(directory, table | {"kind": type(settings).__name__}, **data)


def kept_curves(
    place: Path,
    settings: AbaloneSettings | LettersSettings,
    estimate: Callable[[RankCell], MarginalEstimate],
    *,
    stage: str,
) -> RankCurves:
    """The scores of all cells of the settings; what was done before is taken as it is."""
    cells = {cell.name: cell for cell in settings.cells}
    work = {name: lambda cell=cell: estimate(cell) for name, cell in cells.items()}
    found = kept_scores(place, work, stage=stage)
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


def below_the_bound(curves: RankCurves) -> list[dict[str, Any]]:
    """Where SMC is below what VB shows the truth to be at least, so that too few particles met it.

    The log of an unbiased estimate is mostly too low where runs differ by many nats.
    """
    return [
        {
            "claim": f"a = {a:g}, {graph}: SMC no lower than the bound of VB",
            "fails_at": [
                f"rank {rank}"
                for rank, smc, bound in zip(
                    curves.ranks,
                    curves.log_marginal(graph, "smc", a),
                    curves.log_marginal(graph, "vb", a),
                    strict=True,
                )
                if smc < bound - ROUNDING
            ],
        }
        for a in curves.strengths
        for graph in curves.graphs
    ]


def print_curves(rows: list[dict[str, Any]], extra: dict[float, tuple[str, float]]) -> None:
    """A table for each strength: graphs and methods beside each other, a line for each rank.

    `extra` is a name and a log marginal of no rank for each strength.
    """
    for a in dict.fromkeys(row["a"] for row in rows):
        of_a = [row for row in rows if row["a"] == a]
        columns = list(dict.fromkeys((row["graph"], row["method"]) for row in of_a))
        found = {(row["graph"], row["method"], row["rank"]): row for row in of_a}
        note = f"; {extra[a][0]} {extra[a][1]:.2f}" if a in extra else ""
        print(f"\na = {a:g}{note}")
        print(
            "rank"
            + "".join(
                f"{f'{graph}, {NAMES[method]}':>{_width(method)}s}" for graph, method in columns
            )
        )
        for rank in dict.fromkeys(row["rank"] for row in of_a):
            print(f"{rank:4d}" + "".join(_entry(found[(*each, rank)]) for each in columns))


def _width(method: str) -> int:
    return 39 if method == "smc" else 20


def _entry(row: dict[str, Any]) -> str:
    def text(name: str) -> str:
        return "-" if row[name] is None else f"{row[name]:.2f}"

    if row["method"] == "vb":
        return f"{text('log_marginal'):>{_width('vb')}s}"
    ends = f"({text('lowest_repeat')} to {text('highest_repeat')})"
    return f"{text('log_marginal'):>12s}{ends:>{_width('smc') - 12}s}"


def print_best(best: list[dict[str, Any]]) -> None:
    """A line for each strength: which rank is best."""
    print("\nbest rank")
    for a in dict.fromkeys(each["a"] for each in best):
        of_a = [each for each in best if each["a"] == a]
        ranks = ", ".join(
            f"{each['graph']} by {NAMES[each['method']]} {each['rank']}" for each in of_a
        )
        print(f"a = {a:g}: {ranks}")


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
            axes.axhline(extra[a][1], color="0.3", linewidth=1.0, label=extra[a][0])
        for g, graph in enumerate(curves.graphs):
            for method in SCORING:
                level = curves.log_marginal(graph, method, a)
                lowest, highest = curves.ends(graph, method, a)
                bars = [level - lowest, highest - level] if method == "smc" else None
                axes.errorbar(
                    curves.ranks,
                    level,
                    yerr=bars,
                    linestyle=LINES[method],
                    marker=".",
                    color=f"C{g}",
                    alpha=1.0 if method == "smc" else 0.6,
                    label=f"{graph}, {NAMES[method]}",
                )
        axes.set_title(f"a = {a:g}")
        axes.set_xlabel("rank")
    panels[0].set_ylabel("log marginal, nats (of VB a lower bound)")
    panels[0].legend()
