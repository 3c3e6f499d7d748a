"""`topics`: what a run has learned."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models import SavedModel
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.runs.document_rows import document_rows
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.topic_rows import topic_rows
from pipeline.runs.topics_over import document_shares, group_rows, topics_over
from pipeline.setting_sources import check_least
from pipeline.settings import TopicsSettings

if TYPE_CHECKING:
    from pipeline.exports.files import Files

logger = logging.getLogger(__name__)


def topics(settings: TopicsSettings, run_name: str, files: "Files | None" = None) -> dict[str, Any]:
    """Return top words, prevalence and dependencies of each topic of a finished run.

    `files` are written for other tools; the result then has their names and sizes.
    """
    _check(settings)
    if files is not None:
        files.check()
    run = LoadedRun.find(settings.runs, run_name)
    model = run.model
    rows = topic_rows(model, settings.words, settings.dependencies, settings.by)
    result: dict[str, Any] = {"run": run.name, "topics": rows}
    if settings.reference:
        result["coherence"] = _add_coherence(model, rows, settings)
    if settings.over:
        result["over"] = {"column": settings.over, "groups": _over(settings, run)}
    if settings.picture:
        result["pictures"] = _draw(model, rows, run.name, Path(settings.picture))
    if files is not None and files.named:
        result["files"] = files.write(run)
    return result


def _check(settings: TopicsSettings) -> None:
    """Raise UsageError if a setting makes no sense."""
    check_least(settings, words=1)
    if settings.dependencies < 0:
        raise UsageError(
            f"--dependencies must be at least 1, or 0 to show none, found {settings.dependencies}"
        )
    if settings.picture and not settings.dependencies:
        raise UsageError("--picture draws dependencies: --dependencies must be at least 1 for it")
    if not settings.over and (settings.period is not None or settings.groups is not None):
        raise UsageError("--period and --groups need --over COLUMN")
    if settings.measure != TopicsSettings.measure and not settings.reference:
        raise UsageError("--measure needs --reference FILE, in which coherence is counted")


def _add_coherence(
    model: SavedModel, rows: list[dict[str, Any]], settings: TopicsSettings
) -> dict[str, Any]:
    """Add the coherence of each topic to its row, and return that of all."""
    # Imported here: kernels take long to import.
    from evaluation.topics.reference.index import ReferenceIndex  # noqa: PLC0415
    from pipeline.runs.topic_coherence import TopicCoherence  # noqa: PLC0415

    reference = ReferenceIndex.open(settings.reference)
    found = TopicCoherence.count(model, reference, settings.measure, settings.words)
    for row in rows:
        row["coherence"] = found.row(row["topic"])
    return found.summary


def _over(settings: TopicsSettings, run: LoadedRun) -> list[dict[str, Any]]:
    """Return the mean shares of topics by a column.

    Raises UsageError if there is no such column, or it does not group documents.
    """
    shares = document_shares(run, effective_n_jobs(settings.threads))
    n_tokens = np.asarray(run.corpus.counts.sum(axis=1), dtype=np.int64)
    rows = document_rows(run)
    try:
        found = topics_over(rows, shares, n_tokens, settings.over, settings.period, settings.groups)
    except (KeyError, ValueError) as error:
        raise UsageError(f"--over {settings.over}: {error.args[0]}") from error
    return group_rows(found)


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
