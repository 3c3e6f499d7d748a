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


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def exit_code_of(error: Exception) -> int | None:
    """The exit code for an error that a caller can act on; None for one that is our mistake."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, BackgroundError):
        return error.exit_code
    # Not at the top: they bring spaCy and numba along, which a mistyped option need not wait for.
    from corpora.errors import (  # noqa: PLC0415
        CorpusFormatError,
        EmptyVocabularyError,
        MissingExtraError,
        MissingModelError,
        StoreLockedError,
        UnsuitableModelError,
    )
    from corpora.worker_pool import WorkerDiedError  # noqa: PLC0415
    from downloader.errors import (  # noqa: PLC0415
        ContactError,
        DownloadError,
        SourceError,
        TryLaterError,
    )
    from evaluation import MarginalCostError, ZeroProbabilityError  # noqa: PLC0415
    from evaluation.lda.exact import ExactCostError  # noqa: PLC0415
    from models import ModelFormatError, TableMemoryError, UnreachableCellError  # noqa: PLC0415
    from pipeline.cluster.errors import ClusterError, ClusterLostError  # noqa: PLC0415

    codes: dict[tuple[type[Exception], ...], int] = {
        (ContactError, SourceError, ExactCostError): USAGE,
        (MarginalCostError, TableMemoryError): USAGE,
        (TryLaterError, ClusterLostError): TRY_AGAIN,
        (ClusterError,): FAILED,
        (DownloadError, MissingExtraError): FAILED,
        (MissingModelError, UnsuitableModelError, WorkerDiedError): FAILED,
        (CorpusFormatError, ModelFormatError, EmptyVocabularyError): BAD_DATA,
        (ZeroProbabilityError, UnreachableCellError): BAD_DATA,
        (FileNotFoundError, IsADirectoryError, NotADirectoryError): BAD_DATA,
        (StoreLockedError,): TRY_AGAIN,
        (OSError,): TRY_AGAIN if getattr(error, "errno", None) in _NO_SPACE else FAILED,
    }
    return next((code for kinds, code in codes.items() if isinstance(error, kinds)), None)


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
