"""`reproduce`: one experiment, its numbers beside the published ones."""

import json
import logging
import shlex
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corpora import writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from pipeline.errors import UsageError
from pipeline.figures.write import write_figures
from pipeline.reproduce.claims import findings_of
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.setting_sources import check_least, check_seed
from pipeline.version import software_version


def reproduce(settings: ReproduceSettings, experiment: str) -> dict[str, Any]:
    """Run an experiment, and write its result as JSON and as figures. Raises UsageError if a
    setting makes no sense, or is one of other experiments.
    """
    check(settings, experiment)
    directory = Path(settings.output or Path("reproduce") / experiment)
    how = f"{experiment} at scale {settings.scale}, seed {settings.seed}"
    logging.getLogger(__name__).info("%s, into %s", how, directory)
    from pipeline.reproduce.papers import EXPERIMENTS  # noqa: PLC0415 - slow

    declared = EXPERIMENTS[experiment]
    directory.mkdir(parents=True, exist_ok=True)
    with writer_lock(directory):
        remove_partial_files(directory)
        found = declared.run(settings)
        result = {
            "experiment": experiment,
            "scale": settings.scale,
            "seed": settings.seed,
            "command": command_of(settings, experiment),
            "version": software_version(),
            "date": datetime.now(UTC).date().isoformat(),
            "path": str(directory),
            "pictures": [],
            **found.result,
            "findings": [each.as_json() for each in declared.findings(found.result)],
        }
        written = write_figures(declared.draw(found), directory)
        result["pictures"] = [path.name for path in written]
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(directory / f"{result['name']}.json", text)
    return result


def check(settings: ReproduceSettings, experiment: str = "") -> None:
    """Raise UsageError for a setting that the experiment does not have, or that makes no sense.
    `reproduce --all` names no experiment: it takes no setting that only some of them have.
    """
    remedy = ": give it with the experiment, whose result --all then takes as it is"
    if experiment:
        remedy = f", not {experiment}: leave it out"
    for each in fields(settings):
        names, value = each.metadata["of"], getattr(settings, each.name)
        if names and experiment not in names and value != each.default:
            option = "--" + each.name.replace("_", "-")
            raise UsageError(f"{option} is for {' or '.join(names)}{remedy}")
    check_seed(settings.seed)
    check_least(settings, pairs=2, held_out=2, topics=1, scored=2, max_tokens=2)
    check_least(settings, particles=2, repeats=2, moves=1, sweeps=1, words=2, documents=20)


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


def print_reproduction(result: dict[str, Any]) -> None:
    """Print the tables, the claims, and the path of the files."""
    from pipeline.reproduce.papers import EXPERIMENTS  # noqa: PLC0415 - slow

    for table in EXPERIMENTS[result["experiment"]].tables(result):
        for line in table.lines():
            print(line)
        print()
    for each in findings_of(result):
        print(f"{each.text}: " + ("yes" if each.holds else f"not at {', '.join(each.fails_at)}"))
    figures = " and figures" if result["pictures"] else ""
    print(f"{result['path']}: {result['name']}.json{figures}")
