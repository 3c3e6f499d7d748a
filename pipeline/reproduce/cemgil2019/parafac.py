"""Cemgil et al. 2019, Figure 10: the rank of a tensor, found again, and cost over its size.

Left: tensors of few tokens are drawn from CP (PARAFAC) of known rank, with tables drawn from their
priors. SMC, with and without moves, and VB score CP of all ranks. The paper shows one tensor.

Right: tensors of all sizes have the same number of tokens, so that most cells of a large one are
empty. SMC visits tokens. The paper's VB visits all cells, so that it takes longer on larger
tensors; this one visits only cells that are not empty, and rows of tables that occur.
"""

import time
from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np

from evaluation.allocation.particles import by_particles
from evaluation.allocation.simulate import draw
from models.allocation.cell_counts import CellCounts
from models.allocation.mean_field.coordinate_ascent import MeanField, best_of_starts
from models.allocation.model import AllocationModel
from pipeline.figures.style import GRID, series_style
from pipeline.reproduce.cemgil2019 import scores
from pipeline.reproduce.cemgil2019.scores import ANNEALED, BY_PARTICLES, NAMES, SCORING
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, numbers, panels, rows_of
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, grouped
from pipeline.reproduce.trials import group_of, run_trials, trial_seed

NAME = "bam-parafac"
QUICK = {"ranks": tuple(range(1, 11)), "n_tensors": 3, "n_repeats": 4, "n_starts": 5}
QUICK |= {"n_sweeps": 500}
QUICK_COSTS: dict[str, Any] = {"sizes": (4, 8, 16, 32, 64), "n_tensors": 5, "n_particles": 300}
TIMED = ("smc", "vb")  # Methods whose cost is measured
FOR_RANKS, FOR_COSTS = 0, 2  # Streams of random numbers
FLAT = 0.2  # Largest relative growth of SMC's time on larger tensors that counts as flat
FLAT_FROM = 8  # Least size that is compared; a tensor of 4³ has fewer cells than tokens
FINDS_RANK = {"smc": "SMC finds the true rank.", "vb": "VB finds the true rank."}
FALLS = "VB falls below SMC by more the higher the rank."
FLAT_COST = "The cost of SMC does not depend on the size of a tensor, that of VB does."
AGREEMENT = 1.0  # Nats within which runs of SMC must agree


@dataclass(frozen=True)
class RankBudget(scores.Budget):
    """The paper's budget, where it is given; it shows one tensor."""

    n_starts: int = 10
    shape: tuple[int, ...] = (20, 25, 30)
    true_rank: int = 5
    n_tokens: int = 500
    a: float = 30.0
    ranks: tuple[int, ...] = tuple(range(1, 16))
    n_tensors: int = 5


@dataclass(frozen=True)
class CostBudget(scores.Budget):
    """The paper's budget, where it is given, with two larger sizes."""

    sizes: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256)  # Cells along each of the three axes
    n_tokens: int = 1000
    rank: int = 5
    a: float = 30.0
    n_tensors: int = 10


def _run(settings: ReproduceSettings) -> Found:
    """Score ranks, then measure costs; the seconds of all runs are drawn."""
    of_ranks = scores.budget_of(RankBudget(), settings, QUICK)
    of_costs = scores.budget_of(CostBudget(), settings, QUICK_COSTS)
    ranks = _ranks(of_ranks, settings.threads)
    rows, seconds = _costs(of_costs)
    names = ("n_tokens", "rank", "a", "n_particles", "n_tensors")
    cost = {name.removeprefix("n_"): getattr(of_costs, name) for name in names}
    return Found({"name": NAME, **ranks, "cost": {**cost, "rows": rows}}, seconds)


def drawn_tensor(budget: RankBudget, tensor: int) -> CellCounts:
    """Return a tensor by its number, from 0; it does not depend on `n_tensors`."""
    rng = np.random.default_rng([budget.seed, FOR_RANKS, tensor])
    model = AllocationModel.cp(budget.shape, budget.true_rank, budget.a)
    return draw(model, budget.n_tokens, rng)[0]


