"""`infer`: the topics of new texts."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from corpora import (
    Article,
    Corpus,
    CorpusFormatError,
    annotate_articles,
    load_annotator,
    select,
    stop_words_of,
)
from corpora.formats.compression import without_suffix
from corpora.formats.lines import BYTE_ORDER_MARK
from corpora.inputs.find import NAME_ENDS
from corpora.inputs.json_lines import ENDINGS as JSON_ENDINGS
from models.lda.topics import LDATopics
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.runs.loaded_run import LoadedRun
from pipeline.setting_sources import check_least
from pipeline.settings import InferSettings
from pipeline.text.inputs import COLUMNS, NamedInput, input_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from corpora.tokens.annotation import Annotator
    from evaluation.arrays import Floats

logger = logging.getLogger(__name__)

ENDINGS = (*NAME_ENDS, *JSON_ENDINGS, ".mtx", ".ldac")
"""Ends of the names of files that hold more than one document, before that of a compression."""
BATCH = 1000  # Documents whose topics are inferred at a time


@dataclass(frozen=True)
class _Name:
    """Name of a document: its file, and id and title in the file, if that is not one text."""

    file: str
    doc_id: str = ""
    title: str = ""


def infer(settings: InferSettings, run_name: str, files: list[str]) -> dict[str, Any]:
    """Topic proportions of documents under a run's model.

    A text file ("-" is stdin) is one document. A folder, a table, a store or a file of counts has
    a document in each row; for a run on counts all documents are counts.

    Raises UsageError if texts are given to a run on counts, or the run is not LDA and another
    inference than the default is asked for; CorpusFormatError if a file is
    malformed, or no word of counts is known to the run.
    """
    check_least(settings, words=1)
    run = LoadedRun.find(settings.runs, run_name)
    model, shares = run.model, _shares_by(settings.inference, run)
    named = {file: input_at(file, settings) for file in files if _is_input(settings, file)}
    _check_columns(settings, files, named)
    texts = {file: _read(file) for file in files if file not in named}
    if texts or any(each.kind != "counts" for each in named.values()):
        how = run.text_settings
        logger.info(
            "reading %s with %s, for topics of run %s", ", ".join(files), how.spacy_model, run.name
        )
    top = model.topics.top_words(settings.words)
    words = [[model.vocabulary[w] for w in of_topic] for of_topic in top]
    n_threads = effective_n_jobs(settings.threads)
    rows: list[dict[str, Any]] = []
    with Progress("topics", None, "documents") as progress:
        for names, corpus in _corpora(run, files, named, texts):
            proportions = shares(corpus.counts, n_jobs=n_threads)
            rows += _rows(names, corpus, proportions, words)
            progress.update(corpus.n_docs)
    return {"run": run.name, "texts": rows}


def _shares_by(inference: str, run: LoadedRun) -> Callable[..., Floats]:
    """Return the function that gives proportions (D, K) of counts (D, V) and `n_jobs`."""
    topics = run.model.topics
    if inference == InferSettings.inference:
        return topics.proportions
    if not isinstance(topics, LDATopics):
        raise UsageError(f"--inference {inference} is for LDA, which run {run.name} is not")
    return partial(topics.transform, inference=inference)


def _is_input(settings: InferSettings, file: str) -> bool:
    """Whether a file is more than one text."""
    if file == "-":
        return False
    name = without_suffix(Path(file).name).lower()
    is_counts = name.startswith("docword.") and name.endswith(".txt")
    is_named = any(getattr(settings, each) for each in COLUMNS)
    return is_named or is_counts or name.endswith(ENDINGS) or "://" in file or Path(file).is_dir()


def _check_columns(
    settings: InferSettings, files: Sequence[str], named: dict[str, NamedInput]
) -> None:
    given = next((name for name in COLUMNS if getattr(settings, name)), None)
    if given is not None and not named:
        raise UsageError(
            f"--{given.replace('_', '-')} says how a table or counts are read, and "
            f"{', '.join(files)} is a text: leave it out"
        )


def _corpora(
    run: LoadedRun, files: list[str], named: dict[str, NamedInput], texts: dict[str, str]
) -> Iterator[tuple[list[_Name], Corpus]]:
    """Yield documents in the order of the files, counted, with their names."""
    reader = _TextReader(run)
    if not named:  # a few texts, in one batch
        articles = [_as_article(d, file, texts[file]) for d, file in enumerate(files)]
        yield [_Name(file) for file in files], reader.counted(articles)
        return
    for file in files:
        if file not in named:
            yield [_Name(file)], reader.counted([_as_article(0, file, texts[file])])
        elif named[file].kind == "counts":
            for corpus in in_words_of(run, named[file].found.corpus(), file):
                about = zip(corpus.doc_ids, corpus.titles, strict=True)
                yield [_Name(file, *each) for each in about], corpus
        else:
            rows = named[file].found.articles()
            while some := list(islice(rows, BATCH)):
                names = [_Name(file, each.document_id, each.title) for each in some]
                yield names, reader.counted(some)


def _as_article(d: int, file: str, text: str) -> Article:
    return Article(d, 0, file, "", "", "und", "", text)


class _TextReader:
    """Counts the words of articles as a run does; the spaCy model is loaded once."""

    def __init__(self, run: LoadedRun) -> None:
        self._run = run

    @cached_property
    def _annotator(self) -> Annotator:
        how = self._run.text_settings
        return load_annotator(how.spacy_model, noun_chunks=how.noun_chunks)

    def counted(self, articles: Sequence[Article]) -> Corpus:
        """Return the counts; each article is one document, even if the run's are sections."""
        run, how = self._run, self._run.text_settings
        annotated = annotate_articles(articles, self._annotator, stop_words_of(how.spacy_model))
        block = run.bigrams.join(select(annotated, replace(how, documents="article")))
        return Corpus.from_blocks([block], run.model.vocabulary)


