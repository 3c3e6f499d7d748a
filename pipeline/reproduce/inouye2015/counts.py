"""Counts for the perplexity experiments on Poisson MRFs, and in what parts they are taken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.errors import UsageError
from pipeline.reproduce.capdevila2018.documents import draw_rows, most_frequent_words, whole_counts
from pipeline.reproduce.counts import Named, corpora_of
from pipeline.reproduce.inouye2015.perplexity import published_split

if TYPE_CHECKING:
    from pipeline.reproduce.inouye2015.perplexity import HeldOut
    from pipeline.reproduce.settings import ReproduceSettings

WORDS = 5000
"""Most frequent words of Wikipedia that are kept."""
QUICK_DOCUMENTS = 5000


def counts_of(settings: ReproduceSettings, experiment: str) -> Named:
    """The one file of --counts, or the built-in sample; of `lpmrf-wikipedia` a part of them.

    That is so many documents, drawn by the seed, and the words that are most frequent in them.

    Raises
    ------
    UsageError
        If there are several files.
    FileNotFoundError
        If the file is missing.
    CorpusFormatError
        As `corpora_of`.
    """
    paths = [part.strip() for part in settings.counts.split(",") if part.strip()]
    if len(paths) > 1:
        raise UsageError(f"--counts: {experiment} takes one file, found {len(paths)}")
    if paths and not Path(paths[0]).exists():
        raise FileNotFoundError(f"--counts: there is no file or directory {paths[0]}")
    (corpus,) = corpora_of(settings)
    name, counts = corpus.name, whole_counts(corpus.counts)
    if experiment != "lpmrf-wikipedia":
        return Named(name, counts)
    n_documents = settings.documents
    if n_documents is None:
        n_documents = QUICK_DOCUMENTS if settings.scale == "quick" else counts.shape[0]
    rows = draw_rows(np.arange(counts.shape[0]), n_documents, settings.seed)
    n_words = WORDS if settings.words is None else settings.words
    return Named(name, most_frequent_words(counts[rows], n_words))


def split_of(corpus: Named) -> HeldOut:
    """Training and test documents.

    Raises
    ------
    UsageError
        If there are too few documents.
    """
    try:
        return published_split(corpus.counts)
    except ValueError as error:
        raise UsageError(f"{corpus.name}: {error}") from error
