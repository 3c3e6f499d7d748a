"""Allocation models: what the marginal likelihood costs by particles, by enumeration and by VB.

    python -m benchmarks.allocation [--particles 1000] [--repeats 3]

1. Sequential Monte Carlo on 10,000 tokens of NMF with K = 20, and with as many moves as tokens.
2. SMC and variational Bayes on 1,000 tokens of CP with R = 5, from 4³ to 256³ cells. VB runs to
   convergence from one start. No other library computes either: the ratio is of one to the other.
3. What moves are worth: 2,000 tokens of NMF with K = 5, for about the same time. All estimates are
   unbiased, so the higher a typical log is, the nearer it is to the truth.
4. Exact marginal likelihoods: seconds, by size.

Data are drawn from the models themselves. Times are the best of `--repeats`, on one thread, without
compilation.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from evaluation.allocation.exact import MarginalCostError
from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.simulate import draw
from models.allocation.cell_counts import CellCounts
from models.allocation.inference_plan import plan_of
from models.allocation.model import AllocationModel
from models.allocation.particles.runs import run_particles
from models.allocation.sequence import log_of_counts

if TYPE_CHECKING:
    from collections.abc import Callable


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def compile_kernels() -> None:
    model = AllocationModel.nmf(2, 2, 2)
    for method in ("smc", "vb", "exact"):
        log_marginal(model, np.eye(2, dtype=int), method, n_particles=2, n_repeats=1, n_moves=1)


def large_nmf(n_particles: int, repeats: int) -> None:
    model = AllocationModel.nmf(500, 200, 20, a=200.0)
    observed, _ = draw(model, 10_000, np.random.default_rng(0))
    plan = plan_of(model, observed)
    print(f"NMF of 500 x 200, K = 20, 10,000 tokens in {len(observed.counts):,} cells")
    for n_moves in (0, 1):
        seconds = best_seconds(
            lambda moves=n_moves: run_particles(
                plan, n_particles, np.random.default_rng(1), n_moves=moves
            ),
            repeats,
        )
        print(f"  {n_particles:,} particles, {n_moves} moves a token: {seconds:.2f} s", flush=True)


def tensor_sizes(n_particles: int, repeats: int) -> None:
    print("\nCP of size³, R = 5, 1,000 tokens, seconds")
    print("size   cells with tokens   rows     SMC      VB   VB, 4³ = 1")
    first = 0.0
    for size in (4, 8, 16, 32, 64, 128, 256):
        model = AllocationModel.cp((size,) * 3, 5, a=30.0)
        observed, _ = draw(model, 1000, np.random.default_rng(size))
        plan = plan_of(model, observed)
        smc = best_seconds(
            lambda plan=plan: run_particles(plan, n_particles, np.random.default_rng(1)), repeats
        )
        vb = best_seconds(
            lambda model=model, observed=observed: log_marginal(
                model, observed, "vb", n_repeats=1, random_state=0
            ),
            repeats,
        )
        first = first or vb
        print(
            f"{size:4d} {len(observed.counts):19,d} {plan.row_start[-1]:6,d} {smc:7.3f}"
            f" {vb:7.3f} {vb / first:12.1f}",
            flush=True,
        )


def what_moves_are_worth() -> None:
    model = AllocationModel.nmf(26, 26, 5, a=1.0)
    observed, _ = draw(AllocationModel.nmf(26, 26, 5, a=50.0), 2000, np.random.default_rng(3))
    plan, constant = plan_of(model, observed), log_of_counts(model, observed)
    bound = log_marginal(model, observed, "vb", n_repeats=20, random_state=0)
    print("\nNMF of 26 x 26, K = 5, 2,000 tokens: 10 runs of SMC each")
    print(f"  bound of variational Bayes, best of 20 starts: {bound.log_marginal:.1f}")
    print("particles  moves   seconds a run   log of the mean   median log   standard deviation")
    for n_particles, n_moves in ((10_000, 0), (1000, 0), (1000, 9), (100, 99)):
        started = time.perf_counter()
        logs = np.array(
            [
                run_particles(
                    plan, n_particles, np.random.default_rng([9, r]), n_moves=n_moves
                ).log_probability
                for r in range(10)
            ]
        )
        seconds = (time.perf_counter() - started) / 10
        mean = np.logaddexp.reduce(logs) - np.log(10)
        print(
            f"{n_particles:9,d} {n_moves:6d} {seconds:15.2f} {constant + mean:17.1f}"
            f" {constant + np.median(logs):12.1f} {logs.std(ddof=1):20.1f}",
            flush=True,
        )


def exact_sizes(repeats: int) -> None:
    print("\nExact, seconds (2 GiB)")
    rng = np.random.default_rng(0)
    for name, model, n_tokens in (
        ("NMF 6 x 6, K = 2", AllocationModel.nmf(6, 6, 2), 40),
        ("NMF 6 x 6, K = 3", AllocationModel.nmf(6, 6, 3), 40),
        ("NMF 10 x 10, K = 3", AllocationModel.nmf(10, 10, 3), 30),
        ("NMF 10 x 10, K = 2", AllocationModel.nmf(10, 10, 2), 60),
        ("CP 3 x 3 x 3, R = 3", AllocationModel.cp((3, 3, 3), 3), 20),
        ("symmetric NMF 5 x 5, K = 3", AllocationModel.symmetric_nmf(5, 3), 25),
    ):
        cells = np.stack([rng.integers(size, size=n_tokens) for size in model.shape], axis=1)
        observed = CellCounts(cells, np.ones(n_tokens, dtype=np.int64), model.shape)
        try:
            seconds = best_seconds(
                lambda model=model, observed=observed: log_marginal(model, observed, "exact"),
                repeats,
            )
            print(f"  {name}, {n_tokens} tokens drawn evenly: {seconds:.2f}", flush=True)
        except MarginalCostError as error:
            print(f"  {name}, {n_tokens} tokens drawn evenly: {error}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--particles", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    compile_kernels()
    large_nmf(arguments.particles, arguments.repeats)
    tensor_sizes(arguments.particles, arguments.repeats)
    exact_sizes(arguments.repeats)
    what_moves_are_worth()


if __name__ == "__main__":
    main()
