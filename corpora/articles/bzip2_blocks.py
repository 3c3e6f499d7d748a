"""Blocks of a bzip2 file, each decompressed by itself, and shares of the file for processes.

A stream is a header of 4 bytes, blocks, and an end with the check of the whole. Blocks and the end
begin with a mark of 48 bits, at any bit of the file, and go on with a check of 32 bits. By chance a
mark stands in one of 2^48 places of compressed data; then, as with all damage, `UnreadableError` is
raised, and who reads the file from its start, as one stream, learns which it is.
"""

import bz2
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from corpora.files import PathLike

HEADER = b"BZh9"
BLOCK, END = 0x314159265359, 0x177245385090
MARK_BITS, CHECK_BITS = 48, 32
PATTERNS = [
    (shift, mark == BLOCK, (mark << (8 - shift)).to_bytes(7, "big"))
    for mark in (BLOCK, END)
    for shift in range(8)
]
"""Seven bytes with a mark that begins at a bit of the first, for each bit and both marks."""
WINDOW = 1 << 18
"""Bytes that are read at once, about those of a block of text."""
BEHIND = 16
"""Bytes from the beginning of a mark on that hold its check, and the header of the next stream."""
MAX_BLOCK_BYTES = 1 << 20
"""Bytes within which the next mark must follow; 900,000 bytes of noise take fewer."""

SHARE_BYTES = 1 << 18, 1 << 21
"""Least and greatest size of a share: its process decompresses one block more than its own."""

BlockCheck = tuple[int, bool]
"""Check of a block, or of a stream, and which of them."""


class UnreadableError(Exception):
    """The blocks cannot be read one by one: the file is damaged, or has a mark by chance."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block, or the end of a stream, which has no content."""

    bit: int  # of the file, where it begins
    check: int  # of the block, or of all blocks of the stream
    content: bytes


