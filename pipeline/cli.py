"""The command line: `python -m pipeline download | train | select | evaluate | topics | …`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from typing import TYPE_CHECKING

from pipeline.commands import (
    allocate,
    cache,
    convert,
    download,
    evaluate,
    index,
    infer,
    reading_score,
    reading_test,
    report,
    reproduce,
    select,
    topics,
    train,
    warm,
)
from pipeline.errors import DONE, Interrupted, exit_code_of, message_of
from pipeline.interrupts import INTERRUPTED, raise_interrupted, signals_handled_by
from pipeline.progress import ProgressSafeHandler
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.commands.options import Outcome

COMMANDS = (
    *(download, train, select, evaluate, topics, report, infer),
    *(index, reading_test, reading_score, reproduce, allocate, convert, cache, warm),
)
"""Commands in the order of --help. They import numba, spaCy and scikit-learn only when they run, so
that --help and a mistyped option are answered at once."""
PACKAGES = ("corpora", "downloader", "evaluation", "models", "pipeline")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code.

    0 done, 1 failed, 2 usage, 3 bad data, 75 try again later (progress is kept), 130 or 143
    interrupted (progress is kept).
    """
    arguments = build_parser().parse_args(argv)
    _configure_logging(quiet=arguments.quiet, detached=getattr(arguments, "detached", False))
    try:
        with signals_handled_by(raise_interrupted):
            outcome: Outcome = arguments.runner(arguments)
            if arguments.json:
                print(json.dumps(outcome.result, ensure_ascii=False))
            else:
                outcome.show(outcome.result)
            sys.stdout.flush()
    except Interrupted as interrupt:
        _say(INTERRUPTED)
        return interrupt.exit_code
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if isinstance(error, SystemError) and isinstance(error.__cause__, Interrupted):
            # The signal arrived while a kernel returned, which wraps the exception.
            _say(INTERRUPTED)
            return error.__cause__.exit_code
        code = exit_code_of(error)
        if code is None:
            raise
        _say(message_of(error))
        return code
    return outcome.exit_code


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline",
        description="Topic models of Wikipedia, with held-out likelihoods that can be trusted.",
        epilog="Settings come from the command line, then WIKITOPICS_NAME in the environment, "
        "then [command] in pipeline.toml.",
    )
    parser.add_argument("--version", action="version", version=f"wikitopics {software_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def _configure_logging(*, quiet: bool, detached: bool) -> None:
    handler = logging.NullHandler() if detached else ProgressSafeHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    for package in PACKAGES:
        logger = logging.getLogger(package)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING if quiet else logging.INFO)


def _say(message: str) -> None:
    print(f"wikitopics: {message}", file=sys.stderr)
