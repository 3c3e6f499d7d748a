"""Errors of downloads: one class for each failure that a caller can act on."""


class DownloadError(Exception):
    """A download failed; the message says what failed and what to do."""


class TryLaterError(DownloadError):
    """The server could not be reached for longer than our patience, or asks for a longer wait.

    Attributes
    ----------
    retry_at : float or None
        Time from which a request may succeed, in seconds since the epoch.
    """

    def __init__(self, message: str, retry_at: float | None = None) -> None:
        super().__init__(message)
        self.retry_at = retry_at


class RefusedError(DownloadError):
    """The server refuses for good: the page is forbidden, gone, or never existed.

    Attributes
    ----------
    status : int or None
        HTTP status of the refusal, if that was the reason.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class UnusableAnswerError(DownloadError):
    """All answers of the server are malformed or too large."""


class ChangingDumpError(UnusableAnswerError):
    """A dump and its checksums do not agree: it may be changing, and a later try may succeed."""


class SourceError(ValueError):
    """A category, title or address is malformed; the message says why."""


class ContactError(ValueError):
    """The contact address is missing, malformed or an example; the message says what to give."""