def in_words_of(run: LoadedRun, corpus: Corpus, source: str) -> Iterator[Corpus]:
    """Yield parts of counts, over the words of the run's model. Raises CorpusFormatError, which
    names the `source`, if no word is known.
    """
    vocabulary = run.model.vocabulary
    number_of = {word: w for w, word in enumerate(vocabulary)}
    known = np.array([w for w, word in enumerate(corpus.vocabulary) if word in number_of], int)
    if not len(known):
        raise CorpusFormatError(
            f"{source}: none of its {corpus.n_words:,} words is among the {len(vocabulary):,} "
            f"of run {run.name}; counts must be of the same words"
        )
    own = [number_of[corpus.vocabulary[w]] for w in known]
    shape = corpus.n_words, len(vocabulary)
    renumbered = sparse.csr_array((np.ones(len(known), np.int32), (known, own)), shape=shape)
    for first in range(0, corpus.n_docs, BATCH):
        some = corpus.rows(np.arange(first, min(first + BATCH, corpus.n_docs)))
        counts = some.counts @ renumbered
        n_unknown = some.n_unknown + some.counts.sum(axis=1) - counts.sum(axis=1)
        yield Corpus(counts, vocabulary, some.doc_ids, some.titles, n_unknown)


def _rows(
    names: Sequence[_Name],
    corpus: Corpus,
    proportions: Floats,
    words: Sequence[Sequence[str]],
) -> Iterator[dict[str, Any]]:
    """Yield a row for each document, with all topics, their `proportions` (D, K) and `words`."""
    n_known: NDArray[np.int64] = corpus.counts.sum(axis=1)
    for d, name in enumerate(names):
        in_file = {"id": name.doc_id, "title": name.title} if name.doc_id else {}
        yield {
            "file": name.file,
            **in_file,
            "tokens": int(n_known[d]),
            "unknown": int(corpus.n_unknown[d]),
            "topics": [
                {"topic": int(k), "proportion": float(proportions[d, k]), "words": list(words[k])}
                for k in np.argsort(-proportions[d], kind="stable")
            ],
        }


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusFormatError(f"{file}: not UTF-8 text: {error}") from error
