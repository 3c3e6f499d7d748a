"""Reference pages made from the code: commands, settings, and the Python interface.

`write_pages` puts them beside the written pages of docs/reference; git does not keep them. They are
Markdown with directives of Sphinx, which MyST reads.
"""

from __future__ import annotations

import argparse
import pkgutil
import re
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pipeline
from docs.house_map import house_page, rooms
from pipeline.cli import build_parser
from pipeline.setting_sources import ENVIRONMENT_PREFIX, SECTIONS, SETTINGS_FILE, value_type
from pipeline.settings import choices_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import Field
    from pathlib import Path

GENERATED = ("commands", "python", "house")
"""Folders of docs/reference whose pages are all made here."""

KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}


@dataclass(frozen=True)
class Setting:
    """A setting that a command has, and the table of pipeline.toml that it is in."""

    command: str
    table: str
    field: Field[Any]

    @property
    def option(self) -> str:
        """As the command line has it."""
        if self.field.metadata["is_positional"]:
            return str(self.field.metadata["metavar"])
        return "--" + self.field.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """As the environment has it; empty if it does not."""
        is_left_out = self.field.metadata["names_input"]
        return "" if is_left_out else ENVIRONMENT_PREFIX + self.field.name.upper()

    @property
    def names(self) -> str:
        """As settings file and environment have it, in words."""
        name = f"`{self.field.name}` in `[{self.table}]`"
        return f"{name}, `{self.variable}` in the environment." if self.variable else f"{name}."

    @property
    def default(self) -> str:
        """The default for people."""
        if self.field.default is None or self.field.default == "":
            return "none"
        if isinstance(self.field.default, bool):
            return str(self.field.default).lower()
        return f"`{self.field.default}`"

    @property
    def values(self) -> str:
        """What it can be: its choices, or what kind of thing."""
        choices = choices_of(self.field)
        return ", ".join(f"`{each}`" for each in choices) if choices else KINDS[self.kind]

    @property
    def kind(self) -> type:
        """What text is converted to."""
        return value_type(self.field)

    @property
    def of(self) -> tuple[str, ...]:
        """Models, experiments or graphs that have it; empty if all have."""
        return tuple(self.field.metadata["of"])

    @property
    def meaning(self) -> str:
        """The help text, as a sentence and without what `of` says."""
        text = self.field.metadata["help"].removeprefix(", ".join(self.of) + ": ")
        return sentence(text)


def sentence(text: str) -> str:
    """A help text as a sentence of Markdown."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z](?:[a-z-]*[a-z])?)", text[0].upper() + text[1:])
    for i, part in enumerate(parts):
        is_code = i % 2
        if is_code:
            parts[i] = f"`{part.strip('`')}`"
        else:  # what Markdown would take for its own
            parts[i] = re.sub(r"([*_|<>\[\]`\\])", r"\\\1", part)
    text = "".join(parts)
    return text if text.endswith((".", "?")) else text + "."


@cache
def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, in the order of `--help`."""
    (found,) = (
        each
        for each in build_parser()._actions  # noqa: SLF001 - argparse has no other way
        if isinstance(each, argparse._SubParsersAction)  # noqa: SLF001
    )
    return dict(found.choices)


def settings_classes() -> dict[str, type[Any]]:
    """The settings dataclass of each command that has settings, by the command's name.

    They are found by their names, in the modules of `pipeline` that are named after settings.

    Raises
    ------
    LookupError
        If a table of pipeline.toml has no class: its settings would be missing from the reference.
    """
    classes: dict[str, type[Any]] = {}
    for module in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if not module.name.endswith("settings"):
            continue
        for name, value in vars(import_module(module.name)).items():
            if name.endswith("Settings") and is_dataclass(value) and isinstance(value, type):
                words = re.findall("[A-Z][a-z]*", name.removesuffix("Settings"))
                classes["-".join(words).lower()] = value
    missing = [name for name in SECTIONS if name not in classes]
    if missing:
        raise LookupError(
            f"no settings class for {', '.join(missing)}: expected one named "
            f"{missing[0].title().replace('-', '')}Settings in a module pipeline/…settings.py"
        )
    return {name: classes[name] for name in SECTIONS}


def settings_of(command: str) -> list[Setting]:
    """All settings of a command; those of `select` include what it hands to its runs."""
    classes = settings_classes()
    known = {
        each.name: Setting(command, table, each)
        # `train` first, so that a command's own settings win over those that it borrows.
        for table in dict.fromkeys(("train", command))
        if table in classes
        for each in fields(classes[table])
    }
    names = [action.dest for action in visible_actions(commands()[command])]
    return [known[name] for name in names if name in known]


