"""Table 1 of Buntine 2009: run at a scale, as a table and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.figures.style import MUTED
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.buntine2009.table_1 import PUBLISHED, Table1, Table1Settings, table_1

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "buntine-table-1"
PAIRS = {"quick": 100, "full": 1000}
LARGEST_T = 2.58
"""The paper's cutoff: |t| is above it once in a hundred times where there is no bias."""


def run(settings: ReproduceSettings, cache: ResultCache) -> Table1:
    """All pairs; nothing is cached."""
    del cache
    n_pairs = settings.pairs or PAIRS[settings.scale]
    wanted = Table1Settings(n_pairs=n_pairs, seed=settings.seed)
    with Progress(NAME, n_pairs * len(wanted.gammas), "pairs") as progress:
        return table_1(wanted, lambda: progress.update(1))


def as_json(table: Table1) -> dict[str, Any]:
    """The rows of all four parts of the table, and what the paper concludes from them."""
    rows = []
    for g, gamma in enumerate(table.settings.gammas):
        for m, estimator in enumerate(table.estimators):
            published = PUBLISHED[gamma].get(estimator)
            row = {
                "gamma": gamma,
                "estimator": estimator,
                "mean": float(table.mean[g, m]),
                "standard_deviation": float(table.standard_deviation[g, m]),
                "t": float(table.student_t[g, m]),
                "coverage": float(table.coverage[g, m]),
                "ratio": float(table.ratio[g, m]),
                "ratio_standard_error": float(table.ratio_standard_error[g, m]),
                "published": published
                and dict(zip(("mean", "standard_deviation", "t"), published, strict=True)),
            }
            rows.append(row)
    settings = table.settings
    return {
        "name": NAME,
        "pairs": settings.n_pairs,
        "samples": settings.n_samples,
        "tokens": settings.length,
        "rows": rows,
        "findings": _findings(rows),
    }


def _findings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What should hold for each gamma, and where it does not."""
    of = {(row["gamma"], row["estimator"]): row for row in rows}
    gammas = list(dict.fromkeys(row["gamma"] for row in rows))

    def deviation(gamma: float, estimator: str) -> float:
        return float(of[gamma, estimator]["standard_deviation"])

    def ratio_t(gamma: float, estimator: str) -> float:
        row = of[gamma, estimator]
        return float((row["ratio"] - 1) / row["ratio_standard_error"])

    claims: dict[str, Callable[[float], bool]] = {
        f"mean error of LRS: |t| < {LARGEST_T}": lambda g: abs(of[g, "LRS"]["t"]) < LARGEST_T,
        f"p / exact of LRS is 1: |t| < {LARGEST_T}": lambda g: abs(ratio_t(g, "LRS")) < LARGEST_T,
        f"mean error of {REFINED}: |t| < {LARGEST_T}": lambda g: (
            abs(of[g, REFINED]["t"]) < LARGEST_T
        ),
        f"p / exact of {REFINED} is 1: |t| < {LARGEST_T}": lambda g: (
            abs(ratio_t(g, REFINED)) < LARGEST_T
        ),
        "mean error of HM, up to gamma = 1: t < -5": lambda g: g > 1 or of[g, "HM"]["t"] < -5,
        "st. dev. of LRS no larger than of LR": lambda g: deviation(g, "LRS") <= deviation(g, "LR"),
    }
    return [
        {"claim": claim, "fails_at": [gamma for gamma in gammas if not holds(gamma)]}
        for claim, holds in claims.items()
    ]


def print_result(result: dict[str, Any]) -> None:
    """A table for each gamma, ours on the left."""
    print(
        f"error of -log2 p a word, {result['pairs']:,} pairs, {result['tokens']} tokens, "
        f"{result['samples']} samples\n"
        "covered: truth within two reported standard errors; p / exact: mean ± standard error of "
        "the ratio"
    )
    gamma = None
    for row in result["rows"]:
        if row["gamma"] != gamma:
            gamma = row["gamma"]
            print(f"\n{f'gamma = {gamma}':56s}ours{'published (100 pairs)':>27s}")
            print(
                "estimator        mean  st. dev.       t  covered         p / exact"
                "        mean  st. dev.       t"
            )
        published = row["published"]
        ratio = f"{row['ratio']:.3f} ± {row['ratio_standard_error']:.3f}"
        print(
            f"{row['estimator']:11s}{row['mean']:10.5f}{row['standard_deviation']:10.4f}"
            f"{row['t']:8.2f}{row['coverage']:9.0%}{ratio:>20s}"
            + (
                f"{published['mean']:12.5f}{published['standard_deviation']:10.4f}"
                f"{published['t']:8.2f}"
                if published
                else f"{'-':>12s}{'-':>10s}{'-':>8s}"
            )
        )
    print()
    for each in result["findings"]:
        failed = ", ".join(map(str, each["fails_at"]))
        print(f"{each['claim']}: {f'not at gamma = {failed}' if failed else 'yes'}")


def pictures(table: Table1) -> dict[str, Callable[[Any], None]]:
    """The errors of all pairs, a panel for each gamma."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(table.settings.gammas), sharey=True)
        for g, (axes, gamma) in enumerate(zip(panels, table.settings.gammas, strict=True)):
            axes.axhline(0, color=MUTED, linewidth=0.8)
            axes.boxplot(table.error[g].T, showfliers=True, flierprops={"markersize": 2})
            axes.set_xticks(range(1, len(table.estimators) + 1), table.estimators, rotation=60)
            axes.set_title(f"gamma = {gamma}")
        panels[0].set_ylabel("estimate - exact of -log2 p a word")
        panels[0].set_yscale("symlog", linthresh=0.02)

    return {NAME: draw}
