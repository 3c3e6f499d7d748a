"""Cache of compiled kernels, shared by all checkouts and environments of a user.

A compiled kernel contains the kernels that it calls and the constants of other modules, but numba
checks only the kernel's own file for changes. Here each state of all files with kernels has a
folder of its own, named by a digest of their content, of the versions of Python and numba, and of
numba's options. So a kernel compiled from other sources is never loaded, and another checkout of
the same sources finds those that are there. The least recently used folders are deleted.

A kernel compiled for certain types of arguments and a processor is one file, which begins with its
SHA-256 and appears whole. A process claims a kernel before it compiles it, and others wait for the
file instead of compiling the same (or see `share_compiling`); the operating system frees the claims
of a process that ends. On Windows there are no claims, and two processes may compile the same.

Compiled kernels are code that is run. Folders and files are used only if they belong to this user,
or to the owner of this module, and nobody else may write to them. On Windows, where files have no
such mode, those of the user's own folder are trusted.
"""

import logging
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from numba.core import config, event
from numba.core.caching import FunctionCache, _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from corpora.files import replace, user_cache

if sys.platform != "win32":
    import fcntl

PACKAGES = ("corpora", "evaluation", "models")
IMPORTS = (
    *(b"from models.kernel import", b"from corpora.kernel_cache import cached"),
    *(b"from numba.extending import", b"from llvmlite import"),
)
"""Texts that mark a file as one with kernels, or with code for them."""
LIBRARIES = ("numba", "llvmlite", "numpy")  # Packages whose version changes compiled code
OPTIONS = (
    *("DISABLE_JIT", "DEBUG_JIT", "BOUNDSCHECK", "ENABLE_AVX", "OPT"),
    *("LOOP_VECTORIZE", "SLP_VECTORIZE"),
)
"""Options of numba that change compiled code; the processor is a part of a file's name."""
MAX_FOLDERS = 8
"""States of the sources whose kernels are kept; about 17 MB each."""
USED_AGAIN_SECONDS = 3600.0
"""Time after which the use of a folder is noted again."""
MAX_WAIT, WAIT_STEP = 60.0, 0.02
"""Seconds to wait at most for a kernel that another process compiles, and between two looks."""
COMPILING = "compiling kernels of %s (the first time a command needs them, some seconds)"
WAITING = "waiting for kernels of %s, which another process compiles"
F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger(__name__)


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
                if any(each in content for each in IMPORTS):
                    stamps[str(path)] = stamp
                    name = path.relative_to(root).as_posix()
                    digests.append(f"{sha256(content).hexdigest()} {name}\n")
        return cls(sha256("".join(digests).encode()).hexdigest(), stamps)

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


def caches_folder() -> Path:
    """Return the folder of all caches of the user: $NUMBA_CACHE_DIR, or that of the system."""
    chosen = vars(config)["CACHE_DIR"]  # $NUMBA_CACHE_DIR
    if chosen:
        return Path(chosen) / "wikitopics-kernels"
    return user_cache() / "kernels"


@cache
def cache_folder() -> Path | None:
    """Return the folder of these sources, versions and options; None if there is no safe one."""
    key = [kernel_sources().digest, sys.implementation.cache_tag, getattr(sys, "abiflags", "")]
    key += [f"{name}-{metadata.version(name)}" for name in LIBRARIES]
    key += [f"{name}={vars(config).get(name)}" for name in OPTIONS]
    folder = caches_folder() / sha256(" ".join(key).encode()).hexdigest()[:24]
    try:
        if not folder.is_dir():
            folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            _delete_oldest(folder.parent)
            folder.mkdir(mode=0o755, exist_ok=True)
        for each in (folder.parent, folder):
            if not _is_trusted(each.stat()):
                logger.warning(
                    "%s belongs to another user, or others may write to it: compiled kernels are "
                    "not kept; set NUMBA_CACHE_DIR to a folder of yours",
                    each,
                )
                return None
        if time.time() - folder.stat().st_mtime > USED_AGAIN_SECONDS:
            with suppress(OSError):  # it may be read only
                os.utime(folder)
    except (OSError, RuntimeError):  # no place to write to; no home
        return None
    return folder


def cached(compiled: F) -> F:
    """Keep in the cache what numba compiles of a function: a decorator before `numba.njit`.

    In an archive sources have no files: the cache is numba's own, which looks at the archive.
    """
    dispatcher: Any = compiled
    if hasattr(dispatcher, "py_func"):  # it is a plain function with NUMBA_DISABLE_JIT
        kind: Any = KernelCache if kernel_sources().stamps else FunctionCache
        with suppress(RuntimeError):  # numba found no folder that it could write to
            dispatcher._cache = kind(dispatcher.py_func)  # noqa: SLF001 - as its enable_caching does
    return compiled


def share_compiling() -> None:
    """Make this process go on, instead of waiting, where another one compiles a kernel.

    A kernel that Python calls runs uncompiled until the other process has saved it. So processes
    that do the same small computation compile the kernels that it takes between them.
    """
    kind: Any = Dispatcher
    compile_for = kind._compile_for_args  # noqa: SLF001

    def compile_or_run(dispatcher: Any, *args: Any, **kwargs: Any) -> Any:
        kernels = dispatcher._cache  # noqa: SLF001
        if _inner_first and not all(each.signatures for each in _kernels_in(dispatcher.py_func)):
            return dispatcher.py_func
        kernels.is_waiting = False
        try:
            return compile_for(dispatcher, *args, **kwargs)
        except _ClaimedError as claimed:
            _left.append(Path(claimed.args[0]))
            return dispatcher.py_func
        finally:
            kernels.is_waiting = True

    kind._compile_for_args = compile_or_run  # noqa: SLF001


