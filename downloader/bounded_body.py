"""The body of an answer, unpacked, never larger than it may be."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from downloader.answer import BadAnswer
from downloader.errors import UnusableAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PIECE = 2**16
"""Bytes unpacked at a time: more of a bomb than the cap and this never exists."""


def unpacked(pieces: Iterator[bytes], headers: Mapping[str, str], max_bytes: int) -> bytes:
    """The body whose transferred bytes are `pieces`.

    Parameters
    ----------
    headers
        Content-Encoding may be gzip or nothing; what Content-Length announces is believed.
    max_bytes
        Cap on the transferred and on the unpacked bytes.

    Raises
    ------
    BadAnswer
        If the encoding is another one, the length is no number, or the data is damaged or cut
        short.
    UnusableAnswerError
        If there are more bytes than `max_bytes`.
    """
    length = headers.get("Content-Length", "0").strip()
    if not re.fullmatch(r"[0-9]+(, *[0-9]+)*", length):
        raise BadAnswer(f"a length that is no number: {length[:40]}")
    if len(length) > 18 or int(length.split(",")[0]) > max_bytes:
        raise _too_large(max_bytes)
    encoding = headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"gzip", "x-gzip"}:
        pieces = _gunzipped(_capped(pieces, max_bytes))
    elif encoding not in {"", "identity"}:
        raise BadAnswer(f"the answer is packed in a way nobody asked for: {encoding[:40]}")
    return b"".join(_capped(pieces, max_bytes))


def _capped(pieces: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    n_bytes = 0
    for piece in pieces:
        n_bytes += len(piece)
        if n_bytes > max_bytes:
            raise _too_large(max_bytes)
        yield piece


def _too_large(max_bytes: int) -> UnusableAnswerError:
    return UnusableAnswerError(
        f"the answer is larger than {max_bytes} bytes: no wiki needs that many;"
        " check the address, or report this if it is right"
    )


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack gzip: any number of members one after the other, zeros at the end."""
    member = None
    begun = False
    for piece in pieces:
        data = piece
        while data:
            if member is None:
                data = data.lstrip(b"\0") if begun else data
                if not data:
                    break
                member, begun = zlib.decompressobj(wbits=31), True
            try:
                yield member.decompress(data, PIECE)
            except zlib.error as error:
                raise BadAnswer(f"the packed answer is damaged ({error})") from error
            if member.eof:
                data, member = member.unused_data, None
            else:
                # Nothing stays behind in `member` at the end: the checksum comes after all output.
                data = member.unconsumed_tail
    if member is not None:
        raise BadAnswer("the packed answer is cut short")
