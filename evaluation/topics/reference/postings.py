"""Positions of words as gaps in bytes, and back.

Tokens of all documents, one after the other, have positions from 0. A word's postings are the gaps
between its positions in ascending order, the first one counted from position -1, so that all are
positive. A gap is LEB128: 7 bits a byte, the lowest first, with the top bit set in all bytes but
the last. Postings of parts of the text, one part after the other, are simply concatenated.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Ints, Ints32
from models.kernel import kernel, read_only

Bytes = NDArray[np.uint8]
MAX_SHIFT = 56
"""Bits before the last byte of a gap, at most: gaps are below 2**63."""


def encode(word_of: Ints32, first: int, last: Ints) -> tuple[Bytes, Ints]:
    """Return the postings of a part of a text by word, and the bytes (V,) of each word.

    `word_of` (n_tokens,) are words from 0 to V - 1, and -1 for tokens without postings; `first` is
    the position of the first token. `last` (V,) is the last position of each word so far, -1 if
    there is none; it is updated.
    """
    word_of = read_only(word_of)
    n_bytes = np.zeros(len(last), dtype=np.int64)
    _measure(word_of, first, last.copy(), n_bytes)
    cursor = np.cumsum(n_bytes) - n_bytes
    data = np.empty(int(n_bytes.sum()), dtype=np.uint8)
    _write(word_of, first, last, cursor, data)
    return data, n_bytes


def encode_numbers(numbers: NDArray[Any]) -> Bytes:
    """Return numbers from 0 to 2**63 - 1 as LEB128."""
    numbers = numbers.astype(np.int64)
    data = np.empty(9 * len(numbers), dtype=np.uint8)
    return data[: _write_numbers(read_only(numbers), data)].copy()


def decode_numbers(data: Bytes, n: int) -> Ints:
    """Return `n` numbers from LEB128; ValueError if it has more or fewer, or too large ones."""
    if not 0 <= n <= len(data):
        raise ValueError(f"{len(data)} bytes cannot hold {n} numbers")
    numbers = np.empty(n, dtype=np.int64)
    if _read_numbers(read_only(data), numbers) != len(data):
        raise ValueError(f"the bytes do not hold {n} numbers")
    return numbers


@kernel
def _measure(word_of: Ints32, first: int, last: Ints, n_bytes: Ints) -> None:
    """Add the bytes of all gaps to `n_bytes` (V,); mutates `last` (V,)."""
    for i in range(len(word_of)):
        w = word_of[i]
        if w >= 0:
            gap = first + i - last[w]
            last[w] = first + i
            n_bytes[w] += 1
            while gap >= 128:
                gap >>= 7
                n_bytes[w] += 1


@kernel
def _write(word_of: Ints32, first: int, last: Ints, cursor: Ints, data: Bytes) -> None:
    """Write all gaps to `data`, each word's from `cursor` (V,); mutates these and `last`."""
    for i in range(len(word_of)):
        w = word_of[i]
        if w >= 0:
            gap = first + i - last[w]
            last[w] = first + i
            while gap >= 128:
                data[cursor[w]] = gap & 127 | 128
                cursor[w] += 1
                gap >>= 7
            data[cursor[w]] = gap
            cursor[w] += 1


@kernel
def _write_numbers(numbers: Ints, data: Bytes) -> int:
    """Write numbers (n,) to `data`; return the number of bytes."""
    at = 0
    for i in range(len(numbers)):
        rest = numbers[i]
        while rest >= 128:
            data[at] = rest & 127 | 128
            at += 1
            rest >>= 7
        data[at] = rest
        at += 1
    return at


@kernel
def _read_numbers(data: Bytes, numbers: Ints) -> int:
    """Fill `numbers` (n,); return the number of bytes, or -1 if they are malformed."""
    at = 0
    for i in range(len(numbers)):
        number, at = _read(data, at, len(data))
        if number < 0:
            return -1
        numbers[i] = number
    return at


@kernel
def _read(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number at `at`, and where the next begins; -1 if it does not end before `end`."""
    number, shift = 0, 0
    while at < end and shift <= MAX_SHIFT:
        byte = int(data[at])
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    return -1, at


@kernel
def fill_stretch(
    data: Bytes, offset: Ints, end: Ints, position: Ints, first: int, stop: int, word_at: Ints32
) -> int:
    """Write words at their positions from `first` up to `stop`; return -1, or a malformed word.

    Word r has its next position in `position` (R,), and the gaps after it in `data[offset[r]:
    end[r]]`; both are moved on, and `position` is the largest integer after the last one. `word_at`
    (at least stop - first,) gets r at each position, counted from `first`.
    """
    for r in range(len(offset)):
        at = position[r]
        if at < first:
            return r
        while at < stop:
            word_at[at - first] = r
            if offset[r] == end[r]:
                at = np.iinfo(np.int64).max
            else:
                gap, offset[r] = _read(data, offset[r], end[r])
                if gap < 1 or gap > np.iinfo(np.int64).max - at:
                    return r
                at += gap
        position[r] = at
    return -1


@kernel
def take_words(word_at: Ints32, n: int, position: Ints, word_of: Ints32) -> int:
    """Move the words of the first `n` places to lists; return their number.

    Place i with a word w >= 0 becomes a token of `position` i and `word_of` w, and is set to -1.
    """
    n_tokens = 0
    for i in range(n):
        if word_at[i] >= 0:
            position[n_tokens] = i
            word_of[n_tokens] = word_at[i]
            n_tokens += 1
            word_at[i] = -1
    return n_tokens


@kernel
def gather_pieces(piece: Bytes, n_bytes: Ints, cursor: Ints, data: Bytes) -> None:
    """Append each word's bytes in `piece` to its place in `data`.

    `n_bytes` (n,) are those of each word in `piece`; `cursor` (n,) are the places, moved on.
    """
    at = 0
    for w in range(len(n_bytes)):
        n = n_bytes[w]
        data[cursor[w] : cursor[w] + n] = piece[at : at + n]
        cursor[w] += n
        at += n
