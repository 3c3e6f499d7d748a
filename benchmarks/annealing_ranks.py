"""Annealed log marginals of real tables over ranks, and whether a known rank is found again.

    python -m benchmarks.annealing_ranks letters --ranks 1 2 5 10 --a 1 --sweeps 1000 --seeds 1 2
    python -m benchmarks.annealing_ranks letters --graph symmetric …
    python -m benchmarks.annealing_ranks abalone --ranks 1 3 5 --a 1 …
    python -m benchmarks.annealing_ranks parafac --ranks 1 5 10 --a 30 …
    python -m benchmarks.annealing_ranks known [--tables 0 1 2 …]

Of each model and seed: the estimate with its standard error, the spread of its runs, how many
lines of searches found a mode as good as the best (0: runs began at the prior's mean), VB's bound
of ten starts, below which the truth cannot be, and seconds of one core. Two seeds that differ by
more than their errors show that more searches or sweeps are needed. The searches of a rank know the
modes of the rank before it. Of several ranks also their estimates each from the runs of all, with
the number of ranks that these rest on. Runs are kept in the cache, so that an interrupted command
goes on.

`known` draws tables of 1,000 tokens from NMF, with tables drawn from their priors, and scores the
ranks from 1 to two above the true one. If other ranks are within 3 nats of the best (20 to 1), they
and the best are estimated again, with four times the runs, and those that are then not told apart
once more, with four times the sweeps as well. Annealed back from the true allocation, the upper
bound of the true rank is certain: where a lower bound of another rank is above it, the data speak
for that rank, and the true one cannot be known.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reference_counts import SHARED
from evaluation import bracket_marginal, log_marginal, pool_marginals
from evaluation.allocation.marginal_estimate import TimedMarginal
from evaluation.allocation.simulate import draw
from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel
from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.cache.results import ResultCache
from pipeline.reproduce.cemgil2019.abalone import bins_of, read_abalone, tensor_of
from pipeline.reproduce.cemgil2019.letters import draw_pairs
from pipeline.reproduce.cemgil2019.parafac import RankBudget, drawn_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation import MarginalEstimate

N_TOKENS, N_LETTER_PAIRS, N_BINS, N_TABLES = 1000, 2000, 5, 20
SHAPE, A, TRUE_RANKS, MORE_RANKS = (15, 20), 20.0, (2, 3, 4, 5), 2
CLOSE = math.log(20)  # Nats below the best rank, up to which ranks are estimated again
MORE = 4  # Times the runs then, and times the sweeps of ranks that are still not told apart


def table_of(name: str) -> CellCounts:
    """Return the counts of a table."""
    shared = SHARED / "data"
    if name == "letters":
        _, pairs = letter_pairs(str(shared / "letters" / "bigrams_26x26.csv"), 1)
        X = draw_pairs(pairs, N_LETTER_PAIRS, 0)
        return CellCounts(np.argwhere(X), X[X > 0], X.shape)
    if name == "abalone":
        measurements, _ = read_abalone(str(shared / "abalone" / "abalone.csv"))
        return tensor_of(bins_of(measurements, N_BINS), N_BINS)
    return drawn_tensor(RankBudget(), 0)


def print_ranks(X: CellCounts, given: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Print a line for each rank and seed."""
    model_of: Callable[..., AllocationModel] = (
        (lambda rank, a: AllocationModel.symmetric_nmf(X.shape[0], rank, a=a))
        if given.graph == "symmetric"
        else (lambda rank, a: AllocationModel.cp(X.shape, rank, a))
    )
    print(f"{X.n_tokens:,} tokens in {len(X.counts):,} cells; {settings}")
    print("rank seed log marginal ±     spread found      bound  seconds")
    models = [model_of(rank, given.a) for rank in given.ranks]
    of_table = {"table": given.table, "graph": given.graph, "a": given.a}
    group = ResultCache().group("annealing-ranks", **of_table, settings=settings)
    estimates: dict[int, list[MarginalEstimate]] = {seed: [] for seed in given.seeds}
    known: dict[int, CellCounts | None] = dict.fromkeys(given.seeds)  # The last modes of each seed
    for n, (rank, model) in enumerate(zip(given.ranks, models, strict=True)):
        bound = log_marginal(model, X, "vb", n_repeats=10, random_state=0).log_marginal
        for seed in given.seeds:
            found, seconds = group.cached(
                f"{given.ranks[: n + 1]} {seed}",
                partial(run, model, X, seed, settings | {"known_modes": known[seed]}),
                TimedMarginal.to_arrays,
                TimedMarginal.from_arrays,
            )
            estimates[seed].append(found)
            known[seed] = known[seed] if found.modes is None else found.modes
            line = f"{rank:4d} {seed:4d} {found.log_marginal:12.2f} {found.standard_error:5.2f} "
            line += f"{found.spread:6.2f} {found.n_found:5d} {bound:10.2f}"
            print(f"{line} {seconds:8.1f}", flush=True)
    for seed, of_seed in estimates.items():
        if len(models) > 1:
            print(f"seed {seed}, each rank from the runs of all\nrank log marginal ±     sources")
            for rank, found in zip(given.ranks, pool_marginals(models, of_seed), strict=True):
                line = f"{rank:4d} {found.log_marginal:12.2f} {found.standard_error:5.2f}"
                print(f"{line} {found.n_sources:7.1f}", flush=True)


