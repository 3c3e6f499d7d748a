"""`reading-score`: scores of models from the answers to a reading test."""

import logging
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.settings import NoSettings

logger = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "reading-score",
        "scores of models from the answers to a reading-test",
        NoSettings,
        run,
        arguments="KEY.json ANSWERS.json …",
    )
    parser.add_argument("key", metavar="KEY.json", help="key that reading-test wrote")
    parser.add_argument(
        "answers", metavar="ANSWERS.json", nargs="+", help="answers, a file from each reader"
    )


def run(arguments: Arguments) -> Outcome:
    """Score the answers."""
    n_files = len(arguments.answers)
    logger.info("answers in %d file%s", n_files, "" if n_files == 1 else "s")
    from pipeline.reading.score_test import reading_score
    from pipeline.reading.scores_table import print_scores

    return Outcome(reading_score(arguments.key, arguments.answers), print_scores)
