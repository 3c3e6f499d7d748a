"""Inputs of commands: what they are, and texts read once into an article store.

    RUNS/texts-<hash>/             the article store of an input; complete, or not there
    RUNS/texts-<hash>/input.json   the input that it was read from
    RUNS/.texts-<hash>.partial/    what a process that reads, or was killed, has so far

<hash> is of the input's path, columns and stamp (names, sizes and times of its files): a changed
input gets another store.
"""

import json
import logging
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from corpora import Article, ArticleStore, Corpus, CorpusFormatError
from corpora.articles.remote import normalized
from corpora.errors import StoreLockedError
from corpora.files import atomic_write_text, sha256_of
from corpora.hash_split import part_of
from corpora.inputs.find import Input, find_input
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.settings import TrainSettings
from pipeline.text.text_store import PREFIX, made_for, partial_store, remove_abandoned

logger = logging.getLogger(__name__)

ABOUT = "input.json"
SHARD_SIZE = 1000  # Texts in a shard: other people's texts are shorter than articles
WAIT_SECONDS = 0.2  # Seconds between attempts to take the lock
UPDATE_EVERY = 100  # Texts between updates of the progress bar
COLUMNS = ("format", "text_column", "id_column", "vocabulary")
"""Settings that say how an input is read."""
NOT_FOR_COUNTS = (
    *("documents", "follow", "follow_after"),
    *TrainSettings.GROUPS["text"],
    *TrainSettings.GROUPS["vocabulary"],
)
"""Settings of `train` that make counts from texts."""


class InputSettings(Protocol):
    """Settings of a command that reads an input."""

    @property
    def format(self) -> str:
        """Format of the input; empty if its content tells it."""

    @property
    def text_column(self) -> str:
        """Column with the texts; empty for the default."""

    @property
    def id_column(self) -> str:
        """Column with the ids; empty for the default."""

    @property
    def vocabulary(self) -> str:
        """File with the words of counts; empty for the one beside them."""


@dataclass(frozen=True, eq=False)
class NamedInput:
    """Input as it was found, and the settings by which it was named."""

    found: Input
    columns: Mapping[str, str]  # Settings `COLUMNS`

    @property
    def path(self) -> str:
        """Path of the input."""
        return str(self.found.path)

    @property
    def kind(self) -> str:
        """Kind of its content: store, texts or counts."""
        return self.found.kind

    @cached_property
    def about(self) -> dict[str, Any]:
        """Entry of the provenance: path, format, columns and stamp."""
        how = {**self.columns, "format": self.found.format}
        return {"path": self.path, **how, "stamp": self.found.stamp()}


def input_at(path: str, settings: InputSettings) -> NamedInput:
    """Return the input at a path; one line on what it is is logged.

    Raises FileNotFoundError if there is nothing; CorpusFormatError or UsageError if it is nothing
    that can be read, or the settings do not fit it.
    """
    columns = {name: str(getattr(settings, name)) for name in COLUMNS}
    try:
        found = NamedInput(find_input(path, **columns), columns)
    except CorpusFormatError:
        raise
    except ValueError as error:  # the settings name a format or a file that does not fit
        raise UsageError(str(error)) from error
    logger.info("%s", found.found.describe())
    return found


def decide_input(settings: TrainSettings) -> tuple[TrainSettings, NamedInput | None]:
    """Return settings that say what INPUT is: articles, counts, or else texts to be stored.

    None for articles, and if there is no INPUT.

    Raises UsageError if settings of the text stage are given with counts; what `input_at` does.
    """
    path = settings.input or settings.counts
    if not path:
        _refuse_columns(settings)
        return settings, None
    named = input_at(path, settings)
    if settings.counts and named.kind != "counts":
        raise UsageError(f"--counts: {named.found.describe()}; name it without --counts")
    if named.kind == "store":
        settings = replace(settings, input="", articles=path)
        return replace(settings, format="", text_column="", id_column="", vocabulary=""), None
    path = normalized(path)
    if named.kind == "counts":
        refuse_text_settings(settings, path)
        return replace(settings, input="", counts=path), named
    return replace(settings, input=path), named


def texts_store(named: NamedInput, folder: str | Path) -> str:
    """Return the path of the article store of an input of texts, which is read if it is not there.

    If another process is reading the same input this call waits.

    Raises CorpusFormatError if the input is malformed or holds no text; nothing is left then.
    """
    root = Path(folder)
    identity = {**named.about, "path": str(Path(named.path).resolve())}
    key = sha256_of(json.dumps(identity, sort_keys=True).encode())[:12]
    target = root / f"{PREFIX}{key}"
    remove_abandoned(root)
    with made_for(root):
        while not target.exists():
            try:
                with partial_store(root, key) as partial:
                    if not target.exists():
                        _fill(named, partial / "store", target)
            except StoreLockedError:
                time.sleep(WAIT_SECONDS)
    return str(target)


def counts_of(named: NamedInput, settings: TrainSettings) -> Corpus:
    """Return the counts of an input to train on.

    Raises CorpusFormatError if it is malformed, or no training document has a word.
    """
    corpus = named.found.corpus()
    has_words = np.diff(corpus.counts.indptr) > 0
    if not any(
        part_of(corpus.doc_ids[d], settings.validation, settings.test) == "train"
        for d in np.flatnonzero(has_words).tolist()
    ):
        raise CorpusFormatError(
            f"{named.path}: no document to train on has a word, of {corpus.n_docs:,} documents and "
            f"{corpus.n_words:,} words"
        )
    return corpus


def input_changed(about: Mapping[str, str]) -> bool:
    """Whether the input of the entry `about` has changed; False if it is gone."""
    if not Path(about["path"]).exists():
        return False
    try:
        found = find_input(about["path"], **{name: about[name] for name in COLUMNS})
        return bool(found.stamp() != about["stamp"])
    except FileNotFoundError:
        return False
    except ValueError:
        return True


def _refuse_columns(settings: TrainSettings) -> None:
    given = next((name for name in COLUMNS if getattr(settings, name)), None)
    if given is not None:
        raise UsageError(
            f"--{given.replace('_', '-')} says how INPUT is read, and there is no INPUT: leave it "
            "out, or name a file or a folder"
        )


def refuse_text_settings(settings: TrainSettings, path: str) -> None:
    """Raise UsageError if settings of the text stage are given with counts, which are at `path`."""
    default = TrainSettings()
    for name in NOT_FOR_COUNTS:
        if getattr(settings, name) != getattr(default, name):
            raise UsageError(
                f"--{name.replace('_', '-')} is for texts, and {path} holds counts, which are "
                "taken as they are: leave it out"
            )


def _fill(named: NamedInput, path: Path, target: Path) -> None:
    """Read the texts into a store at `path`, which becomes `target` when it is complete."""
    shutil.rmtree(path, ignore_errors=True)
    with Progress("reading", None, "texts") as progress:
        if not ArticleStore(path, SHARD_SIZE).append(_counted(named.found, progress)):
            raise CorpusFormatError(f"{named.path} holds no text")
    if named.found.stamp() != named.about["stamp"]:
        raise CorpusFormatError(
            f"{named.path} changed while it was read: give the same command again when it is whole"
        )
    atomic_write_text(path / ABOUT, json.dumps(named.about, indent=2, ensure_ascii=False) + "\n")
    path.rename(target)


def _counted(found: Input, progress: Progress) -> Iterator[Article]:
    for number, article in enumerate(found.articles(), 1):
        yield article
        if number % UPDATE_EVERY == 0:
            progress.update(UPDATE_EVERY)
