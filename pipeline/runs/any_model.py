"""Models of any program by their path: those with a likelihood, and all others.

`pipeline.runs.model_files` reads models of documents, which have a likelihood. Others have word
lists, or weights without a prior, and perhaps the shares of topics in documents, in the same file
or in another: MODEL,SHARES. No pickle is loaded for them.
"""

import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from corpora.errors import CorpusFormatError
from corpora.formats.vocabulary_file import read_vocabulary
from models.described.array_files import (
    is_bertopic_folder,
    read_array_topics,
    read_bertopic_folder,
    read_json_topics,
)
from models.described.document_shares import read_document_shares
from models.described.topics import DescribedTopics
from models.described.word_lists import read_topic_table
from models.saved import ModelFormatError, SavedModel
from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.model_files import kind_of, read_model, start_of
from pipeline.runs.topica_file import MAGIC, read_topica

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class AnyModel:
    """A model of any origin."""

    name: str  # As the user gave it
    run: LoadedRun | None
    saved: SavedModel | None  # A model of documents, from a file that knows no other models
    described: DescribedTopics

    @classmethod
    def of_run(cls, name: str, run: LoadedRun) -> Self:
        """Return the model of a run."""
        return cls(name, run, run.model, DescribedTopics.of(run.model))

    @property
    def no_likelihood(self) -> str:
        """Reason why documents have no likelihood; empty if they have one."""
        return "" if self.saved is not None else self.described.no_likelihood

    @property
    def likely(self) -> SavedModel | None:
        """The model of documents; None without a likelihood."""
        if self.saved is not None:
            return self.saved
        topics = self.described.lda
        return None if topics is None else SavedModel(topics, self.described.vocabulary)


def any_model(
    runs: str, name: str, vocabulary: PathLike | None = None, *, is_checked: bool = True
) -> AnyModel:
    """Find the run of that name or path, or read the model at that path.

    `vocabulary` is a file with the words of models without words. Files of a run are checked if
    `is_checked`.

    Raises UsageError if there is nothing; ModelFormatError or CorpusFormatError, naming the file
    and where there are lines the line, if it cannot be read as a model; MissingExtraError if
    tomotopy or topica is needed and not installed; OSError if a file cannot be read.
    """
    first, second = _parts(name)
    try:
        return AnyModel.of_run(name, LoadedRun.find(runs, name, is_checked=is_checked))
    except UsageError as error:
        if not Path(first).exists():
            raise UsageError(f"no file {first!r}, and {error}") from None
    kind = described_kind(first)
    if not kind:
        saved = read_model(name, vocabulary)
        if not saved.vocabulary:
            raise ModelFormatError(
                f"{name} does not name its {saved.topics.n_words:,} words: give --vocabulary FILE, "
                "a word a line in the model's order"
            )
        return AnyModel(name, None, saved, DescribedTopics.of(saved))
    words = None if vocabulary is None else list(read_vocabulary(vocabulary))
    described = read_described(first, kind, words)
    if second:
        shares, ids = read_document_shares(second, described.n_topics)
        described = replace(described, doc_topic=shares, doc_ids=ids)
    return AnyModel(name, None, None, described)


def described_kind(path: PathLike) -> str:
    """Return the kind of a file that `read_described` reads; empty if it is another model's.

    Raises ModelFormatError if it is no text and no model that is known; OSError if it cannot be
    read.
    """
    path = Path(path)
    if path.is_dir():
        return "bertopic" if is_bertopic_folder(path) else ""
    start = start_of(path)
    if start.startswith(MAGIC):
        return "topica"
    if start.startswith(b"PK\x03\x04"):
        return "" if _has_header(path) else "arrays"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"[", b"{") and text[:2] != b"[(":  # a list of Python, as gensim prints it
        return "json"
    try:
        kind_of(path)
    except ModelFormatError:
        if b"\0" in start or start[:1] == b"\x80":  # no text; a pickle is never read as one
            raise
        return "table"
    return ""


def read_described(path: PathLike, kind: str, vocabulary: Sequence[str] | None) -> DescribedTopics:
    """Read topics of a kind that `described_kind` tells. Raises what its reader raises."""
    if kind in ("bertopic", "topica"):
        return read_bertopic_folder(path) if kind == "bertopic" else read_topica(path)
    readers: dict[str, Callable[..., DescribedTopics]] = {
        "table": read_topic_table,
        "arrays": read_array_topics,
        "json": read_json_topics,
    }
    return readers[kind](path, vocabulary)


def _parts(name: str) -> tuple[str, str]:
    """Return the path of a model, and that of its second file after a comma, or nothing."""
    first, comma, second = name.rpartition(",")
    if comma and not Path(name).exists() and Path(first).exists():
        return first, second
    return name, ""


def _has_header(path: Path) -> bool:
    """Whether an .npz is a model of ours, or no .npz at all."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "header.npy" in archive.namelist()
    except (zipfile.BadZipFile, OSError) as error:
        raise CorpusFormatError(f"{path}: not an .npz file, or damaged: {error}") from error