def _ranks(budget: RankBudget, threads: int) -> dict[str, Any]:
    """Return a row for each tensor and rank, and the ranks found."""
    tensors = [drawn_tensor(budget, tensor) for tensor in range(budget.n_tensors)]

    def compute(tensor: int, rank: int, method: str) -> dict[str, Any]:
        model = AllocationModel.cp(budget.shape, rank, budget.a)
        key = ("rank", tensor, rank, method)
        return scores.score(model, tensors[tensor], method, budget, key, threads)

    places = list(product(range(len(tensors)), budget.ranks))
    group = group_of(NAME, budget, ("ranks", "n_tensors"))
    keys = [(*place, method) for place in places for method in SCORING]
    scored = run_trials(group, keys, compute, f"{NAME}: ranks")
    models = [AllocationModel.cp(budget.shape, rank, budget.a) for rank in budget.ranks]
    for tensor in range(len(tensors)):
        annealed = [(tensor, rank, ANNEALED) for rank in budget.ranks]
        of_ranks = scores.pooled(models, [scored[key] for key in annealed])
        scored |= dict(zip(annealed, of_ranks, strict=True))

    def columns(methods: tuple[str, ...], field: str) -> dict[str, list[Any]]:
        return {method: [scored[*place, method][field] for place in places] for method in methods}

    estimates = [scores.estimate_of(scored[*place, ANNEALED]) for place in places]
    rows = rows_of(
        tensor=[tensor for tensor, _ in places],
        rank=[rank for _, rank in places],
        **columns(SCORING, "log_marginal"),
        standard_error=rows_of(**columns(BY_PARTICLES, "standard_error")),
        runs=rows_of(**columns(BY_PARTICLES, "repeats")),
        sources=[each.n_sources or None for each in estimates],
        rough=[each.is_unreliable for each in estimates],
    )
    spent = {"true_rank": budget.true_rank, "tokens": budget.n_tokens, "a": budget.a}
    found = {"rows": rows, "found": found_ranks(rows, budget.true_rank)}
    return {"shape": list(budget.shape), **spent, **budget.as_json(), **found}


def found_ranks(rows: list[dict[str, Any]], true_rank: int) -> list[dict[str, Any]]:
    """Return the rank of the highest score of each tensor, and how far it is above the true one;
    by annealing also its posterior probability, and the ranks that are not told apart from it.
    """
    found = []
    for tensor, of_tensor in grouped(rows, "tensor").items():
        (true,) = (row for row in of_tensor if row["rank"] == true_rank)
        best = {method: max(of_tensor, key=itemgetter(method)) for method in SCORING}
        ranks = {method: row["rank"] for method, row in best.items()}
        above = {f"{m}_above_truth": row[m] - true[m] for m, row in best.items()}
        scored = scores.best_rank([_annealed(row) for row in of_tensor])
        told = {name: scored[name] for name in ("probability", "near")}
        found.append({"tensor": tensor, **ranks, **above, **told})
    return found


def _annealed(row: dict[str, Any]) -> dict[str, Any]:
    """Return the annealed score, as `scores.best_rank` takes it."""
    scored = {"log_marginal": row[ANNEALED], "standard_error": row["standard_error"][ANNEALED]}
    told = {name: row[name] for name in ("rank", "rough", "sources")}
    told |= {"graph": "cp", "direction": "unbiased", "repeats": row["runs"][ANNEALED]}
    return scored | told


def measured(size: int, tensor: int, method: str, budget: CostBudget) -> dict[str, Any]:
    """Draw the tensor and run a method on it once; VB until its bound converges."""
    model = AllocationModel.cp((size, size, size), budget.rank, budget.a)
    rng = np.random.default_rng([budget.seed, FOR_COSTS, size, tensor])
    X, _ = draw(model, budget.n_tokens, rng)
    seed = trial_seed(budget.seed, "cost", size, tensor, method)
    started = time.perf_counter()
    n_epochs = _n_epochs(model, X, method, budget.n_particles, seed)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "n_cells": len(X.counts), "n_epochs": n_epochs}


def _n_epochs(model: AllocationModel, X: CellCounts, method: str, particles: int, seed: int) -> int:
    if method == "vb":
        return len(best_of_starts(MeanField.of(model, X, "vb"), n_starts=1, seed=seed).path)
    by_particles(model, X, "smc", n_particles=particles, n_repeats=1, seed=seed)
    return 1


@cache
def warm_up() -> None:
    """Compile the kernels, so that no measured time includes it."""
    model = AllocationModel.cp((2, 2, 2), 5, 30.0)
    X, _ = draw(model, 3, np.random.default_rng(0))
    for method in TIMED:
        _n_epochs(model, X, method, 2, 0)


