"""`topics`: what a run has learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.topic_table import topic_rows

if TYPE_CHECKING:
    from models import SavedModel
    from pipeline.settings import TopicsSettings


def topics(settings: TopicsSettings, run_name: str) -> dict[str, Any]:
    """Return top words, prevalence and dependencies of each topic of a finished run."""
    if settings.words < 1:
        raise UsageError(f"--words must be at least 1, found {settings.words}")
    if settings.dependencies < 0:
        raise UsageError(
            f"--dependencies must be at least 1, or 0 to show none, found {settings.dependencies}"
        )
    if settings.picture and not settings.dependencies:
        raise UsageError("--picture draws dependencies: --dependencies must be at least 1 for it")
    run = LoadedRun.find(settings.runs, run_name)
    model = run.model
    rows = topic_rows(model, settings.words, settings.dependencies, settings.by)
    result = {"run": run.name, "topics": rows}
    if settings.picture:
        result["pictures"] = _draw(model, rows, run.name, Path(settings.picture))
    return result


def _draw(
    model: SavedModel, rows: list[dict[str, Any]], run_name: str, directory: Path
) -> list[str]:
    """Draw the dependencies, and return the paths of the files.

    Raises UsageError if the run has no dependencies.
    """
    # Imported here: drawing takes long to import.
    from pipeline.figures.word_graph import dependency_figure  # noqa: PLC0415
    from pipeline.figures.write import write_figures  # noqa: PLC0415

    if not any(row.get("positive") or row.get("negative") for row in rows):
        why = (
            "its penalty was too large for any"
            if "positive" in rows[0]
            else "only Poisson MRFs have them"
        )
        raise UsageError(f"--picture: no words of run {run_name!r} depend on each other: {why}")
    directory.mkdir(parents=True, exist_ok=True)
    drawn = {"dependencies": dependency_figure(model, rows)}
    return [str(path) for path in write_figures(drawn, directory)]
