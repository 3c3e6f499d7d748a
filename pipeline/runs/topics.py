"""`topics`: what a run has learned."""

import logging
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models import SavedModel
from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.word_dependencies import N_DEPENDENCIES, strongest_dependencies
from pipeline.setting_sources import check_least
from pipeline.settings import TopicsSettings

if TYPE_CHECKING:
    from pipeline.exports.files import Files

logger = logging.getLogger(__name__)

WIDTH = 100  # Longest line of dependencies, in columns


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


def topic_rows(
    model: SavedModel, n_words: int, n_dependencies: int = N_DEPENDENCIES, by: str = "weight"
) -> list[dict[str, Any]]:
    """Return a row for each topic, most prevalent first: number, share of tokens, top words.

    Rows of Poisson MRFs also have up to `n_dependencies` `positive` and `negative` dependencies.
    """
    order: list[int] = list(range(model.topics.n_topics))
    if model.prevalence is not None:
        order = [int(k) for k in np.argsort(-model.prevalence, kind="stable")]
    top = model.topics.top_words(n_words)
    dependencies = strongest_dependencies(model, n_dependencies, by) if n_dependencies else None
    return [
        {
            "topic": k,
            "prevalence": None if model.prevalence is None else float(model.prevalence[k]),
            "words": [model.vocabulary[w] for w in top[k]],
            "probabilities": [float(p) for p in model.topics.topic_word[k, top[k]]],
        }
        | ({} if dependencies is None else asdict(dependencies[k]))
        for k in order
    ]


def format_topics(rows: list[dict[str, Any]]) -> str:
    """Format rows as lines: topic number, share of tokens, words; then dependencies."""
    lines = ["topic  share  words"]
    for row in rows:
        share = "     -" if row["prevalence"] is None else f"{row['prevalence']:6.1%}"
        lines.append(f"{row['topic']:5d} {share}  {' '.join(row['words'])}")
        if "positive" in row:
            lines += _dependency_lines(row)
    return "\n".join(lines)


def _dependency_lines(row: dict[str, Any]) -> list[str]:
    """Format pairs of words: positive dependencies after +, negative ones after -."""
    if not row["positive"] and not row["negative"]:
        return [" " * 14 + "(no dependencies)"]
    lines = []
    for sign, pairs in (("+", row["positive"]), ("-", row["negative"])):
        text = " ".join(f"{each['first']}{sign}{each['second']}" for each in pairs)
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=" " * 11 + sign + "  ",
            subsequent_indent=" " * 14,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
