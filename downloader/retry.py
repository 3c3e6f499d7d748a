"""Repetition of failed requests until they succeed, with a limit.

After a failure the wait grows exponentially up to two minutes, with full jitter: it is a random
part of that, so that clients which failed together do not return together.
"""

import logging
import random
import re
import time
from collections.abc import Callable
from typing import NoReturn, TypeVar

import numpy as np

from downloader.answer import BadAnswer
from downloader.errors import DownloadError, RefusedError, TryLaterError, UnusableAnswerError
from downloader.http_transport import CertificateError
from downloader.rate_limit import RateLimiter
from downloader.rate_limit_state import clock_time

MAX_BACKOFF = 120.0
MAX_MALFORMED_AT_FIRST = 8
"""After so many malformed answers and no good one, the address is taken to be wrong."""

T = TypeVar("T")
log = logging.getLogger(__name__)


class Retry:
    """Repeats what fails until there was no success for `patience` seconds.

    `limiter` tells the end of the pause after a failure, `rng` draws the jitter, and `clock`
    returns seconds from any moment on.
    """

    def __init__(
        self,
        limiter: RateLimiter,
        patience: float,
        rng: np.random.Generator | random.Random | None,
        clock: Callable[[], float],
    ) -> None:
        self.n_retries = 0
        self.last_error = ""  # Latest failure; empty if there was none
        self.on_trouble: Callable[[str, float], None] | None = None
        """Called after each failure with the reason and the seconds until the next attempt."""
        self._limiter = limiter
        self._patience = patience
        self._rng = np.random.default_rng() if rng is None else rng
        self._clock = clock
        self._logged: set[str] = set()
        self._has_succeeded = False

    def until_success(
        self,
        attempt: Callable[[float, float], T],
        has_progressed: Callable[[], bool] = lambda: False,
    ) -> T:
        """Call `attempt` until it succeeds.

        Its arguments are the seconds of patience left, and the wait after a failure for which the
        server asks no longer one.
        """
        n_failures = 0
        since = 0.0  # time of the first of them
        while True:
            left = self._patience - (self._clock() - since if n_failures else 0.0)
            backoff = float(self._rng.random()) * min(MAX_BACKOFF, 2.0**n_failures)
            try:
                found = attempt(left, backoff)
            except BadAnswer as error:
                n_failures = 1 if has_progressed() else n_failures + 1
                if n_failures == 1:
                    since = self._clock()
                wait = max(backoff, error.retry_after or 0.0)
                self._report(error.reason, wait)
                if not self._has_succeeded and error.malformed:
                    self._give_up_at_first(error, n_failures)
                failing = self._clock() - since
                if failing + wait > self._patience:
                    self._give_up(error, failing)
                self.n_retries += 1
            except DownloadError as error:
                self.last_error = str(error)
                raise
            else:
                self._has_succeeded = True
                return found

    def _report(self, reason: str, wait: float) -> None:
        """Log a failure, as a warning the first time of its kind, and call `on_trouble`."""
        self.last_error = reason
        kind = re.sub(r"\d+", "#", reason)
        level = logging.INFO if kind in self._logged or len(self._logged) > 50 else logging.WARNING
        self._logged.add(kind)
        log.log(level, "%s; next attempt in %.1f s", reason, wait)
        if self.on_trouble:
            self.on_trouble(reason, wait)

    def _give_up_at_first(self, error: BadAnswer, n_failures: int) -> None:
        if isinstance(error, CertificateError):
            raise RefusedError(
                f"the server's certificate is not valid: {error.reason};"
                " check the address and the clock of this computer"
            ) from error
        if n_failures >= MAX_MALFORMED_AT_FIRST:
            raise UnusableAnswerError(
                f"{n_failures} answers, all malformed ({error.reason}): check the address"
            ) from error

    def _give_up(self, error: BadAnswer, failing: float) -> NoReturn:
        moment = max(self._limiter.paused_until, time.time())
        if (error.retry_after or 0.0) > self._patience:
            raise TryLaterError(
                f"the server asks to wait until {clock_time(moment)} ({error.reason}):"
                " try again then; the articles so far are kept",
                retry_at=moment,
            ) from error
        if error.malformed:
            raise UnusableAnswerError(
                f"only malformed answers for {failing:.0f} s ({error.reason}): check the address,"
                " or ask the operators of the server"
            ) from error
        raise TryLaterError(
            f"no success for {failing:.0f} s ({error.reason}): try again after"
            f" {clock_time(moment)}; the articles so far are kept",
            retry_at=moment,
        ) from error
