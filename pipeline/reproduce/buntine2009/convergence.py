"""Buntine 2009, Figures 1 and 2: estimates of one document against the number of samples.

The figures show one run of each estimator. Here each is run `n_runs` times with other random
numbers, and the root mean square of its error tells speed from luck: it falls as one over the root
of the number of samples where an estimator converges to the exact value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from evaluation.arrays import Floats
from evaluation.lda.exact import exact
from pipeline.figures.style import INK
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_document
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, draw_lines
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Row, Table, grouped, pivoted, text
from pipeline.reproduce.trials import group_of, run_trials, scaled

NAME = "buntine-convergence"
QUICK: dict[str, Any] = {
    "sizes": (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000),
    "n_runs": 10,
}
CLOSE_UP = 0.04  # Bits a word above and below the exact value in the close-up, as in Figure 2
BITS = "-log2 p a word"


@dataclass(frozen=True)
class ConvergenceBudget:
    """Model and document, by default the paper's, with numbers of samples, and of runs."""

    sizes: tuple[int, ...] = (50, 100, 200, 300, 500, 700, *range(1000, 20_001, 1000))
    n_runs: int = 50
    gamma: float = 0.5
    n_topics: int = 5
    n_words: int = 1000
    length: int = 16
    alpha: float = 0.1
    seed: int = 0


def _run(settings: ReproduceSettings) -> Found:
    budget = scaled(ConvergenceBudget(), settings, QUICK)
    return Found(as_json(budget, *convergence(budget)))


def convergence(budget: ConvergenceBudget) -> tuple[float, dict[str, Floats]]:
    """Return -log2 p(document) a word: exact, and (R, N) by run and size of each estimator. All
    sizes of one run have the seed in common, so that a larger size of an estimator that makes its
    samples one after the other contains the smaller ones, as in the figures.
    """
    rng = np.random.default_rng(budget.seed)
    topics, document = draw_document(budget, budget.gamma, rng)
    bits = budget.length * np.log(2.0)
    seeds = rng.integers(2**32, size=(len(ESTIMATORS), budget.n_runs)).tolist()
    seed_of = dict(zip(ESTIMATORS, seeds, strict=True))

    def compute(name: str, run: int) -> Row:
        estimate = partial(ESTIMATORS[name], topics, document, seed=seed_of[name][run])
        found = (estimate(n_samples=size).log_likelihood[0] for size in budget.sizes)
        return {"estimate": [-each / bits for each in found]}

    runs = range(budget.n_runs)
    group = group_of(NAME, budget)
    found = run_trials(group, product(ESTIMATORS, runs), compute, NAME, "runs", "{}, run {}".format)
    truth = -float(exact(topics, document).log_likelihood[0]) / bits
    return truth, {m: np.array([found[m, run]["estimate"] for run in runs]) for m in ESTIMATORS}


def as_json(budget: ConvergenceBudget, truth: float, estimates: Mapping[str, Floats]) -> Row:
    """Return a row for each estimator and number of samples, with the estimate of the first run."""
    rows = []
    for name, estimate in estimates.items():
        for size, of in zip(budget.sizes, estimate.T.copy(), strict=True):
            error = float(np.sqrt(((of - truth) ** 2).mean()))
            row = {"estimator": name, "samples": size, "estimate": float(of[0])}
            rows.append({**row, "root_mean_square_error": error})
    about = {"topics": budget.n_topics, "tokens": budget.length, "gamma": budget.gamma}
    return {"name": NAME, **about, "runs": budget.n_runs, "exact": truth, "rows": rows}


def _tables(result: Any) -> list[Table]:
    names = grouped(result["rows"], "estimator")
    rows = pivoted(result["rows"], "samples", "estimator")
    note = (
        f"Bits a word of one document of {result['tokens']} tokens under {result['topics']} "
        f"topics, gamma = {result['gamma']}; exactly {result['exact']:.5f}."
    )

    def table(title: str, column: str) -> Table:
        shown = (Column(name, (name, column), ".5f") for name in names)
        return Table(title, (Column("samples", "samples", ","), *shown), rows, note)

    estimates = table("Estimates of −log2 p a word, one run", "estimate")
    title = f"Root mean square error over {result['runs']} runs"
    return [estimates, table(title, "root_mean_square_error")]


def _errors(result: Any, extreme: Callable[..., int]) -> tuple[int, dict[str, float]]:
    """Return the fewest or the most samples, and the errors with them by estimator."""
    by_size = grouped(result["rows"], "samples")
    size = extreme(by_size)
    return size, {row["estimator"]: row["root_mean_square_error"] for row in by_size[size]}


def _headline(result: Any) -> Headline:
    most, error = _errors(result, max)
    return Headline(
        f"root mean square error with {most:,} samples, bits a word",
        ", ".join(f"{name} {text(error[name], '.4f')}" for name in ("HM", "LR", "LRS")),
        "only drawn: all but HM come close, LR slightly biased",
    )


def _findings(result: Any) -> Findings:
    (fewest, first), (most, last) = _errors(result, min), _errors(result, max)
    theirs = {name: error for name, error in last.items() if name not in ("HM", REFINED)}
    yield Finding(
        "all-but-hm-close",
        f"with {most:,} samples the errors of all but HM are below {CLOSE_UP} bits a word, the "
        "range of Figure 2",
        [f"{name} ({error:.4f})" for name, error in theirs.items() if error >= CLOSE_UP],
        "All estimators but the harmonic mean come close to the exact value.",
    )
    yield Finding(
        "lrs-nearest",
        f"with {most:,} samples LRS is nearer than LR and HM",
        [name for name in ("LR", "HM") if last[name] <= last["LRS"]],
        "LRS converges to the exact value, LR is slightly biased.",
    )
    yield Finding(
        "errors-fall",
        f"errors fall from {fewest:,} samples on to half and less: no bias remains",
        [
            f"{name} ({first[name]:.4f} to {error:.4f})"
            for name, error in last.items()
            if name != "HM" and error > first[name] / 2
        ],
    )


def _draw_estimates(figure: Any, result: Any, _: Any) -> Any:
    axes = figure.subplots()
    axes.axhline(result["exact"], color=INK, label="exact")
    _draw_lines(axes, result, "estimate", ylabel=BITS)
    return axes


def _draw_close_up(figure: Any, result: Any, _: Any) -> None:
    truth = result["exact"]
    _draw_estimates(figure, result, _).set(ylim=(truth - CLOSE_UP, truth + CLOSE_UP))


def _draw_errors(figure: Any, result: Any, _: Any) -> None:
    both, label = {"xscale": "log", "yscale": "log"}, f"root mean square error of {BITS}"
    _draw_lines(figure.subplots(), result, "root_mean_square_error", ylabel=label, **both)


def _draw_lines(axes: Any, result: Any, column: str, **settings: Any) -> None:
    draw_lines(axes, result["rows"], "samples", column, "estimator")
    axes.set(xlabel="samples", **settings)
    axes.legend()


EXPERIMENT = Experiment(
    NAME,
    "Figures 1 and 2",
    "Whether estimates come to the exact value as samples increase.",
    *(_run, _tables, _headline, _findings),
    (
        Figure("", "Figure 1: estimates of one run against samples", _draw_estimates),
        Figure("-close-up", "Figure 2: the same, close to the exact value", _draw_close_up),
        Figure(
            "-error",
            "Root mean square error over runs against samples, both logarithmic",
            _draw_errors,
        ),
    ),
)
