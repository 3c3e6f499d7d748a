"""`reproduce`: published experiments again, our figures beside the published ones."""

import logging
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.errors import DONE, FAILED, UsageError
from pipeline.reproduce.settings import ALL_TAKE, EXPERIMENTS, ReproduceSettings
from pipeline.setting_sources import resolve

NAMES = ", ".join(EXPERIMENTS)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    title, word = "published experiments again", "EXPERIMENT"
    parser = add_command(commands, "reproduce", title, ReproduceSettings, run, arguments=word)
    parser.add_argument("experiment", metavar=word, nargs="?", choices=EXPERIMENTS, help=NAMES)
    group = parser.add_argument_group("instead of EXPERIMENT")
    group.add_argument(
        "--all",
        action="store_true",
        help="run those that have no result of --scale and --seed yet, and gather all results on "
        f"one page, report.html; {ALL_TAKE}",
    )
    group.add_argument(
        "--gather", action="store_true", help="gather the results that are there, and run nothing"
    )


def run(arguments: Arguments) -> Outcome:
    """Run one experiment, or all."""
    is_of_all = arguments.all or arguments.gather
    if (arguments.experiment is None) != is_of_all:
        raise UsageError(
            f"reproduce takes an EXPERIMENT, one of {NAMES}; or --all or --gather without one"
        )
    settings = resolve(ReproduceSettings, "reproduce", vars(arguments))
    if is_of_all:
        done = "gathering results" if arguments.gather else "all experiments without a result"
        logging.getLogger(__name__).info("%s in %s", done, settings.output or "reproduce")
        from pipeline.reproduce.run_all import reproduce_all

        result = reproduce_all(settings, gather_only=arguments.gather)
        return Outcome(result, print_reproductions, FAILED if result["failed"] else DONE)
    from pipeline.reproduce.run import print_reproduction, reproduce

    return Outcome(reproduce(settings, arguments.experiment), print_reproduction)


def print_reproductions(result: dict[str, Any]) -> None:
    """Each experiment's main figure, ours and published, and where the page is."""
    for row in result["experiments"]:
        print(f"{row['experiment']} ({row['paper']}): {row['verdict']}")
        for each in row["results"]:
            print(f"  {each['figure']}: {each['ours']}; published: {each['published']}")
            if each["data"]:
                print(f"  {each['data']}")
        if row["problem"]:
            print(f"  {row['problem']}")
    print(result["report"])
