"""Cache of compiled kernels, keyed by the content of all files that hold kernels.

A compiled kernel contains the kernels that it calls and the constants of other modules, but numba
checks only the kernel's own file for changes. Here the digest of all files with kernels is part of
the name of each cached file. So a kernel compiled from other sources is never loaded, and another
checkout of the same sources finds the same cached files. When a kernel is saved, cached files of
its module with another digest are deleted.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

PACKAGES = ("evaluation", "models")
IMPORT = b"from models.kernel import"  # Text that marks a file as one with kernels


@dataclass(frozen=True)
class KernelSources:
    """Contents of all files with kernels when they were read."""

    digest: str
    stamps: dict[str, tuple[int, int]]  # Time of modification and size of each file

    @classmethod
    def read(cls, root: Path) -> "KernelSources":
        """Read the files of the packages in a folder; a file that cannot be read is left out."""
        stamps, digests = {}, []
        paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
        for path in paths:
            with suppress(OSError):
                stamp = _stamp(str(path))
                content = path.read_bytes()
                if IMPORT in content or path == root / "models" / "kernel.py":
                    stamps[str(path)] = stamp
                    name = path.relative_to(root).as_posix()
                    digests.append(f"{sha256(content).hexdigest()} {name}\n")
        return cls(sha256("".join(digests).encode()).hexdigest()[:16], stamps)

    def are_unchanged(self) -> bool:
        """Whether no file on disk has changed since it was read."""
        try:
            return all(_stamp(path) == stamp for path, stamp in self.stamps.items())
        except OSError:
            return False


@cache
def kernel_sources() -> KernelSources:
    """Sources of this process: read once, when the first kernel is defined."""
    return KernelSources.read(Path(__file__).parents[1])


class _NamedByContent(CompileResultCacheImpl):
    """Cached files of a kernel, with the digest of all sources, and of checked bounds, in their
    names.
    """

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        base = super().get_filename_base(fullname, abiflags)  # type: ignore[no-untyped-call]
        checked = "-checked" if vars(config).get("BOUNDSCHECK") else ""
        return f"{base}-{kernel_sources().digest}{checked}"


class KernelCache(FunctionCache):
    """numba's cache of a compiled function, for a kernel.
    If a file with kernels changes while a process runs, the process stops using the cache: modules
    that it imports from then on may differ from those in the digest.
    """

    _impl_class = _NamedByContent

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        path = function.__code__.co_filename
        self._module = Path(path).stem
        self._sources = kernel_sources()
        if path in self._sources.stamps:
            # The stamp of numba before 0.68 is the time of modification, which a checkout changes.
            self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
                self.cache_path, self._impl.filename_base, self._sources.digest
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for arguments of these types; None if it is not cached."""
        if not self._sources.are_unchanged():
            return None
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel, and delete those of its module compiled from other sources."""
        if not self._sources.are_unchanged():
            return
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        for path in Path(self.cache_path).glob(f"{self._module}.*.nb[ic]"):
            if f"-{self._sources.digest}" not in path.name:
                with suppress(OSError):  # another process deleted it, or it is another user's
                    path.unlink()


def _stamp(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - Path.stat takes four times as long
    return found.st_mtime_ns, found.st_size
