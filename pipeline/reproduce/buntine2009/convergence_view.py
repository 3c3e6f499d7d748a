"""Figures 1 and 2 of Buntine 2009: estimates against the number of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.figures.style import INK
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.convergence import (
    Convergence,
    ConvergenceSettings,
    convergence,
)
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.claims import Claim, decided
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.tables import Headline, Table, grouped, indexed, text, text_table

if TYPE_CHECKING:
    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "buntine-convergence"
QUICK_SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000)
FULL_SIZES = (50, 100, 200, 300, 500, 700, *range(1000, 20_001, 1000))
RUNS = {"quick": 10, "full": 50}
CLOSE_UP = 0.04
"""Bits a word above and below the exact value in the close-up, as in Figure 2 of the paper."""


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Make all runs; nothing is cached."""
    del cache
    sizes = QUICK_SIZES if settings.scale == "quick" else FULL_SIZES
    n_runs = RUNS[settings.scale]
    wanted = ConvergenceSettings(sizes=sizes, n_runs=n_runs, seed=settings.seed)
    with Progress(NAME, n_runs * len(ESTIMATORS), "runs") as progress:
        found = convergence(wanted, lambda: progress.update(1))
    return Found(as_json(found), found)


def as_json(found: Convergence) -> dict[str, Any]:
    """Return a row for each estimator and number of samples."""
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


def tables(result: Any) -> list[Table]:
    """Return estimates of one run, and errors of all runs, by samples and estimator."""
    by_size = grouped(result["rows"], "samples")
    names = [row["estimator"] for row in next(iter(by_size.values()))]
    return [
        text_table(
            title,
            ("samples", *names),
            [
                (f"{size:,}", *(text(row[column], ".5f") for row in rows))
                for size, rows in by_size.items()
            ],
            note=f"Bits a word of one document of {result['tokens']} tokens under "
            f"{result['topics']} topics, gamma = {result['gamma']}; exactly "
            f"{result['exact']:.5f}.",
        )
        for title, column in (
            ("Estimates of −log2 p a word, one run", "estimate"),
            (f"Root mean square error over {result['runs']} runs", "root_mean_square_error"),
        )
    ]


def _errors(result: Any) -> tuple[dict[int, dict[str, float]], int, int]:
    """Return errors by samples and estimator, and the fewest and the most samples."""
    errors = {
        size: {
            name: row["root_mean_square_error"] for name, row in indexed(of, "estimator").items()
        }
        for size, of in grouped(result["rows"], "samples").items()
    }
    return errors, min(errors), max(errors)


def headline(result: Any) -> Headline:
    """Return the final errors of the particle sampler and the sequential one."""
    errors, _, most = _errors(result)
    return Headline(
        f"root mean square error with {most:,} samples, bits a word",
        ", ".join(f"{name} {text(errors[most][name], '.4f')}" for name in ("HM", "LR", "LRS")),
        "only drawn: all but HM come close, LR slightly biased",
    )


def _far_off(result: Any) -> list[str]:
    errors, _, most = _errors(result)
    return [
        f"{name} ({error:.4f})"
        for name, error in errors[most].items()
        if name not in ("HM", REFINED) and error >= CLOSE_UP
    ]


def _no_farther(result: Any) -> list[str]:
    errors, _, most = _errors(result)
    return [name for name in ("LR", "HM") if errors[most][name] <= errors[most]["LRS"]]


def _not_falling(result: Any) -> list[str]:
    errors, fewest, most = _errors(result)
    first, last = errors[fewest], errors[most]
    return [
        f"{name} ({first[name]:.4f} to {last[name]:.4f})"
        for name in last
        if name != "HM" and last[name] > first[name] / 2
    ]


CLAIMS = (
    Claim(
        "all-but-hm-close",
        lambda result: (
            f"with {_errors(result)[2]:,} samples the errors of all but HM are below "
            f"{CLOSE_UP} bits a word, the range of Figure 2"
        ),
        _far_off,
        "All estimators but the harmonic mean come close to the exact value.",
    ),
    Claim(
        "lrs-nearest",
        lambda result: f"with {_errors(result)[2]:,} samples LRS is nearer than LR and HM",
        _no_farther,
        "LRS converges to the exact value, LR is slightly biased.",
    ),
    Claim(
        "errors-fall",
        lambda result: (
            f"errors fall from {_errors(result)[1]:,} samples on to half and less: no bias remains"
        ),
        _not_falling,
    ),
)


def _draw_estimates(figure: Any, _: Any, found: Convergence) -> None:
    _draw_around_exact(figure, found)


def _draw_around_exact(figure: Any, found: Convergence) -> Any:
    axes = figure.subplots()
    axes.axhline(found.exact, color=INK, label="exact")
    for name, values in zip(found.estimators, found.estimate[:, :, 0], strict=True):
        axes.plot(found.settings.sizes, values, label=name)
    axes.set_xlabel("samples")
    axes.set_ylabel("-log2 p a word")
    axes.legend()
    return axes


def _draw_close_up(figure: Any, _: Any, found: Convergence) -> None:
    axes = _draw_around_exact(figure, found)
    axes.set_ylim(found.exact - CLOSE_UP, found.exact + CLOSE_UP)


def _draw_errors(figure: Any, _: Any, found: Convergence) -> None:
    axes = figure.subplots()
    for name, values in zip(found.estimators, found.root_mean_square_error, strict=True):
        axes.loglog(found.settings.sizes, values, label=name)
    axes.set_xlabel("samples")
    axes.set_ylabel("root mean square error of -log2 p a word")
    axes.legend()


EXPERIMENT = Experiment(
    name=NAME,
    where="Figures 1 and 2",
    shows="Whether estimates come to the exact value as samples increase.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: decided(CLAIMS, found.result),
    figures=(
        Figure("", "Figure 1: estimates of one run against samples", _draw_estimates),
        Figure("-close-up", "Figure 2: the same, close to the exact value", _draw_close_up),
        Figure(
            "-error",
            "Root mean square error over runs against samples, both logarithmic",
            _draw_errors,
        ),
    ),
)
