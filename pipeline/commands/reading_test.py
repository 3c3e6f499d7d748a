"""`reading-test`: a page on which people find the words and topics that do not belong."""

import logging
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import ReadingTestSettings

logger = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "reading-test",
        "a page on which people find the words and topics that do not belong",
        ReadingTestSettings,
        run,
        arguments="RUN …",
    )
    parser.add_argument(
        "run_names",
        metavar="RUN",
        nargs="+",
        help="name or path of a run; or a file of any model that `evaluate --measures` reads, such "
        "as a .txt with the words of a topic on each line",
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there already")


def run(arguments: Arguments) -> Outcome:
    """Write the page and its key."""
    settings = resolve(ReadingTestSettings, "reading-test", vars(arguments))
    logger.info("reading test of %s", ", ".join(arguments.run_names))
    from pipeline.reading.make_test import reading_test

    made = reading_test(settings, arguments.run_names, force=arguments.force)
    return Outcome(made, print_test)


def print_test(result: dict[str, Any]) -> None:
    """Print numbers of questions, and what to do with the two files."""
    for task, of_models in result["tasks"].items():
        if any(of_models.values()):
            print(f"{task}: " + ", ".join(f"{n:,} of {name}" for name, n in of_models.items()))
    sheets = result["sheets"]
    if len(sheets) == 1:
        print(f"one sheet of {sheets[0]:,} questions, the same for all readers")
    else:
        print(
            f"{len(sheets):,} sheets of up to {max(sheets):,} questions: a reader gets one at "
            f"random, or the second by {result['page']}#sheet=2"
        )
    print(f"page for the readers: {result['page']}")
    print(f"key, not for the readers: {result['key']}")
    print(f"then: python -m pipeline reading-score {result['key']} ANSWERS.json …")
