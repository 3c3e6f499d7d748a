"""Start of `python -m pipeline` and `wikitopics`, before anything is imported."""

import io
import signal
import sys

from pipeline.interrupts import SIGNALS, end_at_once


def start() -> int:
    """Run one command; an interrupt while modules are imported ends the process at once."""
    if sys.platform == "win32":
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")  # titles in all languages, also in a pipe
    for number in SIGNALS:
        signal.signal(number, end_at_once)
    from pipeline.cli import main  # noqa: PLC0415

    return main()


if __name__ == "__main__":
    sys.exit(start())
