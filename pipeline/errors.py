"""Exit codes, and which error means which."""

from __future__ import annotations

import errno

DONE, FAILED, USAGE, BAD_DATA, TRY_AGAIN = 0, 1, 2, 3, 75


class UsageError(Exception):
    """A setting or an argument cannot be used; the message says which and what to do."""


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM arrived; what was committed is kept."""

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.exit_code = 128 + signal_number


class SliceEnded(Exception):  # noqa: N818 - nothing went wrong
    """The part of training that was asked for is done; its checkpoint is kept."""

    def __init__(self, n_passes: float) -> None:
        super().__init__(f"stopped after {n_passes:.1f} passes")
        self.n_passes = n_passes


class BackgroundError(RuntimeError):
    """The process that was to download ended at once; the message and the exit code are its own."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ClusterError(RuntimeError):
    """A cluster cannot be used; the message says why and what to do."""


class ClusterLostError(RuntimeError):
    """A cluster went away in the middle of work; what was done is kept, and can be gone on from."""


class InterruptedAloneError(Interrupted, ClusterLostError):
    """A signal arrived while a command waited for workers; what was done before that is kept."""


class TaskKilledError(ClusterError):
    """Workers died again and again at one task."""

    index: int | None = None
    """Which of the items of `Cluster.map` it was."""


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_CODES = {
    "pipeline.errors.UsageError": USAGE,
    "downloader.errors.ContactError": USAGE,
    "downloader.errors.SourceError": USAGE,
    "evaluation.exact_cost.ExactCostError": USAGE,
    "evaluation.allocation.frontier.MarginalCostError": USAGE,
    "models.allocation.cliques.TableMemoryError": USAGE,
    "downloader.errors.TryLaterError": TRY_AGAIN,
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
    "evaluation.checked_counts.ZeroProbabilityError": BAD_DATA,
    "models.allocation.reachable.UnreachableCellError": BAD_DATA,
    "builtins.FileNotFoundError": BAD_DATA,
    "builtins.IsADirectoryError": BAD_DATA,
    "builtins.NotADirectoryError": BAD_DATA,
}
"""Exit codes of errors and their subclasses, by name: nothing is imported while an error is told,
when a directory may be closed to us or a disk be gone."""


def exit_code_of(error: Exception) -> int | None:
    """The exit code for an error that a caller can act on; None for one that is our mistake."""
    if isinstance(error, BackgroundError):
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return TRY_AGAIN
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((_CODES[name] for name in names if name in _CODES), None)


def message_of(error: Exception) -> str:
    """One line that says what is wrong and what to do."""
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"the disk is full{where}: nothing stored is lost; free some space and give the same "
            "command again to go on"
        )
    text = str(error).encode(errors="replace").decode()  # no half surrogates
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