def read_blocks(file: BinaryIO, start: int = 0) -> Iterator[Block]:
    """Yield the blocks and ends of streams that begin in a file from byte `start` on. Raises
    UnreadableError if a block is damaged or incomplete, or if something else than a stream follows
    the end of one.
    """
    file.seek(start)
    data, origin = b"", start  # byte of the file where `data` begins
    begun: int | None = None  # bit of `data` where a block has begun
    header: int | None = None if start else 0  # byte of `data` where a stream has to begin
    n_searched = 0
    at_end = False
    while not at_end:
        window = file.read(WINDOW)
        at_end = not window
        data += window
        stop = len(data) if at_end else max(len(data) - BEHIND, n_searched)
        for bit, is_block in marks_in(data, n_searched, stop):
            if header is not None and not is_start_of_stream(data, header, bit):
                raise UnreadableError
            header = None
            if begun is not None:
                content = decompressed(data, begun, bit)
                yield Block(8 * origin + begun, check_at(data, begun), content)
            begun = bit if is_block else None
            if not is_block:
                yield Block(8 * origin + bit, check_at(data, bit), b"")
                header = -(-(bit + MARK_BITS + CHECK_BITS) // 8)
        needed = (stop, header, None if begun is None else begun // 8)
        kept = min(place for place in needed if place is not None)
        data, origin, n_searched = data[kept:], origin + kept, stop - kept
        header = None if header is None else header - kept
        begun = None if begun is None else begun - 8 * kept
        if begun is not None and len(data) > MAX_BLOCK_BYTES:
            raise UnreadableError
    if begun is not None or header not in (None, len(data)):
        raise UnreadableError


def marks_in(data: bytes, start: int, stop: int) -> list[tuple[int, bool]]:
    """Bits of `data` where marks begin, each with whether it is a block's: those that begin from
    byte `start` on, before byte `stop`.
    """
    found = []
    for shift, is_block, pattern in PATTERNS:
        inner = pattern[1:6]
        place = data.find(inner, start + 1, stop + 5)
        while place > 0:
            last = data[place + 5] if place + 5 < len(data) else 0
            if data[place - 1] & (0xFF >> shift) == pattern[0] and (
                last >> (8 - shift) == pattern[6] >> (8 - shift)
            ):
                found.append((8 * (place - 1) + shift, is_block))
            place = data.find(inner, place + 1, stop + 5)
    return sorted(found)


def is_start_of_stream(data: bytes, header: int, bit: int) -> bool:
    """Whether a stream begins at byte `header` whose first mark is at `bit`."""
    return data[header : header + 3] == HEADER[:3] and bit == 8 * (header + len(HEADER))


def bits_of(data: bytes, start: int, end: int) -> bytes:
    """The bits from `start` to `end` as bytes, of which the last may have some more of `data`."""
    first, shift = divmod(start, 8)
    n_bytes = -(-(end - start) // 8)
    taken = np.frombuffer(data[first : first + n_bytes + 1] + b"\0", np.uint8)
    if shift:
        return ((taken[:-1] << shift) | (taken[1:] >> (8 - shift)))[:n_bytes].tobytes()
    return taken[:n_bytes].tobytes()


def check_at(data: bytes, bit: int) -> int:
    """The check behind the mark that begins at `bit`."""
    start = bit + MARK_BITS
    return int.from_bytes(bits_of(data, start, start + CHECK_BITS), "big")


def decompressed(data: bytes, start: int, end: int) -> bytes:
    """The content of the block from bit `start` to bit `end`, made a stream of its own."""
    whole = end - (end - start) % 8  # the bits behind it share a byte with the end of the stream
    rest = bits_of(data, whole, end)[:1]
    n_bits = end - whole + MARK_BITS + CHECK_BITS
    tail = int.from_bytes(rest, "big") >> (8 - (end - whole)) if rest else 0
    tail = ((tail << MARK_BITS | END) << CHECK_BITS | check_at(data, start)) << (-n_bits % 8)
    stream = bz2.BZ2Decompressor()
    try:
        content = stream.decompress(
            HEADER + bits_of(data, start, whole) + tail.to_bytes(-(-n_bits // 8), "big")
        )
    except OSError as error:
        raise UnreadableError from error
    if not stream.eof:
        raise UnreadableError
    return content


def checked(total: int, checks: Iterable[BlockCheck]) -> int:
    """The check of the blocks of a stream, `total` before these. Raises UnreadableError if it is
    not what the end of a stream says.
    """
    for check, is_block in checks:
        if not is_block and check != total:
            raise UnreadableError
        total = ((total << 1 & 0xFFFFFFFF) | total >> 31) ^ check if is_block else 0
    return total


@dataclass(frozen=True, slots=True)
class Share:
    """The blocks of a file that begin from byte `start` on, before byte `end`."""

    path: str
    start: int
    end: int


def shares_of(path: PathLike, n_processes: int) -> list[Share]:
    """Shares of a file, some for each of the processes; none if it is not bzip2, or small."""
    if not Path(path).is_file():  # a pipe can be read only once
        return []
    with Path(path).open("rb") as file:
        if file.read(3) != HEADER[:3]:
            return []
        size = file.seek(0, os.SEEK_END)
    n_bytes = min(max(size // (4 * n_processes), SHARE_BYTES[0]), SHARE_BYTES[1])
    starts = range(0, size, n_bytes)
    return [Share(str(path), start, min(start + n_bytes, size)) for start in starts]


def between_marks(
    share: Share, mark: bytes, closing: bytes, checks: list[BlockCheck]
) -> Iterator[bytes]:
    """Yield the content from the first `mark` that begins in a share up to the first that begins
    behind it, and then `closing`; or up to the end of the file. So each byte behind the first mark
    of a file is in one share. The checks of the share's blocks are appended. Raises UnreadableError
    like `read_blocks`.
    """
    with Path(share.path).open("rb") as file:
        yield from between_marks_of(read_blocks(file, share.start), share, mark, closing, checks)


def between_marks_of(
    blocks: Iterable[Block], share: Share, mark: bytes, closing: bytes, checks: list[BlockCheck]
) -> Iterator[bytes]:
    """See `between_marks`."""
    n_held = len(mark) - 1  # bytes at the end that may be the beginning of a mark
    held, has_begun, n_ours = b"", False, 0  # of the data at hand, so many bytes are the share's
    for block in blocks:
        is_ours = block.bit < 8 * share.end
        data = held + block.content
        if is_ours:
            checks.append((block.check, bool(block.content)))
            n_ours = len(data)
        if not has_begun:
            start = data.find(mark)
            has_begun = start >= 0
            start = start if has_begun else max(len(data) - n_held, 0)
            if start >= n_ours and not is_ours:
                return
            data, n_ours = data[start:], n_ours - start
        if has_begun and not is_ours and (end := data.find(mark, max(n_ours, 0))) >= 0:
            yield data[:end] + closing
            return
        n_given = max(len(data) - n_held, 0)
        if has_begun and n_given:
            yield data[:n_given]
        held, n_ours = data[n_given:], n_ours - n_given
    if has_begun:
        yield held
