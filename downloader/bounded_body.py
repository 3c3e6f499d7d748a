"""Body of an answer, decompressed, with a maximal size."""

import re
import zlib
from collections.abc import Iterator, Mapping

from downloader.answer import BadAnswer
from downloader.errors import UnusableAnswerError

PIECE_BYTES = 2**16  # Bytes decompressed at a time: memory holds at most the maximal size and this


def unpacked(pieces: Iterator[bytes], headers: Mapping[str, str], max_bytes: int) -> bytes:
    """Return the body whose transferred bytes are `pieces`.

    Content-Encoding may be gzip or missing; Content-Length is checked first. `max_bytes` limits the
    transferred and the decompressed bytes.

    Raises BadAnswer if the encoding is another one, the length is no number, or the data is damaged
    or incomplete; UnusableAnswerError if there are more bytes than `max_bytes`.
    """
    length = headers.get("Content-Length", "0").strip()
    if not re.fullmatch(r"[0-9]+(, *[0-9]+)*", length):
        raise BadAnswer(f"a Content-Length that is no number: {length[:40]}")
    if len(length) > 18 or int(length.split(",")[0]) > max_bytes:
        raise _too_large(max_bytes)
    encoding = headers.get("Content-Encoding", "").strip().lower()
    if encoding in {"gzip", "x-gzip"}:
        pieces = _gunzipped(_capped(pieces, max_bytes))
    elif encoding not in {"", "identity"}:
        raise BadAnswer(f"the answer has an encoding that was not requested: {encoding[:40]}")
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
        f"the answer is larger than {max_bytes} bytes, more than any wiki needs: check the address"
    )


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip: any number of members, and zeros at the end."""
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
                yield member.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise BadAnswer(f"the gzip data is damaged ({error})") from error
            if member.eof:
                data, member = member.unused_data, None
            else:
                # At the end `member` holds no output: the checksum comes after it.
                data = member.unconsumed_tail
    if member is not None:
        raise BadAnswer("the gzip data is cut short")
