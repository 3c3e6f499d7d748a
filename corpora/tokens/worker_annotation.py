"""One shard of articles to the bytes of its annotation, on any machine that has the model."""

import json
import threading
from pathlib import Path
from typing import NamedTuple

from corpora.articles.manifest import ShardEntry
from corpora.articles.remote import path_of, read_bytes
from corpora.articles.shard import read_articles
from corpora.articles.shard_file import checked, shard_path
from corpora.errors import CorpusFormatError, UnsuitableModelError
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.annotation import Annotator
from corpora.tokens.annotation_file import annotated_bytes
from corpora.tokens.annotators import load_annotator
from corpora.tokens.spacy_model import stop_words_of
from corpora.tokens.store import describe
from corpora.tokens.workers import ArticlesToAnnotate, ShardAnnotation


def annotate_shard(
    entry: ShardEntry, data: bytes | None, articles: ArticlesToAnnotate
) -> ShardAnnotation | None:
    """The annotation of a shard, to the bit what `TokenStore.fill` makes without workers. `data` is
    the shard's content; with None it is read here, and None returned if that fails. The model is
    loaded once in each process, whose threads annotate in turn. Raises MissingModelError if the
    model is not installed here; UnsuitableModelError if it differs from the one asked for;
    CorpusFormatError if `data` is not the shard that was stored.
    """
    path = shard_path(path_of(articles.store), entry)
    if data is None:
        data = _seen(path, entry)
        if data is None:
            return None
    shard = read_articles(checked(data, entry, str(path)), str(path))
    with _lock:
        model = _model_for(articles)
        annotated = annotate_articles(shard, model.annotator, model.stop_words)
        warnings = tuple(model.warnings)
    return ShardAnnotation(
        annotated_bytes(annotated, entry.sha256), annotated.n_articles, annotated.n_tokens, warnings
    )


class _Model(NamedTuple):
    about: str
    annotator: Annotator
    stop_words: frozenset[str]
    warnings: list[str]


_lock = threading.Lock()
_last: list[_Model] = []


def _model_for(articles: ArticlesToAnnotate) -> _Model:
    """The model of these articles, loaded if it is not the last; while holding the lock."""
    if not _last or _last[0].about != articles.about:
        settings = articles.settings
        _check_model(articles.about, describe(settings), settings.spacy_model)
        warnings: list[str] = []
        annotator = load_annotator(
            settings.spacy_model, noun_chunks=settings.noun_chunks, warn=warnings.append
        )
        stop_words = stop_words_of(settings.spacy_model)
        _last[:] = [_Model(articles.about, annotator, stop_words, warnings)]
    return _last[0]


def _check_model(expected: str, found: str, name: str) -> None:
    """See that the model here is the one that the annotations are to be of."""
    if found == expected:
        return
    here, there = json.loads(found), json.loads(expected)
    other = [key for key in sorted(here | there) if here.get(key) != there.get(key)]
    raise UnsuitableModelError(
        f"the spaCy model {name} is another one than where the annotations are kept ("
        + "; ".join(f"{key}: {here.get(key)}, not {there.get(key)}" for key in other)
        + "); install the same model and the same spaCy"
    )


def _seen(path: Path, entry: ShardEntry) -> bytes | None:
    """Return the content of the shard if this process can read it, and it is the right file."""
    try:
        return checked(read_bytes(path), entry, str(path))
    except (OSError, CorpusFormatError):
        return None
