"""`reproduce`: one experiment, its numbers beside the published ones."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from pipeline.cache.results import ResultCache
from pipeline.errors import UsageError
from pipeline.figures.write import write_figures
from pipeline.reproduce.claims import findings_of
from pipeline.reproduce.papers import EXPERIMENTS
from pipeline.reproduce.results import command_of
from pipeline.version import software_version

if TYPE_CHECKING:
    from pipeline.reproduce.settings import ReproduceSettings


def reproduce(settings: ReproduceSettings, experiment: str) -> dict[str, Any]:
    """Run an experiment, and write its result as JSON and as figures.

    Raises UsageError if a setting makes no sense, or is one of other experiments.
    """
    _check(settings, experiment)
    declared = EXPERIMENTS[experiment]
    directory = Path(settings.output or Path("reproduce") / experiment)
    directory.mkdir(parents=True, exist_ok=True)
    with writer_lock(directory):
        remove_partial_files(directory)
        found = declared.run(settings, ResultCache())
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
            "findings": [each.as_json() for each in declared.findings(found)],
        }
        written = write_figures(declared.draw(found), directory)
        result["pictures"] = [path.name for path in written]
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(directory / f"{result['name']}.json", text)
    return result


def _check(settings: ReproduceSettings, experiment: str) -> None:
    """Refuse settings of other experiments, and what makes no sense."""
    for each in fields(settings):
        experiments, value = each.metadata["of"], getattr(settings, each.name)
        if experiments and experiment not in experiments and value != each.default:
            raise UsageError(
                f"--{each.name.replace('_', '-')} is for {' or '.join(experiments)}, not "
                f"{experiment}: leave it out"
            )
    check_numbers(settings)


def check_numbers(settings: ReproduceSettings) -> None:
    """Refuse numbers that make no sense.

    Raises
    ------
    UsageError
        If there is one; the message says which and what it may be.
    """
    if not 0 <= settings.seed < 2**63:
        raise UsageError(f"--seed must be from 0 to 2**63 - 1, found {settings.seed}")
    for name, number, least in (
        ("--pairs", settings.pairs, 2),
        ("--held-out", settings.held_out, 2),
        ("--topics", settings.topics, 1),
        ("--scored", settings.scored, 2),
        ("--max-tokens", settings.max_tokens, 2),
        ("--particles", settings.particles, 2),
        ("--repeats", settings.repeats, 2),
        ("--moves", settings.moves, 0),
        ("--words", settings.words, 2),
        ("--documents", settings.documents, 20),
    ):
        if number is not None and number < least:
            raise UsageError(f"{name} must be at least {least}, found {number}")


def print_reproduction(result: dict[str, Any]) -> None:
    """Print the tables, the claims, and the path of the files."""
    for table in EXPERIMENTS[result["experiment"]].tables(result):
        for line in table.lines():
            print(line)
        print()
    for each in findings_of(result):
        print(f"{each.text}: " + ("yes" if each.holds else f"not at {', '.join(each.fails_at)}"))
    figures = " and figures" if result["pictures"] else ""
    print(f"{result['path']}: {result['name']}.json{figures}")
