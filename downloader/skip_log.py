"""Log of skipped pages, with few enough lines for a terminal."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from downloader.answer import one_line

logger = logging.getLogger(__name__)

MAX_PROMPT_LINES = 10  # Lines that are logged without delay, one a batch
SECONDS_BETWEEN = 60.0  # Seconds between the lines after that
MAX_NAME_LENGTH = 300


class SkipLog:
    """Logs each skipped page at DEBUG, and the number of them at INFO; `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._first = ""
        self._n_lines = 0
        self._logged_at = clock()

    def note(self, skipped: Mapping[str, Iterable[str]]) -> None:
        """Note the pages of a batch, by reason."""
        for reason, names in skipped.items():
            for name in names:
                line = one_line(name, MAX_NAME_LENGTH)
                logger.debug("skipped (%s): %s", reason, line)
                self._first = self._first or line
                self._counts[reason] += 1
        if self._n_lines < MAX_PROMPT_LINES or self._clock() - self._logged_at >= SECONDS_BETWEEN:
            self.flush()

    def flush(self) -> None:
        """Log the number of pages since the last line, if there were any."""
        n_pages = self._counts.total()
        if not n_pages:
            return
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in self._counts.most_common())
        pages = "page" if n_pages == 1 else "pages"
        logger.info("%s %s skipped: %s (first: %s)", f"{n_pages:,}", pages, reasons, self._first)
        self._counts.clear()
        self._first = ""
        self._n_lines += 1
        self._logged_at = self._clock()
