"""Results of experiments on disk: what is there, and whether it is what is asked for."""

import json
import logging
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

from pipeline.reproduce.papers import EXPERIMENTS
from pipeline.reproduce.settings import ReproduceSettings

logger = logging.getLogger(__name__)

KNOWN = {"experiment": str, "scale": str, "seed": int, "name": str, "rows": list, "pictures": list}
"""Names and kinds of values that every result has."""


def results_in(directory: Path, experiment: str) -> list[dict[str, Any]]:
    """Return the finished results of an experiment in its directory, by file name.

    There are several of an experiment with variants, as of `--dataset`. Files without a result,
    such as damaged ones, are skipped with a warning.
    """
    found = []
    for path in sorted(directory.glob("*.json")):
        try:
            result = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            logger.warning("%s is skipped: %s", path, error)
            continue
        if not isinstance(result, dict) or result.get("experiment") != experiment:
            continue
        wrong = [name for name, kind in KNOWN.items() if not isinstance(result.get(name), kind)]
        if wrong:
            logger.warning("%s is skipped: no %s in it", path, ", ".join(wrong))
            continue
        found.append(result)
    return found


def serves(result: dict[str, Any], settings: ReproduceSettings) -> bool:
    """Return whether a result has the seed of the settings, and their scale or full scale."""
    return result["seed"] == settings.seed and result["scale"] in (settings.scale, "full")


def command_of(settings: ReproduceSettings, experiment: str) -> str:
    """Return the command for the same figures: options that change them, scale and seed always."""
    options = []
    for each in fields(settings):
        value = getattr(settings, each.name)
        is_said = each.name in ("scale", "seed") or value != each.default
        if is_said and each.name not in ("output", "threads"):
            options += ["--" + each.name.replace("_", "-"), str(value)]
    return command_line("reproduce", experiment, *options)


def command_line(*words: str) -> str:
    """Return a command of this software, for a shell."""
    return "python -m pipeline " + shlex.join(words)


def command_for(experiment: str, settings: ReproduceSettings) -> str:
    """Return the command that runs an experiment, or `--all`, with the options that it needs."""
    needs = shlex.split(EXPERIMENTS[experiment].needs) if experiment in EXPERIMENTS else ()
    given = ("--scale", settings.scale, "--seed", str(settings.seed))
    return command_line("reproduce", experiment, *needs, *given)
