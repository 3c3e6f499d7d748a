"""Results on disk by their keys, so that the same is not computed twice.

    DIR/KIND/KEY.npz    arrays of one result, with a JSON header; no pickle

DIR is $WIKITOPICS_CACHE, or .wikitopics-cache in the working directory. Entries appear whole or not
at all, so that any number of processes can share the directory. An entry that is damaged, or cannot
be written, costs time only. Entries that were not used for longest go first where all together take
too much space, and every entry goes when it was not used for `MAX_AGE` seconds.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from corpora.files import TEMPORARY_SUFFIX
from models.saved import DAMAGE, read_arrays, write_arrays
from pipeline.cache.keys import key_of

Arrays = Mapping[str, NDArray[Any]]
T = TypeVar("T")
logger = logging.getLogger(__name__)

VARIABLE, DIRECTORY = "WIKITOPICS_CACHE", ".wikitopics-cache"
FORMAT = "wikitopics result"
MAX_BYTES = 2**30
MAX_AGE = 90 * 24 * 3600.0  # Seconds since an entry was used
MAX_PARTIAL_AGE = 3600.0
"""Seconds that writing an entry takes at most; what is older was left by a killed process."""
_NAME = re.compile(rf"[0-9a-f]{{64}}\.npz|\.[0-9a-f]{{64}}\.npz\.[0-9a-f]+\{TEMPORARY_SUFFIX}")
"""Names of files that are ours, so that nothing else is ever deleted."""
_warned_of: set[Path] = set()  # Directories that this process has said cannot be written to


class Usage(NamedTuple):
    """Entries that there are, and what they take."""

    entries: int
    bytes: int


class ResultCache:
    """Results of any kind in one directory, which is made when there is something to write.

    All entries together may exceed `max_bytes` by a sixteenth for a while.
    """

    def __init__(
        self, directory: str | os.PathLike[str] | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        chosen = directory or os.environ.get(VARIABLE) or DIRECTORY
        self.directory = Path(chosen).absolute()
        self.max_bytes = max_bytes
        self._bytes_until_pruning = 0

    def path(self, kind: str, key: str) -> Path:
        """The file of an entry, whether it is there or not."""
        return self.directory / kind / f"{key}.npz"

    def get(self, kind: str, key: str, from_arrays: Callable[[Arrays], T]) -> T | None:
        """Read a result; None if there is none, or it is damaged or of something else."""
        path = self.path(kind, key)
        try:
            header, arrays = read_arrays(path, FORMAT)
            if (header["kind"], header["key"]) != (kind, key):
                raise ValueError(f"of kind {header['kind']} with the key {header['key']}")
            found = from_arrays(arrays)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except DAMAGE as error:
            logger.info("%s cannot be used, its result is computed again: %s", path, error)
            return None
        with suppress(OSError):
            os.utime(path)
        return found

    def put(self, kind: str, key: str, arrays: Arrays) -> None:
        """Write a result; if that fails, a warning says so, once a process."""
        header = {"kind": kind, "key": key}
        self.write(kind, key, lambda path: write_arrays(path, FORMAT, header, arrays))

    def write(self, kind: str, key: str, write: Callable[[Path], object]) -> None:
        """Have `write` make the file of an entry; if that fails, a warning says so."""
        path = self.path(kind, key)
        try:
            try:
                self._write(path, write)
            except FileNotFoundError:  # another process has just deleted all, and the directory
                self._write(path, write)
        except (OSError, MemoryError) as error:
            if self.directory not in _warned_of:
                _warned_of.add(self.directory)
                logger.warning("results are not cached, and will be computed again: %s", error)
            return
        if self._bytes_until_pruning <= 0:  # as it is at first, so that every process prunes once
            self._bytes_until_pruning = self.max_bytes // 16
            self._prune(path)

    def _write(self, path: Path, write: Callable[[Path], object]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
        self._bytes_until_pruning -= path.stat().st_size

    def cached(
        self,
        kind: str,
        key: str,
        compute: Callable[[], T],
        to_arrays: Callable[[T], Arrays],
        from_arrays: Callable[[Arrays], T],
    ) -> T:
        """Read a result; compute and write it if there is none."""
        found = self.get(kind, key, from_arrays)
        if found is None:
            found = compute()
            self.put(kind, key, to_arrays(found))
        return found

    def group(self, kind: str, **parts: Any) -> "ResultGroup":
        """The results of a kind that depend on `parts`, see `key_of`, and on a name of their own.

        Settings that only say which results there are must not be among the parts, so that a longer
        list of them goes on with what is there.
        """
        return ResultGroup(self, kind, key_of(kind, **parts))

    def remove(self, kind: str, key: str) -> None:
        """Delete an entry, if it is there."""
        with suppress(OSError):
            self.path(kind, key).unlink(missing_ok=True)

    def size(self) -> dict[str, Usage]:
        """Entries and bytes of each kind that there is."""
        sizes: dict[str, list[int]] = {}
        for path, status in self._files():
            sizes.setdefault(path.parent.name, []).append(status.st_size)
        return {kind: Usage(len(each), sum(each)) for kind, each in sorted(sizes.items())}

    def clear(self) -> Usage:
        """Delete all entries, and what killed processes left; returns what is gone.

        Raises OSError if the directory cannot be written to.
        """
        files = list(self._files())
        for path, _ in files:
            path.unlink(missing_ok=True)
        for directory in ({path.parent for path, _ in files}, (self.directory,)):
            for each in directory:
                with suppress(OSError):  # something else is in it, or another process uses it
                    each.rmdir()
        return Usage(len(files), sum(status.st_size for _, status in files))

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for directory in _paths_in(self.directory):
            for path in _paths_in(directory):
                if _NAME.fullmatch(path.name):
                    with suppress(OSError):  # another process has deleted it
                        yield path, path.stat()

    def _prune(self, written: Path) -> None:
        """Delete what was not used for long, or longest; never the entry just written."""
        now = time.time()
        n_bytes = 0
        for path, status in sorted(self._files(), key=lambda each: -each[1].st_mtime):
            is_partial = path.name.startswith(".")
            n_bytes += status.st_size
            is_old = now - status.st_mtime > (MAX_PARTIAL_AGE if is_partial else MAX_AGE)
            is_too_much = n_bytes > self.max_bytes and not is_partial
            if path != written and (is_old or is_too_much):
                with suppress(OSError):
                    path.unlink(missing_ok=True)


def _paths_in(directory: Path) -> list[Path]:
    """All that is in a directory; nothing where it is none, or another process has deleted it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return list(directory.iterdir())
    return []


