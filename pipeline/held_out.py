"""The documents that models are scored on: none that a run has learned from."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpora import ArticleStore, Corpus, article_of, part_of, split
from corpora.formats import UnknownFormatError, format_of, read_corpus
from corpora.formats.vocabulary_file import find_vocabulary
from pipeline.documents import count_with
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.runs import RunDirectory
    from pipeline.settings import EvaluateSettings, TrainSettings


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents to score."""

    source: str
    """Where they are from, for people."""
    corpus: Corpus
    """Over a vocabulary that need not be that of any model."""
    n_left_out: int
    """Documents that a run was trained or stopped with, and that are not among these."""

    @property
    def article_of(self) -> list[str]:
        """(n_docs,) the article that each is, or is a section of; ids without # are articles."""
        return [article_of(document) for document in self.corpus.doc_ids]


def held_out(
    settings: EvaluateSettings, runs: Sequence[RunDirectory], words: Sequence[str], n_threads: int
) -> HeldOut:
    """The documents of a store or of a file, or else the test part of the first run.

    Parameters
    ----------
    runs
        The runs among the models.
    words
        Those to count in the articles of a store, by the text settings of the first run.

    Raises
    ------
    UsageError
        If there is nothing to take them from.
    """
    if settings.articles and settings.counts:
        raise UsageError("--articles and --counts both name the documents: leave one out")
    if settings.counts:
        source, corpus = settings.counts, _counted(settings.counts, settings.vocabulary)
    elif not runs and settings.articles:
        raise UsageError(
            "--articles are counted by the text settings of a run, and no model here is one: name "
            "a RUN too, or give documents that are counted, --counts FILE"
        )
    elif not runs:
        raise UsageError("no model here is a run with a test part: give documents, --counts FILE")
    elif settings.articles:
        source, store = settings.articles, ArticleStore(settings.articles)
        corpus = count_with(runs[0], runs[0].settings(), store, tuple(words), n_threads)
    else:
        source, trained = f"the test part of run {runs[0].path.name}", runs[0].settings()
        corpus = split(Corpus.load(runs[0].corpus_path), trained.validation, trained.test).test
        runs = runs[1:]
    n_before = corpus.n_docs
    for run in runs:
        corpus = held_out_of(corpus, Corpus.load(run.corpus_path), run.settings())
    return HeldOut(source, corpus, n_before - corpus.n_docs)


def held_out_of(corpus: Corpus, own: Corpus, trained: TrainSettings) -> Corpus:
    """The documents of other articles than a run learned from.

    What the run learned from, or stopped by, is no held-out document, whichever store it is in.
    """
    used = {
        article_of(document)
        for document in own.doc_ids
        if part_of(document, trained.validation, trained.test) != "test"
    }
    return corpus.rows(
        np.array([article_of(document) not in used for document in corpus.doc_ids], bool)
    )


def _counted(path: str, vocabulary: str) -> Corpus:
    """Counts in any format; `vocabulary` names their words where no file beside them does."""
    if not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    try:
        kind = format_of(path)
    except UnknownFormatError as error:
        raise UsageError(f"--counts: {error}; `python -m pipeline convert` can name it") from error
    if kind.vocabulary != "needed":
        return read_corpus(path, kind.name)
    try:
        return read_corpus(path, kind.name, find_vocabulary(path))
    except FileNotFoundError:
        return read_corpus(path, kind.name, vocabulary or None)
