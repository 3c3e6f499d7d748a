"""Annotated articles on disk: a compressed .npz file without pickle, with a checksum.

Its last 32 bytes, to a zip reader the archive's comment, are the SHA-256 of the rest. It names its
shard by the SHA-256. An article takes some 1.5 kB a thousand words.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import PathLike, atomic_write
from corpora.tokens.annotated import AnnotatedArticles
from corpora.tokens.block_pairs import narrow

FORMAT_VERSION = 2

STRINGS = ("words", "tags", "headings", "doc_ids", "titles", "passed_over")
FIELD = {"passed_over": "skipped"}
"""Field of `AnnotatedArticles` if it has another name than in the file."""
FLAGS = ("is_alphabetic", "is_stop_word", "entry_is_stop", "continues_chunk")
INDICES = ("entry_word", "entry_tag", "entry_pos", "entry_of")
STARTS = ("piece_start", "section_start", "article_start")


def save_annotated(articles: AnnotatedArticles, path: PathLike, shard_sha256: str) -> None:
    """Write a file atomically; see `annotated_bytes`. Raises OSError if it cannot be written."""
    with atomic_write(path) as stream:
        stream.write(annotated_bytes(articles, shard_sha256))


def annotated_bytes(articles: AnnotatedArticles, shard_sha256: str) -> bytes:
    """Return the file's content; equal annotations of an equal shard give equal files."""
    arrays: dict[str, NDArray[Any]] = {
        "version": np.array(FORMAT_VERSION),
        "shard": _packed([shard_sha256]),
    }
    for name in STRINGS:
        arrays[name] = _packed(getattr(articles, FIELD.get(name, name)))
    for name in FLAGS:
        flags = getattr(articles, name)
        arrays[name] = np.packbits(flags)
        arrays[f"n_{name}"] = np.array(len(flags))
    for name in INDICES:
        arrays[name] = narrow(getattr(articles, name))
    for name in STARTS:
        arrays[name] = narrow(np.diff(getattr(articles, name)))
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    # A zip file without a comment ends in the comment's length, two bytes of zero.
    content = packed.getvalue()[:-2] + (32).to_bytes(2, "little")
    return content + hashlib.sha256(content).digest()


def load_annotated(path: PathLike, shard_sha256: str) -> AnnotatedArticles:
    """Load the file of that shard. Raises CorpusFormatError if it is not an annotation, was
    changed, or belongs to another shard; UnsupportedVersionError if a newer version of this
    software wrote it; OSError if it cannot be read.
    """
    return annotated_from(Path(path).read_bytes(), path, shard_sha256)


def annotated_from(stored: bytes, path: PathLike, shard_sha256: str) -> AnnotatedArticles:
    """Parse the bytes of the file at `path`, maybe of another machine; see `load_annotated`."""
    content, digest = stored[:-32], stored[-32:]
    if hashlib.sha256(content).digest() != digest:
        raise CorpusFormatError(f"{path}: the annotation is damaged; delete the file to redo it")
    with _arrays_of(path, io.BytesIO(stored)) as arrays:
        (made_from,) = _unpacked(arrays["shard"])
        if made_from != shard_sha256:
            raise CorpusFormatError(
                f"{path} is the annotation of another shard, of SHA-256 {made_from[:64]}; delete "
                "the file to redo it"
            )
        values: dict[str, Any] = {
            FIELD.get(name, name): _unpacked(arrays[name]) for name in STRINGS
        }
        for name in FLAGS:
            packed, count = arrays[name], int(arrays[f"n_{name}"])
            if not 0 <= count <= 8 * len(packed):
                raise ValueError(f"{count} flags in {len(packed)} bytes")
            values[name] = np.unpackbits(packed, count=count).astype(bool)
        for name in INDICES:
            values[name] = _unsigned(arrays[name])
        for name in STARTS:
            lengths = _unsigned(arrays[name])
            values[name] = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        return AnnotatedArticles(**values)


def load_skipped(path: PathLike) -> dict[str, str]:
    """Titles by id of the articles that could not be annotated. Reads and checks nothing else, in a
    fraction of the time of `load_annotated`, and raises as it does.
    """
    with Path(path).open("rb") as file, _arrays_of(path, file) as arrays:
        skipped = _unpacked(arrays["passed_over"])
        if not skipped:
            return {}
        title_of = dict(zip(_unpacked(arrays["doc_ids"]), _unpacked(arrays["titles"]), strict=True))
        return {doc_id: title_of[doc_id] for doc_id in skipped}


@contextmanager
def _arrays_of(path: PathLike, file: IO[bytes]) -> Iterator[Mapping[str, NDArray[Any]]]:
    """The arrays in `file`; whatever fails in the block is put down to what is in it."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            if arrays["version"] > FORMAT_VERSION:
                raise UnsupportedVersionError(f"{path} was written by a newer wikitopics")
            yield arrays
    except (CorpusFormatError, MemoryError):
        raise
    # With a sound checksum too anything may be in it, and numpy, zipfile and json each have errors
    # of their own for what is none of theirs.
    except Exception as error:
        raise CorpusFormatError(
            f"{path} is not an annotation ({error}); delete the file to redo it"
        ) from error


def _packed(strings: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(strings).encode(), dtype=np.uint8)


def _unpacked(array: NDArray[np.uint8]) -> tuple[str, ...]:
    strings = json.loads(array.tobytes())
    if not (isinstance(strings, list) and all(isinstance(each, str) for each in strings)):
        raise ValueError("expected a list of strings")
    return tuple(strings)


def _unsigned(array: NDArray[Any]) -> NDArray[np.unsignedinteger]:
    """The array, if it is one that `_narrow` can have made."""
    if array.dtype.kind != "u" or array.ndim != 1:
        raise ValueError(f"expected a row of unsigned integers, found {array.dtype}{array.shape}")
    return array
