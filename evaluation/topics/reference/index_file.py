"""Sections of bytes in one file, mapped when read, each with its SHA-256.

    56 bytes        b"wtindex1"; place and size of the header, 8 bytes each, little-endian; SHA-256
                    of the header
    sections        bytes alone, so that machines of any byte order read the same
    header          JSON: format, version, place, size and SHA-256 of each section, and the rest

The first bytes are written last. A file that was cut off has another size than its header says.
"""

import errno
import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import PathLike
from evaluation.topics.reference.postings import Bytes

MAGIC = b"wtindex1"
START = struct.Struct("<8sQQ32s")
FORMAT = "wikitopics reference index"
VERSION = 1


class SectionWriter:
    """Writes sections to an empty file; `finish` completes it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sections: dict[str, dict[str, Any]] = {}
        self._offset = stream.write(bytes(START.size))

    def write(
        self, name: str, parts: Iterable[bytes | memoryview], *, checked: bool = True
    ) -> None:
        """Write a section; its SHA-256 is stored if it is to be `checked` when it is read."""
        digest, n_bytes = hashlib.sha256(), 0
        for part in parts:
            n_bytes += self._stream.write(part)
            if checked:
                digest.update(part)
        about: dict[str, Any] = {"offset": self._offset, "bytes": n_bytes}
        self._sections[name] = about | ({"sha256": digest.hexdigest()} if checked else {})
        self._offset += n_bytes

    def finish(self, about: dict[str, Any]) -> None:
        """Write the header with the entries `about`, and the first bytes."""
        header = {"format": FORMAT, "version": VERSION, **about, "sections": self._sections}
        data = json.dumps(header, ensure_ascii=False, indent=2).encode() + b"\n"
        self._stream.write(data)
        self._stream.seek(0)
        digest = hashlib.sha256(data).digest()
        self._stream.write(START.pack(MAGIC, self._offset, len(data), digest))


def changed(path: Path, why: str) -> CorpusFormatError:
    """Return the error of an index that was cut off or changed, which says what to do."""
    return CorpusFormatError(
        f"{path} was changed: {why}; `python -m pipeline index` with --force makes it again"
    )


@dataclass(frozen=True, eq=False)
class Sections:
    """A file that was opened: its header is checked, its sections are when they are read."""

    path: Path
    header: dict[str, Any]
    sha256: str
    """Checksum of the header, in which are those of all sections: two files of one content have
    the same."""
    _data: Bytes  # (n_bytes,), the mapped file

    @classmethod
    def open(cls, path: PathLike) -> "Sections":
        """Open a file.

        Raises FileNotFoundError if there is none; CorpusFormatError if it is something else, or was
        cut off or changed; UnsupportedVersionError if a newer version of this software wrote it.
        """
        path = Path(path)
        if not path.exists():
            why = "there is no such file; `python -m pipeline index` makes one"
            raise FileNotFoundError(errno.ENOENT, why, str(path))
        with path.open("rb") as stream:
            start = stream.read(START.size)
        if len(start) < START.size or not start.startswith(MAGIC):
            raise CorpusFormatError(f"{path} is not an index: `python -m pipeline index` makes one")
        _, offset, n_bytes, digest = START.unpack(start)
        size = path.stat().st_size
        if offset + n_bytes != size:
            raise changed(path, f"expected {offset + n_bytes:,} bytes, found {size:,}")
        data = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
        raw = data[offset:].tobytes()
        if hashlib.sha256(raw).digest() != digest:
            raise changed(path, "the SHA-256 of its header does not fit")
        try:
            header: dict[str, Any] = json.loads(raw)
            found, version = header["format"], int(header["version"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise CorpusFormatError(f"{path} is not an index: {error}") from error
        if found != FORMAT:
            raise CorpusFormatError(f"{path} is not an index but a {found!r}")
        if version > VERSION:
            raise UnsupportedVersionError(
                f"{path} is of version {version}, and this software reads up to {VERSION}: upgrade "
                "wikitopics to use it"
            )
        return cls(path, header, digest.hex(), data)

    def section(self, name: str) -> Bytes:
        """Return a section, mapped; one with a SHA-256 is checked.

        Raises CorpusFormatError if it is missing or was changed.
        """
        try:
            about = self.header["sections"][name]
            offset, n_bytes, digest = int(about["offset"]), int(about["bytes"]), about.get("sha256")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorpusFormatError(f"{self.path} is not an index: no section {name}") from error
        if offset < START.size or n_bytes < 0 or offset + n_bytes > len(self._data):
            raise CorpusFormatError(f"{self.path} is not an index: {name} lies outside of it")
        data = self._data[offset : offset + n_bytes]
        if digest is not None and hashlib.sha256(data.data).hexdigest() != digest:
            raise changed(self.path, f"the SHA-256 of its {name} does not fit")
        return data
