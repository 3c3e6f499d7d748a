"""Options of commands, from the fields of their settings."""

import argparse
from collections.abc import Callable
from dataclasses import Field, dataclass, fields
from typing import Any

from pipeline.errors import DONE
from pipeline.settings import NOT_SHARED

Arguments = argparse.Namespace


@dataclass(frozen=True)
class Outcome:
    """Result of a command: `--json` prints it as it is, `show` prints it for people."""

    result: dict[str, Any]
    show: Callable[[dict[str, Any]], None]
    exit_code: int = DONE


def add_command(
    commands: Any,
    name: str,
    help_text: str,
    settings: type[Any],
    run: Callable[[Arguments], Outcome],
    *,
    arguments: str = "",
    also: type[Any] | None = None,
) -> argparse.ArgumentParser:
    """Add a command whose options are the fields of a settings class, in its groups.

    Options that are not given are absent from the parsed arguments: environment and file may then
    set them. `arguments` is what the usage line shows before the options. `also` is a class whose
    fields, but those of `NOT_SHARED`, are options too.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        usage=" ".join(f"%(prog)s {arguments} [options]".split()),
    )
    parser.set_defaults(runner=run)
    _add_fields(parser, settings, ())
    if also is not None:
        _add_fields(parser, also, NOT_SHARED)
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("--quiet", action="store_true", help="no progress, only errors on stderr")
    return parser


def _add_fields(
    parser: argparse.ArgumentParser, settings: type[Any], left_out: tuple[str, ...]
) -> None:
    by_name = {each.name: each for each in fields(settings)}
    groups = getattr(settings, "GROUPS", {"settings": tuple(by_name)})
    for title, names in groups.items():
        group = parser.add_argument_group(title)
        for name in names:
            if name not in left_out:
                _add_field(group, title, by_name[name])


def _add_field(group: Any, title: str, each: Field[Any]) -> None:
    option, help_text = "--" + each.name.replace("_", "-"), each.metadata["help"].replace("%", "%%")
    models = ", ".join(each.metadata["of"])
    if title == f"--model {models}":
        help_text = help_text.removeprefix(f"{models}: ")
    if each.default is False:
        group.add_argument(option, action="store_true", default=argparse.SUPPRESS, help=help_text)
        return
    if each.metadata["is_positional"]:
        group.add_argument(
            each.name,
            nargs="?",
            default=argparse.SUPPRESS,
            metavar=each.metadata["metavar"],
            help=help_text,
        )
        return
    short = (each.metadata["short"],) if each.metadata["short"] else ()
    shown = "" if each.default is None or each.default == "" else f" (default: {each.default})"
    choices = each.metadata["choices"]  # checked by `resolve`, as those of environment and file
    group.add_argument(
        *short,
        option,
        default=argparse.SUPPRESS,
        metavar=each.metadata["metavar"] or (choices and "{" + ",".join(choices) + "}"),
        help=help_text + shown,
    )
