"""What can go wrong between us and a server, one name for each thing a caller can act on."""

from __future__ import annotations


class DownloadError(Exception):
    """A download could not go on; the message says what failed and what to do."""


class TryLaterError(DownloadError):
    """The server stayed out of reach for longer than our patience, or asks for a longer wait.

    Attributes
    ----------
    retry_at : float or None
        Seconds since the epoch from when asking again makes sense.
    """

    def __init__(self, message: str, retry_at: float | None = None) -> None:
        super().__init__(message)
        self.retry_at = retry_at


class RefusedError(DownloadError):
    """The server refuses for good: what is asked for is forbidden, gone or has never been.

    Attributes
    ----------
    status : int or None
        The HTTP status of the refusal, where that was the reason.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class UnusableAnswerError(DownloadError):
    """What the server sends is of no use, however often it is asked: malformed or too large."""


class SourceError(ValueError):
    """What is asked for cannot be a category, title or address; the message says why."""


class ContactError(ValueError):
    """The contact address is missing, malformed or an example; the message says what to give."""
