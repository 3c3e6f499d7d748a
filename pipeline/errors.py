"""Errors of commands, and exit codes of all errors."""

import errno
import os

DONE, FAILED, USAGE, BAD_DATA, TRY_AGAIN = 0, 1, 2, 3, 75


class UsageError(Exception):
    """A setting or an argument cannot be used; the message says which and what to do."""


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM arrived; what was committed is kept."""

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.exit_code = 128 + signal_number


class SliceEnded(Exception):  # noqa: N818 - nothing went wrong
    """A slice of training has ended; its checkpoint is kept."""

    def __init__(self, n_passes: float) -> None:
        super().__init__(f"stopped after {n_passes:.1f} passes")
        self.n_passes = n_passes


class BackgroundError(RuntimeError):
    """The download process ended at once; message and exit code are those of the process."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ClusterError(RuntimeError):
    """A cluster cannot be used; the message says why and what to do."""


class ClusterLostError(RuntimeError):
    """The cluster was lost; progress is kept, and the same command resumes."""


class InterruptedAloneError(Interrupted, ClusterLostError):
    """A signal arrived while a command waited for workers; progress is kept."""


class TaskKilledError(ClusterError):
    """Workers died repeatedly at one task."""

    index: int | None = None  # Index of the item of `Cluster.map`


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_CODES = {
    "pipeline.errors.UsageError": USAGE,
    "downloader.errors.ContactError": USAGE,
    "downloader.errors.SourceError": USAGE,
    "evaluation.exact_cost.ExactCostError": USAGE,
    "evaluation.allocation.frontier.MarginalCostError": USAGE,
    "models.allocation.cliques.TableMemoryError": USAGE,
    "downloader.errors.TryLaterError": TRY_AGAIN,
    "downloader.errors.ChangingDumpError": TRY_AGAIN,
    "pipeline.errors.ClusterLostError": TRY_AGAIN,
    "corpora.errors.StoreLockedError": TRY_AGAIN,
    "pipeline.errors.ClusterError": FAILED,
    "downloader.errors.DownloadError": FAILED,
    "corpora.errors.MissingExtraError": FAILED,
    "corpora.errors.MissingModelError": FAILED,
    "corpora.errors.UnsuitableModelError": FAILED,
    "corpora.worker_pool.WorkerDiedError": FAILED,
    "builtins.OSError": FAILED,
    "corpora.errors.CorpusFormatError": BAD_DATA,
    "corpora.errors.EmptyVocabularyError": BAD_DATA,
    "models.saved.ModelFormatError": BAD_DATA,
    "evaluation.document_blocks.ZeroProbabilityError": BAD_DATA,
    "models.allocation.reachable.UnreachableCellError": BAD_DATA,
    "builtins.FileNotFoundError": BAD_DATA,
    "builtins.IsADirectoryError": BAD_DATA,
    "builtins.NotADirectoryError": BAD_DATA,
}
"""Exit codes of errors and their subclasses, by name: reporting an error imports nothing, as files
may have become unreadable."""


def exit_code_of(error: Exception) -> int | None:
    """Return the exit code of an error that a caller can act on; None for a defect."""
    if isinstance(error, BackgroundError):
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return TRY_AGAIN
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((_CODES[name] for name in names if name in _CODES), None)


def check_exists(path: str) -> None:
    """Raise FileNotFoundError if there is nothing at the path."""
    if not os.path.exists(path):  # noqa: PTH110 - Path is not imported yet
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def message_of(error: Exception) -> str:
    """Return one line that says what is wrong and what to do."""
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        where = f" ({error.filename})" if error.filename else ""
        is_usual = error.strerror in (None, os.strerror(error.errno))
        why = "" if is_usual else f"{error.strerror}; "  # of a reserve that is left free, say
        return (
            f"the disk is full{where}: {why}nothing stored is lost; free some space and give the "
            "same command again to go on"
        )
    text = str(error).encode(errors="replace").decode()  # without lone surrogates
    if isinstance(error, OSError):
        text = text.removeprefix(f"[Errno {error.errno}] ")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
