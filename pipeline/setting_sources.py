"""Sources of settings: command line over environment over `pipeline.toml` over defaults."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import UsageError
from pipeline.settings import choices_of

SETTINGS_FILE = "pipeline.toml"
SECTIONS = (
    *("download", "train", "evaluate", "topics", "infer", "select", "report"),
    *("reading-test", "allocate", "reproduce", "index"),
)
ENVIRONMENT_PREFIX = "WIKITOPICS_"

S = TypeVar("S")


def resolve(
    kind: type[S],
    section: str,
    given: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    settings_file: Path | None = None,
) -> S:
    """Return the settings of one command: given values, and defaults for the rest."""
    return kind(**asked_for(kind, section, given, environment, settings_file))


def asked_for(
    kind: type[Any],
    section: str,
    given: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    settings_file: Path | None = None,
) -> dict[str, Any]:
    """Return the given settings of a class of settings, each from the first source that names it.

    `given` are values of the command line by field name; text is converted. `WIKITOPICS_NO_BELOW`
    in the environment sets `no_below`. `section` is the command's table in the settings file, by
    default `pipeline.toml` of the working directory, if there is one. Of settings that exclude each
    other the first source that names one decides.

    Raises UsageError if a source names an unknown setting, gives an impossible value, or names
    several settings that exclude each other.
    """
    values: dict[str, Any] = {}
    known = {each.name: each for each in fields(kind)}
    exclusive = getattr(kind, "EXCLUSIVE", ())
    path = Path(SETTINGS_FILE) if settings_file is None else settings_file
    for name, value in read_table(path, section).items():
        key = name.replace("-", "_")
        if key not in known:
            raise UsageError(f"{path}: [{section}] has no setting {name!r}")
        values[key] = _checked(known[key], value, f"{path}: {name}")
    _check_exclusive(values, exclusive, f"{path}: ")
    in_environment: dict[str, Any] = {}
    for name, each in known.items():
        variable = ENVIRONMENT_PREFIX + name.upper()
        text = (os.environ if environment is None else environment).get(variable)
        if text is not None and not each.metadata["names_input"]:
            in_environment[name] = _checked(each, text, variable)
    on_command_line = {
        name: _checked(known[name], value, _option(known[name]))
        for name, value in given.items()
        if name in known
    }
    for name, value in on_command_line.items():
        if value == "" and known[name].metadata["is_positional"]:  # as of a variable without value
            raise UsageError(f"{_option(known[name])} is empty: name it, or leave it out")
    for source in (in_environment, on_command_line):
        _check_exclusive(source, exclusive, "")
        if any(source.get(name) for name in exclusive):
            values = _without_input(values, known, exclusive)
        values |= source
    return values


def _without_input(
    values: dict[str, Any], known: Mapping[str, Field[Any]], exclusive: Sequence[str]
) -> dict[str, Any]:
    """Return values without the setting that says what is read, and those that say how it is."""
    if not any(values.get(name) for name in exclusive):
        return values
    return {
        name: value
        for name, value in values.items()
        if name not in exclusive and not known[name].metadata["names_input"]
    }


def _check_exclusive(values: Mapping[str, Any], exclusive: Sequence[str], where: str) -> None:
    found = [name for name in exclusive if values.get(name)]
    if len(found) > 1:
        named = " and ".join("INPUT" if name == "input" else f"--{name}" for name in found)
        raise UsageError(f"{where}{named} both say what to read: leave one out")


def _option(each: Field[Any]) -> str:
    name: str = each.metadata["metavar"]
    return name if each.metadata["is_positional"] else "--" + each.name.replace("_", "-")


def read_table(path: Path, section: str) -> dict[str, Any]:
    """Read one table of a TOML file; empty if there is no such file or table."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from error
    unknown = sorted(set(tables) - set(SECTIONS))
    if unknown:
        raise UsageError(
            f"{path}: there is no section [{unknown[0]}], only "
            + ", ".join(f"[{each}]" for each in SECTIONS)
        )
    table = tables.get(section, {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {section} must be a table, [{section}]")
    return table


def as_table(settings: Any) -> dict[str, Any]:
    """Return settings as a TOML table: None is left out, and names of an input that are empty."""
    left_out = {each.name for each in fields(settings) if each.metadata["names_input"]}
    return {
        name: value
        for name, value in asdict(settings).items()
        if value is not None and (value != "" or name not in left_out)
    }


def from_table(kind: type[S], table: Mapping[str, Any], where: str) -> S:
    """Return settings from a table that `as_table` made."""
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise UsageError(f"{where}: unknown setting {unknown[0]!r}")
    return kind(**{n: _checked(known[n], v, f"{where}: {n}") for n, v in table.items()})


def check_least(settings: Any, **smallest: int) -> None:
    """Raise UsageError for a setting below its smallest value; None is no value."""
    for name, least in smallest.items():
        value = getattr(settings, name)
        if value is not None and value < least:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} must be at least {least}, found {value}")


def check_seed(seed: int) -> None:
    """Raise UsageError for a seed that random generators do not take."""
    if not 0 <= seed < 2**63:
        raise UsageError(f"--seed must be from 0 to 2**63 - 1, found {seed}")


def value_type(each: Field[Any]) -> type:
    """Return the type of a setting: int, float, bool or str."""
    return next(kind for kind in (int, float, bool, str) if each.type in (kind, kind | None))


def _checked(each: Field[Any], value: Any, where: str) -> Any:
    kind = value_type(each)
    if value is None and each.default is None:
        return None
    if kind is bool:
        if str(value).lower() not in ("true", "false"):
            raise UsageError(f"{where} must be true or false, found {value!r}")
        return str(value).lower() == "true"
    accepted = (int,) if kind is int else (int, float)  # TOML may say alpha = 0.1
    if isinstance(value, bool) or not isinstance(value, (*accepted, str)):
        raise UsageError(f"{where} must be {_A[kind]}, found {value!r}")
    try:
        converted = kind(value)
    except ValueError:
        raise UsageError(f"{where} must be {_A[kind]}, found {value!r}") from None
    choices = choices_of(each)
    if choices and converted not in choices:
        raise UsageError(f"{where} must be one of {', '.join(choices)}; found {converted!r}")
    if each.name == "threads" and converted == 0:
        raise UsageError(f"{where} must not be 0: give a number, or -1 for one a core")
    assert each.default is not MISSING
    return converted


_A = {int: "a whole number", float: "a number", str: "a text"}
