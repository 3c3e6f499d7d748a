"""Claims about the perplexities of Poisson MRFs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.reproduce.claims import finding
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL, Cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.inouye2015.perplexity import Perplexities

PERPLEXITIES = "Published perplexities, and nonzeros, of multinomials and LPMRFs on Classic3."
LOWER = "Dependencies lower the perplexity of single models, mixtures, and few topics."
EXACT_TO = 1e-3
"""Multinomials are fitted without chance but that of k-means."""
WORSE_BY = 1.005
"""LPMRFs' partition functions are sampled."""
NONZEROS_TO = 1e-3
SURE = 2.0
"""Standard errors, over documents."""


def findings_of(found: Perplexities, title_of: Callable[[Cell], str]) -> list[Finding]:
    """Decide the claims; places are models."""

    def name(cell: Cell) -> str:
        return title_of(cell) + (f", K = {cell.n_topics}" if cell.n_topics > 1 else "")

    claims: list[Finding] = []
    if found.split.is_classic3:
        claims += _against_published(found, name)
    scores = found.scores
    of_fields = [cell for cell in scores if cell.base == FIELDS]
    claims.append(
        finding(
            "lpmrf-below-multinomial",
            "LPMRF below Multinomial of its kind, by the published measure",
            [
                name(cell)
                for cell in of_fields
                if cell.kind != "gibbs"
                and scores[cell].test[0] >= scores[cell._replace(base=MULTINOMIAL)].test[0]
            ],
            LOWER,
        )
    )
    few = [cell for cell in scores if cell.base == FEW]
    claims.append(
        finding(
            "fewer-temperatures-higher",
            "single LPMRF: with fewer temperatures the envelope, and the perplexity, is higher",
            [
                name(cell)
                for cell in few
                if scores[cell].n_nonzeros
                and scores[cell].test.mean() <= scores[cell._replace(base=FIELDS)].test[0]
            ],
        )
    )
    topic_models = [cell for cell in of_fields if cell.kind == "topics"]
    if topic_models:
        claims.append(
            finding(
                "topic-model-below-lda",
                "LPMRF topic model below LDA by the published measure, as published for few topics",
                [
                    f"K = {cell.n_topics}"
                    for cell in topic_models
                    if scores[cell].test[0]
                    >= scores[Cell("gibbs", MULTINOMIAL, cell.n_topics)].test[0]
                ],
                LOWER,
            )
        )
    claims += [
        finding(
            "likelier",
            f"{name(each.first)}: likelier than {title_of(each.second)}, by {SURE:g} errors",
            []
            if each.difference.z < -SURE
            else [f"{each.difference.nats_per_word:+.4f} ± {each.difference.standard_error:.4f}"],
        )
        for each in found.differences()
    ]
    claims.append(
        finding(
            "partition-functions-possible",
            "partition functions no lower than the term of one document of two words",
            [f"{name(cell)} (by {s.missing:.0f} nats)" for cell, s in scores.items() if s.missing],
        )
    )
    if found.selections:
        claims.append(
            finding(
                "selection-inside-grid",
                "the selected lambda has others at both sides",
                [
                    f"{kind}, K = {n_topics}"
                    for (kind, n_topics), each in found.selections.items()
                    if each.is_at_edge
                ],
            )
        )
    return claims


def _against_published(found: Perplexities, name: Callable[[Cell], str]) -> list[Finding]:
    scores = found.scores
    known = {cell: theirs for cell in scores if (theirs := found.published(cell)) is not None}
    theirs_too = {
        cell: theirs
        for cell, theirs in known.items()
        if cell.base != MULTINOMIAL and found.settings.source_of(*cell.chosen_for) == "published"
    }

    def ours(cell: Cell, part: int) -> float:
        score = scores[cell]
        return float((score.test, score.train)[part].mean())

    def above(cell: Cell, theirs: tuple[float, float], factor: float) -> bool:
        return any(ours(cell, part) > factor * theirs[part] for part in (0, 1))

    claims = [
        finding(
            "multinomials-as-published",
            f"Multinomials as published, to {EXACT_TO:g}",
            [
                f"{name(cell)} ({ours(cell, 0):.4f}, {ours(cell, 1):.4f})"
                for cell, theirs in known.items()
                if cell.base == MULTINOMIAL
                and any(abs(ours(cell, part) - theirs[part]) > EXACT_TO for part in (0, 1))
            ],
            PERPLEXITIES,
        ),
        finding(
            "lpmrfs-as-published",
            f"LPMRFs as published or better, test and training, but for {WORSE_BY - 1:.1%}",
            [
                f"{name(cell)} ({ours(cell, 0):.3f}, {ours(cell, 1):.3f})"
                for cell, theirs in known.items()
                if cell.base == FIELDS and above(cell, theirs, WORSE_BY)
            ],
            PERPLEXITIES,
        ),
    ]
    single, few = Cell("single", FIELDS, 1), Cell("single", FEW, 1)
    if single in theirs_too:
        theirs, nonzeros = theirs_too[single], scores[single].n_nonzeros
        difference = abs(nonzeros - lpmrf_published.N_NONZEROS)
        claims += [
            finding(
                "nonzeros-as-published",
                f"single LPMRF: nonzeros as published, to {NONZEROS_TO:.1%}",
                [f"{nonzeros:,}"] if difference > NONZEROS_TO * lpmrf_published.N_NONZEROS else [],
                PERPLEXITIES,
            ),
            finding(
                "nearer-with-few-temperatures",
                "single LPMRF: nearer to the published with few temperatures",
                [
                    part_name
                    for part, part_name in enumerate(("test", "training"))
                    if abs(ours(few, part) - theirs[part]) >= abs(ours(single, part) - theirs[part])
                ],
            ),
        ]
    return claims
