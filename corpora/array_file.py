"""A one-dimensional .npy file that grows, for arrays that do not fit in memory.

A mapped array takes memory for the pages that are read; `release` frees them.
"""

import io
import mmap
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from corpora.files import TEMPORARY_SUFFIX, read_at, replace

HEADER_BYTES = 128  # Bytes of NumPy's header for a one-dimensional array of any length
CHUNK_BYTES = 1 << 20


class ArrayFile:
    """An array of `dtype` in a hidden file of `directory` with `name` in its name, which is renamed
    at the end. `corpora.files.remove_partial_files` deletes the hidden file of a killed writer.
    """

    def __init__(self, directory: Path, name: str, dtype: type[np.integer]) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.size = 0  # Number of elements written
        self._path = directory / f".{name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
        self._directory, self._name = directory, name
        self._stream: IO[bytes] = self._path.open("x+b")
        self._stream.write(bytes(HEADER_BYTES))

    def append(self, array: NDArray[np.integer]) -> None:
        """Write the elements of `array`, which must fit in the file's type."""
        self._stream.write(np.ascontiguousarray(array, dtype=self.dtype).data)
        self.size += len(array)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read the elements from `start` to before `stop` into memory."""
        self._stream.flush()
        width = self.dtype.itemsize
        n_bytes, offset = width * (stop - start), HEADER_BYTES + width * start
        return np.frombuffer(read_at(self._stream.fileno(), n_bytes, offset), dtype=self.dtype)

    def chunks(self) -> Iterator[NDArray[Any]]:
        """Yield all elements, some at a time."""
        step = CHUNK_BYTES // self.dtype.itemsize
        for start in range(0, self.size, step):
            yield self.read(start, min(start + step, self.size))

    def converted(self, dtype: type[np.integer]) -> "ArrayFile":
        """Return itself, or a copy of another type that replaces it."""
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
        """Write the header, fsync, and rename the file to `path`."""
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
        replace(self._path, path)

    def discard(self) -> None:
        """Delete the hidden file, if it was not renamed."""
        with suppress(OSError):  # on a full disk closing fails too
            self._stream.close()
        self._path.unlink(missing_ok=True)


def release(*arrays: NDArray[Any]) -> None:
    """Free the memory of mapped read-only files that `arrays` belong to; they can still be read.
    Pages that were read stay in the process until the system is short of memory, so that reading a
    large file seems to take as much memory as the file.
    """
    for array in arrays:
        mapping = mapping_of(array)
        if sys.platform != "win32" and mapping is not None:
            mapping.madvise(mmap.MADV_DONTNEED)


def mapping_of(array: NDArray[Any]) -> mmap.mmap | None:
    """Return the mapped file of `array`; None if it is in memory or writable."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode != "r":
            return None
        base = base.base
    return base if isinstance(base, mmap.mmap) else None
