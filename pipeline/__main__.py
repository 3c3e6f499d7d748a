"""Start of `python -m pipeline` and `wikitopics`, before anything is imported."""

import signal
import sys

from pipeline.interrupts import SIGNALS, end_at_once


def start() -> int:
    """Run one command; an interrupt while modules are imported ends the process at once."""
    for number in SIGNALS:
        signal.signal(number, end_at_once)
    from pipeline.cli import main  # noqa: PLC0415

    return main()


if __name__ == "__main__":
    sys.exit(start())