@contextmanager
def inner_first() -> Iterator[None]:
    """Leave kernels uncompiled that call others which this process has not loaded yet.

    After `share_compiling`: compiled by an outer kernel, the inner ones would be done by one
    process. Whoever does the same again, several times, gets one level of kernels each time.
    """
    _inner_first.append(True)
    try:
        yield
    finally:
        _inner_first.pop()


_inner_first: list[bool] = []


def _kernels_in(function: Callable[..., Any]) -> list[Any]:
    """Return the kernels that a function names."""
    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    return [each for each in named if isinstance(each, Dispatcher)]


class _ClaimedError(Exception):
    """Another process compiles the kernel of this path."""


_left: list[Path] = []


def left_to_others() -> list[Path]:
    """Return the files of kernels that this process left to others, and begin another list."""
    left, _left[:] = [*_left], []
    return left


class KernelCache(_Cache):
    """Cache of one kernel, for numba's dispatcher.

    If a file with kernels changes while a process runs, the process stops using the cache: modules
    that it imports from then on may differ from those in the digest. Kernels of other files are not
    cached.
    """

    is_waiting = True  # Whether to wait for a kernel that another process compiles

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._sources = kernel_sources()
        self._enabled = code.co_filename in self._sources.stamps and function.__closure__ is None
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<locals>.", "")
        self._code = sha256(code.co_code).hexdigest()

    @property
    def cache_path(self) -> str:
        """Path of the folder; empty if there is none."""
        return str(cache_folder() or "")

    def enable(self) -> None:
        """Do nothing: kernels are cached when they can be."""

    def disable(self) -> None:
        """Neither load nor save from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Delete nothing: other sources have another folder."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel compiled for arguments of these types; None if it must be compiled."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        data, until = _load(path), time.monotonic() + MAX_WAIT
        while data is None:
            is_claimed = claim(path)
            data = _load(path)  # again, as it may have been saved before it was claimed
            if is_claimed and data is not None:
                free(path)
            if is_claimed or time.monotonic() > until:
                break
            if not self.is_waiting:
                raise _ClaimedError(path)
            _announce(WAITING, self._name.rpartition(".")[0].rpartition(".")[0])
            time.sleep(WAIT_STEP)
        return data and CompileResult._rebuild(target_context, *data)  # type: ignore[no-untyped-call] # noqa: SLF001

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel, and free the claim of it."""
        path = self._path(sig, data.codegen)
        if path is None:
            return
        try:
            if not (data.lifted or data.library.has_dynamic_globals):
                with suppress(OSError):  # the disk is full, or the folder is gone or read only
                    _save(path, data._reduce())  # noqa: SLF001
        finally:
            free(path)

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        folder = cache_folder() if self._enabled and self._sources.are_unchanged() else None
        if folder is None:
            return None
        key = repr((sig, codegen.magic_tuple(), self._code))
        return folder / f"{self._name}-{sha256(key.encode()).hexdigest()[:16]}"


class _CompileAnnouncer(event.Listener):
    """Log once for each package, but numba's own, that its kernels are being compiled."""

    def on_start(self, event: event.Event) -> None:
        package = event.data["dispatcher"].py_func.__module__.rpartition(".")[0]
        if package.partition(".")[0] != "numba":
            _announce(COMPILING, package)

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _CompileAnnouncer())  # type: ignore[no-untyped-call]


@cache
def _announce(what: str, package: str) -> None:
    logger.info(what, package)


def _load(path: Path) -> Any:
    """Return what was saved in a file; None if there is none, or it is damaged or not ours."""
    try:
        with path.open("rb") as file:
            if not _is_trusted(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    return pickle.loads(data[32:]) if sha256(data[32:]).digest() == data[:32] else None  # noqa: S301


def _save(path: Path, value: Any) -> None:
    """Save a value in a file that appears whole."""
    data = dumps(value)  # type: ignore[no-untyped-call]
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if sys.platform != "win32":
                os.fchmod(descriptor, 0o644)  # one user may build an image that another runs
            file.write(sha256(data).digest() + data)
        replace(Path(name), path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def claim(path: Path) -> bool:
    """Claim a file to make; return False if another process has claimed it."""
    claims = _claims(path.parent)
    try:
        if sys.platform != "win32" and claims is not None:
            fcntl.lockf(claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(path))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def free(path: Path) -> None:
    """Give up the claim of a file."""
    claims = _claims(path.parent)
    if sys.platform != "win32" and claims is not None:
        with suppress(OSError):
            fcntl.lockf(claims, fcntl.LOCK_UN, 1, _place(path))


@cache
def _claims(folder: Path) -> int | None:
    """Return the file whose bytes stand for kernels; None if the folder is read only.
    It stays open, as closing it would free all claims of the process.
    """
    try:
        return os.open(folder / "claims", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None


def _place(path: Path) -> int:
    return int(path.name[-16:-8], 16)


def _is_trusted(status: os.stat_result) -> bool:
    """Whether only this user, or the owner of this module, who may run code here, can write it."""
    if sys.platform == "win32":
        return True
    owners = (os.geteuid(), _owner())
    return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _owner() -> int:
    return os.stat(__file__).st_uid  # noqa: PTH116


def _delete_oldest(caches: Path) -> None:
    """Delete the least recently used folders, so that there are fewer than `MAX_FOLDERS`."""
    folders = [each for each in caches.iterdir() if each.is_dir()]
    for each in sorted(folders, key=lambda each: each.stat().st_mtime)[: 1 - MAX_FOLDERS or None]:
        shutil.rmtree(each, ignore_errors=True)


def _stamp(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - Path.stat takes four times as long
    return found.st_mtime_ns, found.st_size