@dataclass(frozen=True)
class ResultGroup:
    """Results of a kind that have all that they depend on in common, but for their names."""

    cache: ResultCache
    kind: str
    key: str  # Key of what they have in common

    def key_of(self, name: str) -> str:
        """The key of the result of that name."""
        return key_of(self.kind, group=self.key, name=name)

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return self.cache.path(self.kind, self.key_of(name)).exists()

    def get(self, name: str, from_arrays: Callable[[Arrays], T]) -> T | None:
        """Read the result of that name: see `ResultCache.get`."""
        return self.cache.get(self.kind, self.key_of(name), from_arrays)

    def put(self, name: str, arrays: Arrays) -> None:
        """Write the result of that name."""
        self.cache.put(self.kind, self.key_of(name), arrays)

    def cached(
        self,
        name: str,
        compute: Callable[[], T],
        to_arrays: Callable[[T], Arrays],
        from_arrays: Callable[[Arrays], T],
    ) -> T:
        """Read the result of that name; compute and write it if there is none."""
        return self.cache.cached(self.kind, self.key_of(name), compute, to_arrays, from_arrays)

    def arrays(
        self, name: str, fields: tuple[str, ...], compute: Callable[[], Mapping[str, Any]]
    ) -> dict[str, NDArray[Any]]:
        """Read the arrays of these fields; compute and write them if there are none."""

        def chosen(values: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
            return {field: np.asarray(values[field]) for field in fields}

        return self.cached(name, lambda: chosen(compute()), chosen, chosen)
