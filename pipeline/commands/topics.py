"""`topics`: what a run has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from models import load_model
from pipeline.errors import UsageError
from pipeline.runs import RunDirectory, find_run
from pipeline.topic_table import format_topics, topic_rows

if TYPE_CHECKING:
    from models import SavedModel
    from pipeline.settings import TopicsSettings


def topics(settings: TopicsSettings, run_name: str) -> dict[str, Any]:
    """Top words and prevalence of each topic of a finished run."""
    if settings.words < 1:
        raise UsageError(f"--words must be at least 1, found {settings.words}")
    run = find_run(settings.runs, run_name)
    return {"run": run.path.name, "topics": topic_rows(finished_model(run), settings.words)}


def print_topics(result: dict[str, Any]) -> None:
    """A table for people."""
    print(format_topics(result["topics"]))


def finished_model(run: RunDirectory) -> SavedModel:
    """The model of a run.

    Raises
    ------
    UsageError
        If training has not come to its end.
    """
    if not run.model_path.exists():
        raise UsageError(
            f"run {run.path.name!r} has no model yet: go on with "
            f"`python -m pipeline train --runs {run.path.parent} --run {run.path.name}`"
        )
    return load_model(run.model_path)
