"""Scores of allocation models by exact enumeration, SMC and VB, and log marginals over their rank.

Those over ranks are of Figures 12 and 15 of Cemgil et al. 2019: trials by graph, method, a and
rank, with rows, claims, tables and figures of their scores.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from evaluation.allocation.annealed import N_PARTICLES, annealed
from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.marginal_estimate import MarginalEstimate
from evaluation.allocation.particles import by_particles
from evaluation.allocation.pooled import pool_marginals
from evaluation.arrays import Bools, Floats
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from pipeline.allocation.scores import is_significant
from pipeline.cache.results import ResultGroup
from pipeline.figures.style import INK, series_style
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import number, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Table, grouped, indexed, pivoted, text
from pipeline.reproduce.trials import run_trials, scaled, trial_seed

B = TypeVar("B", bound="Budget")
Models = Mapping[str, Callable[..., AllocationModel]]  # By graph; they take a rank and a
WITH_MOVES, SORTED, ANNEALED = "smc-moves", "smc-sorted", "annealed"
NAMES = {
    "exact": "exact",
    "smc": "SMC",
    WITH_MOVES: "SMC with moves",
    SORTED: "SMC, sorted order",
    ANNEALED: "annealing",
    "vb": "VB",
}  # Names of methods. "smc" is as published: it always resamples, and the token order is random
BY_PARTICLES = ("smc", WITH_MOVES, ANNEALED)
SCORING = (*BY_PARTICLES, "vb")  # Methods that score every model
ENDS = ("lowest", "highest")
LINES = {"smc": ":", WITH_MOVES: "-.", ANNEALED: "-", "vb": "--"}
ROUNDING = 1e-6  # Nats below VB's bound that count as rounding
NEAR = (
    "In brackets its posterior probability, unless estimates are rough, and the ranks that are not "
    "told apart from it."
)
FEWER = 10  # Ratio of the particles of SMC to those of SMC with moves, each of which takes longer


@dataclass(frozen=True)
class Budget:
    """Cost of one estimate; the paper does not say how many runs it made."""

    n_particles: int = 1000  # Particles of SMC as published
    n_repeats: int = 10  # Independent runs of each kind of SMC
    n_starts: int = 100  # Starts of VB, of which the best counts
    n_moves: int = 99  # Tokens that are resampled after each token, in SMC with moves
    n_modes: int = 16  # Modes that are looked at, from the best of which annealing starts
    n_sweeps: int = 1000  # Steps of annealing
    seed: int = 0

    @property
    def n_particles_with_moves(self) -> int:
        """Particles of SMC with moves."""
        return max(2, self.n_particles // FEWER)

    def of_smc(self, has_moves: bool) -> dict[str, Any]:
        """Return the particles and the moves of SMC, with moves or without."""
        if has_moves:
            return {"n_particles": self.n_particles_with_moves, "n_moves": self.n_moves}
        return {"n_particles": self.n_particles, "n_moves": 0}

    def as_json(self) -> dict[str, Any]:
        """Return the budget as results have it."""
        of_smc = ("particles", "repeats", "starts", "moves", "particles_with_moves")
        names = (*of_smc, "modes", "sweeps")
        return {name: getattr(self, f"n_{name}") for name in names}


def budget_of(full: B, settings: ReproduceSettings, quick: Mapping[str, Any]) -> B:
    """Return `full` with the values of the scale and of --particles, --repeats, --moves and
    --sweeps.
    """
    names = ("particles", "repeats", "moves", "sweeps")
    asked = {f"n_{name}": getattr(settings, name) for name in names}
    return scaled(full, settings, quick, **asked)


def in_words(result: Any) -> str:
    """Return a sentence on the budget of a result."""
    return (
        f"SMC: {result['particles']:,} particles; {NAMES[WITH_MOVES]}: "
        f"{result['particles_with_moves']:,} particles, {result['moves']} tokens resampled after "
        f"each; {NAMES[ANNEALED]}: {N_PARTICLES} chains of about {result['sweeps']:,} sweeps from "
        f"each of the best modes that {result.get('modes', 0)} searches found; the "
        f"log of the mean of {result['repeats']} runs, by annealing those of all ranks. VB: a "
        f"lower bound, the best of {result['starts']} starts."
    )


def with_runs(values: Callable[[Any, str], tuple[Any, ...]]) -> list[Column]:
    """Return columns of SMC: the log marginal, the lowest and the highest run in brackets. `values`
    returns these three, given a row and the method.
    """

    def cell(method: str, row: Any) -> str:
        level, *ends = values(row, method)
        return f"{text(level, '.2f')} ({' to '.join(text(end, '.1f') for end in ends)})"

    return [Column(NAMES[method], partial(cell, method)) for method in BY_PARTICLES]


def score(
    model: AllocationModel, X: Any, method: str, budget: Budget, key: Any, n_jobs: int | None = None
) -> dict[str, Any]:
    """Return the arrays of the log marginal of X by one of the methods of `NAMES`. The `key` of the
    trial seeds its random numbers. Runs that disagree are not logged.
    """
    seed, starts = trial_seed(budget.seed, *key), budget.n_starts
    if method in ("exact", "vb"):
        found = log_marginal(model, X, method, n_repeats=starts, random_state=seed, n_jobs=n_jobs)
        return found.to_arrays()
    cells = CellCounts.of(X, model)
    common: dict[str, Any] = {"n_repeats": budget.n_repeats, "seed": seed, "n_jobs": n_jobs}
    if method == ANNEALED:
        of_path: dict[str, Any] = {"n_sweeps": budget.n_sweeps, "n_modes": budget.n_modes}
        return annealed(model, cells, **of_path, **common).to_arrays()
    effort: dict[str, Any] = budget.of_smc(method == WITH_MOVES)
    order = "sorted" if method == SORTED else "random"
    return by_particles(model, cells, "smc", order=order, **effort, **common).to_arrays()


def score_rows(
    group: ResultGroup, models: Models, X: Any, budget: Any, stage: str, n_jobs: int
) -> dict[str, list[dict[str, Any]]]:
    """Return a row for each strength, graph, method and rank, and the best ranks. The `budget` has
    strengths and ranks. Small ranks are computed first.
    """

    def compute(*key: Any) -> dict[str, Any]:
        graph, method, a, rank = key
        return score(models[graph](rank, a=a), X, method, budget, key, n_jobs)

    strengths, ranks = budget.strengths, budget.ranks
    keys = [(g, m, a, r) for r, a, g, m in product(sorted(ranks), strengths, models, SCORING)]
    scores = run_trials(group, keys, compute, stage)
    rows, best = [], []
    for a, graph, method in product(strengths, models, SCORING):
        named = {"a": a, "graph": graph, "method": method}
        found = [scores[graph, method, a, rank] for rank in ranks]
        if method == ANNEALED:
            found = pooled([models[graph](rank, a=a) for rank in ranks], found)
        of_ranks = [
            {**named, "rank": rank, **_shown(each)} for rank, each in zip(ranks, found, strict=True)
        ]
        rows += of_ranks
        repeats = [{"repeats": plain(each["repeats"])} for each in found]
        with_repeats = [row | more for row, more in zip(of_ranks, repeats, strict=True)]
        best.append({**named, **best_rank(with_repeats)})
    return {"rows": rows, "best": best}


def pooled(models: list[AllocationModel], scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return annealed scores of models, arrays as of `score`, each from the runs of all."""
    estimates = pool_marginals(models, [estimate_of(each) for each in scores])
    names = ("log_marginal", "standard_error", "repeats", "n_sources")
    return [
        score | {name: np.asarray(getattr(estimate, name)) for name in names}
        for score, estimate in zip(scores, estimates, strict=True)
    ]


