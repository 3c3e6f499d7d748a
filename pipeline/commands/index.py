"""`index`: a reference corpus for the coherence of topics, in one file."""

from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import IndexSettings


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "index",
        "index articles, as a reference for the coherence of any topics",
        IndexSettings,
        run,
        arguments="ARTICLES",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there already")


def run(arguments: Arguments) -> Outcome:
    """Index articles or texts."""
    settings = resolve(IndexSettings, "index", vars(arguments))
    from pipeline.indexing.index import index

    return Outcome(index(settings, force=arguments.force), print_index)


def print_index(result: dict[str, Any]) -> None:
    """Print what the file holds."""
    print(
        f"{result['output']}: {result['articles']:,} articles, {result['documents']:,} documents, "
        f"{result['words']:,} words, {result['tokens']:,} tokens of {result['positions']:,}, "
        f"{result['bytes'] / 1e6:,.1f} MB"
    )
    print(f"coherence by `python -m pipeline topics RUN --reference {result['output']}`")
