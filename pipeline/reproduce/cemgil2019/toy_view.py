"""Figure 9 of Cemgil et al. 2019: run at a scale, as a table and as pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import BLUE, GREEN, GRID, VERMILION
from pipeline.reproduce.cemgil2019 import effort as bam_effort
from pipeline.reproduce.cemgil2019.rank_scores_view import cached_scores, print_findings
from pipeline.reproduce.cemgil2019.scores import NAMES, SORTED, Effort
from pipeline.reproduce.cemgil2019.toy import (
    BY_PARTICLES,
    MATRICES,
    METHODS,
    Cell,
    ToyComparison,
    ToySettings,
    comparison,
    estimate,
)
from pipeline.reproduce.panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-toy"
LISTS = ("a", "ranks")
"""Settings that say which results there are, not what one of them is."""
QUICK = {"n_repeats": 20, "n_starts": 20}
LARGEST_T = 2.58
"""|t| is above it once in a hundred times where there is no bias."""
DENSE = 0.1
"""From this a on SMC is to be within `TOLERANCE` nats."""
TOLERANCE = 0.02
SPARSE = 1.0
"""Up to this a the paper finds VB wrong on X1."""


def protocol(settings: ReproduceSettings) -> ToySettings:
    """What the scale stands for."""
    effort = bam_effort.effort_of(settings, NAME, Effort(n_repeats=100), QUICK)
    return ToySettings(effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> ToyComparison:
    """All methods on both matrices; what is in the cache is taken from it."""
    wanted = protocol(settings)
    depends_on = {name: value for name, value in asdict(wanted).items() if name not in LISTS}
    group = cache.group(f"experiment-{NAME}", settings=depends_on, data=dict(MATRICES))
    names = {cell.name: cell for cell in wanted.cells}

    def work(cell: Cell) -> Callable[[], Any]:
        return lambda: estimate(cell, wanted, settings.threads)

    scores = cached_scores(group, {name: work(cell) for name, cell in names.items()}, stage=NAME)
    return comparison(wanted, {cell: scores[name] for name, cell in names.items()})


def as_json(found: ToyComparison) -> dict[str, Any]:
    """A row for each matrix, a and rank, and what the paper concludes."""
    settings = found.settings
    return {
        "name": NAME,
        "particles": settings.effort.n_particles,
        "repeats": settings.effort.n_repeats,
        "starts": settings.effort.n_starts,
        "rows": _rows(found),
        "findings": _findings(found),
    }


def _rows(found: ToyComparison) -> list[dict[str, Any]]:
    t = {method: found.ratio_t(method) for method in BY_PARTICLES}
    error = {method: found.error(method) for method in BY_PARTICLES}
    odds_error = {method: found.log_odds_standard_error(method) for method in BY_PARTICLES}
    return [
        {
            "matrix": matrix,
            "a": a,
            "rank": rank,
            **{method: float(found.log_marginal[method][m, i, k]) for method in METHODS},
            "standard_error": _of(found.standard_error, m, i, k),
            "error": _of(error, m, i, k),
            "t": _of(t, m, i, k),
            "log_odds": _of(found.log_odds, m, i, k),
            "log_odds_standard_error": _of(odds_error, m, i, k),
            "published": _of(found.published, m, i, k),
        }
        for m, matrix in enumerate(MATRICES)
        for i, a in enumerate(found.settings.a)
        for k, rank in enumerate(found.settings.ranks)
    ]


def _of(values: Mapping[str, Any], *at: int) -> dict[str, float | None]:
    """One entry, by method."""
    return {method: finite(array[at]) for method, array in values.items()}


def _findings(found: ToyComparison) -> list[dict[str, Any]]:
    """What should hold, and where it does not."""
    matrices, settings = list(MATRICES), found.settings
    places = [(m, i) for m in range(len(matrices)) for i in range(len(settings.a))]
    cells = [(m, i, k) for m, i in places for k in range(len(settings.ranks))]
    best = {method: found.best_rank(method) for method in METHODS}
    exact, published = found.log_marginal["exact"], found.published

    def place(m: int, i: int) -> str:
        return f"{matrices[m]} a = {settings.a[i]:g}"

    def cell(m: int, i: int, k: int) -> str:
        return f"{place(m, i)} K = {settings.ranks[k]}"

    def wrong(method: str, m: int, i: int) -> str:
        text = f"{place(m, i)} (K = {best[method][m, i]} for {best['exact'][m, i]}"
        if method in BY_PARTICLES:
            gap, error = found.gap(method, m, i)
            text += f", by {gap:.2g} ± {error:.2g}"
        return f"{text})"

    def of_particles(method: str) -> list[tuple[str, list[str]]]:
        name, error, t = NAMES[method], found.error(method), found.ratio_t(method)
        is_tested = [at for at in cells if np.isfinite(t[at])]
        return [
            (
                f"{name}: prefers the rank that exact does",
                [wrong(method, *at) for at in differs[method]],
            ),
            (
                f"{name}: where not, by less than {LARGEST_T} standard errors",
                [
                    wrong(method, *at)
                    for at in differs[method]
                    if found.gap(method, *at)[0] > LARGEST_T * found.gap(method, *at)[1]
                ],
            ),
            (
                f"{name}: within {TOLERANCE} nats of exact from a = {DENSE} on",
                [
                    f"{cell(*at)} ({error[at]:+.3f} ± {found.standard_error[method][at]:.3f})"
                    for at in cells
                    if settings.a[at[1]] >= DENSE and abs(error[at]) > TOLERANCE
                ],
            ),
            (
                f"{name}: p / exact is 1, |t| < {LARGEST_T} in all {len(is_tested)} that vary",
                [f"{cell(*at)} (t = {t[at]:.2f})" for at in is_tested if abs(t[at]) >= LARGEST_T],
            ),
            (
                f"{name}: the exact value where its runs do not vary, to 1e-8 nats",
                [cell(*at) for at in cells if not np.isfinite(t[at]) and abs(error[at]) > 1e-8],
            ),
        ]

    differs = {
        method: [at for at in places if best[method][at] != best["exact"][at]] for method in METHODS
    }
    is_published = [at for at in cells if np.isfinite(published["exact"][at])]
    theirs = []
    if is_published:
        top = {method: values.argmax(axis=-1) for method, values in published.items()}
        theirs = [at for at in places if top["smc"][at] != top["exact"][at]]
    vb = found.log_marginal["vb"]
    findings = [
        (
            "exact is as published, to 1e-8 nats",
            [cell(*at) for at in is_published if abs(exact[at] - published["exact"][at]) > 1e-8],
        ),
        *(finding for method in BY_PARTICLES for finding in of_particles(method)),
        (
            "the published SMC prefers the rank that exact does",
            [place(*at) for at in theirs],
        ),
        (
            f"VB prefers another rank for X1 up to a = {SPARSE:g}",
            [
                place(m, i)
                for m, i in places
                if matrices[m] == "X1" and settings.a[i] <= SPARSE and (m, i) not in differs["vb"]
            ],
        ),
        (
            "VB prefers the rank that exact does for X2",
            [wrong("vb", m, i) for m, i in differs["vb"] if matrices[m] == "X2"],
        ),
        (
            "VB is below exact",
            [cell(*at) for at in cells if vb[at] > exact[at] + 1e-9],
        ),
        (
            "VB is at least as high as published, to 1e-6 nats",
            [
                f"{cell(*at)} ({vb[at] - published['vb'][at]:+.2g})"
                for at in is_published
                if vb[at] < published["vb"][at] - 1e-6
            ],
        ),
    ]
    return [{"claim": claim, "fails_at": failed} for claim, failed in findings]


def print_result(result: dict[str, Any]) -> None:
    """A table for each matrix, then what should hold."""
    print(
        "log marginal likelihood in nats; KL-NMF of rank K, b = a / S₊\n"
        f"SMC, and SMC that takes tokens in sorted by cell: {result['particles']:,} particles, "
        f"{result['repeats']} runs, error against exact ±\nits own standard error; VB: best of "
        f"{result['starts']} starts\n"
        "t: of the mean of p / exact; far below 0 at a small a, where much of the mean is in runs "
        "that come once in a thousand\n"
        "log odds: log posterior probability of K, all alike before"
    )
    matrix = None
    for row in result["rows"]:
        if row["matrix"] != matrix:
            matrix = row["matrix"]
            print(
                f"\n{matrix:11s}{'ours':>76s}{'published':>36s}{'log odds':>32s}\n"
                f"{'a':>7s}{'K':>3s}{'exact':>11s}{'SMC - exact':>20s}{'t':>7s}"
                f"{'sorted - exact':>20s}{'t':>7s}{'VB':>12s}"
                f"{'exact':>12s}{'SMC - exact':>12s}{'VB':>12s}"
                f"{'exact':>8s}{'SMC':>8s}{'sorted':>8s}{'VB':>8s}"
            )
        print(_line(row))
    print_findings(result["findings"])


def _line(row: dict[str, Any]) -> str:
    def text(value: float | None, form: str) -> str:
        return "-" if value is None else f"{value:{form}}"

    def of_particles(method: str) -> str:
        error = f"{row['error'][method]:+.1e} ± {row['standard_error'][method]:.1e}"
        return f"{error:>20s}{text(row['t'][method], '.2f'):>7s}"

    published = row["published"]
    theirs = None if published["exact"] is None else published["smc"] - published["exact"]
    return (
        f"{row['a']:7g}{row['rank']:3d}{row['exact']:11.5f}"
        + "".join(of_particles(method) for method in BY_PARTICLES)
        + f"{row['vb']:12.5f}{text(published['exact'], '.5f'):>12s}{text(theirs, '+.1e'):>12s}"
        f"{text(published['vb'], '.5f'):>12s}"
        + "".join(f"{row['log_odds'][method]:8.3f}" for method in METHODS)
    )


def pictures(found: ToyComparison) -> dict[str, Callable[[Any], None]]:
    """Figure 9 for each matrix: over a, a column for each rank."""

    def of(m: int) -> Callable[[Any], None]:
        return lambda figure: _draw(figure, found, m)

    return {f"{NAME}-{matrix}": of(m) for m, matrix in enumerate(MATRICES)}


def _draw(figure: Any, found: ToyComparison, m: int) -> None:
    settings = found.settings
    figure.set_size_inches(12, 8)
    grid = figure.subplots(3, len(settings.ranks), sharex=True, sharey="row", squeeze=False)
    odds = found.log_odds
    looks: dict[str, dict[str, Any]] = {
        "exact": {"color": GRID, "linewidth": 4, "marker": ""},
        "smc": {"marker": ".", "linewidth": 0.8, "color": BLUE},
        SORTED: {"marker": "+", "linewidth": 0.8, "markersize": 5, "color": GREEN},
        "vb": {"marker": "x", "linewidth": 0.8, "markersize": 4, "color": VERMILION},
    }
    for k, rank in enumerate(settings.ranks):
        for method, look in looks.items():
            value = found.log_marginal[method][m, :, k]
            errors = odds_errors = None
            if method in BY_PARTICLES:
                errors = found.standard_error[method][m, :, k]
                odds_errors = found.log_odds_standard_error(method)[m, :, k]
            grid[0, k].errorbar(settings.a, value, yerr=errors, label=NAMES[method], **look)
            difference = value - found.log_marginal["exact"][m, :, k]
            grid[1, k].errorbar(settings.a, difference, yerr=errors, **look)
            grid[2, k].errorbar(settings.a, odds[method][m, :, k], yerr=odds_errors, **look)
        grid[0, k].set_title(f"K = {rank}")
        grid[2, k].set_xlabel("a")
        grid[2, k].set_xscale("log")
    for axes, title in zip(
        grid[:, 0], ("log marginal likelihood, nats", "above exact, nats", "log odds"), strict=True
    ):
        axes.set_ylabel(title)
    grid[1, 0].set_yscale("symlog", linthresh=1e-2)
    grid[2, 0].set_ylim(max(grid[2, 0].get_ylim()[0], -8.0), 0.3)
    grid[0, 0].legend()
    figure.suptitle(list(MATRICES)[m])
