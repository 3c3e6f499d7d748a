"""Results of experiments on disk: what is there, and whether it is what is asked for."""

from __future__ import annotations

import json
import logging
import shlex
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pipeline.reproduce.papers import EXPERIMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.reproduce.settings import ReproduceSettings

logger = logging.getLogger(__name__)

KNOWN = {"experiment": str, "scale": str, "seed": int, "name": str, "rows": list, "pictures": list}
"""What every result has, and of what kind."""


def results_in(directory: Path, experiment: str) -> list[dict[str, Any]]:
    """The finished results of an experiment in its directory, by file name.

    There are several where it has variants, as of `--dataset`. Files that hold no result, such as
    a damaged one, are skipped with a warning.
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
    """Whether a result is of the seed and of the scale that are asked for, or of full scale."""
    return result["seed"] == settings.seed and result["scale"] in (settings.scale, "full")


def command_of(settings: ReproduceSettings, experiment: str) -> str:
    """What to type for the same figures: options that change them, scale and seed always."""
    options = []
    for each in fields(settings):
        value = getattr(settings, each.name)
        is_said = each.name in ("scale", "seed") or value != each.default
        if is_said and each.name not in ("output", "threads"):
            options += ["--" + each.name.replace("_", "-"), str(value)]
    return command_line("reproduce", experiment, *options)


def command_line(*words: str) -> str:
    """A command of this software, for a shell."""
    return "python -m pipeline " + shlex.join(words)


def command_for(experiment: str, settings: ReproduceSettings) -> str:
    """How to run an experiment that has not been run, with what it needs."""
    needs = shlex.split(EXPERIMENTS[experiment].needs)
    given: Sequence[str] = ("--scale", settings.scale, "--seed", str(settings.seed))
    return command_line("reproduce", experiment, *needs, *given)
