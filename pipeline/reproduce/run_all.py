"""`reproduce --all`: every experiment that has no result yet, and all results on one page."""

import json
import logging
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corpora import writer_lock
from corpora.files import atomic_write_text
from pipeline.errors import TRY_AGAIN, Interrupted, UsageError, exit_code_of, message_of
from pipeline.reproduce.claims import FAILED, is_older
from pipeline.reproduce.page import ExperimentView, Outcome, reproductions_page, views_of
from pipeline.reproduce.papers import EXPERIMENTS
from pipeline.reproduce.run import check, command_line, reproduce
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.version import software_version

logger = logging.getLogger(__name__)

PAGE = "report.html"
KNOWN = {"experiment": str, "scale": str, "seed": int, "name": str, "rows": list, "pictures": list}
"""Names and kinds of values that every result has."""


def reproduce_all(settings: ReproduceSettings, *, gather_only: bool = False) -> dict[str, Any]:
    """Run the experiments that have no result of this scale and seed, and write the page.

    A result of full scale serves for quick; one of an older version is replaced at its own scale
    alone. A failed experiment is named, and the others run. With `gather_only` nothing runs, and
    results of any scale and seed are taken. Raises UsageError if a setting makes no sense or is of
    single experiments, or there is nothing to gather; StoreLockedError if another process writes.
    """
    check(settings)
    directory = Path(settings.output or "reproduce")
    if gather_only:
        outcomes = {name: _gathered(name, directory, settings) for name in EXPERIMENTS}
        if not any(each.results for each in outcomes.values()):
            raise UsageError(
                f"--gather: there is no result in {directory}: give --output as it was given for "
                "--all, or --all alone"
            )
        return _written(outcomes, directory, settings, command_line("reproduce", "--gather"))
    directory.mkdir(parents=True, exist_ok=True)
    with writer_lock(directory):
        outcomes = {}
        for n, name in enumerate(EXPERIMENTS, start=1):
            there = _gathered(name, directory, settings)
            serving = [(scale, settings.seed) for scale in (settings.scale, "full")]
            kept = [r for r in there.results if r["scale"] != settings.scale or not is_older(r)]
            if any((result["scale"], result["seed"]) in serving for result in kept):
                logger.info("%d of %d, %s: has a result", n, len(EXPERIMENTS), name)
            elif EXPERIMENTS[name].needs:
                logger.info("%d of %d, %s: %s", n, len(EXPERIMENTS), name, _missing(name))
            else:
                logger.info("%d of %d, %s", n, len(EXPERIMENTS), name)
                there = _run(name, directory, settings)
            outcomes[name] = there
        return _written(outcomes, directory, settings, command_for("--all", settings))


def _gathered(name: str, directory: Path, settings: ReproduceSettings) -> Outcome:
    """Return the results of an experiment; without any, the reason."""
    results = results_in(directory / name, name)
    if results:
        return Outcome(results)
    problem = _missing(name) if EXPERIMENTS[name].needs else "it has not been run"
    return Outcome([], problem, command=command_for(name, settings))


def command_for(experiment: str, settings: ReproduceSettings) -> str:
    """Return the command that runs an experiment, or `--all`, with the options that it needs."""
    needs = shlex.split(EXPERIMENTS[experiment].needs) if experiment in EXPERIMENTS else ()
    given = ("--scale", settings.scale, "--seed", str(settings.seed))
    return command_line("reproduce", experiment, *needs, *given)


def results_in(directory: Path, experiment: str) -> list[dict[str, Any]]:
    """Return the finished results of an experiment in its directory, by file name. There are
    several of an experiment with variants, as of `--dataset`. Files without a result, such as
    damaged ones, are skipped with a warning.
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


def _missing(name: str) -> str:
    return f"it needs {EXPERIMENTS[name].needs}, {EXPERIMENTS[name].why}"


def _run(name: str, directory: Path, settings: ReproduceSettings) -> Outcome:
    """Run an experiment as `reproduce NAME` would; the outcome has the reason of a failure. Raises
    OSError if the disk is full, as no other experiment could write its result either.
    """
    problem = ""
    try:
        reproduce(replace(settings, output=str(directory / name)), name)
    except Exception as error:
        code = exit_code_of(error)
        is_disk_full = isinstance(error, OSError) and code == TRY_AGAIN
        if is_disk_full or isinstance(error.__cause__, Interrupted):
            raise
        if code is None:
            logger.exception("%s failed; this is a mistake in this software", name)
            problem = f"{type(error).__name__}: {message_of(error)}"
        else:
            problem = message_of(error)
            logger.warning("%s failed: %s", name, problem)
    command = command_for(name, settings) if problem else ""
    return Outcome(results_in(directory / name, name), problem, bool(problem), command)


def _written(
    outcomes: dict[str, Outcome], directory: Path, settings: ReproduceSettings, command: str
) -> dict[str, Any]:
    views = views_of(outcomes, directory)
    today, path = datetime.now(UTC).date().isoformat(), directory / PAGE
    atomic_write_text(path, reproductions_page(views, f"Gathered on {today} by {command}."))
    run = {"scale": settings.scale, "seed": settings.seed, "version": software_version()}
    failed = [view.experiment.name for view in views if view.verdict == FAILED]
    done = {"date": today, "experiments": [_row(view) for view in views], "failed": failed}
    return {"report": str(path), **run, **done}


def _row(view: ExperimentView) -> dict[str, Any]:
    return {
        "experiment": view.experiment.name,
        "paper": view.paper.short,
        "verdict": view.verdict,
        "problem": view.outcome.problem,
        "results": [
            {
                **{name: each.result[name] for name in ("name", "scale", "seed")},
                "verdict": each.verdict,
                **dict(zip(("figure", "ours", "published"), each.headline, strict=True)),
                "data": each.data,
                "claims": [
                    {"claim": claim.text, "name": claim.name, "of_paper": bool(claim.paper)}
                    | {"holds": claim.holds, "fails_at": list(claim.fails_at)}
                    for claim in each.findings
                ],
            }
            for each in view.results
        ],
    }
