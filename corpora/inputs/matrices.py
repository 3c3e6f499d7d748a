"""Counts in memory: matrices of NumPy and scipy with their words, AnnData, corpora."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from corpora.corpus import Corpus
from corpora.errors import CorpusFormatError
from corpora.inputs.find import Input


@dataclass(frozen=True)
class CountsInMemory(Input):
    """Counts that lie at no path; that of the input is a name made of their hash."""

    held: Corpus = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, held: Corpus) -> "CountsInMemory":
        """Return the input that holds a corpus."""
        return cls(Path(f"counts-{held.content_hash[:12]}"), "corpus", "counts", held=held)

    def describe(self) -> str:
        """Say in a line what there is."""
        return f"counts of {self.held.n_docs} documents × {self.held.n_words} words"

    def stamp(self) -> str:
        """SHA-256 of the counts, their words and ids."""
        return self.held.content_hash

    def corpus(self) -> Corpus:
        """Return the counts."""
        return self.held


def are_counts(given: Any) -> bool:
    """Whether this is a corpus, AnnData, or a matrix of numbers, sparse or not."""
    anndata = sys.modules.get("anndata")
    return (
        isinstance(given, Corpus)
        or sparse.issparse(given)
        or (isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "biufc")
        or (anndata is not None and isinstance(given, anndata.AnnData))
    )


def corpus_of(given: Any, vocabulary: Sequence[str] | None = None) -> Corpus:
    """Return counts as a corpus. The `vocabulary` has the words of a matrix's columns; its rows are
    called 1, 2, …; AnnData and a `Corpus` have names of their own.

    Raises TypeError if there are no words, or words are given where there are some;
    CorpusFormatError if the numbers are no counts, or words and columns do not fit.
    """
    if isinstance(given, Corpus) or hasattr(given, "var_names"):
        if vocabulary is not None:
            raise TypeError(
                f"{type(given).__name__} has words of its own: leave the vocabulary out"
            )
        return given if isinstance(given, Corpus) else _of_anndata(given)
    if vocabulary is None:
        raise TypeError(
            f"{type(given).__name__} needs the words of its columns: give vocabulary=, a list of "
            "strings"
        )
    doc_ids = [str(i + 1) for i in range(given.shape[0])]
    try:
        return Corpus(given, tuple(map(str, vocabulary)), doc_ids)
    except ValueError as error:
        raise CorpusFormatError(f"the counts: {error}") from error


def _of_anndata(given: Any) -> Corpus:
    """Return the raw counts: X, else layers["counts"], else raw.X, as from a file."""
    found = [("X", given.X, given), ("layers['counts']", given.layers.get("counts"), given)]
    if given.raw is not None:
        found.append(("raw.X", given.raw.X, given.raw))
    faults = []
    for name, counts, of_genes in found:
        if counts is None:
            continue
        try:
            return Corpus(
                counts, tuple(map(str, of_genes.var_names)), list(map(str, given.obs_names))
            )
        except ValueError as error:
            faults.append(f"{name}: {error}")
    raise CorpusFormatError(f"AnnData has no raw counts; {'; '.join(faults) or 'X is empty'}")
