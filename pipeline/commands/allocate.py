"""`allocate`: how probable a table of counts is under allocation models, and its factors."""

import logging
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import AllocateSettings

logger = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "allocate",
        "how probable a table of counts is under allocation models, and its factors",
        AllocateSettings,
        run,
        arguments="FILE",
    )
    parser.add_argument(
        "table_file",
        metavar="FILE",
        help="counts: CSV (records or a matrix), .npy, .npz of NumPy or SciPy, Matrix Market, or "
        "bags of words in any format that convert reads",
    )


def run(arguments: Arguments) -> Outcome:
    """Score the models of a table, and factorise it."""
    settings = resolve(AllocateSettings, "allocate", vars(arguments))
    how = f"scores of models by --method {settings.method}"
    logger.info("%s: %s", arguments.table_file, how)
    from pipeline.allocation.allocate import allocate
    from pipeline.allocation.table import print_allocation

    return Outcome(allocate(settings, arguments.table_file), print_allocation)