def _costs(budget: CostBudget) -> tuple[list[dict[str, Any]], Any]:
    """Return medians over tensors, a row for each size, and all seconds (sizes, tensors)."""

    def compute(size: int, tensor: int, method: str) -> dict[str, Any]:
        warm_up()
        return measured(size, tensor, method, budget)

    tensors, sizes = range(budget.n_tensors), budget.sizes
    keys = [(size, tensor, m) for tensor, size, m in product(tensors, sizes, TIMED)]
    unused = ("sizes", "n_tensors", "n_repeats", "n_starts", "n_moves", "n_sweeps")
    group = group_of(f"{NAME}-costs", budget, unused)
    costs = run_trials(group, keys, compute, f"{NAME}: costs", "runs")

    def measure(method: str, field: str) -> Any:
        return np.array([[costs[size, d, method][field] for d in tensors] for size in sizes])

    seconds = {method: measure(method, "seconds") for method in TIMED}
    n_epochs = measure("vb", "n_epochs")
    measures = {"cells_not_empty": measure("vb", "n_cells")}
    measures |= {f"{method}_seconds": each for method, each in seconds.items()}
    measures |= {"vb_epochs": n_epochs, "vb_epoch_seconds": seconds["vb"] / n_epochs}
    medians = {name: np.median(values, axis=1) for name, values in measures.items()}
    return rows_of(size=sizes, cells=[size**3 for size in sizes], **medians), seconds


def _findings(result: Any) -> Findings:
    true, n = result["true_rank"], len(result["found"])
    for method in SCORING:
        name = NAMES[method]
        off = [each for each in result["found"] if each[method] != true]
        far = [each for each in off if abs(each[method] - true) > 1]
        text = f"{name} is highest at the true R = {true}, in {n - len(off)} of {n} tensors"
        paper = FINDS_RANK.get(method, "")
        yield Finding(f"{method}-true-rank", text, _at_tensors(off, method), paper)
        text = f"{name} is highest at R = {true} or a neighbour, in {n - len(far)} of {n}"
        yield Finding(f"{method}-near-true-rank", text, _at_tensors(far, method))
    for method in BY_PARTICLES:
        yield from _findings_of_smc(result, method)
    first, *larger = (row for row in result["cost"]["rows"] if row["size"] >= FLAT_FROM)

    def growth(method: str) -> list[tuple[str, float]]:
        key = f"{method}_seconds"
        return [(f"{row['size']}³", row[key] / first[key] - 1) for row in larger]

    differs = [f"{size} ({by:+.0%})" for size, by in growth("smc") if abs(by) > FLAT]
    same = [f"{size} ({by:+.0%})" for size, by in growth("vb") if by <= FLAT]
    than = f"on larger tensors {{}} on {first['size']}³, {{}} {FLAT:.0%}"
    flat = f"SMC takes as long {than.format('as', 'to')}"
    yield Finding("smc-time-is-flat", flat, differs, FLAT_COST)
    grows = f"VB takes longer {than.format('than', 'by more than')}"
    yield Finding("vb-time-grows", grows, same, FLAT_COST)


def _findings_of_smc(result: Any, method: str) -> Findings:
    """Decide the claims on SMC, with moves or without."""
    name, true, tensors = NAMES[method], result["true_rank"], grouped(result["rows"], "tensor")
    above, apart, falls = [], [], []
    for each in result["found"]:
        at, rows = f"tensor {each['tensor']}", tensors[each["tensor"]]
        (at_true,) = (row for row in rows if row["rank"] == true)
        runs, best = at_true["runs"][method], max(rows, key=itemgetter(method))
        if each[method] != true and min(best["runs"][method]) > max(runs):
            above.append(each)
        if max(runs) - min(runs) > AGREEMENT:
            apart.append(f"{at} ({max(runs) - min(runs):.1f} nats apart)")
        if rows[-1][method] - rows[-1]["vb"] <= at_true[method] - at_true["vb"]:
            falls.append(at)
    text = f"{name} has no other rank above R = {true} by every run above every run"
    yield Finding(f"{method}-no-other-rank", text, _at_tensors(above, method))
    text = f"runs of {name} agree to {AGREEMENT:g} nat at R = {true}"
    yield Finding(f"{method}-runs-agree", text, apart)
    gaps = [(f"tensor {r['tensor']} R = {r['rank']}", r["vb"] - r[method]) for r in result["rows"]]
    below = [f"{at} (by {by:.1f} nats)" for at, by in gaps if by > scores.ROUNDING]
    text = f"{name} is not below VB's bound, to which the truth is not either"
    yield Finding(f"{method}-above-bound", text, below)
    text = f"VB falls below {name} by more at the highest rank than at the true one"
    yield Finding(f"vb-falls-below-{method}", text, falls, FALLS if method == "smc" else "")


def _at_tensors(found: list[Any], method: str) -> list[str]:
    return [f"tensor {each['tensor']} (R = {each[method]})" for each in found]


