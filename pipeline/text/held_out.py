"""Held-out documents: those that no run has learned from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corpora import ArticleStore, Corpus, article_of, part_of
from corpora.formats import UnknownFormatError, format_of, read_corpus
from corpora.formats.vocabulary_file import find_vocabulary
from corpora.split import article_keys
from corpora.string_column import StringColumn
from pipeline.cluster.cluster import Cluster
from pipeline.errors import UsageError, check_exists
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import EvaluateSettings, TrainSettings
from pipeline.text.documents import count_with


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents to score."""

    source: str  # Description of the source
    corpus: Corpus  # Counts, over a vocabulary that may differ from every model's
    n_left_out: int  # Number of documents left out because a run was trained or stopped with them

    @property
    def article_of(self) -> list[str]:
        """Article (n_docs,) that each document is or belongs to; ids without # are articles."""
        return [article_of(document) for document in self.corpus.doc_ids]


def held_out(
    settings: EvaluateSettings,
    runs: Sequence[LoadedRun],
    words: Sequence[str],
    n_threads: int,
    cluster: Cluster | None = None,
) -> HeldOut:
    """Return the documents of a store or of a file, or else the test part of the first run.

    `words` are counted in the articles of a store, by the text settings of the first run; the
    workers of the cluster, if any, annotate these articles.

    Raises UsageError if no documents are given and no model is a run.
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
        first, words = runs[0], tuple(words)
        corpus = count_with(first.directory, first.settings, store, words, n_threads, cluster)
    else:
        source, corpus = f"the test part of run {runs[0].name}", runs[0].parts.test
        runs = runs[1:]
    n_before = corpus.n_docs
    for run in runs:
        corpus = held_out_of(corpus, run.corpus, run.settings)
    return HeldOut(source, corpus, n_before - corpus.n_docs)


def held_out_of(corpus: Corpus, own: Corpus, trained: TrainSettings) -> Corpus:
    """Return the documents of articles that a run neither learned from nor stopped by.

    If none is left out this is `corpus` itself, which may be memory-mapped.
    """
    # Only documents outside the run's test part can be among those that it used. They are looked up
    # by 16 bytes each: the run may have very many.
    parts = (part_of(each, trained.validation, trained.test) for each in corpus.doc_ids)
    suspects = np.flatnonzero(np.fromiter((part != "test" for part in parts), dtype=bool))
    if not len(suspects):
        return corpus
    suspected = StringColumn.of(corpus.doc_ids).take(suspects)
    keys, key_of = np.unique(article_keys(suspected), return_inverse=True)
    is_used = np.zeros(len(keys), dtype=bool)
    for chunk in StringColumn.of(own.doc_ids).chunks():
        own_keys = article_keys(chunk)
        place = np.minimum(np.searchsorted(keys, own_keys), len(keys) - 1)
        is_used[place[keys[place] == own_keys]] = True
    if not is_used.any():
        return corpus
    kept = np.ones(corpus.n_docs, dtype=bool)
    kept[suspects[is_used[key_of]]] = False
    return corpus.rows(kept)


def _counted(path: str, vocabulary: str) -> Corpus:
    """Read counts in any format; `vocabulary` names their words if no file beside them does."""
    check_exists(path)
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
