"""Compressed files: reading detects the format by content, writing takes it from the file name."""

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from corpora.articles.compressed import CHUNK, damaged, read_chunks
from corpora.errors import CorpusFormatError
from corpora.files import PathLike, atomic_write
from corpora.optional_module import optional_module

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def without_suffix(name: str) -> str:
    """Remove the suffix of a compression from a file name."""
    return next((name[: -len(each)] for each in SUFFIXES if name.lower().endswith(each)), name)


def read_bytes(path: PathLike) -> Iterator[bytes]:
    """Yield the content of a plain, gzip, bzip2, xz or zstd file, decompressed, in bounded chunks.
    Raises OSError if the file cannot be read; CorpusFormatError, after all data before, if
    compressed data are damaged or end too early; MissingExtraError if zstandard is needed and
    missing.
    """
    is_zstd = False
    if Path(path).is_file():  # a pipe cannot be read twice
        with Path(path).open("rb") as stream:
            is_zstd = stream.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
    return _read_zstd(path) if is_zstd else read_chunks(path)


@contextmanager
def write_bytes(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file that appears, complete, when the block ends; compressed as its suffix says. Equal
    content gives equal bytes. Raises MissingExtraError if zstandard is needed and missing; OSError
    if the file cannot be written, which leaves an existing file unchanged.
    """
    compressing = next(
        (make for suffix, make in _WRITERS.items() if str(path).lower().endswith(suffix)), None
    )
    if compressing is _zstd_writer:
        _zstandard()  # raise before anything is written
    with atomic_write(path) as stream:
        if compressing is None:
            yield stream
        else:
            with compressing(stream) as compressed:
                yield compressed


def _read_zstd(path: PathLike) -> Iterator[bytes]:
    zstandard = _zstandard()
    with Path(path).open("rb") as stream:
        # Not zstandard's stream_reader, which ends without an error at a truncated frame.
        frame, data = zstandard.ZstdDecompressor().decompressobj(), stream.read(CHUNK)
        while data:
            try:
                content = frame.decompress(data)
            except zstandard.ZstdError as error:
                raise damaged(path, error) from error
            if content:
                yield content
            data = frame.unused_data if frame.eof else b""
            if frame.eof:
                data = data or stream.read(CHUNK)
                if data:
                    frame = zstandard.ZstdDecompressor().decompressobj()
            else:
                data = stream.read(CHUNK)
        if not frame.eof:
            raise CorpusFormatError(
                f"{path}: the compressed data end too early; the file is incomplete, get it again"
            )


def _zstd_writer(stream: IO[bytes]) -> Any:
    return _zstandard().ZstdCompressor().stream_writer(stream, closefd=False)


_WRITERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda stream: gzip.GzipFile("", "wb", 6, stream, mtime=0),
    ".bz2": lambda stream: bz2.BZ2File(stream, "wb"),
    ".xz": lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115  # the caller closes it
    ".zst": _zstd_writer,
}


def _zstandard() -> Any:
    return optional_module("zstandard", "zst", "files compressed by zstd need")
