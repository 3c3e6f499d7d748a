"""Figure 9 of Cemgil et al. 2019: run at a scale, as a table and as pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.experiments.bam_toy import (
    MATRICES,
    METHODS,
    Cell,
    ToyComparison,
    ToySettings,
    comparison,
    estimate,
)
from pipeline.reproduction.bam_cells import cells_directory, kept_scores
from pipeline.reproduction.l2r_panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipeline.settings import ReproduceSettings

NAME = "bam-toy"
QUICK: dict[str, Any] = {"n_repeats": 20, "n_starts": 20}
LARGEST_T = 2.58
"""|t| is above it once in a hundred times where there is no bias."""
DENSE = 0.1
"""From this a on SMC is to be within `TOLERANCE` nats."""
TOLERANCE = 0.02
SPARSE = 1.0
"""Up to this a the paper finds VB wrong on X1."""


def protocol(settings: ReproduceSettings) -> ToySettings:
    """What the scale stands for."""
    given = {
        "n_particles": settings.particles,
        "n_repeats": settings.repeats,
        "n_starts": settings.repeats,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    scale = QUICK if settings.scale == "quick" else {}
    return ToySettings(**(scale | asked), seed=settings.seed)


def run(settings: ReproduceSettings, directory: Path) -> ToyComparison:
    """All methods on both matrices; what was done before is taken as it is."""
    wanted = protocol(settings)
    depends_on = {name: value for name, value in asdict(wanted).items() if name[:2] in ("n_", "se")}
    place = cells_directory(directory, {"experiment": NAME} | depends_on, **MATRICES)
    names = {_file_name(cell): cell for cell in wanted.cells}

    def work(cell: Cell) -> Callable[[], Any]:
        return lambda: estimate(cell, wanted, settings.threads)

    scores = kept_scores(place, {name: work(cell) for name, cell in names.items()}, stage=NAME)
    return comparison(wanted, {cell: scores[name] for name, cell in names.items()})


def _file_name(cell: Cell) -> str:
    return f"{cell.matrix}-{cell.a:g}-{cell.rank}-{cell.method}"


def as_json(found: ToyComparison) -> dict[str, Any]:
    """A row for each matrix, a and rank, and what the paper concludes."""
    settings = found.settings
    return {
        "name": NAME,
        "particles": settings.n_particles,
        "repeats": settings.n_repeats,
        "starts": settings.n_starts,
        "rows": _rows(found),
        "findings": _findings(found),
    }


def _rows(found: ToyComparison) -> list[dict[str, Any]]:
    t, odds, odds_error = found.ratio_t, found.log_odds, found.log_odds_standard_error
    return [
        {
            "matrix": matrix,
            "a": a,
            "rank": rank,
            **{method: float(found.log_marginal[method][m, i, k]) for method in METHODS},
            "smc_standard_error": float(found.standard_error[m, i, k]),
            "smc_error": float(found.error[m, i, k]),
            "t": finite(t[m, i, k]),
            "log_odds": {method: float(odds[method][m, i, k]) for method in METHODS},
            "log_odds_standard_error": float(odds_error[m, i, k]),
            "published": {method: finite(found.published[method][m, i, k]) for method in METHODS},
        }
        for m, matrix in enumerate(MATRICES)
        for i, a in enumerate(found.settings.a)
        for k, rank in enumerate(found.settings.ranks)
    ]


def _findings(found: ToyComparison) -> list[dict[str, Any]]:
    """What should hold, and where it does not."""
    matrices, settings = list(MATRICES), found.settings
    places = [(m, i) for m in range(len(matrices)) for i in range(len(settings.a))]
    cells = [(m, i, k) for m, i in places for k in range(len(settings.ranks))]
    best = {method: found.best_rank(method) for method in METHODS}
    exact, t = found.log_marginal["exact"], found.ratio_t
    published = found.published

    def place(m: int, i: int) -> str:
        return f"{matrices[m]} a = {settings.a[i]:g}"

    def cell(m: int, i: int, k: int) -> str:
        return f"{place(m, i)} K = {settings.ranks[k]}"

    def wrong(method: str, m: int, i: int) -> str:
        text = f"{place(m, i)} (K = {best[method][m, i]} for {best['exact'][m, i]}"
        if method == "smc":
            gap, error = found.gap(m, i)
            text += f", by {gap:.2g} ± {error:.2g}"
        return f"{text})"

    differs = {
        method: [at for at in places if best[method][at] != best["exact"][at]] for method in METHODS
    }
    is_tested = [at for at in cells if np.isfinite(t[at])]
    is_published = [at for at in cells if np.isfinite(published["exact"][at])]
    if is_published:
        top = {method: published[method].argmax(axis=-1) for method in METHODS}
        theirs = [at for at in places if top["smc"][at] != top["exact"][at]]
    else:
        theirs = []
    return [
        {
            "claim": "exact is as published, to 1e-8 nats",
            "fails_at": [
                cell(*at) for at in is_published if abs(exact[at] - published["exact"][at]) > 1e-8
            ],
        },
        {
            "claim": "SMC prefers the rank that exact does",
            "fails_at": [wrong("smc", *at) for at in differs["smc"]],
        },
        {
            "claim": f"or another by less than {LARGEST_T} standard errors",
            "fails_at": [
                wrong("smc", *at)
                for at in differs["smc"]
                if found.gap(*at)[0] > LARGEST_T * found.gap(*at)[1]
            ],
        },
        {
            "claim": "the published SMC prefers the rank that exact does",
            "fails_at": [place(*at) for at in theirs],
        },
        {
            "claim": f"VB prefers another rank for X1 up to a = {SPARSE:g}",
            "fails_at": [
                place(m, i)
                for m, i in places
                if matrices[m] == "X1" and settings.a[i] <= SPARSE and (m, i) not in differs["vb"]
            ],
        },
        {
            "claim": "VB prefers the rank that exact does for X2",
            "fails_at": [wrong("vb", m, i) for m, i in differs["vb"] if matrices[m] == "X2"],
        },
        {
            "claim": f"SMC is within {TOLERANCE} nats of exact from a = {DENSE} on",
            "fails_at": [
                f"{cell(*at)} ({found.error[at]:+.3f} ± {found.standard_error[at]:.3f})"
                for at in cells
                if settings.a[at[1]] >= DENSE and abs(found.error[at]) > TOLERANCE
            ],
        },
        {
            "claim": f"p / exact of SMC is 1: |t| < {LARGEST_T} in each of {len(is_tested)} cells "
            f"that vary of {len(cells)}",
            "fails_at": [
                f"{cell(*at)} (t = {t[at]:.2f})" for at in is_tested if abs(t[at]) >= LARGEST_T
            ],
        },
        {
            "claim": "SMC gives the exact value where its runs do not vary, to 1e-8 nats",
            "fails_at": [
                cell(*at) for at in cells if not np.isfinite(t[at]) and abs(found.error[at]) > 1e-8
            ],
        },
        {
            "claim": "VB is below exact",
            "fails_at": [
                cell(*at) for at in cells if found.log_marginal["vb"][at] > exact[at] + 1e-9
            ],
        },
        {
            "claim": "VB is at least as high as published, to 1e-6 nats",
            "fails_at": [
                f"{cell(*at)} ({found.log_marginal['vb'][at] - published['vb'][at]:+.2g})"
                for at in is_published
                if found.log_marginal["vb"][at] < published["vb"][at] - 1e-6
            ],
        },
    ]


def print_result(result: dict[str, Any]) -> None:
    """A table for each matrix, then what should hold."""
    print(
        "log marginal likelihood in nats; KL-NMF of rank K, b = a / S₊\n"
        f"SMC: {result['particles']:,} particles, {result['repeats']} runs, error against exact ± "
        f"its own standard error; VB: best of {result['starts']} starts\n"
        "t: of the mean of p / exact; far below 0 at a small a, where much of the mean is in runs "
        "that come once in a thousand\n"
        "log odds: log posterior probability of K, all alike before"
    )
    matrix = None
    for row in result["rows"]:
        if row["matrix"] != matrix:
            matrix = row["matrix"]
            print(
                f"\n{matrix:11s}{'ours':>49s}{'published':>40s}{'log odds':>23s}\n"
                f"{'a':>7s}{'K':>4s}{'exact':>12s}{'SMC - exact':>22s}{'t':>7s}{'VB':>12s}"
                f"{'exact':>12s}{'SMC - exact':>12s}{'VB':>12s}{'exact':>9s}{'SMC':>9s}{'VB':>9s}"
            )
        print(_line(row))
    print()
    for each in result["findings"]:
        failed = ", ".join(each["fails_at"])
        print(f"{each['claim']}: {f'not at {failed}' if failed else 'yes'}")


def _line(row: dict[str, Any]) -> str:
    def text(value: float | None, form: str) -> str:
        return "-" if value is None else f"{value:{form}}"

    error = f"{row['smc_error']:+.1e} ± {row['smc_standard_error']:.1e}"
    published = row["published"]
    theirs = None if published["exact"] is None else published["smc"] - published["exact"]
    odds = row["log_odds"]
    return (
        f"{row['a']:7g}{row['rank']:4d}{row['exact']:12.5f}{error:>22s}{text(row['t'], '.2f'):>7s}"
        f"{row['vb']:12.5f}{text(published['exact'], '.5f'):>12s}{text(theirs, '+.1e'):>12s}"
        f"{text(published['vb'], '.5f'):>12s}"
        + "".join(f"{odds[method]:9.4f}" for method in METHODS)
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
    odds, odds_error = found.log_odds, found.log_odds_standard_error
    looks: dict[str, dict[str, Any]] = {
        "exact": {"color": "0.6", "linewidth": 3},
        "smc": {"marker": ".", "linewidth": 0.8, "color": "tab:blue"},
        "vb": {"marker": "x", "linewidth": 0.8, "markersize": 4, "color": "tab:red"},
    }
    for k, rank in enumerate(settings.ranks):
        for method, look in looks.items():
            value = found.log_marginal[method][m, :, k]
            errors = found.standard_error[m, :, k] if method == "smc" else None
            grid[0, k].errorbar(settings.a, value, yerr=errors, label=method, **look)
            difference = value - found.log_marginal["exact"][m, :, k]
            grid[1, k].errorbar(settings.a, difference, yerr=errors, **look)
            errors = odds_error[m, :, k] if method == "smc" else None
            grid[2, k].errorbar(settings.a, odds[method][m, :, k], yerr=errors, **look)
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
