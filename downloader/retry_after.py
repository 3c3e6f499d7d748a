"""How long a server asks to wait."""

from __future__ import annotations

import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the Retry-After header, a number or a date; None if it is unusable.

    A date is compared with the server's own Date, if it sends one: its clock may differ from ours.
    """
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?", value):
        return float(value[:300])
    moment = _seconds_of(value)
    if moment is None:
        return None
    now = _seconds_of(headers.get("Date", ""))
    return max(0.0, moment - (time.time() if now is None else now))


def usable_wait(seconds: float | None) -> float:
    """A wait that somebody else has computed, as a number that is not negative."""
    return 0.0 if seconds is None or math.isnan(seconds) else max(0.0, seconds)


def _seconds_of(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date[:100]).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None
