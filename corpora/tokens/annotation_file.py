"""Annotated articles on disk: a compressed .npz file without pickle, with a checksum.

Its last 32 bytes, to a zip reader the archive's comment, are the SHA-256 of the rest. An article
takes some 1.5 kB a thousand words.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import atomic_write
from corpora.tokens.annotated import AnnotatedArticles

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

FORMAT_VERSION = 1

STRINGS = ("words", "tags", "headings", "doc_ids", "titles", "passed_over")
FLAGS = ("is_alphabetic", "is_stop_word", "entry_is_stop", "continues_chunk")
INDICES = ("entry_word", "entry_tag", "entry_pos", "entry_of")
STARTS = ("piece_start", "section_start", "article_start")


def save_annotated(articles: AnnotatedArticles, path: str | os.PathLike[str]) -> None:
    """Write a file, whole or not at all; equal annotations make equal files.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    arrays: dict[str, NDArray[Any]] = {"version": np.array(FORMAT_VERSION)}
    for name in STRINGS:
        arrays[name] = _packed(getattr(articles, name))
    for name in FLAGS:
        flags = getattr(articles, name)
        arrays[name] = np.packbits(flags)
        arrays[f"n_{name}"] = np.array(len(flags))
    for name in INDICES:
        arrays[name] = _narrow(getattr(articles, name))
    for name in STARTS:
        arrays[name] = _narrow(np.diff(getattr(articles, name)))
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    # A zip file without a comment ends in the comment's length, two bytes of zero.
    content = packed.getvalue()[:-2] + (32).to_bytes(2, "little")
    with atomic_write(path) as stream:
        stream.write(content + hashlib.sha256(content).digest())


def load_annotated(path: str | os.PathLike[str]) -> AnnotatedArticles:
    """What `save_annotated` wrote.

    Raises
    ------
    CorpusFormatError
        If the file is not an annotation or was changed.
    UnsupportedVersionError
        If a newer version of this software wrote it.
    """
    stored = Path(path).read_bytes()
    content, digest = stored[:-32], stored[-32:]
    if hashlib.sha256(content).digest() != digest:
        raise CorpusFormatError(f"{path}: the annotation is damaged; delete the file to redo it")
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        try:
            if arrays["version"] > FORMAT_VERSION:
                raise UnsupportedVersionError(f"{path} was written by a newer wikitopics")
            values: dict[str, Any] = {name: _unpacked(arrays[name]) for name in STRINGS}
            for name in FLAGS:
                count = int(arrays[f"n_{name}"])
                values[name] = np.unpackbits(arrays[name], count=count).astype(bool)
            for name in INDICES:
                values[name] = arrays[name]
            for name in STARTS:
                values[name] = np.concatenate(([0], np.cumsum(arrays[name], dtype=np.int64)))
            return AnnotatedArticles(**values)
        except KeyError as error:
            raise CorpusFormatError(f"{path} is not an annotation: {error}") from error


def _packed(strings: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(strings).encode(), dtype=np.uint8)


def _unpacked(array: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(json.loads(array.tobytes()))


def _narrow(array: NDArray[np.integer]) -> NDArray[np.unsignedinteger]:
    """The array in the narrowest unsigned type that holds it; the same array in the same bytes."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))