def run(
    model: AllocationModel, X: CellCounts, seed: int, settings: dict[str, Any]
) -> TimedMarginal:
    """Return the estimate, and the seconds of processors that it took."""
    started = time.process_time()
    found = log_marginal(model, X, "annealed", random_state=seed, **settings)
    return TimedMarginal(found, time.process_time() - started)


def decided(
    models: list[AllocationModel], X: CellCounts, settings: dict[str, Any]
) -> tuple[list[MarginalEstimate], dict[str, Any]]:
    """Return the estimate of each model, and the settings of the best one.

    If other models are within `CLOSE` of the best, they and the best are estimated again, with four
    times the runs; those that are then not told apart once more, with four times the sweeps too.
    """
    found = [log_marginal(each, X, "annealed", **settings) for each in models]
    for more, are_close in (({"n_repeats": MORE}, is_close), ({"n_sweeps": MORE}, is_tied)):
        stronger = settings | {name: times * settings[name] for name, times in more.items()}
        again: set[int] = set()
        while len(close := close_to_best(found, are_close)) > 1 and close - again:
            for n in close - again:
                found[n] = log_marginal(models[n], X, "annealed", **stronger)
            again |= close
        if not again:
            break
        settings = stronger
    return found, settings


def close_to_best(
    found: list[MarginalEstimate], are_close: Callable[[MarginalEstimate, MarginalEstimate], bool]
) -> set[int]:
    """Return the places of the highest estimate and of those that are close to it."""
    best = max(found, key=lambda each: each.log_marginal)
    return {n for n, each in enumerate(found) if each is best or are_close(each, best)}


def is_close(estimate: MarginalEstimate, best: MarginalEstimate) -> bool:
    """Return whether an estimate is within `CLOSE` of the best."""
    return best.log_marginal - estimate.log_marginal < CLOSE


def is_tied(estimate: MarginalEstimate, best: MarginalEstimate) -> bool:
    """Return whether two standard errors do not tell an estimate apart from the best."""
    return not is_below(estimate, best)


def is_below(estimate: MarginalEstimate, other: MarginalEstimate) -> bool:
    """Return whether an estimate is below another by over two standard errors of the difference."""
    error = math.hypot(estimate.standard_error, other.standard_error)
    return other.log_marginal - estimate.log_marginal > 2 * error


def print_known(tables: list[int], settings: dict[str, Any]) -> None:
    """Print how often the true rank is the most probable one."""
    n_found, n_tied, n_knowable = 0, 0, 0
    for n in tables:
        true = TRUE_RANKS[n % len(TRUE_RANKS)]
        models = [AllocationModel.nmf(*SHAPE, k, a=A) for k in range(1, true + MORE_RANKS + 1)]
        X, allocation = draw(models[true - 1], N_TOKENS, np.random.default_rng([7, n]))
        found, seeded = decided(models, X, settings | {"random_state": n})
        at_true = bracket_marginal(models[true - 1], X, allocation, **seeded)
        found[true - 1] = at_true.lower
        upper = at_true.upper + 2 * at_true.upper_standard_error
        others = [each for each in found if each is not at_true.lower]
        best = 1 + max(range(len(found)), key=lambda k: found[k].log_marginal)
        is_knowable = upper >= max(each.log_marginal - 2 * each.standard_error for each in others)
        n_knowable += is_knowable
        n_found += best == true and is_knowable
        is_first = all(is_below(each, at_true.lower) for each in others)
        is_apart = is_first or any(is_below(at_true.lower, each) for each in others)
        n_tied += is_knowable and not is_apart
        logs = ", ".join(f"{each.log_marginal:.2f} ± {each.standard_error:.2f}" for each in found)
        print(f"table {n}: true rank {true}, best {best}; {logs}")
        bound = f"{at_true.upper:.2f} ± {at_true.upper_standard_error:.2f}"
        can = "can" if is_knowable else "cannot"
        runs = f"{seeded['n_repeats']} runs of {seeded['n_sweeps']} sweeps, upper bound {bound}"
        print(f"  at the true rank {runs}: this rank {can} be known", flush=True)
    print(
        f"true rank most probable in {n_found} of {n_knowable} tables where it can be known; in "
        f"{n_tied} of these two standard errors do not tell it apart from another"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.annealing_ranks")
    parser.add_argument("table", choices=("letters", "abalone", "parafac", "known"))
    parser.add_argument("--graph", choices=("cp", "symmetric"), default="cp", help="cp: NMF, CP")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 5, 10])
    parser.add_argument("--a", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--modes", type=int, default=16)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--tables", type=int, nargs="+", default=range(N_TABLES), metavar="N")
    given = parser.parse_args()
    settings: dict[str, Any] = {"n_modes": given.modes, "n_sweeps": given.sweeps}
    settings |= {"n_particles": given.chains, "n_repeats": given.runs}
    if given.table == "known":
        print_known(list(given.tables), settings)
    else:
        print_ranks(table_of(given.table), given, settings)


if __name__ == "__main__":
    main()