def estimate_of(score: Mapping[str, Any]) -> MarginalEstimate:
    """Return the estimate whose arrays a score has."""
    return MarginalEstimate.from_arrays({name: np.asarray(each) for name, each in score.items()})


def best_rank(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rank with the highest score; of methods with runs also its posterior probability,
    all ranks being as probable beforehand, and the ranks that are not told apart from it: those of
    rows with `sources` are compared repeat by repeat. There is no probability where one of these
    estimates is rough.
    """
    levels = np.array([number(row["log_marginal"], -np.inf) for row in rows])
    top = rows[int(levels.argmax())]
    found = {"rank": top["rank"], "log_marginal": top["log_marginal"]}
    if top["direction"] == "lower bound" or not np.isfinite(levels).any():
        return found | {"probability": None, "near": None}
    others = [row for row in rows if row is not top and row["log_marginal"] is not None]
    near = [row for row in others if not is_significant(top, row)]
    is_rough = any(row["rough"] for row in (top, *near))
    probability = None if is_rough else float(1.0 / np.exp(levels - levels.max()).sum())
    return found | {"probability": probability, "near": [row["rank"] for row in near]}


def _shown(score: Mapping[str, Any]) -> Any:
    """Return a score as a row has it; the lowest and highest repeat of VB are its bound."""
    bound, sizes = score["log_marginal"], score.get("path/effective_sample_size")
    repeats = score["repeats"] if score["method"] != "vb" else np.array([bound])
    shown = {name: score[name] for name in ("direction", "log_marginal", "standard_error")}
    shown |= {"lowest_repeat": repeats.min(), "highest_repeat": repeats.max()}
    smallest = None if sizes is None else sizes.min(axis=1).mean()
    shown |= {"smallest_effective_sample_size": smallest, "seconds": score["seconds"]}
    estimate = estimate_of(score)
    return plain(shown | {"rough": estimate.is_unreliable, "sources": estimate.n_sources or None})


class Curves:
    """Scores of a result over ranks, −∞ where there is none."""

    def __init__(self, result: Any) -> None:
        self.curves = grouped(result["rows"], "graph", "method", "a")
        graphs, _, strengths = (dict.fromkeys(part) for part in zip(*self.curves, strict=True))
        self.graphs, self.strengths = tuple(graphs), tuple(strengths)
        self.ranks = np.array(list(grouped(result["rows"], "rank")))
        self.best = indexed(result["best"], "graph", "method", "a")

    def of(self, graph: str, method: str, a: float, field: str = "log_marginal") -> Floats:
        """Return the scores (R,), or another field of the rows."""
        return np.array([number(row[field], -np.inf) for row in self.curves[graph, method, a]])

    def is_below_bound(self, graph: str, method: str, a: float) -> Bools:
        """Return (R,) whether a score is below VB's bound, so that it is below the truth. The log
        of an unbiased estimate is mostly too low where runs differ by many nats.
        """
        return np.asarray(self.of(graph, method, a) < self.of(graph, "vb", a) - ROUNDING)

    def at(self, fails: Any, graphs: Iterable[str], method: str, a: float) -> list[str]:
        """Return the ranks at which something `fails` (R,). A note says if the score is below VB's
        bound: it is then too low, and no evidence.
        """
        below = np.any([self.is_below_bound(graph, method, a) for graph in graphs], axis=0)
        notes = np.where(below, " (below VB's bound)", "")
        places = zip(self.ranks, notes, fails, strict=True)
        return [f"rank {rank}{note}" for rank, note, failed in places if failed]

    def above_bound(self) -> Findings:
        """Decide whether SMC is no lower than VB's bound; it is lower with too few particles."""
        for a, graph, method in product(self.strengths, self.graphs, BY_PARTICLES):
            text = f"a = {a:g}, {graph}: {NAMES[method]} no lower than the bound of VB"
            below = self.ranks[self.is_below_bound(graph, method, a)]
            yield Finding(f"{method}-above-bound", text, [f"rank {rank}" for rank in below])


def draw_curves(figure: Any, result: Any, _: Any) -> None:
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
            ends = [curves.of(graph, method, a, f"{end}_repeat") for end in ENDS]
            bars = None if method == "vb" else [level - ends[0], ends[1] - level]
            style = {**series_style(g), "alpha": 1.0 if method == ANNEALED else 0.5}
            style |= {"linestyle": LINES[method], "label": f"{graph}, {NAMES[method]}"}
            axes.errorbar(curves.ranks, level, yerr=bars, **style)
        axes.set(title=f"a = {a:g}", xlabel="rank")
    panels[0].set_ylabel("log marginal, nats (of VB a lower bound)")
    panels[0].legend(fontsize="small", framealpha=0.6)


def curve_tables(result: Any) -> list[Table]:
    """Return log marginals over ranks, a table for each strength and graph, and the best ranks."""
    complete = indexed(result.get("complete_graph", ()), "a")
    ends = itemgetter("log_marginal", "lowest_repeat", "highest_repeat")
    of_smc = with_runs(lambda rows, method: ends(rows[method]))
    ranks = (Column("rank", "rank"), *of_smc, Column("VB", "vb.log_marginal", ".2f"))
    tables = []
    for (a, graph), rows in grouped(result["rows"], "a", "graph").items():
        note = f"In brackets the lowest and the highest run. {in_words(result)}"
        if a in complete:
            note += f" Complete graph: {text(complete[a]['log_marginal'], '.2f')}."
        title = f"a = {text(a, 'g')}, {graph}: log marginal likelihood, nats"
        tables.append(Table(title, ranks, pivoted(rows, "rank", "method"), note))
    best = [indexed(rows, "method") for rows in grouped(result["best"], "a", "graph").values()]
    named = (Column("a", "vb.a", "g"), Column("graph", "vb.graph"))
    columns = (*named, *(Column(NAMES[m], partial(best_in_words, m)) for m in SCORING))
    return [*tables, Table("Best rank", columns, best, NEAR, headings=2)]


def best_in_words(method: str, row: Any) -> str:
    """Return the best rank, its probability, and the ranks that are not told apart from it."""
    rank, near = row[method]["rank"], row[method]["near"]
    if near is None:
        return str(rank)
    probability = row[method]["probability"]
    found = f"{rank} ({'rough' if probability is None else text(probability, '.2f')}"
    return found + (f"; or {', '.join(map(str, near))})" if near else ")")
