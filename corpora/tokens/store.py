"""Tokens of an article store, one block for each shard; only what is new is ever tokenized.

    DIR/settings-<hash>/about.json             what made these tokens; the hash is this file's
    DIR/settings-<hash>/<SHA-256 of shard>.npz  see `corpora.tokens.block`
    DIR/settings-<hash>/lock                   held by the one process that fills

Shards never change, and other text settings, another spaCy or another model have a directory of
their own, so a block that is there is the right one.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.files import atomic_write_text, remove_partial_files, sha256_of
from corpora.lock import writer_lock
from corpora.tokens.block import TokenBlock
from corpora.tokens.settings import TextSettings, normalized
from corpora.tokens.spacy_stage import find_model, load_model, model_directory, tokenize
from corpora.worker_pool import ordered_map

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from spacy.language import Language

    from corpora.articles.article import Article
    from corpora.articles.manifest import ShardEntry
    from corpora.articles.store import ArticleStore

RULES_VERSION = 1
"""Counts up whenever the same text and settings come to other tokens than before."""


class TokenStore:
    """The tokens of `articles`, of the shards that were stored when this object was made.

    Iterating gives the blocks in the order of the shards, one in memory at a time, as often as is
    wanted; `fill` has to have run before.

    Parameters
    ----------
    articles
        The store to read.
    path
        The directory for the tokens; several settings and article stores may share it.
    settings
        What of a text becomes words.

    Raises
    ------
    MissingModelError
        If the spaCy model is not installed.
    """

    def __init__(
        self, articles: ArticleStore, path: str | os.PathLike[str], settings: TextSettings
    ) -> None:
        self.articles = articles
        self.settings = settings
        self.entries = articles.entries
        self._about = describe(settings)
        self.directory = Path(path) / f"settings-{sha256_of(self._about.encode())[:16]}"

    def missing(self) -> list[ShardEntry]:
        """The shards whose tokens are not there yet, in order."""
        return [entry for entry in self.entries if not self._path_of(entry).exists()]

    def fill(self, n_processes: int = 1) -> Iterator[tuple[int, int]]:
        """Tokenize the missing shards; yields (documents, tokens) of each as it is stored.

        Blocks are stored one by one: after an interrupt or a kill only those that were being made
        are missing. They are the same to the bit for any number of processes.

        Raises
        ------
        StoreLockedError
            If another process is filling this store.
        CorpusFormatError
            If a shard of the articles is damaged.
        WorkerDiedError
            If a worker process died, for instance for want of memory.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with writer_lock(self.directory):
            remove_partial_files(self.directory)
            atomic_write_text(self.directory / "about.json", self._about)
            tasks = ((entry, self._path_of(entry)) for entry in self.missing())
            yield from ordered_map(
                _store_tokens, tasks, n_processes, _prepare, (self.articles, self.settings)
            )

    def __iter__(self) -> Iterator[TokenBlock]:
        if missing := self.missing():
            raise RuntimeError(
                f"{len(missing)} of {len(self.entries)} shards are not tokenized; call fill() first"
            )
        return (TokenBlock.load(self._path_of(entry)) for entry in self.entries)

    def _path_of(self, entry: ShardEntry) -> Path:
        return self.directory / f"{entry.sha256}.npz"


def describe(settings: TextSettings) -> str:
    """All that the tokens of a text depend on, as JSON: equal text means equal tokens."""
    model = find_model(settings.spacy_model)
    directory = model_directory(model)
    assert directory is not None
    meta = (directory / "meta.json").read_bytes()
    parsed = json.loads(meta)
    about = asdict(settings) | {
        "spacy_model": f"{parsed['lang']}_{parsed['name']} {parsed['version']}",
        "spacy_model_meta_sha256": sha256_of(meta),
        "spacy": version("spacy"),
        "rules_version": RULES_VERSION,
        "parts_of_speech": sorted(set(settings.parts_of_speech)),
        "extra_stop_words": sorted({normalized(word) for word in settings.extra_stop_words}),
    }
    return json.dumps(about, indent=2, sort_keys=True) + "\n"


# In a worker

_prepared: list[tuple[ArticleStore, TextSettings, Language]] = []
"""What `_store_tokens` works with, set once in each process."""


def _prepare(articles: ArticleStore, settings: TextSettings) -> None:
    _prepared[:] = [(articles, settings, load_model(settings.spacy_model))]


def _store_tokens(task: tuple[ShardEntry, Path]) -> tuple[int, int]:
    entry, path = task
    articles, settings, nlp = _prepared[0]
    doc_ids, titles, texts = [], [], []
    for article in articles.read_shard(entry):
        for doc_id, title, text in _documents(article, settings.documents):
            doc_ids.append(doc_id)
            titles.append(title)
            texts.append(text)
    block = TokenBlock.from_runs(tokenize(texts, nlp, settings), doc_ids, titles)
    block.save(path)
    return block.n_docs, block.n_tokens


def _documents(article: Article, documents: str) -> Iterator[tuple[str, str, str]]:
    """(document id, title, text) of each document of the article."""
    if documents == "article":
        yield article.document_id, article.title, article.text
        return
    for number, (heading, text) in enumerate(article.sections(), start=1):
        title = f"{article.title} § {heading}" if heading else article.title
        yield f"{article.document_id}#{number}", title, text
