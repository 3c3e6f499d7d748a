"""Page of one `allocate`: evidence over ranks and graphs, and the tables of the best model."""

import json
import logging
from pathlib import Path
from typing import Any

from markupsafe import Markup

from corpora.errors import CorpusFormatError
from pipeline.allocation.table import MAX_VALUES, what_was_done
from pipeline.figures.svg import DamagedFigureError, file_svg
from pipeline.report.page import render_template

logger = logging.getLogger(__name__)

FILE = "allocation.json"
CAPTIONS = {
    "allocation": "Evidence: the log-probability of the counts over rank, and the log odds of the "
    "models that come near the best.",
    "particles": "Effective number of particles after each token.",
    "factors": "Tables of the best model.",
}


def is_allocation(name: str) -> bool:
    """Whether `name` is a directory that `allocate` wrote."""
    return (Path(name) / FILE).is_file()


def allocation_page(directory: Path) -> str:
    """Return the page.

    Raises CorpusFormatError if the result is damaged, or of another version of this software.
    """
    path = directory / FILE
    try:
        result = json.loads(path.read_text("utf-8"))
        return render_template(
            "allocation.html.j2",
            None,
            title=f"Allocation of {Path(result['file']).name}",
            result=result,
            done=what_was_done(result),
            best=result["best"],
            figures=_figures(result, directory),
            most_values=MAX_VALUES,
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorpusFormatError(
            f"{path}: not a result of `allocate` as this version writes it ({error}): run the same "
            "`allocate` again"
        ) from error


def _figures(result: dict[str, Any], directory: Path) -> dict[str, tuple[Markup, str]]:
    """Return markup and caption of the undamaged figures, by name."""
    figures = {}
    for name, caption in CAPTIONS.items():
        if f"{name}.svg" not in result["files"]:
            continue
        try:
            svg = file_svg(directory / f"{name}.svg", name, caption)
        except DamagedFigureError as error:
            logger.warning("figure left out: %s", error)
            continue
        figures[name] = Markup(svg), caption  # noqa: S704 - made by file_svg
    return figures
