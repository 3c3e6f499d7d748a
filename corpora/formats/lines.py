"""Text files read by line or by blocks of whole lines, with line numbers for error messages."""

from collections.abc import Iterator
from pathlib import Path

from corpora.errors import CorpusFormatError
from corpora.files import PathLike
from corpora.formats.compression import read_bytes

BLOCK = 1 << 18  # Bytes of a block, so few that its temporary arrays fit a processor's cache
MAX_LINE_BYTES = 1 << 28
PLAUSIBLE = 10**6  # Documents or words that a header may promise in a file of any size
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineReader:
    """The lines of one file, plain or compressed, read once, in order.

    A line ends with a line feed, with or without a carriage return before it; the last line may
    have none. A byte order mark of UTF-8 is skipped. Reading raises CorpusFormatError if compressed
    data are damaged, the file is UTF-16, or a line is longer than 256 MiB.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self.number = 0  # Number of the last line that was read
        self.n_bytes = 0  # Bytes read, after decompression
        self._chunks = self._read()
        self._rest = b""

    def line(self) -> bytes | None:
        """Return the next line without its end; None at the end of the file."""
        while b"\n" not in self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
            self._check_length(len(self._rest))
        if not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        self.number += 1
        return line.removesuffix(b"\r")

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the remaining lines in blocks: the number of the first line, and the lines, each of
        which ends with a line feed.
        """
        parts, size, self._rest = [self._rest], len(self._rest), b""
        for chunk in self._chunks:
            parts.append(chunk)
            size += len(chunk)
            if size >= BLOCK and b"\n" in chunk:
                whole = b"".join(parts)
                cut = whole.rfind(b"\n") + 1
                yield self._numbered(whole[:cut])
                parts, size = [whole[cut:]], len(whole) - cut
            self._check_length(size)
        whole = b"".join(parts)
        if whole:
            yield self._numbered(whole if whole.endswith(b"\n") else whole + b"\n")

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the remaining lines, with their numbers and without their ends."""
        for first, block in self.blocks():
            for number, line in enumerate(block[:-1].split(b"\n"), first):
                yield number, line.removesuffix(b"\r")

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the same as `lines`, decoded from UTF-8."""
        for number, line in self.lines():
            yield number, self.decoded(line, number)

    def decoded(self, line: bytes, number: int | None = None) -> str:
        """Decode a line; CorpusFormatError names the line and the byte that is not UTF-8."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(
                f"not valid UTF-8 (byte {error.start} of the line); convert the file to UTF-8",
                number,
            ) from error

    def error(self, message: str, number: int | None = None) -> CorpusFormatError:
        """Return the error that names the file and the line; by default the last line read."""
        return CorpusFormatError(
            f"{self.path}, line {self.number if number is None else number}: {message}"
        )

    def check_plausible(self, what: str, promised: int, number: int) -> None:
        """At the end of the file, raise CorpusFormatError if the number promised in line `number`
        is above a million plus one for each byte: it would take far more memory than the file.
        """
        if promised > PLAUSIBLE + self.n_bytes:
            raise self.error(
                f"promises {promised} {what}, which is not plausible in a file of "
                f"{self.n_bytes} bytes",
                number,
            )

    def _read(self) -> Iterator[bytes]:
        for chunk in read_bytes(self.path):
            if not self.n_bytes and chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CorpusFormatError(f"{self.path}: this is UTF-16 text; convert it to UTF-8")
            begins = not self.n_bytes
            self.n_bytes += len(chunk)
            yield chunk.removeprefix(BYTE_ORDER_MARK) if begins else chunk

    def _numbered(self, block: bytes) -> tuple[int, bytes]:
        first = self.number + 1
        self.number += block.count(b"\n")
        return first, block

    def _check_length(self, size: int) -> None:
        if size > MAX_LINE_BYTES + BLOCK:
            raise self.error(
                f"longer than {MAX_LINE_BYTES >> 20} MiB; this is not a text file of this format",
                self.number + 1,
            )


def shown(data: bytes | str, n_chars: int = 60) -> str:
    """The first characters of a text, quoted for an error message."""
    text = data[: 4 * n_chars].decode("utf-8", "replace") if isinstance(data, bytes) else data
    return repr(text if len(text) <= n_chars else text[:n_chars] + "…")
