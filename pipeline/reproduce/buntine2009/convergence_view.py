"""Figures 1 and 2 of Buntine 2009: run at a scale, as a table and as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.figures.style import INK
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.convergence import (
    Convergence,
    ConvergenceSettings,
    convergence,
)
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "buntine-convergence"
QUICK_SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000)
FULL_SIZES = (50, 100, 200, 300, 500, 700, *range(1000, 20_001, 1000))
RUNS = {"quick": 10, "full": 50}
CLOSE_UP = 0.04
"""Bits a word above and below the exact value that the close-up shows, as in the paper."""


def run(settings: ReproduceSettings, cache: ResultCache) -> Convergence:
    """All runs; nothing is cached."""
    del cache
    sizes = QUICK_SIZES if settings.scale == "quick" else FULL_SIZES
    n_runs = RUNS[settings.scale]
    wanted = ConvergenceSettings(sizes=sizes, n_runs=n_runs, seed=settings.seed)
    with Progress(NAME, n_runs * len(ESTIMATORS), "runs") as progress:
        return convergence(wanted, lambda: progress.update(1))


def as_json(found: Convergence) -> dict[str, Any]:
    """A row for each estimator and number of samples."""
    return {
        "name": NAME,
        "topics": found.settings.n_topics,
        "tokens": found.settings.length,
        "gamma": found.settings.gamma,
        "runs": found.settings.n_runs,
        "exact": found.exact,
        "rows": [
            {
                "estimator": estimator,
                "samples": size,
                "estimate": float(found.estimate[m, i, 0]),
                "root_mean_square_error": float(found.root_mean_square_error[m, i]),
            }
            for m, estimator in enumerate(found.estimators)
            for i, size in enumerate(found.settings.sizes)
        ],
    }


def print_result(result: dict[str, Any]) -> None:
    """Estimates of one run by estimator and samples; below, errors over all runs."""
    print(
        f"-log2 p a word of one document of {result['tokens']} tokens, {result['topics']} topics, "
        f"gamma = {result['gamma']}: exactly {result['exact']:.5f}"
    )
    by_size: dict[int, dict[str, dict[str, Any]]] = {}
    for row in result["rows"]:
        by_size.setdefault(row["samples"], {})[row["estimator"]] = row
    head = "samples" + "".join(f"{name:>13s}" for name in next(iter(by_size.values())))
    for title, column in (
        ("estimates of one run", "estimate"),
        (f"root mean square error over {result['runs']} runs", "root_mean_square_error"),
    ):
        print(f"\n{title}\n{head}")
        for size, of in by_size.items():
            print(f"{size:7d}" + "".join(f"{row[column]:13.5f}" for row in of.values()))


def pictures(found: Convergence) -> dict[str, Callable[[Any], None]]:
    """Figure 1, Figure 2, which is a close-up of it, and errors on logarithmic scales."""
    sizes = found.settings.sizes

    def estimates(figure: Any) -> Any:
        axes = figure.subplots()
        axes.axhline(found.exact, color=INK, label="exact")
        for name, values in zip(found.estimators, found.estimate[:, :, 0], strict=True):
            axes.plot(sizes, values, label=name)
        axes.set_xlabel("samples")
        axes.set_ylabel("-log2 p a word")
        axes.legend()
        return axes

    def close_up(figure: Any) -> None:
        estimates(figure).set_ylim(found.exact - CLOSE_UP, found.exact + CLOSE_UP)

    def errors(figure: Any) -> None:
        axes = figure.subplots()
        for name, values in zip(found.estimators, found.root_mean_square_error, strict=True):
            axes.loglog(sizes, values, label=name)
        axes.set_xlabel("samples")
        axes.set_ylabel("root mean square error of -log2 p a word")
        axes.legend()

    return {NAME: estimates, f"{NAME}-close-up": close_up, f"{NAME}-error": errors}
