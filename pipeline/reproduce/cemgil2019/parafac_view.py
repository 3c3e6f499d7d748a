"""Figure 10 of Cemgil et al. 2019: run at a scale, as tables and pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.figures.style import GRID, series_style
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019 import effort as bam_effort
from pipeline.reproduce.cemgil2019 import parafac as ranks
from pipeline.reproduce.cemgil2019 import parafac_cost as costs
from pipeline.reproduce.cemgil2019.parafac import RankCurves, RankSettings
from pipeline.reproduce.cemgil2019.parafac_cost import Cost, CostCurves, CostSettings
from pipeline.reproduce.cemgil2019.rank_scores_view import cached_scores, print_findings
from pipeline.reproduce.cemgil2019.scores import NAMES, Effort

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.allocation.cell_counts import CellCounts
    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-parafac"
QUICK_RANKS: dict[str, Any] = {
    "ranks": tuple(range(1, 11)),
    "n_tensors": 3,
}
QUICK = {"n_repeats": 4, "n_starts": 5, "n_moves": 99}
QUICK_COSTS: dict[str, Any] = {"sizes": (4, 8, 16, 32, 64), "n_tensors": 5, "n_particles": 300}
FLAT = 0.2
"""How much longer, at most, SMC may take on a larger tensor for its time to be called flat."""
FLAT_FROM = 8
"""From this size on; a tensor of 4³ has fewer cells than tokens."""
AGREEMENT = 1.0
"""Nats: how close runs of SMC should be for their mean to say much."""


class Found(NamedTuple):
    """Both halves of the figure."""

    ranks: RankCurves
    costs: CostCurves


def protocol(settings: ReproduceSettings) -> tuple[RankSettings, CostSettings]:
    """What the scale stands for."""
    effort = bam_effort.effort_of(settings, NAME, Effort(n_starts=10), QUICK)
    is_quick = settings.scale == "quick"
    of_ranks, of_costs = (QUICK_RANKS, QUICK_COSTS) if is_quick else ({}, {})
    if settings.particles is not None:
        of_costs = of_costs | {"n_particles": settings.particles}
    return (
        RankSettings(**of_ranks, effort=effort, seed=settings.seed),
        CostSettings(**of_costs, seed=settings.seed),
    )


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Ranks, then costs; what is in the cache is taken from it."""
    of_ranks, of_costs = protocol(settings)
    found = _ranks(of_ranks, cache, settings.threads)
    return Found(found, _costs(of_costs, cache))


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