def _tables(result: Any) -> list[Table]:
    """Return ranks found, scores over ranks (Figure 10a), and seconds over sizes (Figure 10b)."""
    cost, shape = result["cost"], " × ".join(map(str, result["shape"]))
    of_found = (
        Column("tensor", "tensor"),
        *(Column(NAMES[method], method, group="ours") for method in SCORING),
        Column("probability", "probability", ".2f", group="by annealing"),
        Column("or", lambda row: ", ".join(map(str, row["near"] or ())), group="by annealing"),
        *(Column(name, lambda _: "5", group="published, of one tensor") for name in ("SMC", "VB")),
    )
    of_smc = scores.with_runs(lambda row, m: (row[m], min(row["runs"][m]), max(row["runs"][m])))
    of_ranks = (Column("R", "rank"), *of_smc, Column("VB", "vb", ".2f"))
    of_costs = (
        Column("tensor", lambda row: f"{row['size']}³"),
        Column("cells not empty", "cells_not_empty", ",.0f"),
        Column("SMC", "smc_seconds", ".4f"),
        Column("VB", "vb_seconds", ".4f"),
        Column("VB's epochs", "vb_epochs", ".0f"),
    )
    note = (
        f"{shape} tensors drawn from CP of R = {result['true_rank']}, a = {result['a']:g}; "
        f"{result['tokens']} tokens. {scores.in_words(result)} By annealing: the posterior "
        "probability of its rank, and the ranks that are not told apart from it."
    )
    note_of_ranks = "In brackets the lowest and the highest run. VB: a lower bound."
    note_of_costs = (
        f"One core, median of {cost['tensors']} tensors; one run of {cost['particles']:,} "
        "particles, one start of VB."
    )
    seconds = f"Seconds on tensors of {cost['tokens']:,} tokens"
    return [
        Table("Rank found", of_found, result["found"], note),
        *(
            Table(f"Tensor {d}: log marginal likelihood, nats", of_ranks, rows, note_of_ranks)
            for d, rows in grouped(result["rows"], "tensor").items()
        ),
        Table(seconds, of_costs, cost["rows"], note_of_costs),
    ]


def _headline(result: Any) -> Headline:
    ranks = (", ".join(str(each[method]) for each in result["found"]) for method in SCORING)
    ours = "; ".join(f"{NAMES[m]} {found}" for m, found in zip(SCORING, ranks, strict=True))
    return Headline(f"rank found, where it is {result['true_rank']}", ours, "SMC 5; VB 5")


def _draw_ranks(figure: Any, result: Any, _: Any) -> None:
    tensors = grouped(result["rows"], "tensor")
    grid = panels(figure, len(tensors), 5, sharex=True)
    n_rows, n_columns = grid.shape
    figure.set_size_inches(3 * n_columns + 1, 3 * n_rows)
    for (d, rows), axes in zip(tensors.items(), grid.flat, strict=False):
        ranks = numbers(rows, "rank")
        axes.axvline(result["true_rank"], color=GRID, linewidth=2)
        for n, method in enumerate(BY_PARTICLES):
            level, runs = numbers(rows, method), np.array([row["runs"][method] for row in rows])
            bars = [level - runs.min(axis=1), runs.max(axis=1) - level]
            style = {**series_style(n), "label": f"{NAMES[method]} and its runs"}
            axes.errorbar(ranks, level, yerr=bars, elinewidth=0.8, **style)
        style = {**series_style(len(BY_PARTICLES)), "linestyle": "--", "label": "VB bound"}
        axes.plot(ranks, numbers(rows, "vb"), **style)
        axes.set_title(f"tensor {d}")
        if d >= (n_rows - 1) * n_columns:
            axes.set_xlabel("R")
    for axes in grid[:, 0]:
        axes.set_ylabel("log marginal, nats")
    grid[0, 0].legend()


def _draw_costs(figure: Any, result: Any, seconds: dict[str, Any]) -> None:
    cost, axes = result["cost"], figure.subplots()
    sizes = [row["size"] for row in cost["rows"]]
    for method, of_sizes in seconds.items():
        median = np.median(of_sizes, axis=1)
        bars = [median - of_sizes.min(axis=1), of_sizes.max(axis=1) - median]
        label = f"{NAMES[method]}, median and range of {cost['tensors']} tensors"
        axes.errorbar(sizes, median, yerr=bars, capsize=3, label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size}³" for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set(xlabel="tensor", ylabel="seconds")
    axes.legend()


EXPERIMENT = Experiment(
    NAME,
    "Figure 10",
    "Which rank is found for tensors of a known one, and what it costs over their size.",
    *(_run, _tables, _headline, _findings),
    (
        Figure("-rank", "Figure 10a: log marginal likelihood against rank", _draw_ranks),
        Figure("-cost", "Figure 10b: seconds against the size of the tensor", _draw_costs),
    ),
)
