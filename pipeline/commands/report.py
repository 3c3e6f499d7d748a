"""`report`: runs as one page that opens from disk, and as figures."""

import logging
from pathlib import Path
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import ReportSettings

logger = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "report",
        "runs as one page to look at and to send, and as figures",
        ReportSettings,
        run,
        arguments="RUN …",
    )
    parser.add_argument(
        "run_names",
        metavar="RUN",
        nargs="+",
        help="name or path of a run; or the directory of one `allocate`",
    )


def run(arguments: Arguments) -> Outcome:
    """Write the page and the figures."""
    settings = resolve(ReportSettings, "report", vars(arguments))
    logger.info("report of %s", ", ".join(arguments.run_names))
    from pipeline.report.report import report

    return Outcome(report(settings, arguments.run_names), print_report)


def print_report(result: dict[str, Any]) -> None:
    """Print the paths of the page and the figures."""
    directories = sorted({str(Path(path).parent) for path in result["figures"]})
    if directories:
        print(f"figures as SVG and PNG: {', '.join(directories)}")
    print(f"report: {result['page']} ({result['bytes'] / 1e6:.1f} MB); open it in a browser")
