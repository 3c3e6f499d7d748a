"""Figure 16 of Cemgil et al. 2019: run at a scale, as a table and a picture."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.figures.style import series_style
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019 import effort as bam_effort
from pipeline.reproduce.cemgil2019.decompositions import (
    BAYESIAN,
    MEASURES,
    PEERS,
    PROJECTED_GRADIENT,
    Decompositions,
    DecompositionsSettings,
    FactorCell,
    qualities,
)
from pipeline.reproduce.cemgil2019.factor_quality import FLOOR
from pipeline.reproduce.cemgil2019.letters import draw_pairs
from pipeline.reproduce.cemgil2019.rank_scores_view import print_findings
from pipeline.reproduce.cemgil2019.scores import Effort
from pipeline.reproduce.panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

    Floats = NDArray[np.float64]

NAME = "bam-decompositions"
QUICK = {"n_repeats": 5, "n_starts": 20, "n_moves": 20}
TITLES = {
    "sparsity": "Hoyer sparsity, mean of both factors",
    "squared_loss": "squared loss",
    "kl_divergence": "KL divergence, nats",
}


def protocol(settings: ReproduceSettings) -> DecompositionsSettings:
    """What the scale stands for."""
    effort = bam_effort.effort_of(settings, NAME, Effort(n_repeats=20), QUICK)
    return DecompositionsSettings(effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Decompositions:
    """All methods in turn; what is in the cache is taken from it."""
    wanted = protocol(settings)
    source, pairs = letter_pairs(settings.table, settings.threads)
    X = draw_pairs(pairs, wanted.n_tokens, wanted.seed)
    table = {name: value for name, value in asdict(wanted).items() if name != "strengths"}
    group = cache.group(f"experiment-{NAME}", settings=table, X=X)

    def cached(cell: FactorCell) -> Floats:
        return group.arrays(
            cell.name,
            ("qualities",),
            lambda: {"qualities": qualities(X, cell, wanted, settings.threads)},
        )["qualities"]

    found = {}
    with Progress(NAME, len(wanted.cells), "methods") as progress:
        for cell in wanted.cells:
            progress.update(0, cell.name)
            found[cell] = cached(cell)
            progress.update(1)
    return Decompositions(source, wanted, X, found)


def as_json(found: Decompositions) -> dict[str, Any]:
    """A row for each method and strength, and what the paper concludes."""
    settings = found.settings
    return {
        "name": NAME,
        "source": found.source,
        "tokens": settings.n_tokens,
        "rank": settings.rank,
        **bam_effort.as_json(settings.effort),
        "rows": [_row(found, cell) for cell in settings.cells],
        "findings": _findings(found),
    }


def _row(found: Decompositions, cell: FactorCell) -> dict[str, Any]:
    mean, error = found.mean(cell), found.standard_error(cell)
    values = {name: finite(getattr(mean, name)) for name in MEASURES}
    errors = {f"{name}_standard_error": finite(getattr(error, name)) for name in MEASURES}
    return {
        "method": cell.method,
        "a": cell.a,
        **values,
        **errors,
        "unscaled_sparsity": finite(mean.unscaled_sparsity),
        "tokens_held_impossible": mean.n_impossible,
    }


def _findings(found: Decompositions) -> list[dict[str, Any]]:
    """What the paper says of Figure 16, and at which a it does not hold here."""
    strengths = found.settings.strengths
    peer = found.mean(FactorCell(PROJECTED_GRADIENT, None))

    def where(method: str, holds: Callable[[Any], bool]) -> list[str]:
        return [f"a = {a:g}" for a in strengths if not holds(found.mean(FactorCell(method, a)))]

    findings = []
    for method in BAYESIAN:
        claims: dict[str, Callable[[Any], bool]] = {
            "sparser": lambda each: each.sparsity > peer.sparsity,
            "sparser, all as they come,": lambda each: (
                each.unscaled_sparsity > peer.unscaled_sparsity
            ),
            "higher squared loss": lambda each: each.squared_loss > peer.squared_loss,
            "lower KL divergence": lambda each: each.kl_divergence < peer.kl_divergence,
        }
        findings += [
            {
                "claim": f"{method}: {claim} than {PROJECTED_GRADIENT}",
                "fails_at": where(method, holds),
            }
            for claim, holds in claims.items()
        ]
    return findings


def print_result(result: dict[str, Any]) -> None:
    """A line for each method and strength, then what should hold."""
    print(
        f"letter pairs of {result['source']}, {result['tokens']:,} drawn; rank {result['rank']}; "
        f"mean ± standard error of {result['repeats']} runs\n"
        f"SMC: {result['particles']:,} particles; SMC with moves: "
        f"{result['particles_with_moves']:,}, {result['moves']} tokens drawn anew after each; of "
        "both the\nmost probable particle of a run\n"
        f"VB: best of {result['starts']} starts; "
        f"{PEERS[0]}: alternating projected gradients (Lin 2007);\n"
        f"{PEERS[1]}: coordinate descent of scikit-learn, which minimises the same loss\n"
        "sparsity: Hoyer's, mean of both factors, the columns of W scaled to sum to 1; unscaled: "
        "of factors\nas they come, whose scale is arbitrary for least squares\n"
        "impossible: tokens, on average, in cells that are expected to be empty, for which KL "
        f"divergence\nwould be infinite, and takes {FLOOR:.1e} for the expectation"
    )
    print(
        f"\n{'method':20s}{'a':>7s}{'sparsity':>18s}{'unscaled':>10s}{'squared loss':>19s}"
        f"{'KL divergence':>18s}{'impossible':>12s}"
    )
    for row in result["rows"]:
        a = "-" if row["a"] is None else f"{row['a']:g}"
        print(
            f"{row['method']:20s}{a:>7s}{_pair(row, 'sparsity', '.4f'):>18s}"
            f"{row['unscaled_sparsity']:10.4f}{_pair(row, 'squared_loss', '.1f'):>19s}"
            f"{_pair(row, 'kl_divergence', '.2f'):>18s}{row['tokens_held_impossible']:12.2f}"
        )
    print_findings(result["findings"])


def _pair(row: dict[str, Any], name: str, form: str) -> str:
    values = (row[name], row[f"{name}_standard_error"])
    return " ± ".join("-" if value is None else f"{value:{form}}" for value in values)


def pictures(found: Decompositions) -> dict[str, Callable[[Any], None]]:
    """Figure 16."""
    return {NAME: lambda figure: _draw(figure, found)}


def _draw(figure: Any, found: Decompositions) -> None:
    strengths = found.settings.strengths
    panels = figure.subplots(1, len(MEASURES))
    for axes, measure in zip(panels, MEASURES, strict=True):
        for method in BAYESIAN:
            cells = [FactorCell(method, a) for a in strengths]
            axes.errorbar(
                strengths,
                [getattr(found.mean(cell), measure) for cell in cells],
                yerr=[getattr(found.standard_error(cell), measure) for cell in cells],
                label=method,
            )
        for p, peer in enumerate(PEERS):
            cell = FactorCell(peer, None)
            level = getattr(found.mean(cell), measure)
            error = getattr(found.standard_error(cell), measure)
            colour = series_style(len(BAYESIAN) + p)["color"]
            axes.axhline(level, color=colour, linestyle=("--", ":")[p], label=peer)
            axes.axhspan(level - error, level + error, color=colour, alpha=0.2, linewidth=0)
        axes.set_xscale("log")
        axes.set_xlabel("a")
        axes.set_title(TITLES[measure])
    panels[0].legend()
