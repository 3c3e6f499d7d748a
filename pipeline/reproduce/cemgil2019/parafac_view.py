"""Figure 10 of Cemgil et al. 2019: ranks found for tensors, and cost against their size."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.figures.style import GRID, series_style
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019 import effort
from pipeline.reproduce.cemgil2019 import parafac as ranks
from pipeline.reproduce.cemgil2019 import parafac_cost as costs
from pipeline.reproduce.cemgil2019.parafac import RankCurves, RankSettings
from pipeline.reproduce.cemgil2019.parafac_cost import Cost, CostCurves, CostSettings
from pipeline.reproduce.cemgil2019.rank_scores_view import cached_scores
from pipeline.reproduce.cemgil2019.scores import NAMES, Effort
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.tables import Headline, Table, grouped, text, text_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from models.allocation.cell_counts import CellCounts
    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-parafac"
QUICK_RANKS: dict[str, Any] = {
    "ranks": tuple(range(1, 11)),
    "n_tensors": 3,
}
QUICK = {"n_repeats": 4, "n_starts": 5, "n_moves": 99}
QUICK_COSTS: dict[str, Any] = {"sizes": (4, 8, 16, 32, 64), "n_tensors": 5, "n_particles": 300}
FLAT = 0.2
"""Largest relative growth of SMC's time on larger tensors that counts as flat."""
FLAT_FROM = 8
"""Least size that is compared; a tensor of 4³ has fewer cells than tokens."""
HIGHEST = {
    "smc": "SMC finds the true rank.",
    "vb": "VB finds the true rank.",
}
FALLS = "VB falls below SMC by more the higher the rank."
FLAT_COST = "The cost of SMC does not depend on the size of a tensor, that of VB does."
AGREEMENT = 1.0
"""Nats within which runs of SMC must agree."""


class Curves(NamedTuple):
    """Both halves of the figure."""

    ranks: RankCurves
    costs: CostCurves


