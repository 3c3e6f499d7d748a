"""What a server answered, and what to say when that is of no use."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_JSON_ITEMS = 4_000_000
"""An API answer of 8 MiB, MediaWiki's own limit, holds a tenth; each costs about 100 bytes."""


@dataclass(frozen=True)
class Answer:
    """An answer with a status of success."""

    url: str
    """Where it came from, after redirects."""
    status: int
    headers: Mapping[str, str]
    """Their names may be asked for in small or capital letters."""
    body: bytes
    """As the server meant it: gzip is undone."""
    seconds: float
    """From the request to the last byte."""


class BadAnswer(Exception):  # noqa: N818  (no failure yet: the same is asked for again)
    """An answer is not usable; the same request may well bring a better one later.

    Parameters
    ----------
    reason
        What is wrong, in a few words.
    retry_after
        Seconds that the server asks to wait before the next request.
    malformed
        It is not even what the server should talk: if this is all that ever comes, the address is
        likely to be wrong, and `PoliteClient` gives up sooner.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, *, malformed: bool = False
    ) -> None:
        self.reason = one_line(reason, 300)
        super().__init__(self.reason)
        self.retry_after = retry_after
        self.malformed = malformed


def json_object(answer: Answer) -> dict[str, Any]:
    """The JSON object that is the body of an answer.

    Raises
    ------
    BadAnswer
        If it is not one, nests too deep, or holds numbers beyond all measure or more items than any
        wiki's answer has.
    """
    body = answer.body
    if not body.strip():
        raise BadAnswer(f"an empty answer (HTTP {answer.status})", malformed=True)
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MOST_JSON_ITEMS:
        raise BadAnswer("JSON with more items than any wiki's answer has", malformed=True)
    try:
        # Some wikis send a byte order mark: their settings file begins with one.
        found = json.loads(body.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise BadAnswer("the answer is not UTF-8", malformed=True) from error
    except RecursionError as error:
        raise BadAnswer("JSON that nests too deep", malformed=True) from error
    except ValueError as error:
        kind = answer.headers.get("Content-Type", "").split(";")[0].strip()
        shown = one_line(kind, 40) or "something else"
        fault = "damaged JSON" if "json" in kind else f"{shown} instead of JSON"
        raise BadAnswer(f"{fault} ({one_line(str(error), 80)})", malformed=True) from error
    if not isinstance(found, dict):
        raise BadAnswer(f"JSON, but no object: {type(found).__name__}", malformed=True)
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number beyond all measure")
    return number


def one_line(text: str, length: int) -> str:
    """The first line of `text` that is not blank, fit for a message: printable and short."""
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    line = next((" ".join(line.split()) for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= length else line[: length - 1] + "…"
