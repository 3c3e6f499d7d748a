"""Millions of short strings as two arrays, in memory or mapped, decoded on access.

String i is the UTF-8 bytes `data[start[i]:start[i + 1]]`. Lone surrogates, which JSON may contain,
are encoded by Python's "surrogatepass".
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

CHUNK = 16_384  # Strings to decode, copy or write at a time


class StringColumn(Sequence[str]):
    """Behaves like a tuple of strings: length, index, slice, iteration, equality, hash. `start` (n
    + 1,) int64 holds the ascending offsets of the strings in `data` (n_bytes,) uint8, and its end.
    """

    __slots__ = ("data", "start")

    def __init__(self, start: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.start, self.data = start, data

    @classmethod
    def of(cls, strings: Iterable[str]) -> "StringColumn":
        """Return the column of `strings`; a column is returned unchanged."""
        if isinstance(strings, StringColumn):
            return strings
        lengths, data = encoded(list(strings))
        return cls(np.concatenate(([0], np.cumsum(lengths))), np.frombuffer(data, dtype=np.uint8))

    def check(self) -> Self:
        """Validate and return itself; ValueError if `start` does not fit or `data` is not UTF-8."""
        start, data = self.start, self.data
        ends = start[[0, -1]].tolist() if len(start) else []
        if ends != [0, len(data)] or np.any(start[1:] < start[:-1]):
            raise ValueError("the offsets of strings do not fit their bytes")
        for _ in self:
            pass
        return self

    @property
    def packed(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """`start` from 0, and the bytes of these strings alone, as a slice shares `data`."""
        first, last = int(self.start[0]), int(self.start[-1])
        return self.start - first, self.data[first:last]

    def chunks(self) -> "Iterator[StringColumn]":
        """Yield the strings in order, `CHUNK` at a time."""
        for i in range(0, len(self), CHUNK):
            yield self[i : i + CHUNK]

    def take(self, which: NDArray[np.integer]) -> "StringColumn":
        """Return the strings at the indices `which`, in order; negative ones count from the end."""
        which = np.where(which < 0, which + np.int64(len(self)), which)
        if np.any((which < 0) | (which >= len(self))):
            raise IndexError(f"an index is out of range for {len(self)} strings")
        lengths = self.start[which + 1] - self.start[which]
        start = np.concatenate(([0], np.cumsum(lengths)))
        data = np.empty(start[-1], dtype=np.uint8)
        for i in range(0, len(which), CHUNK):
            j = min(i + CHUNK, len(which))
            shift = np.repeat(self.start[which[i:j]] - start[i:j], lengths[i:j])
            data[start[i] : start[j]] = self.data[np.arange(start[i], start[j]) + shift]
        return StringColumn(start, data)

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> "StringColumn": ...

    def __getitem__(self, index: int | slice) -> "str | StringColumn":
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return self.take(np.array(range(first, last, step), dtype=np.int64))
            return StringColumn(self.start[first : max(first, last) + 1], self.data)
        i = range(len(self))[index]
        raw = self.data[self.start[i] : self.start[i + 1]].tobytes()
        return raw.decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for chunk in self.chunks():
            yield from decoded(*chunk.packed)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StringColumn):
            start, data = self.packed
            other_start, other_data = other.packed
            return np.array_equal(start, other_start) and np.array_equal(data, other_data)
        if isinstance(other, tuple | list):
            return len(self) == len(other) and all(map(str.__eq__, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"StringColumn({shown}{', …' if len(self) > 3 else ''}; {len(self):,} strings)"


def encoded(strings: Sequence[str]) -> tuple[NDArray[np.int64], bytes]:
    """Return the length (n,) in bytes of each string, and the UTF-8 of all strings."""
    data = "".join(strings).encode("utf-8", "surrogatepass")
    lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
    if lengths.sum() != len(data):  # not all ASCII
        each = (len(string.encode("utf-8", "surrogatepass")) for string in strings)
        lengths = np.fromiter(each, dtype=np.int64, count=len(strings))
    return lengths, data


def decoded(start: NDArray[np.int64], data: NDArray[np.uint8] | bytes) -> list[str]:
    """Decode the strings of a column whose `start` begins with 0."""
    raw = bytes(data)
    offsets = start.tolist()
    if raw.isascii():
        text = raw.decode("ascii")
        return [text[i:j] for i, j in pairwise(offsets)]
    return [raw[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise(offsets)]
