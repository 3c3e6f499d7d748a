"""Table 1 of Buntine 2009: errors of estimators over fresh pairs of model and document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.figures.style import MUTED
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.buntine2009.table_1 import PUBLISHED, Table1, Table1Settings, table_1
from pipeline.reproduce.claims import Claim, decided
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.tables import Column, Headline, Table, grouped, indexed, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "buntine-table-1"
PAIRS = {"quick": 100, "full": 1000}
LARGEST_T = 2.58
"""Cutoff of the paper: |t| exceeds it once in a hundred times without bias."""


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Compute all pairs; nothing is cached."""
    del cache
    n_pairs = settings.pairs or PAIRS[settings.scale]
    wanted = Table1Settings(n_pairs=n_pairs, seed=settings.seed)
    with Progress(NAME, n_pairs * len(wanted.gammas), "pairs") as progress:
        found = table_1(wanted, lambda: progress.update(1))
    return Found(as_json(found), found)


def as_json(table: Table1) -> dict[str, Any]:
    """Return the rows of all four parts of the table."""
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
    }


def tables(result: Any) -> list[Table]:
    """Return a table for each gamma, ours beside the published."""
    columns = (
        Column("estimator", "estimator"),
        Column("mean", "mean", ".5f", group="ours"),
        Column("st. dev.", "standard_deviation", ".4f", group="ours"),
        Column("t", "t", ".2f", group="ours"),
        Column("covered", "coverage", ".0%", group="ours"),
        Column("p / exact", "ratio", ".3f", "ratio_standard_error", group="ours"),
        Column("mean", "published.mean", ".5f", group="published, 100 pairs"),
        Column("st. dev.", "published.standard_deviation", ".4f", group="published, 100 pairs"),
        Column("t", "published.t", ".2f", group="published, 100 pairs"),
    )
    return [
        Table(
            f"gamma = {gamma:g}",
            columns,
            rows,
            f"Error of −log2 p a word over {result['pairs']:,} pairs of model and document of "
            f"{result['tokens']} tokens; {result['samples']} samples. Covered: truth within two "
            "standard errors that the estimator reports. p / exact: mean ratio, 1 for an unbiased "
            "estimator.",
        )
        for gamma, rows in grouped(result["rows"], "gamma").items()
    ]


def headline(result: Any) -> Headline:
    """Return the error of the proposed estimator, where topics are most distinct."""
    row = next(row for row in result["rows"] if row["estimator"] == "LRS")
    theirs = row["published"]

    def said(of: dict[str, Any]) -> str:
        return f"{text(of['mean'], '.5f')} (t = {text(of['t'], '.2f')})"

    what = f"mean error of LRS at gamma = {row['gamma']:g}, bits a word"
    return Headline(what, said(row), said(theirs) if theirs else "–")


def _claim(
    name: str, sentence: str, holds: Callable[[dict[str, Any], float], bool], paper: str = ""
) -> Claim:
    """Return a claim that `holds` of the rows by estimator at each gamma."""

    def fails_at(result: Any) -> list[str]:
        by_gamma = grouped(result["rows"], "gamma")
        return [
            f"gamma = {gamma}"
            for gamma, rows in by_gamma.items()
            if not holds(indexed(rows, "estimator"), gamma)
        ]

    return Claim(name, sentence, fails_at, paper)


def _is_centred(estimator: str) -> Callable[[dict[str, Any], float], bool]:
    return lambda of, _: abs(of[estimator]["t"]) < LARGEST_T


def _is_unbiased(estimator: str) -> Callable[[dict[str, Any], float], bool]:
    def holds(of: dict[str, Any], _: float) -> bool:
        row = of[estimator]
        return bool(abs((row["ratio"] - 1) / row["ratio_standard_error"]) < LARGEST_T)

    return holds


CLAIMS = (
    _claim(
        "lrs-centred",
        f"mean error of LRS: |t| < {LARGEST_T}",
        _is_centred("LRS"),
        "LRS is unbiased.",
    ),
    _claim("lrs-unbiased", f"p / exact of LRS is 1: |t| < {LARGEST_T}", _is_unbiased("LRS")),
    _claim("refined-centred", f"mean error of {REFINED}: |t| < {LARGEST_T}", _is_centred(REFINED)),
    _claim(
        "refined-unbiased",
        f"p / exact of {REFINED} is 1: |t| < {LARGEST_T}",
        _is_unbiased(REFINED),
    ),
    _claim(
        "hm-too-low",
        "mean error of HM, up to gamma = 1: t < -5",
        lambda of, gamma: gamma > 1 or of["HM"]["t"] < -5,
        "The harmonic mean is biased.",
    ),
    _claim(
        "lrs-no-noisier",
        "st. dev. of LRS no larger than of LR",
        lambda of, _: of["LRS"]["standard_deviation"] <= of["LR"]["standard_deviation"],
        "LRS has less variance than LR.",
    ),
)


def _draw(figure: Any, _: Any, table: Table1) -> None:
    panels = figure.subplots(1, len(table.settings.gammas), sharey=True)
    for g, (axes, gamma) in enumerate(zip(panels, table.settings.gammas, strict=True)):
        axes.axhline(0, color=MUTED, linewidth=0.8)
        axes.boxplot(table.error[g].T, showfliers=True, flierprops={"markersize": 2})
        axes.set_xticks(range(1, len(table.estimators) + 1), table.estimators, rotation=60)
        axes.set_title(f"gamma = {gamma}")
    panels[0].set_ylabel("estimate - exact of -log2 p a word")
    panels[0].set_yscale("symlog", linthresh=0.02)


EXPERIMENT = Experiment(
    name=NAME,
    where="Table 1",
    shows="How far estimators of log p(document) under LDA are from the exact value.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: decided(CLAIMS, found.result),
    figures=(Figure("", "Errors of all pairs, a panel for each gamma", _draw),),
)
