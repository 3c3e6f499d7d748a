"""Figure 9 of Cemgil et al. 2019: log marginal likelihoods of two small matrices."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import BLUE, GREEN, GRID, VERMILION
from pipeline.reproduce.cemgil2019 import effort as bam_effort
from pipeline.reproduce.cemgil2019.rank_scores_view import cached_scores
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
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import Experiment, Figure, Found, plain
from pipeline.reproduce.tables import Column, Headline, Table, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-toy"
LISTS = ("a", "ranks")
"""Settings that decide which results there are, not what a result is."""
QUICK = {"n_repeats": 20, "n_starts": 20}
LARGEST_T = 2.58
"""|t| exceeds it once in a hundred times without bias."""
DENSE = 0.1
"""Least a at which SMC must be within `TOLERANCE` nats."""
TOLERANCE = 0.02
SMC_IS_ACCURATE = "SMC gives the marginal likelihood of counts accurately where they are few."
VB_FAILS = "VB prefers a wrong rank for X1 at a small a, and the right one for X2."
EXACT = "Exact values of log L are published for all a."
SPARSE = 1.0
"""Largest a at which the paper finds VB wrong on X1."""


def protocol(settings: ReproduceSettings) -> ToySettings:
    """Return the protocol of a scale."""
    effort = bam_effort.effort_of(settings, NAME, Effort(n_repeats=100), QUICK)
    return ToySettings(effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Score both matrices by all methods."""
    wanted = protocol(settings)
    depends_on = {name: value for name, value in asdict(wanted).items() if name not in LISTS}
    group = cache.group(f"experiment-{NAME}", settings=depends_on, data=dict(MATRICES))
    names = {cell.name: cell for cell in wanted.cells}

    def work(cell: Cell) -> Callable[[], Any]:
        return lambda: estimate(cell, wanted, settings.threads)

    scores = cached_scores(group, {name: work(cell) for name, cell in names.items()}, stage=NAME)
    found = comparison(wanted, {cell: scores[name] for name, cell in names.items()})
    return Found(as_json(found), found)


