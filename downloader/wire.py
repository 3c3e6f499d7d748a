"""One HTTP request and its answer, bounded in time and size; no manners, no second try."""

from __future__ import annotations

import http.client
import logging
import ssl
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
import urllib3

from downloader.answer import BadAnswer, one_line
from downloader.bounded_connection import BoundedAdapter, Limits
from downloader.errors import RefusedError, UnusableAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PIECE = 2**16
FRAMING = 2**18
"""Bytes for headers and chunk sizes, beside an eighth of the body."""


class Reply:
    """The beginning of an answer: its body has still to be received.

    Attributes
    ----------
    url, status, headers
        Of the answer.
    """

    def __init__(self, response: requests.Response, wire: Wire) -> None:
        self.url = str(response.url)
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._wire = wire

    def pieces(self) -> Iterator[bytes]:
        """The body as transferred, until its end as the server announced it."""
        while True:
            with self._wire.network_errors():
                piece = self._response.raw.read(PIECE, decode_content=False)
            if not piece:
                return
            yield piece

    def prolong(self) -> None:
        """Give the answer its full time once more: it comes on well."""
        self._wire.limits.prolong(self._wire.deadline)


class Wire:
    """Sends requests over connections that it keeps open.

    Parameters
    ----------
    user_agent
        For the header of that name.
    deadline
        Seconds that an answer may take in all.
    connect_timeout, read_timeout
        Seconds to reach an address of the server, and between two bytes.
    """

    def __init__(
        self, user_agent: str, deadline: float, connect_timeout: float, read_timeout: float
    ) -> None:
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # what it warns of, we raise
        self.deadline = deadline
        self.limits = Limits(read_timeout)
        self._timeout = (min(connect_timeout, deadline), min(read_timeout, deadline))
        self._session = _Session()
        self._session.headers.update({"User-Agent": user_agent, "Accept-Encoding": "gzip"})
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.auth = _no_credentials  # otherwise they come from .netrc
        adapter = BoundedAdapter(self.limits)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    @contextmanager
    def send(
        self,
        url: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        max_bytes: int,
    ) -> Iterator[Reply]:
        """Ask for `url`, and receive the answer while the block runs.

        Raises
        ------
        BadAnswer
            If the server cannot be reached or does not answer in time or in HTTP.
        RefusedError
            If nobody could be asked for such a URL.
        UnusableAnswerError
            If the answer has more than `max_bytes`, and the framing that goes with them.
        """
        check_url(url)
        self.limits.start(self.deadline, max_bytes + max_bytes // 8 + FRAMING)
        with self.network_errors():
            response = self._session.get(
                url,
                params=params,
                headers=dict(headers),
                timeout=self._timeout,
                stream=True,
                allow_redirects=False,
            )
        try:
            yield Reply(response, self)
        finally:
            response.close()  # goes back to the pool if its body was read to the end

    @contextmanager
    def network_errors(self) -> Iterator[None]:
        """Turn what the network and the parsers below can raise into errors of ours."""
        try:
            yield
        except (
            requests.exceptions.InvalidURL,
            requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema,
        ) as error:
            raise RefusedError(f"nobody can be asked for that: {_shown(error)}") from error
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            http.client.HTTPException,
            OSError,
            ValueError,
        ) as error:
            if self.limits.too_large:
                raise UnusableAnswerError(
                    "the answer does not end where it should: more bytes than any wiki needs"
                ) from error
            if self.limits.too_late:
                raise BadAnswer(f"no whole answer within {self.deadline:g} s") from error
            if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error)):
                raise CertificateError(_shown(error)) from error
            raise BadAnswer(_shown(error)) from error

    def disconnect(self) -> None:
        """Close all connections; the next request makes a new one."""
        self._session.close()


class CertificateError(BadAnswer):
    """The server could not prove that it is who we want to ask."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, malformed=True)


class _Session(requests.Session):
    """A session that never reads the body of a redirect by itself, which may be without end."""

    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002
        return None


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def check_url(url: str) -> None:
    """Raise `RefusedError` unless `url` is one that a server can be asked for."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise RefusedError(f"{one_line(url, 200)!r} is no address: {error}") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise RefusedError(f"{one_line(url, 200)!r} is no http:// or https:// address")
    if "@" in parts.netloc:
        raise RefusedError(
            f"the address of {host} holds a user name or password; they are not sent:"
            " give the address without them"
        )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what brought it about, as far as the libraries say."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting and len(seen) < 50:
        cause = waiting.pop()
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None)]
            waiting += cause.args


def _shown(error: BaseException) -> str:
    """What happened, by the innermost error that says something, in one line."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, TimeoutError):
            return "the server is silent"
        if isinstance(cause, OSError) and cause.strerror:
            return one_line(f"{type(cause).__name__}: {cause.strerror}", 200)
    return one_line(f"{type(causes[-1]).__name__}: {causes[-1]}", 200)
