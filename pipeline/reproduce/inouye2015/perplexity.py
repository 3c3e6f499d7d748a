"""Inouye et al. 2015, Fig. 3: perplexity of models of Poisson MRFs and of multinomials.

A single distribution, mixtures, and topic models, of multinomials and of fixed-length Poisson MRFs,
are fitted to nine tenths of the documents and scored on the rest; LDA by Gibbs sampling, and topic
models of Poisson MRFs by Gibbs sampling, are beside them.

How models are fitted and what their scores are is in `lpmrf_models`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.comparison import compare
from evaluation.convention import in_convention
from evaluation.document_blocks import DocumentBlock
from evaluation.poisson_mrf.field_selection import (
    LENGTH_SCALES,
    PENALTIES,
    FieldSelection,
    multinomial_shares,
    select_fields,
)
from models.poisson_mrf.field_fitting import FieldSettings
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.models import BETA, FEW, FIELDS, MULTINOMIAL, Cell, Effort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evaluation.comparison import PairedDifference
    from evaluation.estimate import LikelihoodEstimate
    from pipeline.reproduce.inouye2015.models import Score

Floats = NDArray[np.float64]

FOLD = 10
"""A tenth of the documents is held out, and of the rest a tenth for λ and c."""


@dataclass(frozen=True)
class PerplexitySettings:
    """The protocol; the defaults are the paper's.

    Raises
    ------
    ValueError
        If a number of topics is below 2, or λ or c is given without the other.
    """

    n_topics: tuple[int, ...] = (3, 10, 20)
    """Of mixtures and topic models."""
    effort: Effort = field(default_factory=Effort)
    penalties: tuple[float, ...] = PENALTIES
    length_scales: tuple[float, ...] = LENGTH_SCALES
    patience: int | None = None
    """What λ and c are selected from, and when to leave the smaller λ untried."""
    given: tuple[float, float] | None = None
    """λ and c of all fields; selected if None."""
    by_published: bool = False
    """Whether those of the authors serve where they are known: on Classic3 only."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_topics and min(self.n_topics) < 2:
            raise ValueError(f"n_topics must be at least 2, found {self.n_topics}")

    @property
    def cells(self) -> list[Cell]:
        """All models."""
        found = [Cell("single", base, 1) for base in (MULTINOMIAL, FIELDS, FEW)]
        for kind in ("mixture", "topics", "gibbs"):
            for n_topics in self.n_topics:
                found += [Cell(kind, base, n_topics) for base in (MULTINOMIAL, FIELDS)]
        return found

    def source_of(self, kind: str, n_topics: int) -> str:
        """Where λ and c of fields come from: "given", "published" or "validation"."""
        if self.given is not None:
            return "given"
        known = self.by_published and (kind, n_topics) in lpmrf_published.CHOSEN
        return "published" if known else "validation"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """One corpus in two."""

    train: sparse.csr_array
    test: sparse.csr_array

    @property
    def is_classic3(self) -> bool:
        """Whether these are the documents that figures were published of."""
        n_docs = self.train.shape[0] + self.test.shape[0]
        n_tokens = int(self.train.sum() + self.test.sum())
        shape, published = (n_docs, self.train.shape[1]), lpmrf_published.N_TOKENS
        return shape == lpmrf_published.SHAPE and n_tokens == published

    @property
    def for_selection(self) -> HeldOut:
        """The last tenth of the training documents against the rest."""
        first = self.train.shape[0] - self.train.shape[0] // FOLD
        return HeldOut(self.train[:first], self.train[first:])


