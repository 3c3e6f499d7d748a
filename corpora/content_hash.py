"""Hash of the content of a corpus, the same for a corpus in memory, mapped or being written.

It is the SHA-256 of a line `name dtype shape` and the bytes of each array in turn. Strings count as
the bytes of a JSON list, which is never in memory as a whole.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.string_column import StringColumn


class Content(NamedTuple):
    """One array of a corpus, in parts."""

    name: str
    dtype: np.dtype[np.generic]
    size: int
    parts: Iterable[NDArray[np.generic] | bytes]


def content_hash(contents: Iterable[Content]) -> str:
    """Return the hash of arrays in this order, in hexadecimal."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(f"{content.name} {content.dtype.str} {(content.size,)}\n".encode())
        for part in content.parts:
            digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)
    return digest.hexdigest()


def of_array(name: str, array: NDArray[np.generic]) -> Content:
    """Content of an array in memory or mapped."""
    return Content(name, array.dtype, len(array), (array,))


def of_strings(name: str, chunks: Iterable[StringColumn], n_json_bytes: int) -> Content:
    """Content of strings in chunks; `n_json_bytes` is the sum of `json_bytes` of the chunks."""
    return Content(name, np.dtype(np.uint8), n_json_bytes + len("[]"), _json_list(chunks))


def json_bytes(chunk: StringColumn, *, is_first: bool) -> int:
    """Bytes that `chunk` adds to a JSON list; a comma precedes all but the first string."""
    start, data = chunk.packed
    separators = len('"", ') * (len(start) - 1) - (len(", ") if is_first and len(start) > 1 else 0)
    if not _is_escaped(data):
        return len(data) + separators
    return sum(len(json.dumps(string)) - len('""') for string in chunk) + separators


def json_array(strings: Sequence[str]) -> NDArray[np.uint8]:
    """(n,) bytes of `strings` as a JSON list."""
    return np.frombuffer(json.dumps(list(strings)).encode(), dtype=np.uint8)


def _json_list(chunks: Iterable[StringColumn]) -> Iterator[bytes]:
    yield b"["
    before = b""
    for chunk in chunks:
        if len(chunk):
            if _is_escaped(chunk.packed[1]):
                yield before + json.dumps(list(chunk))[1:-1].encode()
            else:
                yield before + b'"' + '", "'.join(chunk).encode() + b'"'
            before = b", "
    yield b"]"


def _is_escaped(data: NDArray[np.uint8]) -> bool:
    """Whether JSON escapes some character, such as quotes and all that is not ASCII."""
    odd = (data < ord(" ")) | (data > ord("~")) | (data == ord('"')) | (data == ord("\\"))
    return bool(np.any(odd))
