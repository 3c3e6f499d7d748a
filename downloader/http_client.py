"""HTTP client with rate limiting, retries and a deadline.

All requests, including redirects and repetitions, keep the rate limit that all processes share. The
wait after a failure is written to its file before any process can send the next request, so it
outlives this process.
"""

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from downloader.answer import Answer, BadAnswer, json_object, one_line
from downloader.bounded_body import unpacked
from downloader.contact import check_contact, user_agent
from downloader.errors import UnusableAnswerError
from downloader.file_download import FileDownload
from downloader.http_status import raise_for_status, redirect_target, retry_after
from downloader.http_transport import HttpTransport, Reply
from downloader.rate_limit import RateLimiter
from downloader.rate_limit_state import MAX_PAUSE
from downloader.retry import Retry

__all__ = ["Answer", "BadAnswer", "PoliteClient", "check_contact", "json_object", "user_agent"]

MAX_REDIRECTS = 5

T = TypeVar("T")


class PoliteClient:
    """Sends GET requests within a rate limit, and repeats those that fail.

    Parameters
    ----------
    user_agent : str
        Header of that name, see `user_agent`.
    limiter : RateLimiter
        Rate limit of the service.
    patience : float
        Seconds of retries without a success.
    deadline : float
        Seconds for one answer, from the connection to the last byte; for a file, seconds for every
        quarter of a megabyte.
    connect_timeout, read_timeout : float
        Seconds to reach an address of the server, and between two bytes.
    max_bytes : int
        Maximal size of the body of an answer, both as transferred and decompressed.
    rng : numpy.random.Generator or random.Random, optional
        Random numbers of the jitter.
    clock : callable
        Returns seconds from any moment on, to measure `patience`.

    Attributes
    ----------
    n_requests : int
        Number of requests sent.
    """

    def __init__(
        self,
        user_agent: str,
        limiter: RateLimiter,
        *,
        patience: float = 3600.0,
        deadline: float = 180.0,
        connect_timeout: float = 15.0,
        read_timeout: float = 60.0,
        max_bytes: int = 2**26,
        rng: np.random.Generator | random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limiter = limiter
        self.max_bytes = max_bytes
        self.n_requests = 0
        self._transport = HttpTransport(user_agent, deadline, connect_timeout, read_timeout)
        self._retry = Retry(limiter, patience, rng, clock)
        self._moved: dict[str, str] = {}

    @property
    def n_retries(self) -> int:
        """Number of requests sent because the one before had failed."""
        return self._retry.n_retries

    @property
    def last_error(self) -> str:
        """Latest failure; empty if there was none."""
        return self._retry.last_error

    @property
    def on_trouble(self) -> Callable[[str, float], None] | None:
        """Called after each failure with the reason and the seconds until the next attempt."""
        return self._retry.on_trouble

    @on_trouble.setter
    def on_trouble(self, listener: Callable[[str, float], None] | None) -> None:
        self._retry.on_trouble = listener

    @property
    def n_bytes(self) -> int:
        """Bytes received, including headers, before decompression."""
        return self._transport.limits.n_bytes

    def get(self, url: str, params: Mapping[str, str] | None, check: Callable[[Answer], T]) -> T:
        """Return the result of `check` for the answer.

        Parameters
        ----------
        url : str
            http or https.
        params : mapping, optional
            Query of the URL.
        check : callable
            Is called with an answer whose status is a success; returns its content, or raises
            `BadAnswer` to repeat the request. It delays the next request of all processes, so it
            should be quick, and it may not send a request itself.

        Raises TryLaterError if there is no success for longer than `patience`; RefusedError if the
        server refuses the request for good; UnusableAnswerError if the answer is too large, or all
        answers are malformed.
        """

        def receive(reply: Reply, began: float) -> T:
            body = unpacked(reply.pieces(), reply.headers, self.max_bytes)
            self.limiter.answered()
            seconds = time.monotonic() - began
            try:
                return check(Answer(reply.url, reply.status, reply.headers, body, seconds))
            except BadAnswer as error:
                if error.retry_after is None:  # MediaWiki sends the header with its errors too
                    error.retry_after = retry_after(reply.headers)
                raise

        return self._retry.until_success(
            lambda left, backoff: self._follow(url, params, receive, left, backoff)
        )

    def get_json(self, url: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the JSON object in the answer; see `get`."""
        return self.get(url, params, json_object)

    def fetch_file(
        self, url: str, path: Path, max_bytes: int, progress: Callable[[int], None] | None = None
    ) -> None:
        """Download a file; it appears at `path` when it is complete.

        The first part is kept in `path`.partial, so that an interrupted download continues if the
        server still has the same file.

        Parameters
        ----------
        url : str
            http or https.
        path : Path
            Destination; a file there is replaced.
        max_bytes : int
            Maximal size of the file.
        progress : callable, optional
            Is called with the number of bytes that have arrived.

        Raises
        ------
        TryLaterError, RefusedError, UnusableAnswerError
            As by `get`; a quarter of a megabyte counts as a success.
        OSError
            If the file cannot be written or the disk is about to run full.
        """
        download = FileDownload(url, path, max_bytes, progress)

        def receive(reply: Reply, began: float) -> None:  # noqa: ARG001
            self.limiter.answered()  # the time of a long file is no sign of a busy server
            download.receive(reply)

        while not download.finish_if_complete():
            self._retry.until_success(
                lambda left, backoff: self._follow(url, None, receive, left, backoff, download),
                download.has_progressed,
            )

    def close(self) -> None:
        """Close the connections."""
        self._transport.disconnect()

    def _follow(
        self,
        url: str,
        params: Mapping[str, str] | None,
        receive: Callable[[Reply, float], T],
        patience: float,
        backoff: float,
        download: FileDownload | None = None,
    ) -> T:
        first_url = url
        for _ in range(MAX_REDIRECTS + 1):
            url = self._moved_address(url)
            with self.limiter.request(patience):
                try:
                    headers = download.headers() if download else {}
                    cap = download.max_bytes if download else self.max_bytes
                    began = time.monotonic()
                    self.n_requests += 1
                    with self._transport.send(url, params, headers, cap) as reply:
                        place = redirect_target(reply)
                        if place is None:
                            raise_for_status(reply, is_file=download is not None)
                            return receive(reply, began)
                        self._remember_move(reply, place)
                except BadAnswer as error:
                    self._transport.disconnect()  # the connection may hold more of the bad answer
                    error.retry_after = min(error.retry_after or 0.0, MAX_PAUSE)
                    self.limiter.pause(max(backoff, error.retry_after))
                    raise
            url, params = place, None
        raise UnusableAnswerError(
            f"{one_line(first_url, 200)} redirects without end:"
            f" {MAX_REDIRECTS} redirects, the last one to {one_line(url, 200)}"
        )

    def _remember_move(self, reply: Reply, place: str) -> None:
        """Use https for a server from now on, if it redirects there for good."""
        old, new = urlsplit(reply.url), urlsplit(place)
        if (old.scheme, new.scheme) == ("http", "https") and reply.status in {301, 308}:
            self._moved[f"http://{old.netloc}"] = f"https://{new.netloc}"

    def _moved_address(self, url: str) -> str:
        """Return `url` with https if its server has moved there."""
        for old, new in self._moved.items():
            if url.startswith((f"{old}/", f"{old}?")):
                return new + url[len(old) :]
        return url
