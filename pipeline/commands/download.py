"""`download`: a source into an article store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.errors import UsageError
from pipeline.setting_sources import resolve
from pipeline.settings import DownloadSettings

if TYPE_CHECKING:
    from collections.abc import Callable

ACTIONS = {
    "background": "download in a process of its own and return at once",
    "status": "show how far the download into --output is",
    "stop": "end it; what it has is kept, and the same command goes on",
    "follow": "show its log until it ends",
    "verify": "check every shard of --output",
}
"""Actions besides downloading, and their help."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "download", "articles into a store", DownloadSettings, run, arguments="[INPUT]"
    )
    parser.add_argument(
        "input_argument", metavar="INPUT", nargs="?", help="the same as --input INPUT"
    )
    parser.set_defaults(action="download", export=None)
    # What --background starts: it has no terminal, and logs to its own file alone.
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    group = parser.add_argument_group("instead of downloading").add_mutually_exclusive_group()
    for action, help_text in ACTIONS.items():
        group.add_argument(
            f"--{action}", dest="action", action="store_const", const=action, help=help_text
        )
    group.add_argument(
        "--export",
        metavar="FILE",
        help="write --output as .jsonl, .jsonl.gz, .bz2, .xz or .parquet",
    )


def run(arguments: Arguments) -> Outcome:
    """Do what is asked of a store."""
    given = vars(arguments)
    if arguments.input_argument is not None:
        if "input" in given:
            raise UsageError("INPUT is given twice: leave --input out")
        given = given | {"input": arguments.input_argument}
    settings = resolve(DownloadSettings, "download", given)
    from pipeline.downloads import download as downloads
    from pipeline.downloads.job import DownloadJob

    job = DownloadJob(settings.output)
    if arguments.export is not None:
        return Outcome(downloads.export(settings, arguments.export), print_export)
    actions: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], None]]] = {
        "download": (lambda: downloads.download(settings), print_download),
        "background": (lambda: downloads.start_in_background(settings), print_started),
        "status": (job.status, print_status),
        "stop": (job.stop, print_status),
        "follow": (job.follow, print_status),
        "verify": (lambda: downloads.verify(settings), print_verified),
    }
    do, show = actions[arguments.action]
    return Outcome(do(), show)


def print_download(result: dict[str, Any]) -> None:
    """Print what was added and what was skipped."""
    there = result["already_there"]
    skipped = f", {there:,} skipped as already there" if there else ""
    print(
        f"{result['output']}: {result['added']:,} articles added{skipped}, "
        f"{result['articles']:,} in all"
    )
    if pages := result.get("skipped"):
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(pages.items()))
        print(f"pages that are no articles: {reasons}")


def print_started(result: dict[str, Any]) -> None:
    """Print the process, its log, and the commands to watch it."""
    print(f"downloading into {result['output']} (process {result['pid']}, log {result['log']})")
    print(f"python -m pipeline download --output {result['output']} --status | --follow | --stop")


def print_status(result: dict[str, Any]) -> None:
    """Print the status of a download, one fact a line."""
    from downloader.estimate import in_words

    if result.get("stopped") is False:
        print("no download was running")
    who = f" (process {result['pid']})" if result["pid"] else ""
    print(f"{result['output']}: {result['state']}{who}")
    if result["added"] is None:
        return
    of = f" of {result['of']:,}" if result["of"] else ""
    rate = f", {result['rate']:.1f} a second" if result["rate"] else ""
    source = f"{result['source']} {result['input']}".strip()
    print(f"{result['added']:,}{of} articles from {source}{rate}")
    if result["articles"] is not None:
        print(f"in the store: {result['articles']:,}")
    if result["of_files"]:
        of_bytes = f" of {result['of_bytes'] / 1e6:,.1f}" if result["of_bytes"] else ""
        print(
            f"files: {result['files']:,} of {result['of_files']:,};"
            f" {result['bytes_read'] / 1e6:,.1f}{of_bytes} MB read"
        )
    if result["requests"]:
        print(f"requests: {result['requests']:,}, {result['bytes'] / 1e6:,.1f} MB")
    if result["time_left"] is not None:
        print(f"time left: about {in_words(result['time_left'])}")
    if result["last_error"]:
        print(f"last error: {result['last_error']['time']} {result['last_error']['what']}")
    if result["waiting_until"]:
        print(f"waiting until {result['waiting_until']}")
    print(f"updated: {result['updated']}; log: {result['log']}")


def print_verified(result: dict[str, Any]) -> None:
    """Print what was checked; damage raises an error."""
    print(
        f"{result['output']}: {result['articles']:,} articles in {result['shards']:,} shards "
        f"({result['bytes'] / 1e6:,.1f} MB), all as they were stored"
    )


def print_export(result: dict[str, Any]) -> None:
    """Print one line."""
    print(f"{result['file']}: {result['articles']:,} articles")
