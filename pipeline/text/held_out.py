"""Held-out documents: those that no run has learned from."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpora import ArticleStore, Corpus, article_of, part_of
from corpora.formats import FORMATS, UnknownFormatError, format_of, read_corpus
from corpora.formats.vocabulary_file import find_vocabulary
from corpora.hash_split import article_keys
from corpora.string_column import StringColumn
from pipeline.cluster.cluster import Cluster
from pipeline.errors import UsageError, check_exists
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import EvaluateSettings, TrainSettings
from pipeline.text.documents import count_with
from pipeline.text.inputs import NamedInput, input_at, texts_store
from pipeline.text.known_by_words import has_own_ids, is_known_by_words, without_known_words

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Documents to score."""

    source: str  # Description of the source
    corpus: Corpus  # Counts, over a vocabulary that may differ from every model's
    n_left_out: int  # Number of documents left out because a run was trained or stopped with them
    are_counts: bool = False  # Whether they were given as counts, not as texts or articles

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

    `words` are counted in the articles of a store, and in texts, by the text settings of the first
    run that has them; the workers of the cluster, if any, annotate these articles.

    Raises UsageError if no documents are given and no model is a run; if articles are given, and no
    model is a run on texts.
    """
    check_documents(settings)
    named = documents_at(settings)
    are_counts = bool(settings.counts) or (named is not None and named.kind == "counts")
    if named is not None and named.kind == "counts":
        source, corpus = named.path, named.found.corpus()
    elif settings.counts:
        source, corpus = settings.counts, _counted(settings)
    elif named is not None or settings.articles:
        first = next((run for run in runs if not run.settings.counts), None)
        if first is None:
            option = "--documents" if named is not None else "--articles"
            raise UsageError(
                f"{option} are counted by the text settings of a run, and no model here is one"
                f"{' on texts' if runs else ''}: name a RUN too, or give documents that are "
                "counted, --counts FILE"
            )
        source = articles = settings.articles
        if named is not None:
            source = articles = named.path
            if named.kind == "texts":
                articles = texts_store(named, settings.runs)
        store, words = ArticleStore(articles), tuple(words)
        corpus = count_with(first.directory, first.settings, store, words, n_threads, cluster)
    elif not runs:
        raise UsageError("no model here is a run with a test part: give documents, --counts FILE")
    else:
        first = runs[0]
        source, corpus = f"the test part of run {first.name}", first.parts.test
        are_counts = bool(first.settings.counts)
        runs = runs[1:]
    n_before = corpus.n_docs
    by_words, own_ids = is_known_by_words(named, corpus), has_own_ids(named)
    for run in runs:
        is_downloaded = not (run.settings.input or run.settings.counts)
        has_other_ids = is_downloaded and own_ids
        compares_words = by_words or has_other_ids
        is_alike = compares_words and (are_counts or _counts_alike(run, runs))
        if has_other_ids and not is_alike:
            logger.warning(
                "%s: the ids of %s are others than those of the articles that it learned from, and "
                "it counts texts in another way: documents that it knows are not left out",
                *(run.name, source),
            )
            continue
        unseen = without_known_words if is_alike else held_out_of
        corpus = unseen(corpus, run.corpus, run.settings)
    return HeldOut(source, corpus, n_before - corpus.n_docs, are_counts)


def documents_at(settings: EvaluateSettings) -> NamedInput | None:
    """Return --documents, if they are given, with the words of --vocabulary if they need a file.

    These are the models' words too, which texts, and counts with words of their own, do not need.
    """
    if not settings.documents:
        return None
    named = input_at(settings.documents, replace(settings, vocabulary=""))
    found = named.found
    is_named = found.format not in FORMATS or FORMATS[found.format].vocabulary != "needed"
    if not settings.vocabulary or found.kind != "counts" or is_named:
        return named
    try:
        find_vocabulary(found.path)
    except FileNotFoundError:
        words = settings.vocabulary
        return NamedInput(replace(found, vocabulary=words), {**named.columns, "vocabulary": words})
    return named


def check_documents(settings: EvaluateSettings) -> None:
    """Raise UsageError if several settings name the documents, or one says how none is read."""
    given = [name for name in ("documents", "articles", "counts") if getattr(settings, name)]
    if len(given) > 1:
        raise UsageError(
            " and ".join(f"--{name}" for name in given) + " both name the documents: leave one out"
        )
    for name in ("format", "text_column", "id_column"):
        if getattr(settings, name) and not settings.documents:
            raise UsageError(
                f"--{name.replace('_', '-')} says how --documents are read, and there are none: "
                "leave it out"
            )


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


def _counts_alike(run: LoadedRun, runs: Sequence[LoadedRun]) -> bool:
    """Whether a run counts texts as the first that learned from texts does."""
    first = next(each for each in runs if not each.settings.counts)
    if run is first:
        return True
    return (
        not run.settings.counts
        and run.settings.documents == first.settings.documents
        and run.text_settings == first.text_settings
        and run.bigrams == first.bigrams
    )


def _counted(settings: EvaluateSettings) -> Corpus:
    """Read counts in any format; a file beside them, or else `vocabulary`, names their words."""
    path, vocabulary = settings.counts, settings.vocabulary
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
