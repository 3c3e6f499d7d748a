"""Answers of a server, and the error for those that are not usable."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_JSON_ITEMS = 4_000_000
"""An API answer of 8 MiB, MediaWiki's own limit, has a tenth; each costs about 100 bytes."""


@dataclass(frozen=True)
class Answer:
    """Answer with a status of success."""

    url: str  #: Address after redirects.
    status: int
    headers: Mapping[str, str]  #: Names may be looked up in upper or lower case.
    body: bytes  #: Content after decompression.
    seconds: float  #: Time from the request to the last byte.


class BadAnswer(Exception):  # noqa: N818  (no failure yet: the request is repeated)
    """Answer that is not usable; the same request may bring a better one later.

    Parameters
    ----------
    reason
        Fault of the answer, in a few words.
    retry_after
        Seconds to wait before the next request.
    malformed
        Whether the answer breaks the protocol: if all answers do, the address is likely to be
        wrong, and `PoliteClient` gives up sooner.
    """

    def __init__(
        self, reason: str, retry_after: float | None = None, *, malformed: bool = False
    ) -> None:
        self.reason = one_line(reason, 300)
        super().__init__(self.reason)
        self.retry_after = retry_after if retry_after and retry_after > 0 else None
        self.malformed = malformed


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the JSON object that is the body of an answer.

    Raises BadAnswer if the body is no JSON object, nests too deep, has a number out of range, or
    more items than any wiki's answer.
    """
    body = answer.body
    if not body.strip():
        raise BadAnswer(f"an empty answer (HTTP {answer.status})", malformed=True)
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) > MAX_JSON_ITEMS:
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
        raise ValueError("a number out of range")
    return number


def one_line(text: str, length: int) -> str:
    """Return the first line of `text` that is not blank, printable and cut to `length`."""
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    line = next((" ".join(line.split()) for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= length else line[: length - 1] + "…"
