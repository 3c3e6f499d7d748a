"""Compressed or plain files as a stream of bytes; the content decides, not the name."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase, BufferedReader
from pathlib import Path

from corpora.errors import CorpusFormatError
from corpora.files import PathLike

CHUNK = 1 << 16
UNREADABLE = {b"7z\xbc\xaf\x27\x1c": "7z", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


def read_chunks(
    path: PathLike, progress_bytes: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """Yield the content of a plain, bzip2, gzip or xz file, decompressed, in bounded chunks. After
    each, `progress_bytes` is called with the number of bytes of the file read so far. Raises
    OSError if the file cannot be read; CorpusFormatError if the compressed data are damaged or end
    too early, after the content before.
    """
    with Path(path).open("rb") as file:
        stream = decompressed(file, path)
        while chunk := next_chunk(stream, path):
            yield chunk
            if progress_bytes is not None:
                progress_bytes(file.tell() if file.seekable() else 0)


def progress_from(
    start: int, progress_bytes: Callable[[int], None] | None
) -> Callable[[int], None] | None:
    """Return `progress_bytes` for a file that begins `start` bytes after the first."""
    if progress_bytes is None:
        return None
    return lambda n_bytes: progress_bytes(start + n_bytes)


def decompressed(file: BufferedReader, path: PathLike) -> BufferedIOBase:
    """Return a stream of the content of `file`; its first bytes give the compression."""
    start = file.peek(6)[:6]  # not read: a pipe cannot be rewound
    if start.startswith(b"BZh"):
        return bz2.open(file)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(file)
    if start.startswith(b"\xfd7zXZ"):
        return lzma.open(file)
    for magic, kind in UNREADABLE.items():
        if start.startswith(magic):
            raise CorpusFormatError(
                f"{path}: {kind} archives are not read; unpack it, or use its .bz2 or .gz form"
            )
    return file


def next_chunk(stream: BufferedIOBase, path: PathLike) -> bytes:
    """Return the next bytes of `stream`, empty at its end."""
    try:
        # Not `read`, which would lose the content before the damage.
        return stream.read1(CHUNK)
    except EOFError as error:
        raise CorpusFormatError(
            f"{path}: the compressed data end too early; the file is incomplete, download it again"
        ) from error
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise damaged(path, error) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise damaged(path, error) from error  # bz2 reports bad data so


def damaged(path: PathLike, error: Exception) -> CorpusFormatError:
    """Return the error for damaged compressed data."""
    return CorpusFormatError(
        f"{path}: the compressed data are damaged ({error}); check the file, download it again"
    )
