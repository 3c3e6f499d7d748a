"""Trying again until it succeeds, and knowing when to stop.

After a failure the wait grows exponentially up to two minutes, with full jitter: a random part of
it, so that clients which failed together do not come back together.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np

from downloader.answer import BadAnswer
from downloader.errors import DownloadError, RefusedError, TryLaterError, UnusableAnswerError
from downloader.pace_state import clock_time
from downloader.retry_after import usable_wait
from downloader.wire import CertificateError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from downloader.pace import Pace

LONGEST_BACKOFF = 120.0
MALFORMED_AT_FIRST = 8
"""So many malformed answers, and never a good one: the address is wrong."""

T = TypeVar("T")
log = logging.getLogger(__name__)


class Persistence:
    """Repeats what fails, for as long as patience lasts.

    Parameters
    ----------
    pace
        Told by whoever asks until when to hold off; asked here when that will be over.
    patience
        Seconds to go on without one success.
    rng
        For the jitter.
    clock
        Seconds, from any moment on.

    Attributes
    ----------
    n_retries
        How often something was tried again.
    last_error
        The latest trouble; empty if there never was any.
    on_trouble
        Told the reason and the seconds until the next attempt, after each failure.
    """

    def __init__(
        self,
        pace: Pace,
        patience: float,
        rng: np.random.Generator | random.Random | None,
        clock: Callable[[], float],
    ) -> None:
        self.n_retries = 0
        self.last_error = ""
        self.on_trouble: Callable[[str, float], None] | None = None
        self._pace = pace
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
        """Try until it succeeds.

        `attempt` is given the patience that is left, and for how long to hold off if it fails and
        the server does not ask for more.
        """
        n_failures = 0
        since = 0.0  # when the first of them was
        while True:
            left = self._patience - (self._clock() - since if n_failures else 0.0)
            backoff = float(self._rng.random()) * min(LONGEST_BACKOFF, 2.0**n_failures)
            try:
                found = attempt(left, backoff)
            except BadAnswer as error:
                n_failures = 1 if has_progressed() else n_failures + 1
                if n_failures == 1:
                    since = self._clock()
                wait = max(backoff, usable_wait(error.retry_after))
                self._note(error.reason, wait)
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

    def _note(self, reason: str, wait: float) -> None:
        """Tell everybody of a failure: the log once for each kind, then only those who ask."""
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
                f"the server's certificate is not to be trusted: {error.reason};"
                " check the address and the clock of this computer"
            ) from error
        if n_failures >= MALFORMED_AT_FIRST:
            raise UnusableAnswerError(
                f"{n_failures} answers and none of use ({error.reason}): check the address"
            ) from error

    def _give_up(self, error: BadAnswer, failing: float) -> NoReturn:
        moment = max(self._pace.held_until, time.time())
        if usable_wait(error.retry_after) > self._patience:
            raise TryLaterError(
                f"the server wants to be left alone until {clock_time(moment)} ({error.reason}):"
                " try again then; what has come so far is kept",
                retry_at=moment,
            ) from error
        if error.malformed:
            raise UnusableAnswerError(
                f"no answer of use for {failing:.0f} s ({error.reason}): check the address,"
                " or ask those who run the server"
            ) from error
        raise TryLaterError(
            f"no success for {failing:.0f} s ({error.reason}): try again after"
            f" {clock_time(moment)}; what has come so far is kept",
            retry_at=moment,
        ) from error
