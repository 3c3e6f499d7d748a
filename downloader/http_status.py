"""Status of an answer: success, redirect, temporary failure or refusal, and the requested wait."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import urllib3

from downloader.answer import BadAnswer, one_line
from downloader.bounded_body import unpacked
from downloader.errors import RefusedError, UnusableAnswerError
from downloader.service import is_wikimedia

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from downloader.http_transport import Reply

MAX_QUOTED = 2**13  # Bytes of a refusal that are searched for its reason

_PARSER = urllib3.Retry()
_PARSER.retry_after_max = 2**62  # the default is 6 hours; `RateLimiter.pause` has a limit


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by the Retry-After header; None if it is missing or malformed."""
    try:
        return float(_PARSER.parse_retry_after(headers["Retry-After"][:300]))
    except (KeyError, urllib3.exceptions.InvalidHeader):
        return None
    except (ValueError, TypeError, IndexError, OverflowError):  # by `email.utils`, for some dates
        return None


def redirect_target(reply: Reply) -> str | None:
    """Return where an answer redirects: on the same server, or from http to https of its host.

    Raises RefusedError if it redirects to another server; the message names the address; BadAnswer
    if it redirects to no valid address.
    """
    place = reply.headers.get("Location")
    if reply.status not in {301, 302, 303, 307, 308} or place is None:
        return None
    try:
        old, new = urlsplit(reply.url), urlsplit(urljoin(reply.url, place))
        same_host = new.hostname is not None and new.hostname == old.hostname
        same_port = new.scheme == old.scheme and new.port == old.port
    except ValueError as error:
        raise BadAnswer(f"a redirect to no valid address ({one_line(place, 80)})") from error
    safer = (old.scheme, new.scheme) == ("http", "https")
    if not same_host or not (same_port or safer) or "@" in new.netloc:
        raise RefusedError(
            f"{one_line(reply.url, 200)} has moved to {one_line(place, 200)}, another server:"
            " give that address if you trust it",
            reply.status,
        )
    return new._replace(fragment="").geturl()


def raise_for_status(reply: Reply, *, is_file: bool) -> None:
    """Raise an error unless the status of an answer is a success.

    Raises BadAnswer if the same request may succeed later; RefusedError if it will not.
    """
    status = reply.status
    if is_file and status in {206, 416}:
        return
    if 200 <= status < 300 and status != 206:
        return
    reason = _reason(reply)
    said = f"HTTP {status}: {reason}" if reason else f"HTTP {status}"
    if status in {408, 425, 429} or status >= 500:
        raise BadAnswer(said, retry_after(reply.headers))
    if not 400 <= status < 500:
        raise BadAnswer(said, retry_after(reply.headers), malformed=True)
    hint = ""
    if status == 403 and is_wikimedia(reply.url):
        hint = " (Wikimedia refuses clients whose --contact it does not accept)"
    raise RefusedError(f"{one_line(reply.url, 200)} refuses with {said}{hint}", status)


def _reason(reply: Reply) -> str:
    """Return the first line of a refusal, or the title of a web page; empty if it has none."""
    try:
        body = unpacked(_beginning(reply), reply.headers, 2**20)
    except (BadAnswer, UnusableAnswerError):
        return ""
    text = body[:MAX_QUOTED].decode("utf-8", "replace")
    if title := re.search(r"<title[^<>]*>([^<]*)</title>", text, re.IGNORECASE):
        return one_line(html.unescape(title[1]), 200)
    return one_line(html.unescape(re.sub(r"<[^<>]*>", " ", text)), 200)


def _beginning(reply: Reply) -> Iterator[bytes]:
    n_bytes = 0
    for piece in reply.pieces():
        yield piece
        n_bytes += len(piece)
        if n_bytes >= MAX_QUOTED:
            return
