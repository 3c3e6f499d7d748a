"""`cache`: size of the cached results, and their deletion."""

from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.settings import NoSettings


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "cache", "what is cached of results, and how much space it takes", NoSettings, run
    )
    parser.add_argument("--clear", action="store_true", help="delete all cached results")


def run(arguments: Arguments) -> Outcome:
    """Look at the cache, or clear it."""
    return Outcome(cache(clear=arguments.clear), print_cache)


def cache(*, clear: bool = False) -> dict[str, Any]:
    """Return the size of the cache; with `clear`, delete all entries.

    Raises OSError if an entry cannot be deleted.
    """
    from pipeline.cache.results import ResultCache

    results = ResultCache()
    kinds = results.size()
    if clear:
        results.clear()
    return {
        "directory": str(results.directory),
        "cleared": clear,
        "entries": sum(each.entries for each in kinds.values()),
        "bytes": sum(each.bytes for each in kinds.values()),
        "kinds": {name: each._asdict() for name, each in kinds.items()},
    }


def print_cache(result: dict[str, Any]) -> None:
    """Print the directory, a line for each kind, and the sum."""
    print(result["directory"])
    width = max(map(len, (*result["kinds"], "deleted")))
    rows = {**result["kinds"], "deleted" if result["cleared"] else "in all": result}
    for name, each in rows.items():
        print(f"{name:{width}s} {each['entries']:>9,} entries {each['bytes'] / 1e6:>10,.1f} MB")