def visible_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Arguments and options that `--help` shows, but for `--help`."""
    for action in parser._actions:  # noqa: SLF001
        if action.dest != "help" and action.help is not argparse.SUPPRESS:
            yield action


def page_makers() -> dict[str, Callable[[], str]]:
    """What makes each page, by its path below docs/reference, without `.md`."""
    made: dict[str, Callable[[], str]] = {
        f"commands/{name}": partial(command_page, name, each) for name, each in commands().items()
    }
    made["commands/settings"] = settings_page
    made["house/map"] = lambda: house_page(rooms())
    return made | {f"python/{name}": partial(python_page, name) for name in PYTHON}


def command_page(name: str, parser: argparse.ArgumentParser) -> str:
    """The page of one command."""
    lines = [f"# `{name}`", "", parser.description or "", "", f"    {usage(name, parser)}", ""]
    settings = {each.field.name: each for each in settings_of(name)}
    arguments = [each for each in visible_actions(parser) if not each.option_strings]
    options = [each for each in visible_actions(parser) if each.option_strings]
    lines += ["```{program} " + name, "```", ""]
    if arguments:
        lines += ["## Arguments", ""]
        for action in arguments:
            shown = f"{action.metavar} …" if action.nargs == "+" else str(action.metavar)
            told = [sentence(action.help or "")]
            if action.dest in settings:
                told.append(settings[action.dest].names)
            lines += option_entry(shown, told)
    groups = {"Settings": settings_entries(options, settings)}
    borrowed = [each for each in settings.values() if each.table != name]
    if borrowed:
        own = [each for each in options if settings.get(each.dest) not in borrowed]
        groups = {
            "Settings": settings_entries(own, settings),
            "Settings of its runs": [
                f"As for `train`, in `[{borrowed[0].table}]` of `{SETTINGS_FILE}`.",
                "",
                *settings_entries([each for each in options if each not in own], settings),
            ],
        }
    for title, entries in groups.items():
        if entries:
            lines += [f"## {title}", "", *entries]
    others = [each for each in options if each.dest not in settings]
    lines += ["## Other options", ""]
    for action in others:
        lines += option_entry(in_full(action), [sentence(action.help or "")])
    return "\n".join(lines).rstrip() + "\n"


def usage(name: str, parser: argparse.ArgumentParser) -> str:
    """One line: the command and its arguments."""
    shown = []
    for action in visible_actions(parser):
        if not action.option_strings:
            metavar = str(action.metavar)
            shown.append({"?": f"[{metavar}]", "+": f"{metavar} …"}.get(str(action.nargs), metavar))
    return " ".join(["python -m pipeline", name, *shown, "[options]"])


def settings_entries(options: list[argparse.Action], settings: dict[str, Setting]) -> list[str]:
    """What is said of each option that is a setting, and of its names elsewhere."""
    lines = []
    for action in options:
        if action.dest not in settings:
            continue
        each = settings[action.dest]
        told = [each.meaning]
        if each.of:
            told.append("For " + ", ".join(f"`{one}`" for one in each.of) + ".")
        told.append(f"Value: {each.values}. Default: {each.default}.\\\n{each.names}")
        lines += option_entry(in_full(action), told)
    return lines


def in_full(action: argparse.Action) -> str:
    """An option with what it takes."""
    takes = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(f"{each}{takes}" for each in action.option_strings)


def option_entry(name: str, told: list[str]) -> list[str]:
    """A described option that can be linked to and searched for."""
    body = [line for each in told for line in (each, "")]
    return ["````{option} " + name, "", *body, "````", ""]


INTRODUCTION = (
    "A setting comes from the command line; else from the environment, where `no_below` is "
    f"`{ENVIRONMENT_PREFIX}NO_BELOW`; else from its command's table in `{SETTINGS_FILE}` in the "
    "working directory; else it has its default."
)
OF_SEVERAL_COMMANDS = (
    "A variable of the environment speaks to every command that has the setting; what is read and "
    "how (`INPUT`, `--format` and the like) is not taken from there. `select` takes "
    "the settings of its runs from `[train]`. `train` keeps what it was told, from whatever "
    "source, in `settings.toml` of the run."
)


def settings_page() -> str:
    """Every setting of every command in one table."""
    lines = [
        "# All settings",
        "",
        INTRODUCTION,
        "",
        f"    # {SETTINGS_FILE}",
        "    [train]",
        "    no_below = 10",
        '    parts_of_speech = "NOUN,PROPN"',
        "",
        OF_SEVERAL_COMMANDS,
    ]
    for table, kind in settings_classes().items():
        lines += ["", f"## `[{table}]`", ""]
        lines += ["| setting | environment | default | for |", "|---|---|---|---|"]
        for field in fields(kind):
            each = Setting(table, table, field)
            only = ", ".join(f"`{one}`" for one in each.of) or "all"
            variable = f"`{each.variable}`" if each.variable else "-"
            lines.append(f"| `{field.name}` | {variable} | {each.default} | {only} |")
    return "\n".join(lines) + "\n"


PYTHON = {
    "pipeline": ("Runs", ("pipeline",)),
    "corpora": (
        "Articles, tokens and bags of words",
        ("corpora", "corpora.inputs", "corpora.formats"),
    ),
    "models": ("Models", ("models",)),
    "evaluation": ("Evaluation", ("evaluation",)),
    "downloader": (
        "Downloading",
        (
            *("downloader.sources", "downloader.crawl", "downloader.live"),
            *("downloader.random_pages", "downloader.titles", "downloader.category"),
            *("downloader.content", "downloader.cirrus", "downloader.dump_files"),
            *("downloader.file_progress", "downloader.mediawiki_api", "downloader.http_client"),
            *("downloader.rate_limit", "downloader.errors"),
        ),
    ),
}
"""Pages of the Python interface: title and modules."""


def public_names(module: str) -> list[str]:
    """What a module is for: `__all__`, or what it defines under names without an underscore."""
    found = import_module(module)
    if hasattr(found, "__all__"):
        return list(found.__all__)
    return [
        name
        for name, value in vars(found).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == module
        and (isinstance(value, type) or callable(value))
    ]


def python_page(package: str) -> str:
    """The page of one package: each public class and function by its docstring."""
    title, modules = PYTHON[package]
    lines = [f"# `{package}`: {title}", ""]
    for module in modules:
        found = import_module(module)
        lines += [f"## `{module}`", "", sentence_of(found), ""]
        values = {name: getattr(found, name) for name in public_names(module)}
        types = {name: value for name, value in values.items() if isinstance(value, type)}
        errors = {name for name, value in types.items() if issubclass(value, BaseException)}
        kinds = {
            "Classes": [name for name in types if name not in errors],
            "Functions": [name for name, value in values.items() if is_function(value)],
            "Errors": sorted(errors),
        }
        kinds["Values"] = [name for name in values if not any(name in k for k in kinds.values())]
        for kind, names in kinds.items():
            if names:
                lines += [f"### {kind}" if len(modules) == 1 else f"**{kind}**", ""]
            for name in names:
                lines += python_entry(module, name, kind)
    return "\n".join(lines).rstrip() + "\n"


def is_function(value: Any) -> bool:
    """Whether this is called and is no class; a union of types is neither."""
    return callable(value) and not isinstance(value, type) and hasattr(value, "__name__")


def sentence_of(module: Any) -> str:
    """The first line of a module's docstring."""
    return (module.__doc__ or "").strip().splitlines()[0]