def protocol(settings: ReproduceSettings) -> tuple[RankSettings, CostSettings]:
    """Return the protocols of a scale."""
    spent = effort.effort_of(settings, NAME, Effort(n_starts=10), QUICK)
    is_quick = settings.scale == "quick"
    of_ranks, of_costs = (QUICK_RANKS, QUICK_COSTS) if is_quick else ({}, {})
    if settings.particles is not None:
        of_costs = of_costs | {"n_particles": settings.particles}
    return (
        RankSettings(**of_ranks, effort=spent, seed=settings.seed),
        CostSettings(**of_costs, seed=settings.seed),
    )


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Score ranks, then measure costs."""
    of_ranks, of_costs = protocol(settings)
    found = Curves(_ranks(of_ranks, cache, settings.threads), _costs(of_costs, cache))
    return Found(as_json(found), found)


def _ranks(wanted: RankSettings, cache: ResultCache, threads: int) -> RankCurves:
    depends_on = asdict(wanted)
    del depends_on["ranks"], depends_on["n_tensors"]
    group = cache.group(f"experiment-{NAME}", settings=depends_on)
    tensors = [ranks.drawn_tensor(wanted, tensor) for tensor in range(wanted.n_tensors)]

    def work(cell: ranks.Cell) -> Callable[[], Any]:
        X: CellCounts = tensors[cell.tensor]
        return lambda: ranks.estimate(cell, X, wanted, threads)

    scores = cached_scores(
        group, {cell.name: work(cell) for cell in wanted.cells}, stage=f"{NAME}: ranks"
    )
    return ranks.rank_curves(wanted, {cell: scores[cell.name] for cell in wanted.cells})


def _costs(wanted: CostSettings, cache: ResultCache) -> CostCurves:
    depends_on = asdict(wanted)
    del depends_on["sizes"], depends_on["n_tensors"]
    group = cache.group(f"experiment-{NAME}-costs", settings=depends_on)
    found: dict[costs.Cell, Cost] = {}
    is_warm = False

    def measure(cell: costs.Cell) -> Callable[[], dict[str, Any]]:
        def compute() -> dict[str, Any]:
            nonlocal is_warm
            if not is_warm:
                costs.warm_up(wanted)
                is_warm = True
            return costs.measured(cell, wanted)._asdict()

        return compute

    with Progress(f"{NAME}: costs", len(wanted.cells), "runs") as progress:
        for cell in wanted.cells:
            progress.update(0, cell.name)
            cost = group.arrays(cell.name, Cost._fields, measure(cell))
            found[cell] = Cost(float(cost["seconds"]), int(cost["n_cells"]), int(cost["n_epochs"]))
            progress.update(1)
    return costs.cost_curves(wanted, found)


def as_json(found: Curves) -> dict[str, Any]:
    """Return a row for each tensor and rank, and one for each size."""
    of_ranks, of_costs = found.ranks.settings, found.costs.settings
    return {
        "name": NAME,
        "shape": list(of_ranks.shape),
        "true_rank": of_ranks.true_rank,
        "tokens": of_ranks.n_tokens,
        "a": of_ranks.a,
        **effort.as_json(of_ranks.effort),
        "rows": [
            {
                "tensor": d,
                "rank": rank,
                **{
                    method: float(found.ranks.log_marginal[method][d, r])
                    for method in ranks.METHODS
                },
                "standard_error": {
                    method: float(found.ranks.standard_error[method][d, r])
                    for method in ranks.BY_PARTICLES
                },
                "runs": {
                    method: found.ranks.repeats[method][d, r].tolist()
                    for method in ranks.BY_PARTICLES
                },
            }
            for d in range(of_ranks.n_tensors)
            for r, rank in enumerate(of_ranks.ranks)
        ],
        "found": [
            {
                "tensor": d,
                **{method: int(found.ranks.found_rank(method)[d]) for method in ranks.METHODS},
                **{
                    f"{method}_above_truth": float(found.ranks.above_truth(method)[d])
                    for method in ranks.METHODS
                },
            }
            for d in range(of_ranks.n_tensors)
        ],
        "cost": {
            "tokens": of_costs.n_tokens,
            "rank": of_costs.rank,
            "a": of_costs.a,
            "particles": of_costs.n_particles,
            "tensors": of_costs.n_tensors,
            "rows": _cost_rows(found.costs),
        },
    }


def _cost_rows(found: CostCurves) -> list[dict[str, Any]]:
    seconds = {method: found.median_seconds(method) for method in costs.METHODS}
    return [
        {
            "size": size,
            "cells": size**3,
            "cells_not_empty": float(np.median(found.n_cells[n])),
            "smc_seconds": float(seconds["smc"][n]),
            "vb_seconds": float(seconds["vb"][n]),
            "vb_epochs": float(np.median(found.n_epochs[n])),
            "vb_epoch_seconds": float(found.median_epoch_seconds[n]),
        }
        for n, size in enumerate(found.settings.sizes)
    ]


def _findings(found: Curves) -> list[Finding]:
    settings, sizes = found.ranks.settings, np.array(found.costs.settings.sizes)
    true = settings.true_rank
    tensors = range(settings.n_tensors)
    rank_of = {method: found.ranks.found_rank(method) for method in ranks.METHODS}
    seconds = {method: found.costs.median_seconds(method) for method in costs.METHODS}
    is_large = sizes >= FLAT_FROM

    def at_tensors(method: str, fails: Any) -> list[str]:
        return [f"tensor {d} (R = {rank_of[method][d]})" for d in tensors if fails[d]]

    findings: list[Finding] = []
    for method in ranks.METHODS:
        name, off = NAMES[method], np.abs(rank_of[method] - true)
        findings += [
            finding(
                f"{method}-true-rank",
                f"{name} is highest at the true R = {true}, in "
                f"{(off == 0).sum()} of {len(off)} tensors",
                at_tensors(method, off > 0),
                HIGHEST.get(method, ""),
            ),
            finding(
                f"{method}-near-true-rank",
                f"{name} is highest at R = {true} or a neighbour, in "
                f"{(off <= 1).sum()} of {len(off)}",
                at_tensors(method, off > 1),
            ),
        ]
    for method in ranks.BY_PARTICLES:
        name, gap, spread = NAMES[method], found.ranks.gap(method), found.ranks.spread(method)
        findings += [
            finding(
                f"{method}-no-other-rank",
                f"{name} has no other rank above R = {true} by every run above every run",
                at_tensors(method, found.ranks.is_told_apart(method)),
            ),
            finding(
                f"{method}-runs-agree",
                f"runs of {name} agree to {AGREEMENT:g} nat at R = {true}",
                [
                    f"tensor {d} ({spread[d]:.1f} nats apart)"
                    for d in tensors
                    if spread[d] > AGREEMENT
                ],
            ),
            finding(
                f"{method}-above-bound",
                f"{name} is not below VB's bound, to which the truth is not either",
                [
                    f"tensor {d} R = {rank} (by {-gap[d, r]:.1f} nats)"
                    for d in tensors
                    for r, rank in enumerate(settings.ranks)
                    if gap[d, r] < -1e-6
                ],
            ),
            finding(
                f"vb-falls-below-{method}",
                f"VB falls below {name} by more at the highest rank than at the true one",
                [
                    f"tensor {d}"
                    for d in tensors
                    if gap[d, -1] <= gap[d, settings.ranks.index(true)]
                ],
                FALLS if method == "smc" else "",
            ),
        ]
    times = {method: seconds[method] / seconds[method][is_large][0] for method in seconds}
    from_size = sizes[is_large][0]
    return [
        *findings,
        finding(
            "smc-time-is-flat",
            f"SMC takes as long on larger tensors as on {from_size}³, to {FLAT:.0%}",
            [
                f"{size}³ ({ratio - 1:+.0%})"
                for size, ratio in zip(sizes, times["smc"], strict=True)
                if size >= FLAT_FROM and abs(ratio - 1) > FLAT
            ],
            FLAT_COST,
        ),
        finding(
            "vb-time-grows",
            f"VB takes longer on larger tensors than on {from_size}³, by more than {FLAT:.0%}",
            [
                f"{size}³ ({ratio - 1:+.0%})"
                for size, ratio in zip(sizes, times["vb"], strict=True)
                if size > from_size and ratio - 1 <= FLAT
            ],
            FLAT_COST,
        ),
    ]


def _draw_ranks(figure: Any, found: RankCurves) -> None:
    settings = found.settings
    n_columns = min(5, settings.n_tensors)
    n_rows = -(-settings.n_tensors // n_columns)
    figure.set_size_inches(3 * n_columns + 1, 3 * n_rows)
    grid = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False)
    for axes in grid.flat[settings.n_tensors :]:
        axes.set_axis_off()
    for d in range(settings.n_tensors):
        axes = grid.flat[d]
        axes.axvline(settings.true_rank, color=GRID, linewidth=2)
        for n, method in enumerate(ranks.BY_PARTICLES):
            level, runs = found.log_marginal[method][d], found.repeats[method][d]
            axes.errorbar(
                settings.ranks,
                level,
                yerr=[level - runs.min(axis=1), runs.max(axis=1) - level],
                label=f"{NAMES[method]} and its runs",
                elinewidth=0.8,
                **series_style(n),
            )
        bound = {**series_style(2), "linestyle": "--", "label": "VB bound"}
        axes.plot(settings.ranks, found.log_marginal["vb"][d], **bound)
        axes.set_title(f"tensor {d}")
        if d >= (n_rows - 1) * n_columns:
            axes.set_xlabel("R")
    for axes in grid[:, 0]:
        axes.set_ylabel("log marginal, nats")
    grid[0, 0].legend()


def _draw_costs(figure: Any, found: CostCurves) -> None:
    axes = figure.subplots()
    for method, name in (("smc", "SMC"), ("vb", "VB")):
        median = found.median_seconds(method)
        lowest, highest = found.seconds[method].min(axis=1), found.seconds[method].max(axis=1)
        axes.errorbar(
            found.settings.sizes,
            median,
            yerr=[median - lowest, highest - median],
            capsize=3,
            label=f"{name}, median and range of {found.settings.n_tensors} tensors",
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(found.settings.sizes, [f"{size}³" for size in found.settings.sizes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("tensor")
    axes.set_ylabel("seconds")
    axes.legend()


def tables(result: Any) -> list[Table]:
    """Return ranks found, scores over ranks (Figure 10a), and seconds over sizes (Figure 10b)."""
    cost, shape = result["cost"], " × ".join(map(str, result["shape"]))
    return [
        text_table(
            "Rank found",
            ("tensor", *(NAMES[method] for method in ranks.METHODS), "SMC", "VB"),
            [
                (str(each["tensor"]), *(str(each[method]) for method in ranks.METHODS), "5", "5")
                for each in result["found"]
            ],
            groups=(("", 1), ("ours", 3), ("published, of one tensor", 2)),
            note=f"{shape} tensors drawn from CP of R = {result['true_rank']}, a = "
            f"{result['a']:g}; {result['tokens']} tokens. {effort.in_words(result)}",
        ),
        *(
            text_table(
                f"Tensor {tensor}: log marginal likelihood, nats",
                ("R", *(NAMES[method] for method in ranks.METHODS)),
                [
                    (
                        str(row["rank"]),
                        *(_with_runs(row, method) for method in ranks.BY_PARTICLES),
                        text(row["vb"], ".2f"),
                    )
                    for row in rows
                ],
                note="In brackets the lowest and the highest run. VB: a lower bound.",
            )
            for tensor, rows in grouped(result["rows"], "tensor").items()
        ),
        text_table(
            f"Seconds on tensors of {cost['tokens']:,} tokens",
            ("tensor", "cells not empty", "SMC", "VB", "VB's epochs"),
            [
                (
                    f"{row['size']}³",
                    f"{row['cells_not_empty']:,.0f}",
                    text(row["smc_seconds"], ".4f"),
                    text(row["vb_seconds"], ".4f"),
                    f"{row['vb_epochs']:.0f}",
                )
                for row in cost["rows"]
            ],
            note=f"One core, median of {cost['tensors']} tensors; one run of "
            f"{cost['particles']:,} particles, one start of VB.",
        ),
    ]


def _with_runs(row: Mapping[str, Any], method: str) -> str:
    runs = row["runs"][method]
    ends = f"{text(min(runs), '.1f')} to {text(max(runs), '.1f')}"
    return f"{text(row[method], '.2f')} ({ends})"


def headline(result: Any) -> Headline:
    """Return the ranks found."""
    return Headline(
        f"rank found, where it is {result['true_rank']}",
        "; ".join(
            f"{NAMES[method]} {', '.join(str(each[method]) for each in result['found'])}"
            for method in ranks.METHODS
        ),
        "SMC 5; VB 5",
    )


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 10",
    shows="Which rank is found for tensors of a known one, and what it costs over their size.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=(
        Figure(
            "-rank",
            "Figure 10a: log marginal likelihood against rank",
            lambda figure, _, found: _draw_ranks(figure, found.ranks),
        ),
        Figure(
            "-cost",
            "Figure 10b: seconds against the size of the tensor",
            lambda figure, _, found: _draw_costs(figure, found.costs),
        ),
    ),
)
