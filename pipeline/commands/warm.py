"""`warm`: compile all kernels now, for images, clusters and workshops."""

from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import WarmSettings


def add(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands, "warm", "compile all kernels now, so that no command has to", WarmSettings, run
    )


def run(arguments: Arguments) -> Outcome:
    """Compile the kernels that are not in the cache."""
    settings = resolve(WarmSettings, "warm", vars(arguments))
    from pipeline.warming.warm import warm

    return Outcome(warm(settings), print_warming)


def print_warming(result: dict[str, Any]) -> None:
    """Print how many kernels are ready, and where."""
    print(
        f"{result['kernels']} compiled kernels, {result['bytes'] / 1e6:.1f} MB, in "
        f"{result['directory']}; {result['seconds']:.0f} s"
    )
