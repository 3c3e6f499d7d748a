"""`python -m pipeline`, and the command `wikitopics`: its start, before anything is imported."""

import signal
import sys

from pipeline.interrupts import SIGNALS, end_at_once


def start() -> int:
    """Run one command as `pipeline.cli.main` does; while it is loaded, an interrupt ends it too."""
    for number in SIGNALS:
        signal.signal(number, end_at_once)
    from pipeline.cli import main  # noqa: PLC0415

    return main()


if __name__ == "__main__":
    sys.exit(start())
