"""Annotations of the articles of a store, a file for each shard; words are selected on reading.

    DIR/annotation-<hash>/about.json              what made these; the hash is this file's
    DIR/annotation-<hash>/<SHA-256 of shard>.npz  see `corpora.tokens.annotation_file`
    DIR/annotation-<hash>/lock                    held by the one process that fills

Shards never change, and another model, another spaCy or other rules have a directory of their own,
so an annotation that is there is the right one. `corpora.tokens.selection` chooses words later.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from corpora.articles.manifest import ShardEntry
from corpora.articles.remote import absolute, is_of_this_process
from corpora.articles.store import ArticleStore
from corpora.files import PathLike, atomic_write, atomic_write_text, remove_partial_files, sha256_of
from corpora.lock import writer_lock
from corpora.tokens.annotation_file import load_annotated, load_skipped
from corpora.tokens.block import TokenBlock
from corpora.tokens.filling import ShardDone, ShardTask, after_death, annotate_shard, prepare
from corpora.tokens.selection import select
from corpora.tokens.settings import TextSettings
from corpora.tokens.spacy_model import describe_model, find_model, model_directory
from corpora.tokens.workers import AnnotationFile, ArticlesToAnnotate, OfBlock, Workers
from corpora.worker_pool import ordered_map

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

RULES_VERSION = 3
"""Counts up whenever the same text and model come to another annotation than before."""


class TokenStore:
    """The tokens of `articles`, of the shards that were stored when this object was made.

    Iterating gives the blocks in the order of the shards, one in memory at a time; `fill` has to
    have run before. `path` is the directory for the annotations; several settings and article
    stores may share it, and settings with the same model and noun chunks share annotations too.
    Raises MissingModelError if the spaCy model is not installed.
    """

    def __init__(self, articles: ArticleStore, path: PathLike, settings: TextSettings) -> None:
        self.articles = articles
        self.settings = replace(settings, spacy_model=find_model(settings.spacy_model))
        self.entries = articles.entries
        self._about = describe(self.settings)
        self.directory = Path(path) / f"annotation-{sha256_of(self._about.encode())[:16]}"

    def missing(self) -> list[ShardEntry]:
        """The shards that are not annotated yet, in order."""
        return [entry for entry in self.entries if not self._path_of(entry).exists()]

    def fill(
        self, n_processes: int = 1, workers: Workers | None = None
    ) -> Iterator[tuple[int, int]]:
        """Annotate the missing shards; yields (articles, tokens) of each as it is stored.

        Annotations are stored one by one, so an interrupt or a kill loses only unfinished ones.
        They are the same to the bit for any number of processes or workers elsewhere, whose shards
        come in any order. If a worker process dies, its shard is tried again article by article; an
        article at which one dies again is skipped, with a logged warning (see `skipped`). With one
        process there is no worker: what kills it ends the program. A shard that kills workers
        elsewhere is annotated by processes here, at the end.

        Raises StoreLockedError if another process is filling this store; CorpusFormatError if a
        shard is damaged; UnsuitableModelError if the model gives no parts of speech, no lemmas or,
        if wanted, no noun chunks; WorkerDiedError if no article is to blame for workers' deaths.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with writer_lock(self.directory):
            remove_partial_files(self.directory)
            atomic_write_text(self.directory / "about.json", self._about)
            said: set[str] = set()
            if workers is None:
                filled = self._fill_here(self.missing(), n_processes)
            else:
                filled = self._fill_elsewhere(workers, n_processes)
            for done in filled:
                for warning in set(done.warnings) - said:
                    logger.warning("%s", warning)
                said.update(done.warnings)
                yield done.n_articles, done.n_tokens

    def skipped(self) -> dict[Path, dict[str, str]]:
        """Articles that killed their worker and so have no words: title by id, by file, whose
        deletion has them tried again. Missing shards have none. Raises CorpusFormatError if a file
        is not an annotation.
        """
        there = filter(Path.exists, map(self._path_of, self.entries))
        return {path: found for path in there if (found := load_skipped(path))}

    def passed_over(self) -> dict[Path, dict[str, str]]:
        """Deprecated: `skipped`."""
        return self.skipped()

    def __iter__(self) -> Iterator[TokenBlock]:
        self._refuse_missing()
        return (
            select(load_annotated(self._path_of(entry), entry.sha256), self.settings)
            for entry in self.entries
        )

    def map(
        self,
        step: Callable[[TokenBlock], Result],
        n_processes: int = 1,
        workers: Workers | None = None,
    ) -> Iterator[Result]:
        """`step` of each block, in the order of the shards; `fill` has to have run before. With
        more than one process, or with workers elsewhere, `step` and what it returns are pickled;
        blocks are not. Raises CorpusFormatError if an annotation is damaged; WorkerDiedError if a
        worker process dies.
        """
        self._refuse_missing()
        function = OfBlock(self.settings, step)
        files = (AnnotationFile(absolute(self._path_of(e)), e.sha256) for e in self.entries)
        if workers is not None:
            return workers.map(function, files)
        return ordered_map(function, files, n_processes)

    def _fill_here(self, entries: Iterable[ShardEntry], n_processes: int) -> Iterator[ShardDone]:
        tasks = (ShardTask(entry, self._path_of(entry)) for entry in entries)
        model = (self.articles, self.settings.spacy_model, self.settings.noun_chunks)
        if is_of_this_process(self.articles.path):
            n_processes = 1  # others would not see the articles
        return ordered_map(annotate_shard, tasks, n_processes, prepare, model, on_death=after_death)

    def _fill_elsewhere(self, workers: Workers, n_processes: int) -> Iterator[ShardDone]:
        model = self.settings.spacy_model
        if model_directory(model) == Path(model):  # no package: workers are in other directories
            model = str(Path(model).absolute())
        settings = replace(self.settings, spacy_model=model)
        articles = ArticlesToAnnotate(absolute(self.articles.path), settings, self._about)
        killing = []
        for entry, found in workers.annotate(articles, self.missing()):
            if found is None:
                logger.warning("workers died at %s; it is annotated here, at the end", entry.shard)
                killing.append(entry)
                continue
            with atomic_write(self._path_of(entry)) as stream:
                stream.write(found.data)
            yield ShardDone(found.n_articles, found.n_tokens, found.warnings)
        # At least two, so that it is not this process that dies.
        yield from self._fill_here(killing, max(2, n_processes))

    def _refuse_missing(self) -> None:
        if missing := self.missing():
            raise RuntimeError(
                f"{len(missing)} of {len(self.entries)} shards are not annotated; call fill() first"
            )

    def _path_of(self, entry: ShardEntry) -> Path:
        return self.directory / f"{entry.sha256}.npz"


def describe(settings: TextSettings) -> str:
    """All that the annotation of a text depends on, as JSON: the model, and whether noun chunks are
    sought. Raises MissingModelError if the spaCy model is not installed.
    """
    about = describe_model(settings.spacy_model) | {
        "noun_chunks": settings.noun_chunks,
        "rules_version": RULES_VERSION,
    }
    return json.dumps(about, indent=2, sort_keys=True) + "\n"