def published_split(counts: sparse.csr_array) -> HeldOut:
    """A tenth of the documents as the authors' code draws them, in its order, and the rest.

    Raises
    ------
    ValueError
        If there are so few documents that a part would be without a token.
    """
    n_docs = counts.shape[0]
    # The published split: only the generator that it was drawn with makes it again.
    order = np.argsort(np.random.RandomState(1).rand(n_docs))
    documents = sparse.csr_array(counts).astype(np.int64)
    documents.sum_duplicates()
    documents.eliminate_zeros()
    split = HeldOut(documents[order[n_docs // FOLD :]], documents[order[: n_docs // FOLD]])
    again = split.for_selection
    if min(split.test.nnz, again.train.nnz, again.test.nnz) == 0:
        raise ValueError(
            f"of {n_docs} documents a tenth is held out, and of the rest a tenth to select by, and "
            "one of these parts has no token: give some 20 documents with tokens at least"
        )
    return split


def selection(
    kind: str,
    n_topics: int,
    split: HeldOut,
    settings: PerplexitySettings,
    *,
    known: Floats | None = None,
    n_jobs: int | None = None,
    on_pair: Callable[[int, int, float], object] | None = None,
) -> FieldSelection:
    """The perplexities that λ and c of a kind of model are selected by."""
    parts = split.for_selection
    shares = None
    if kind != "single":
        assignments = "mixture" if kind == "mixture" else "moves"
        shares = multinomial_shares(
            parts.train, n_topics, assignments, seed=settings.seed, n_jobs=n_jobs
        )
    effort = settings.effort
    return select_fields(
        parts.train,
        parts.test,
        settings.penalties,
        settings.length_scales,
        shares=shares,
        effort=FieldSettings(
            math.nan,
            math.nan,
            BETA,
            "envelope",
            effort.selection_samples,
            effort.selection_temperatures,
        ),
        patience=settings.patience,
        known=known,
        seed=settings.seed,
        n_jobs=n_jobs,
        on_pair=on_pair,
    )


class Difference(NamedTuple):
    """What a model of fields costs more than one of multinomials, by their likelihoods."""

    first: Cell
    second: Cell
    difference: PairedDifference


@dataclass(frozen=True, eq=False)
class Perplexities:
    """All models of one corpus."""

    name: str
    """Of the experiment."""
    corpus: str
    settings: PerplexitySettings
    split: HeldOut
    scores: Mapping[Cell, Score]
    selections: Mapping[tuple[str, int], FieldSelection]
    """Of the kinds and numbers of topics whose λ and c were selected."""

    def __post_init__(self) -> None:
        if set(self.scores) != set(self.settings.cells):
            raise ValueError("the cells are not those of the settings")

    def published(self, cell: Cell) -> tuple[float, float] | None:
        """Perplexity of test and training documents, if it is known for these documents."""
        if not self.split.is_classic3:
            return None
        base = FIELDS if cell.base == FEW else cell.base
        return lpmrf_published.PERPLEXITY.get((cell.kind, base, cell.n_topics))

    def perplexity(self, kind: str, base: str, n_topics: int) -> float:
        """The published measure of a model, of test documents."""
        return float(self.scores[Cell(kind, base, n_topics)].test.mean())

    def bag_perplexity(self, cell: Cell) -> float:
        """By the likelihood, of counts of words."""
        summed = self._summed(cell)
        model: Any = None  # which only a convention with lengths asks for
        documents = DocumentBlock(self.split.test)
        return in_convention(summed, model, documents, "bag").perplexity

    def differences(self) -> list[Difference]:
        """Each model of fields against its like of multinomials, and the published against LDA."""
        found = []
        for cell in self.scores:
            if cell.base == FIELDS:
                found.append(self._between(cell, cell._replace(base=MULTINOMIAL)))
                if cell.kind == "topics":
                    found.append(self._between(cell, Cell("gibbs", MULTINOMIAL, cell.n_topics)))
        return found

    def _between(self, first: Cell, second: Cell) -> Difference:
        names = {cell.name: self._summed(cell) for cell in (first, second)}
        return Difference(first, second, compare(names).between(first.name, second.name))

    def _summed(self, cell: Cell) -> LikelihoodEstimate:
        summed = self.scores[cell].summed
        assert summed is not None
        return summed