def as_json(found: ToyComparison) -> dict[str, Any]:
    """Return a row for each matrix, a and rank."""
    settings = found.settings
    return {
        "name": NAME,
        "particles": settings.effort.n_particles,
        "repeats": settings.effort.n_repeats,
        "starts": settings.effort.n_starts,
        "rows": _rows(found),
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
    """Return one entry, by method."""
    return {method: plain(array[at]) for method, array in values.items()}


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


def _findings(found: ToyComparison) -> list[Finding]:
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

    def of_particles(method: str) -> list[Finding]:
        name, error, t = NAMES[method], found.error(method), found.ratio_t(method)
        paper = SMC_IS_ACCURATE if method == "smc" else ""
        is_tested = [at for at in cells if np.isfinite(t[at])]
        return [
            finding(
                f"{method}-best-rank",
                f"{name}: prefers the rank that exact does",
                [wrong(method, *at) for at in differs[method]],
                paper,
            ),
            finding(
                f"{method}-best-rank-within-error",
                f"{name}: where not, by less than {LARGEST_T} standard errors",
                [
                    wrong(method, *at)
                    for at in differs[method]
                    if found.gap(method, *at)[0] > LARGEST_T * found.gap(method, *at)[1]
                ],
            ),
            finding(
                f"{method}-within-tolerance",
                f"{name}: within {TOLERANCE} nats of exact from a = {DENSE} on",
                [
                    f"{cell(*at)} ({error[at]:+.3f} ± {found.standard_error[method][at]:.3f})"
                    for at in cells
                    if settings.a[at[1]] >= DENSE and abs(error[at]) > TOLERANCE
                ],
                paper,
            ),
            finding(
                f"{method}-unbiased",
                f"{name}: p / exact is 1, |t| < {LARGEST_T} in all {len(is_tested)} that vary",
                [f"{cell(*at)} (t = {t[at]:.2f})" for at in is_tested if abs(t[at]) >= LARGEST_T],
            ),
            finding(
                f"{method}-exact-without-variance",
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
    return [
        finding(
            "exact-as-published",
            "exact is as published, to 1e-8 nats",
            [cell(*at) for at in is_published if abs(exact[at] - published["exact"][at]) > 1e-8],
            EXACT,
        ),
        *(each for method in BY_PARTICLES for each in of_particles(method)),
        finding(
            "published-smc-best-rank",
            "the published SMC prefers the rank that exact does",
            [place(*at) for at in theirs],
        ),
        finding(
            "vb-wrong-on-x1",
            f"VB prefers another rank for X1 up to a = {SPARSE:g}",
            [
                place(m, i)
                for m, i in places
                if matrices[m] == "X1" and settings.a[i] <= SPARSE and (m, i) not in differs["vb"]
            ],
            VB_FAILS,
        ),
        finding(
            "vb-right-on-x2",
            "VB prefers the rank that exact does for X2",
            [wrong("vb", m, i) for m, i in differs["vb"] if matrices[m] == "X2"],
            VB_FAILS,
        ),
        finding(
            "vb-below-exact",
            "VB is below exact",
            [cell(*at) for at in cells if vb[at] > exact[at] + 1e-9],
        ),
        finding(
            "vb-as-published",
            "VB is at least as high as published, to 1e-6 nats",
            [
                f"{cell(*at)} ({vb[at] - published['vb'][at]:+.2g})"
                for at in is_published
                if vb[at] < published["vb"][at] - 1e-6
            ],
        ),
    ]


def tables(result: Any) -> list[Table]:
    """Return a table for each matrix."""
    columns = (
        Column("a", "a", "g"),
        Column("K", "rank"),
        Column("exact", "exact", ".5f", group="ours"),
        Column("SMC − exact", "error.smc", ".1e", "standard_error.smc", group="ours"),
        Column("t", "t.smc", ".2f", group="ours"),
        Column(
            "sorted order − exact",
            f"error.{SORTED}",
            ".1e",
            f"standard_error.{SORTED}",
            group="ours",
        ),
        Column("t", f"t.{SORTED}", ".2f", group="ours"),
        Column("VB", "vb", ".5f", group="ours"),
        Column("exact", "published.exact", ".5f", group="published"),
        Column("SMC − exact", _published_error, "+.1e", group="published"),
        Column("VB", "published.vb", ".5f", group="published"),
        *(
            Column(name, f"log_odds.{method}", ".3f", group="log odds of K, ours")
            for name, method in (
                *(("exact", "exact"), ("SMC", "smc")),
                *(("sorted", SORTED), ("VB", "vb")),
            )
        ),
    )
    return [
        Table(
            f"{matrix}: log marginal likelihood, nats",
            columns,
            rows,
            f"KL-NMF of rank K, b = a / S₊; {result['particles']:,} particles, "
            f"{result['repeats']} runs, ± the estimate's own standard error; VB: best of "
            f"{result['starts']} starts. t: of the mean of p / exact; far below 0 at a small a, "
            "where much of the mean is in runs that come once in a thousand. Log odds: log "
            "posterior probability of K.",
            headings=2,
        )
        for matrix, rows in grouped(result["rows"], "matrix").items()
    ]


def _published_error(row: Any) -> float | None:
    theirs = row["published"]
    return None if theirs["exact"] is None else theirs["smc"] - theirs["exact"]


def headline(result: Any) -> Headline:
    """Return how often SMC prefers the rank that the exact value does."""
    ours, theirs, n_published, places = 0, 0, 0, 0
    for of_matrix in grouped(result["rows"], "matrix").values():
        for rows in grouped(of_matrix, "a").values():
            places += 1
            ours += _highest(rows, "exact") == _highest(rows, "smc")
            published = [row["published"] for row in rows]
            if all(each["exact"] is not None for each in published):
                n_published += 1
                theirs += _highest(published, "exact") == _highest(published, "smc")
    return Headline(
        "settings (matrix and a) at which SMC prefers the rank that exact does",
        f"{ours} of {places}",
        f"{theirs} of {n_published}",
    )


def _highest(rows: list[dict[str, Any]], method: str) -> int:
    return max(range(len(rows)), key=lambda r: rows[r][method])


def _figure(m: int, matrix: str) -> Figure:
    title = f"Figure 9{'ab'[m]}: the matrix {matrix}, a column for each rank"
    return Figure(f"-{matrix}", title, lambda figure, _, found: _draw(figure, found, m))


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 9",
    shows="Log marginal likelihoods of two small matrices by SMC and VB beside exact ones.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=tuple(_figure(m, matrix) for m, matrix in enumerate(MATRICES)),
)
