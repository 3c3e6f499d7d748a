"""One HTTP request and its answer, with limits of time and size; no rate limit, no retry."""

import http.client
import logging
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3

from downloader.answer import BadAnswer, one_line
from downloader.bounded_connection import BoundedAdapter, Limits
from downloader.errors import RefusedError, UnusableAnswerError

PIECE_BYTES = 2**16
FRAMING_BYTES = 2**18  # Bytes for headers and chunk sizes, beside an eighth of the body


class Reply:
    """Status and headers of an answer; its body has still to be received."""

    def __init__(self, response: requests.Response, transport: "HttpTransport") -> None:
        self.url = str(response.url)
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._transport = transport

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as transferred, to the end that the server announced."""
        while True:
            with self._transport.network_errors():
                piece = self._response.raw.read(PIECE_BYTES, decode_content=False)
            if not piece:
                return
            yield piece

    def prolong(self) -> None:
        """Restart the deadline of the answer."""
        self._transport.limits.prolong(self._transport.deadline)


class HttpTransport:
    """Sends requests over connections that it keeps open.

    `deadline` is the seconds for a whole answer; `connect_timeout` and `read_timeout` are the
    seconds to reach an address of the server, and between two bytes.
    """

    def __init__(
        self, user_agent: str, deadline: float, connect_timeout: float, read_timeout: float
    ) -> None:
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # its warnings become errors of ours
        self.deadline = deadline
        self.limits = Limits(read_timeout)
        self._timeout = (min(connect_timeout, deadline), min(read_timeout, deadline))
        self._session = _Session()
        self._session.headers.update({"User-Agent": user_agent, "Accept-Encoding": "gzip"})
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.auth = _no_credentials  # otherwise .netrc is read
        adapter = BoundedAdapter(self.limits)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    @contextmanager
    def send(
        self, url: str, params: Mapping[str, str] | None, headers: Mapping[str, str], max_bytes: int
    ) -> Iterator[Reply]:
        """Request `url`, and receive the answer while the block runs.

        Raises BadAnswer if the server cannot be reached or does not answer in time or in HTTP;
        RefusedError if it is no URL of an HTTP server; UnusableAnswerError if the answer has more
        than `max_bytes` and a margin for its framing.
        """
        check_url(url)
        self.limits.start(self.deadline, max_bytes + max_bytes // 8 + FRAMING_BYTES)
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
            response.close()  # it returns to the pool if its body was read to the end

    @contextmanager
    def network_errors(self) -> Iterator[None]:
        """Convert errors of the network and of the HTTP parsers into errors of this package."""
        try:
            yield
        except (
            requests.exceptions.InvalidURL,
            requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema,
        ) as error:
            raise RefusedError(f"the address cannot be used: {_shown(error)}") from error
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            http.client.HTTPException,
            OSError,
            ValueError,
        ) as error:
            if self.limits.too_large:
                raise UnusableAnswerError(
                    "the answer has more bytes than any wiki needs"
                ) from error
            if self.limits.too_late:
                raise BadAnswer(f"no complete answer within {self.deadline:g} s") from error
            if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error)):
                raise CertificateError(_shown(error)) from error
            raise BadAnswer(_shown(error)) from error

    def disconnect(self) -> None:
        """Close all connections; the next request makes a new one."""
        self._session.close()


class CertificateError(BadAnswer):
    """The server has no valid certificate for its name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, malformed=True)


class _Session(requests.Session):
    """Session that never reads the body of a redirect, which may be endless."""

    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002
        return None


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def check_url(url: str) -> None:
    """Raise `RefusedError` unless `url` is an http or https address without credentials."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise RefusedError(f"{one_line(url, 200)!r} is no address: {error}") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise RefusedError(f"{one_line(url, 200)!r} is no http:// or https:// address")
    if "@" in parts.netloc:
        raise RefusedError(
            f"the address of {host} has a user name or password, which are not sent:"
            " give the address without them"
        )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, as far as the libraries keep them."""
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
    """Return the message of the innermost error that has one, in one line."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, TimeoutError):
            return "the server is silent"
        if isinstance(cause, OSError) and cause.strerror:
            return one_line(f"{type(cause).__name__}: {cause.strerror}", 200)
    return one_line(f"{type(causes[-1]).__name__}: {causes[-1]}", 200)
