"""Exit codes, and which error means which."""

from __future__ import annotations

import errno

from corpora.errors import CorpusFormatError, EmptyVocabularyError, StoreLockedError
from models import ModelFormatError

DONE, FAILED, USAGE, BAD_DATA, TRY_AGAIN = 0, 1, 2, 3, 75


class UsageError(Exception):
    """A setting or an argument cannot be used; the message says which and what to do."""


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM arrived; what was committed is kept."""

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.exit_code = 128 + signal_number


_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def exit_code_of(error: Exception) -> int | None:
    """The exit code for an error that a caller can act on; None for one that is our mistake."""
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, (CorpusFormatError, ModelFormatError, EmptyVocabularyError)):
        return BAD_DATA
    if isinstance(error, StoreLockedError):
        return TRY_AGAIN
    if isinstance(error, OSError):
        if error.errno in _NO_SPACE:
            return TRY_AGAIN
        return BAD_DATA if isinstance(error, FileNotFoundError) else FAILED
    return None


def message_of(error: Exception) -> str:
    """One line that says what is wrong and what to do."""
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"the disk is full{where}: nothing stored is lost; free some space and give the same "
            "command again to go on"
        )
    return " ".join(str(error).split())
