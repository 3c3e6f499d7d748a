"""What the status of an answer means: use it, go elsewhere, ask again, or give up."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from downloader.answer import BadAnswer, one_line
from downloader.bounded_body import unpacked
from downloader.errors import RefusedError, UnusableAnswerError
from downloader.retry_after import retry_after
from downloader.wikimedia import is_wikimedia

if TYPE_CHECKING:
    from collections.abc import Iterator

    from downloader.wire import Reply

QUOTED = 2**13
"""Bytes of a refusal that are searched for its reason."""


def redirection(reply: Reply) -> str | None:
    """Where an answer sends us: to the same server, or from http to https of the same host.

    Raises
    ------
    RefusedError
        If it sends us anywhere else; the message names the place.
    BadAnswer
        If that is no address at all.
    """
    place = reply.headers.get("Location")
    if reply.status not in {301, 302, 303, 307, 308} or place is None:
        return None
    try:
        old, new = urlsplit(reply.url), urlsplit(urljoin(reply.url, place))
        same_host = new.hostname is not None and new.hostname == old.hostname
        same_port = new.scheme == old.scheme and new.port == old.port
    except ValueError as error:
        raise BadAnswer(f"a redirect to no address ({one_line(place, 80)})") from error
    safer = (old.scheme, new.scheme) == ("http", "https")
    if not same_host or not (same_port or safer) or "@" in new.netloc:
        raise RefusedError(
            f"{one_line(reply.url, 200)} has moved to {one_line(place, 200)}, another server:"
            " give that address if you trust it",
            reply.status,
        )
    return new._replace(fragment="").geturl()


def judge(reply: Reply, *, is_file: bool) -> None:
    """Raise what the status of an answer calls for; nothing if it is a success.

    Raises
    ------
    BadAnswer
        If the same request may succeed later.
    RefusedError
        If not.
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
    """The first line of a refusal, or the title if it is a web page; empty if it says none."""
    try:
        body = unpacked(_beginning(reply), reply.headers, 2**20)
    except (BadAnswer, UnusableAnswerError):
        return ""
    text = body[:QUOTED].decode("utf-8", "replace")
    if title := re.search(r"<title[^<>]*>([^<]*)</title>", text, re.IGNORECASE):
        return one_line(html.unescape(title[1]), 200)
    return one_line(html.unescape(re.sub(r"<[^<>]*>", " ", text)), 200)


def _beginning(reply: Reply) -> Iterator[bytes]:
    n_bytes = 0
    for piece in reply.pieces():
        yield piece
        n_bytes += len(piece)
        if n_bytes >= QUOTED:
            return
