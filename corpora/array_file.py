"""A one-dimensional .npy file that grows: what does not fit in memory is appended bit by bit.

Mapped again it takes no memory but for the pages that are read; `release` gives these back.
"""

from __future__ import annotations

import io
import mmap
import os
import secrets
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from corpora.files import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

HEADER_BYTES = 128
"""What NumPy's header of an array of one dimension takes, however long the array is."""
CHUNK_BYTES = 1 << 20


class ArrayFile:
    """Elements in a hidden file that is only at the end given its name.

    Until then it is named as `corpora.files.remove_partial_files` knows it.

    Parameters
    ----------
    directory
        Where the file is.
    name
        Part of the hidden file's name.
    dtype
        Of the elements.
    """

    def __init__(self, directory: Path, name: str, dtype: type[np.integer]) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.size = 0
        """Elements written."""
        self._path = directory / f".{name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
        self._directory, self._name = directory, name
        self._stream: IO[bytes] = self._path.open("x+b")
        self._stream.write(bytes(HEADER_BYTES))

    def append(self, array: NDArray[np.integer]) -> None:
        """Write the elements of `array`, which must fit in the file's type."""
        self._stream.write(np.ascontiguousarray(array, dtype=self.dtype).data)
        self.size += len(array)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The elements from `start` to before `stop`, in memory."""
        self._stream.flush()
        width = self.dtype.itemsize
        n_bytes, offset = width * (stop - start), HEADER_BYTES + width * start
        return np.frombuffer(os.pread(self._stream.fileno(), n_bytes, offset), dtype=self.dtype)

    def chunks(self) -> Iterator[NDArray[Any]]:
        """All elements, some at a time."""
        step = CHUNK_BYTES // self.dtype.itemsize
        for start in range(0, self.size, step):
            yield self.read(start, min(start + step, self.size))

    def converted(self, dtype: type[np.integer]) -> ArrayFile:
        """Itself, or if its type is another one a copy in its place."""
        if self.dtype == dtype:
            return self
        other = ArrayFile(self._directory, self._name, dtype)
        try:
            for chunk in self.chunks():
                other.append(chunk)
        except BaseException:
            other.discard()
            raise
        self.discard()
        return other

    def finish(self, path: Path) -> None:
        """Complete the file, on the disk itself, and rename it to `path`."""
        header = io.BytesIO()
        about = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.size,),
        }
        np.lib.format.write_array_header_1_0(header, about)
        assert header.tell() == HEADER_BYTES
        self._stream.seek(0)
        self._stream.write(header.getvalue())
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._path.replace(path)

    def discard(self) -> None:
        """Delete the file if it has not got its name yet."""
        with suppress(OSError):  # on a full disk closing fails too
            self._stream.close()
        self._path.unlink(missing_ok=True)


def release(*arrays: NDArray[Any]) -> None:
    """Give back the memory of mapped files that `arrays` are of; they can be read as before.

    Pages that were read stay in the process until the system is short of memory, and until then a
    process that goes through a file seems to take as much memory as that. Called now and then, this
    bounds what it takes. Arrays that are in memory, and mapped ones that may have been written to,
    are left alone.
    """
    for array in arrays:
        mapping = mapping_of(array)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)


def mapping_of(array: NDArray[Any]) -> mmap.mmap | None:
    """The mapped file that `array` is of; None if it is in memory, or may have been written to."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode != "r":
            return None
        base = base.base
    return base if isinstance(base, mmap.mmap) else None