def as_json(found: Found) -> dict[str, Any]:
    """A row for each tensor and rank, one for each size, and what the paper concludes."""
    of_ranks, of_costs = found.ranks.settings, found.costs.settings
    return {
        "name": NAME,
        "shape": list(of_ranks.shape),
        "true_rank": of_ranks.true_rank,
        "tokens": of_ranks.n_tokens,
        "a": of_ranks.a,
        **bam_effort.as_json(of_ranks.effort),
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
        "findings": _findings(found),
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


def _findings(found: Found) -> list[dict[str, Any]]:
    settings, sizes = found.ranks.settings, np.array(found.costs.settings.sizes)
    true = settings.true_rank
    tensors = range(settings.n_tensors)
    rank_of = {method: found.ranks.found_rank(method) for method in ranks.METHODS}
    seconds = {method: found.costs.median_seconds(method) for method in costs.METHODS}
    is_large = sizes >= FLAT_FROM

    def at_tensors(method: str, fails: Any) -> list[str]:
        return [f"tensor {d} (R = {rank_of[method][d]})" for d in tensors if fails[d]]

    findings = []
    for method in ranks.METHODS:
        name, off = NAMES[method], np.abs(rank_of[method] - true)
        findings += [
            {
                "claim": f"{name} is highest at the true R = {true}, in "
                f"{(off == 0).sum()} of {len(off)} tensors",
                "fails_at": at_tensors(method, off > 0),
            },
            {
                "claim": f"{name} is highest at R = {true} or a neighbour, in "
                f"{(off <= 1).sum()} of {len(off)}",
                "fails_at": at_tensors(method, off > 1),
            },
        ]
    for method in ranks.BY_PARTICLES:
        name, gap, spread = NAMES[method], found.ranks.gap(method), found.ranks.spread(method)
        findings += [
            {
                "claim": f"{name} has no other rank above R = {true} by every run above every run",
                "fails_at": at_tensors(method, found.ranks.is_told_apart(method)),
            },
            {
                "claim": f"runs of {name} agree to {AGREEMENT:g} nat at R = {true}",
                "fails_at": [
                    f"tensor {d} ({spread[d]:.1f} nats apart)"
                    for d in tensors
                    if spread[d] > AGREEMENT
                ],
            },
            {
                "claim": f"{name} is not below VB's bound, to which the truth is not either",
                "fails_at": [
                    f"tensor {d} R = {rank} (by {-gap[d, r]:.1f} nats)"
                    for d in tensors
                    for r, rank in enumerate(settings.ranks)
                    if gap[d, r] < -1e-6
                ],
            },
            {
                "claim": f"VB falls below {name} by more at the highest rank than at the true one",
                "fails_at": [
                    f"tensor {d}"
                    for d in tensors
                    if gap[d, -1] <= gap[d, settings.ranks.index(true)]
                ],
            },
        ]
    times = {method: seconds[method] / seconds[method][is_large][0] for method in seconds}
    from_size = sizes[is_large][0]
    return [
        *findings,
        {
            "claim": f"SMC takes as long on larger tensors as on {from_size}³, to {FLAT:.0%}",
            "fails_at": [
                f"{size}³ ({ratio - 1:+.0%})"
                for size, ratio in zip(sizes, times["smc"], strict=True)
                if size >= FLAT_FROM and abs(ratio - 1) > FLAT
            ],
        },
        {
            "claim": f"VB takes longer on larger tensors than on {from_size}³, by more than "
            f"{FLAT:.0%}",
            "fails_at": [
                f"{size}³ ({ratio - 1:+.0%})"
                for size, ratio in zip(sizes, times["vb"], strict=True)
                if size > from_size and ratio - 1 <= FLAT
            ],
        },
    ]


def print_result(result: dict[str, Any]) -> None:
    """The score of each tensor and rank, the ranks found, costs over size, what should hold."""
    shape = " × ".join(map(str, result["shape"]))
    print(
        f"log marginal likelihood in nats of {shape} tensors of {result['tokens']} tokens, drawn "
        f"from CP of R = {result['true_rank']}, a = {result['a']:g}\n"
        f"{bam_effort.in_words(result)}; * the highest"
    )
    best = {each["tensor"]: each for each in result["found"]}
    tensor = None
    for row in result["rows"]:
        found = best[row["tensor"]]
        if row["tensor"] != tensor:
            tensor = row["tensor"]
            titles = (f"{NAMES[method]:>36s}" for method in ranks.BY_PARTICLES)
            print(f"\ntensor {tensor}\n{'R':>4s}{''.join(titles)}{'VB':>13s}")
        star = {method: "*" if found[method] == row["rank"] else " " for method in ranks.METHODS}
        line = f"{row['rank']:4d}"
        for method in ranks.BY_PARTICLES:
            runs = f"({min(row['runs'][method]):.1f} to {max(row['runs'][method]):.1f})"
            line += f"{row[method]:12.2f}{star[method]}{runs:>23s}"
        print(f"{line}{row['vb']:13.2f}{star['vb']}".rstrip())
    cost = result["cost"]
    print(
        f"\nseconds on one core, median of {cost['tensors']} tensors of {cost['tokens']:,} tokens "
        f"drawn from CP of R = {cost['rank']}, a = {cost['a']:g}\n"
        f"SMC: one run of {cost['particles']:,} particles; VB: one start until its bound stands "
        "still, over cells that are not empty\n"
        f"{'tensor':>8s}{'not empty':>11s}{'SMC':>10s}{'VB':>10s}{'epochs':>8s}{'an epoch':>11s}"
    )
    for row in cost["rows"]:
        print(
            f"{row['size']:7d}³{row['cells_not_empty']:11,.0f}{row['smc_seconds']:10.4f}"
            f"{row['vb_seconds']:10.4f}{row['vb_epochs']:8.0f}{row['vb_epoch_seconds']:11.6f}"
        )
    print_findings(result["findings"])


def pictures(found: Found) -> dict[str, Callable[[Any], None]]:
    """Scores over ranks, a panel for each tensor; seconds over sizes."""
    return {
        f"{NAME}-rank": lambda figure: _draw_ranks(figure, found.ranks),
        f"{NAME}-cost": lambda figure: _draw_costs(figure, found.costs),
    }


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
