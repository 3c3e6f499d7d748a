"""A client that asks politely, again and again if need be, and never for ever.

Every request goes out at the pace agreed upon with all other processes, redirects and repetitions
included. The wait after a failure is entered into the pace file before the next request of anybody
could go out, and so outlives this process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar, overload
from urllib.parse import urlsplit

from downloader.answer import Answer, BadAnswer, json_object, one_line
from downloader.bounded_body import unpacked
from downloader.contact import check_contact, user_agent
from downloader.errors import UnusableAnswerError
from downloader.file_download import FileDownload
from downloader.pace_state import LONGEST_HOLD
from downloader.persistence import Persistence
from downloader.retry_after import retry_after, usable_wait
from downloader.verdict import judge, redirection
from downloader.wire import Reply, Wire

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np

    from downloader.pace import Pace

__all__ = ["Answer", "BadAnswer", "PoliteClient", "check_contact", "json_object", "user_agent"]

MOST_REDIRECTS = 5

T = TypeVar("T")


class PoliteClient:
    """Asks servers for what may be asked for with GET.

    Parameters
    ----------
    user_agent : str
        Who is asking, see `user_agent`.
    pace : Pace
        When requests may go out.
    patience : float
        Seconds to go on trying without one success.
    deadline : float
        Seconds for one answer in all, from the connection to the last byte; of a file, for every
        quarter of a megabyte.
    connect_timeout, read_timeout : float
        Seconds to reach an address of the server, and between two bytes.
    max_bytes : int
        Cap on the body of an answer, both as transferred and unpacked.
    rng : numpy.random.Generator or random.Random, optional
        For the jitter.
    clock : callable
        Seconds, for patience; from any moment on.

    Attributes
    ----------
    n_requests : int
        Requests sent.
    """

    def __init__(
        self,
        user_agent: str,
        pace: Pace,
        *,
        patience: float = 3600.0,
        deadline: float = 180.0,
        connect_timeout: float = 15.0,
        read_timeout: float = 60.0,
        max_bytes: int = 2**26,
        rng: np.random.Generator | random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pace = pace
        self.max_bytes = max_bytes
        self.n_requests = 0
        self._wire = Wire(user_agent, deadline, connect_timeout, read_timeout)
        self._persistence = Persistence(pace, patience, rng, clock)
        self._moved: dict[str, str] = {}

    @property
    def n_retries(self) -> int:
        """How many requests were sent because the one before had failed."""
        return self._persistence.n_retries

    @property
    def last_error(self) -> str:
        """The latest trouble; empty if there never was any."""
        return self._persistence.last_error

    @property
    def on_trouble(self) -> Callable[[str, float], None] | None:
        """Told the reason and the seconds until the next attempt, after each failure."""
        return self._persistence.on_trouble

    @on_trouble.setter
    def on_trouble(self, listener: Callable[[str, float], None] | None) -> None:
        self._persistence.on_trouble = listener

    @property
    def n_bytes(self) -> int:
        """Bytes received, headers included, before anything is unpacked."""
        return self._wire.limits.n_bytes

    def get(self, url: str, params: Mapping[str, str] | None, check: Callable[[Answer], T]) -> T:
        """What `check` makes of the answer.

        Parameters
        ----------
        url : str
            http or https.
        params : mapping, optional
            For the query of the URL.
        check : callable
            Given an answer with a status of success, returns what it is good for, or raises
            `BadAnswer` to have the same asked for again. It runs before anybody's next request may
            go out, so it should be quick and may not ask for anything itself.

        Raises
        ------
        TryLaterError
            If there was no success for longer than `patience`, or will not be.
        RefusedError
            If the server refuses in a way that asking again does not mend.
        UnusableAnswerError
            If the answer is too large, or nothing but malformed ones came.
        """

        def receive(reply: Reply, began: float) -> T:
            body = unpacked(reply.pieces(), reply.headers, self.max_bytes)
            self.pace.answered()
            seconds = time.monotonic() - began
            try:
                return check(Answer(reply.url, reply.status, reply.headers, body, seconds))
            except BadAnswer as error:
                if error.retry_after is None:  # MediaWiki says it in a header of its errors too
                    error.retry_after = retry_after(reply.headers)
                raise

        return self._persistence.until_success(
            lambda left, backoff: self._follow(url, params, receive, left, backoff)
        )

    @overload
    def get_json(self, url: str, params: Mapping[str, str] | None = None) -> dict[str, Any]: ...

    @overload
    def get_json(
        self, url: str, params: Mapping[str, str] | None, check: Callable[[dict[str, Any]], T]
    ) -> T: ...

    def get_json(
        self,
        url: str,
        params: Mapping[str, str] | None = None,
        check: Callable[[dict[str, Any]], Any] = lambda found: found,
    ) -> Any:
        """What `check` makes of the JSON object in the answer; see `get`."""
        return self.get(url, params, lambda answer: check(json_object(answer)))

    def fetch_file(
        self,
        url: str,
        path: Path,
        max_bytes: int,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Download a file; it appears at `path` when it is complete.

        What has come is kept in `path`.partial, so that a file goes on where it was interrupted, if
        the server still has the same one.

        Parameters
        ----------
        url : str
            http or https.
        path : Path
            Replaced if it is there.
        max_bytes : int
            The size that the file may have.
        progress : callable, optional
            Told how many bytes of the file are there.

        Raises
        ------
        TryLaterError, RefusedError, UnusableAnswerError
            As by `get`; a success is here a quarter of a megabyte.
        OSError
            If the file cannot be written or the disk is about to run full.
        """
        download = FileDownload(url, path, max_bytes, progress)

        def receive(reply: Reply, began: float) -> None:  # noqa: ARG001
            self.pace.answered()  # a long file is no sign of a server in trouble
            download.receive(reply)

        while not download.finish_if_complete():
            self._persistence.until_success(
                lambda left, backoff: self._follow(url, None, receive, left, backoff, download),
                download.has_progressed,
            )

    def close(self) -> None:
        """Close the connections."""
        self._wire.disconnect()

    def _follow(
        self,
        url: str,
        params: Mapping[str, str] | None,
        receive: Callable[[Reply, float], T],
        patience: float,
        backoff: float,
        download: FileDownload | None = None,
    ) -> T:
        """Ask once, and at the places to which the answer sends us."""
        asked = url
        for _ in range(MOST_REDIRECTS + 1):
            url = self._moved_address(url)
            with self.pace.request(patience):
                try:
                    headers = download.headers() if download else {}
                    cap = download.max_bytes if download else self.max_bytes
                    began = time.monotonic()
                    self.n_requests += 1
                    with self._wire.send(url, params, headers, cap) as reply:
                        place = redirection(reply)
                        if place is None:
                            judge(reply, is_file=download is not None)
                            return receive(reply, began)
                        self._remember_move(reply, place)
                except BadAnswer as error:
                    self._wire.disconnect()  # what else is in that connection is anybody's guess
                    error.retry_after = min(usable_wait(error.retry_after), LONGEST_HOLD)
                    self.pace.hold_off(max(backoff, error.retry_after))
                    raise
            url, params = place, None
        raise UnusableAnswerError(
            f"{one_line(asked, 200)} leads from place to place without end:"
            f" {MOST_REDIRECTS} redirects, the last one to {one_line(url, 200)}"
        )

    def _remember_move(self, reply: Reply, place: str) -> None:
        """Ask at the encrypted place of a server from now on, if it says so."""
        old, new = urlsplit(reply.url), urlsplit(place)
        if (old.scheme, new.scheme) == ("http", "https") and reply.status in {301, 308}:
            self._moved[f"http://{old.netloc}"] = f"https://{new.netloc}"

    def _moved_address(self, url: str) -> str:
        """`url` at the encrypted place of the server, if that is where it lives by now."""
        for old, new in self._moved.items():
            if url.startswith((f"{old}/", f"{old}?")):
                return new + url[len(old) :]
        return url
