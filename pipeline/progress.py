"""Progress on stderr: a bar with rate and time left, or a line now and then without a terminal.

Notebooks show the bar of `tqdm.auto`. From Python without a command, bars are shown by `bars`.
"""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from tqdm import tqdm

logger = logging.getLogger(__name__)

DELAY = 2.0  # Seconds before a stage shows a bar: short stages stay silent
LINE_EVERY = 15.0  # Seconds between two lines if stderr is no terminal
WAITING_LINE_EVERY = 300.0  # Seconds between two lines while waiting

_bars: ContextVar[bool | None] = ContextVar("bars", default=None)
"""Whether bars are shown; None: if messages of this package are."""


@contextmanager
def bars(*, shown: bool) -> Iterator[None]:
    """Show bars within the block, or none, whatever becomes of messages."""
    token = _bars.set(shown)
    try:
        yield
    finally:
        _bars.reset(token)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")  # imported by every kernel
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class Progress:
    """Progress of one stage: a context manager with `update`."""

    def __init__(self, stage: str, total: float | None, unit: str, initial: float = 0) -> None:
        self._stage, self._unit = stage, unit
        shown = _bars.get()
        self._quiet = not (logger.isEnabledFor(logging.INFO) if shown is None else shown)
        is_notebook = in_notebook()
        self._bar = _bar_class(is_notebook)(
            total=total,
            initial=initial,
            desc=stage,
            unit=f" {unit}",
            unit_scale=_is_scaled(total),
            delay=DELAY,
            file=sys.stderr,
            disable=self._quiet or not (is_notebook or sys.stderr.isatty()),
        )
        self._n, self._initial, self._total, self._note = initial, initial, total, ""
        self._started = time.monotonic()
        self._next_line = self._next_waiting_line = self._started + LINE_EVERY

    def update(self, n: float, note: str | None = None) -> None:
        """Add `n` finished units; `note` is shown beside them."""
        self._n += n
        self._bar.update(n)
        if note is not None and note != self._note:
            self._note = note
            self._bar.set_postfix_str(note, refresh=False)
        now = time.monotonic()
        if self._bar.disable and now >= self._next_line:
            self._next_line = now + LINE_EVERY
            logger.info("%s", self._line())

    def wait(self, note: str) -> None:
        """Show that the stage waits; `note` says for what."""
        self._note = note
        now = time.monotonic()
        if not self._bar.disable and now - self._started >= DELAY:
            self._bar.set_postfix_str(note)
        if self._bar.disable and now >= self._next_waiting_line:
            self._next_waiting_line = now + WAITING_LINE_EVERY
            logger.info("%s", self._line())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()
        if exception[0] is None and time.monotonic() - self._started >= DELAY:
            logger.info("%s", self._line())

    def _line(self) -> str:
        return str(
            tqdm.format_meter(
                self._n,
                self._total,  # type: ignore[arg-type]
                time.monotonic() - self._started,
                prefix=self._stage,
                unit=f" {self._unit}",
                unit_scale=_is_scaled(self._total),
                initial=self._initial,
                postfix=self._note or None,
                bar_format=None
                if self._total is None
                else "{desc}: {percentage:.0f} %, "
                "{n_fmt} of {total_fmt}{unit}, {rate_fmt}, {elapsed} < {remaining}{postfix}",
            )
        )


def _bar_class(is_notebook: bool) -> Any:
    if not is_notebook:
        return tqdm
    from tqdm.auto import tqdm as bar_of_notebook  # noqa: PLC0415 - imports asyncio

    return bar_of_notebook


def _is_scaled(total: float | None) -> bool:
    """Whether numbers are shown in thousands: small ones would be 33.0 of 33.0."""
    return total is None or total >= 1000


class ProgressSafeHandler(logging.Handler):
    """Handler that logs to stderr without breaking the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record above the bar, if there is one."""
        tqdm.write(self.format(record), file=sys.stderr)