DIRECTIVES = {"Classes": "class", "Errors": "exception", "Functions": "function"}
NOT_OURS = (
    *("BaseEstimator", "TransformerMixin", "ClassNamePrefixFeaturesOutMixin"),
    *("_MetadataRequester", "_SetOutputMixin", "BaseException", "object", "Protocol", "tuple"),
)
"""Classes whose members are not documented here when ours inherit them."""


def python_entry(module: str, name: str, kind: str) -> list[str]:
    """The directive that shows one name."""
    if kind == "Values":
        # Sphinx would take the docstring of its type for its own.
        return ["```{eval-rst}", f".. py:data:: {module}.{name}", "```", ""]
    lines = ["```{eval-rst}", f".. auto{DIRECTIVES[kind]}:: {module}.{name}"]
    if kind in ("Classes", "Errors"):
        lines += ["   :members:", f"   :inherited-members: {', '.join(NOT_OURS)}"]
    return [*lines, "```", ""]


def write_pages(folder: Path) -> None:
    """Write all pages below `folder`, those that changed only, and remove what is there no more."""
    found = {folder / f"{name}.md": make() for name, make in page_makers().items()}
    for path, text in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in (each for name in GENERATED for each in (folder / name).glob("*.md")):
        if path not in found:
            path.unlink()
