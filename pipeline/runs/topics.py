"""`topics`: what a run has learned."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import SavedModel
from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.topic_rows import topic_rows
from pipeline.setting_sources import check_least
from pipeline.settings import TopicsSettings

if TYPE_CHECKING:
    from pipeline.exports.files import Files

logger = logging.getLogger(__name__)


def topics(settings: TopicsSettings, run_name: str, files: "Files | None" = None) -> dict[str, Any]:
    """Return top words, prevalence and dependencies of each topic of a finished run.

    `files` are written for other tools; the result then has their names and sizes.
    """
    check_least(settings, words=1)
    if settings.dependencies < 0:
        raise UsageError(
            f"--dependencies must be at least 1, or 0 to show none, found {settings.dependencies}"
        )
    if settings.picture and not settings.dependencies:
        raise UsageError("--picture draws dependencies: --dependencies must be at least 1 for it")
    if files is not None:
        files.check()
    run = LoadedRun.find(settings.runs, run_name)
    model = run.model
    rows = topic_rows(model, settings.words, settings.dependencies, settings.by)
    result: dict[str, Any] = {"run": run.name, "topics": rows}
    if settings.picture:
        result["pictures"] = _draw(model, rows, run.name, Path(settings.picture))
    if files is not None and files.named:
        result["files"] = files.write(run)
    return result


def _draw(
    model: SavedModel, rows: list[dict[str, Any]], run_name: str, directory: Path
) -> list[str]:
    """Draw the dependencies, and return the paths of the files.

    Raises UsageError if the run has no dependencies.
    """
    if not any(row.get("positive") or row.get("negative") for row in rows):
        why = (
            "its penalty was too large for any"
            if "positive" in rows[0]
            else "only Poisson MRFs have them"
        )
        raise UsageError(f"--picture: no words of run {run_name!r} depend on each other: {why}")
    logger.info("drawing the dependencies of run %s into %s", run_name, directory)
    # Imported here: drawing takes long to import.
    from pipeline.figures.word_graph import dependency_figure  # noqa: PLC0415
    from pipeline.figures.write import write_figures  # noqa: PLC0415

    directory.mkdir(parents=True, exist_ok=True)
    drawn = {"dependencies": dependency_figure(model, rows)}
    return [str(path) for path in write_figures(drawn, directory)]
