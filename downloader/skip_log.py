"""What is said of pages that are passed over: enough to notice, too little to flood a terminal."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from downloader.answer import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

logger = logging.getLogger(__name__)

FEW_LINES = 10
"""So many come at once, one a batch; from then on they are rare."""
SECONDS_BETWEEN = 60.0
LONGEST_NAME = 300


class SkipLog:
    """Logs each page that is passed over at DEBUG, and how many there are at INFO.

    Parameters
    ----------
    clock
        Seconds, from any moment on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._first = ""
        self._n_lines = 0
        self._told_at = clock()

    def note(self, skipped: Mapping[str, Iterable[str]]) -> None:
        """Take down the pages of a batch, by reason."""
        for reason, names in skipped.items():
            for name in names:
                line = one_line(name, LONGEST_NAME)
                logger.debug("passed over (%s): %s", reason, line)
                self._first = self._first or line
                self._counts[reason] += 1
        if self._n_lines < FEW_LINES or self._clock() - self._told_at >= SECONDS_BETWEEN:
            self.tell()

    def tell(self) -> None:
        """Say how many there were since the last time; nothing if there were none."""
        n_pages = self._counts.total()
        if not n_pages:
            return
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in self._counts.most_common())
        pages = "page" if n_pages == 1 else "pages"
        logger.info(
            "%s %s passed over: %s (first: %s)", f"{n_pages:,}", pages, reasons, self._first
        )
        self._counts.clear()
        self._first = ""
        self._n_lines += 1
        self._told_at = self._clock()
