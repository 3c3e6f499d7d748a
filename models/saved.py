"""Models on disk: an .npz of plain arrays with a JSON header, without pickle."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.files import atomic_write
from models.families import Topics, arrays_of, family_of, topics_of_arrays

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from models.arrays import Floats

MODEL_FORMAT = "wikitopics model"
VERSION = 1
DAMAGE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OSError,
    EOFError,
    MemoryError,
    OverflowError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)  # Errors of NumPy and zipfile on damaged files, found by flipping every byte of one


class ModelFormatError(ValueError):
    """A file is not a saved model, is damaged, or was written by a newer version."""


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model with its vocabulary and provenance."""

    topics: Topics
    vocabulary: tuple[str, ...]
    header: dict[str, Any] = field(default_factory=dict)  #: Provenance: any JSON values.
    prevalence: Floats | None = None  #: (K,), share of each topic in the training tokens, if known.


def save_model(path: str | os.PathLike[str], model: SavedModel) -> None:
    """Write the model to `path`, whole or not at all; equal models give equal bytes."""
    if len(model.vocabulary) != model.topics.n_words:
        raise ValueError(
            f"the vocabulary has {len(model.vocabulary)} words, the topics {model.topics.n_words}"
        )
    arrays: dict[str, NDArray[Any]] = {
        **arrays_of(model.topics),
        "vocabulary": _bytes_of("\n".join(model.vocabulary)),
    }
    if any("\n" in word for word in model.vocabulary):
        raise ValueError("a word of the vocabulary holds a line break, which separates words here")
    if model.prevalence is not None:
        _check_prevalence(model.prevalence, model.topics.n_topics)
        arrays["prevalence"] = model.prevalence
    header = {
        **model.header,
        "family": family_of(model.topics),
        "vocabulary_hash": vocabulary_hash(model.vocabulary),
    }
    write_arrays(path, MODEL_FORMAT, header, arrays)


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model that `save_model` wrote. Raises ModelFormatError if the file is no saved model,
    is damaged, or is of a newer version; FileNotFoundError if there is no such file.
    """
    header, arrays = read_arrays(path, MODEL_FORMAT)
    try:
        vocabulary = tuple(arrays["vocabulary"].tobytes().decode().split("\n"))
        topics = topics_of_arrays(header.get("family", "lda"), arrays)
        if len(vocabulary) != topics.n_words:
            raise ValueError(
                f"{len(vocabulary)} words in the vocabulary, {topics.n_words} in topics"
            )
        if header.get("vocabulary_hash") != vocabulary_hash(vocabulary):
            raise ValueError("the vocabulary is not the one the header names")
        if "prevalence" in arrays:
            _check_prevalence(arrays["prevalence"], topics.n_topics)
    except (KeyError, ValueError) as error:
        raise ModelFormatError(f"{path}: not a usable model: {error}") from error
    return SavedModel(topics, vocabulary, header, arrays.get("prevalence"))


def _check_prevalence(prevalence: NDArray[Any], n_topics: int) -> None:
    if prevalence.shape != (n_topics,):
        raise ValueError(f"prevalence must have shape ({n_topics},), found {prevalence.shape}")


def vocabulary_hash(vocabulary: Sequence[str]) -> str:
    """Return the SHA-256 of the words in their order."""
    return hashlib.sha256("\n".join(vocabulary).encode()).hexdigest()


def write_arrays(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays and a JSON header as an uncompressed .npz, whole or not at all."""
    names = {"format": kind, "version": VERSION, "arrays": sorted(arrays)}
    text = json.dumps({**header, **names}, sort_keys=True)
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, header=_bytes_of(text), **arrays)


def read_arrays(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file that `write_arrays` wrote as `kind`.
    Raises ModelFormatError if the file is of another kind, damaged (each array has a checksum), or
    of a newer version.
    """
    with Path(path).open("rb") as stream:  # read array by array: a checkpoint may have gigabytes
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(arrays.pop("header").tobytes())
            found, version = header["format"], int(header["version"])
            names = header.pop("arrays", [])
        except DAMAGE as error:
            raise ModelFormatError(f"{path}: not a {kind} file, or damaged: {error}") from error
    if found != kind:
        raise ModelFormatError(f"{path}: expected a {kind} file, found a {found}")
    if version > VERSION:
        raise ModelFormatError(
            f"{path}: written by a newer wikitopics (format {version}, this one reads {VERSION}): "
            "upgrade wikitopics to read it"
        )
    if names != sorted(arrays):  # the archive's list of contents has no checksum of its own
        raise ModelFormatError(f"{path}: damaged: expected arrays {names}, found {sorted(arrays)}")
    return header, arrays


def _bytes_of(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)
