"""Figure 16 of Cemgil et al. 2019: sparsity and losses of factors of letter pairs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.figures.style import series_style
from pipeline.progress import Progress
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
from pipeline.reproduce.cemgil2019.effort import as_json as effort_as_json
from pipeline.reproduce.cemgil2019.effort import effort_of, in_words
from pipeline.reproduce.cemgil2019.factor_quality import FLOOR
from pipeline.reproduce.cemgil2019.letters import draw_pairs
from pipeline.reproduce.cemgil2019.scores import NAMES, WITH_MOVES, Effort
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, plain
from pipeline.reproduce.tables import Column, Headline, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.settings import ReproduceSettings

    Floats = NDArray[np.float64]

NAME = "bam-decompositions"
QUICK = {"n_repeats": 5, "n_starts": 20, "n_moves": 20}
SPARSER = "Factors of SMC are sparser than those of least squares for a range of a."
NEARER = "Factors of SMC and VB have a higher squared loss and a lower KL divergence."
PAPER = {
    ("SMC", "sparser"): SPARSER,
    **{(method, name): NEARER for method in ("SMC", "VB") for name in ("higher-loss", "lower-kl")},
}
TITLES = {
    "sparsity": "Hoyer sparsity, mean of both factors",
    "squared_loss": "squared loss",
    "kl_divergence": "KL divergence, nats",
}


def protocol(settings: ReproduceSettings) -> DecompositionsSettings:
    """Return the protocol of a scale."""
    effort = effort_of(settings, NAME, Effort(n_repeats=20), QUICK)
    return DecompositionsSettings(effort=effort, seed=settings.seed)


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Factorise by all methods."""
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
    made = Decompositions(source, wanted, X, found)
    return Found(as_json(made), made)


def as_json(found: Decompositions) -> dict[str, Any]:
    """Return a row for each method and strength."""
    settings = found.settings
    return {
        "name": NAME,
        "source": found.source,
        "tokens": settings.n_tokens,
        "rank": settings.rank,
        **effort_as_json(settings.effort),
        "rows": [_row(found, cell) for cell in settings.cells],
    }


def _row(found: Decompositions, cell: FactorCell) -> dict[str, Any]:
    mean, error = found.mean(cell), found.standard_error(cell)
    values = {name: plain(getattr(mean, name)) for name in MEASURES}
    errors = {f"{name}_standard_error": plain(getattr(error, name)) for name in MEASURES}
    return {
        "method": cell.method,
        "a": cell.a,
        **values,
        **errors,
        "unscaled_sparsity": plain(mean.unscaled_sparsity),
        "tokens_held_impossible": mean.n_impossible,
    }


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


def _findings(found: Decompositions) -> list[Finding]:
    """Compare all methods with least squares, at each a."""
    peer = found.mean(FactorCell(PROJECTED_GRADIENT, None))
    claims: dict[str, tuple[str, Callable[[Any], bool]]] = {
        "sparser": ("sparser", lambda each: each.sparsity > peer.sparsity),
        "sparser-unscaled": (
            "sparser, all as they come,",
            lambda each: each.unscaled_sparsity > peer.unscaled_sparsity,
        ),
        "higher-loss": (
            "higher squared loss",
            lambda each: each.squared_loss > peer.squared_loss,
        ),
        "lower-kl": (
            "lower KL divergence",
            lambda each: each.kl_divergence < peer.kl_divergence,
        ),
    }
    return [
        finding(
            name,
            f"{method}: {sentence} than {PROJECTED_GRADIENT}",
            (
                f"a = {a:g}"
                for a in found.settings.strengths
                if not holds(found.mean(FactorCell(method, a)))
            ),
            PAPER.get((method, name), ""),
        )
        for method in BAYESIAN
        for name, (sentence, holds) in claims.items()
    ]


def tables(result: Any) -> list[Table]:
    """Return a row for each method and strength."""
    columns = (
        Column("method", "method"),
        Column("a", "a", "g"),
        Column("sparsity", "sparsity", ".4f", "sparsity_standard_error"),
        Column("unscaled", "unscaled_sparsity", ".4f"),
        Column("squared loss", "squared_loss", ".1f", "squared_loss_standard_error"),
        Column("KL divergence", "kl_divergence", ".2f", "kl_divergence_standard_error"),
        Column("impossible", "tokens_held_impossible", ".2f"),
    )
    note = (
        f"Letter pairs of {result['source']}. Means ± standard errors of {result['repeats']} runs; "
        "of SMC the most probable particle of a run. "
        f"{in_words(result)} {PEERS[0]}: alternating projected gradients (Lin 2007); {PEERS[1]}: "
        "coordinate descent of scikit-learn, which minimises the same loss. Sparsity: Hoyer's, "
        "mean of both factors, the columns of W scaled to sum to 1; unscaled: of factors as they "
        "come. Impossible: mean number of tokens in cells that are expected to be empty, for which "
        f"KL divergence takes {FLOOR:.1e} for the expectation."
    )
    title = f"NMF of rank {result['rank']} of {result['tokens']:,} letter pairs"
    return [Table(title, columns, result["rows"], note, headings=2)]


def headline(result: Any) -> Headline:
    """Return at how many strengths SMC is sparser than least squares."""
    sparsity = {(row["method"], row["a"]): row["sparsity"] for row in result["rows"]}
    (peer, *_) = (row["sparsity"] for row in result["rows"] if row["a"] is None)
    found = []
    for method in (NAMES["smc"], NAMES[WITH_MOVES]):
        of_method = [value for (name, a), value in sparsity.items() if name == method]
        found.append(f"{method} {sum(each > peer for each in of_method)} of {len(of_method)}")
    return Headline(
        "values of a at which factors are sparser than those of least squares",
        ", ".join(found),
        "SMC: a considerable range",
    )


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 16",
    shows="How sparse and how near factors by SMC, VB and least squares are.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=(
        Figure(
            "",
            "Figure 16: sparsity, squared loss and KL divergence against a",
            lambda figure, _, found: _draw(figure, found),
        ),
    ),
    data=lambda result: data_note("the letter pairs of Norvig (2013)", result["source"]),
)
