"""Several models by all measures, a panel for each measure."""

from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D

from pipeline.figures.style import BLUE, INK, SKY, label
from pipeline.figures.write import Figure
from pipeline.report.figures.coherences import draw_measured
from pipeline.report.figures.comparison import name_rows
from pipeline.report.sections import MeasureColumn, MeasuresSection

ACROSS = 3  # Panels beside each other
ROW = 0.36  # Inches of a model in a panel
STYLES = {
    "best": (INK, "D", "best"),
    "": (BLUE, "o", "not told apart from the best, or not compared"),
    "worse": (SKY, "s", "worse than the best"),
}


def measures(section: MeasuresSection) -> Figure | None:
    """Draw each measure of the models with 95 % intervals."""
    columns = [each for each in section.columns if any(of.value is not None for of in each.figures)]
    if not columns:
        return None
    said = "; ".join(_said(each) for each in columns)
    description = (
        f"{len(section.models):,} models by {len(columns)} measures on the same "
        f"{section.documents:,} documents, with 95 % intervals: {said}."
    )
    return Figure(
        "measures",
        "The models by all measures",
        description,
        lambda figure: _draw(figure, section.models, columns),
    )


def _said(column: MeasureColumn) -> str:
    """Return the extremes of a measure and the best model in words."""
    known = [of.value for of in column.figures if of.value is not None]
    best = f", {label(column.best, 60)} is the best" if column.best else ""
    return f"{column.name} from {min(known):.3f} to {max(known):.3f}{best}"


def _draw(figure: Any, models: Sequence[str], columns: Sequence[MeasureColumn]) -> None:
    across = min(ACROSS, len(columns))
    down = -(-len(columns) // across)
    figure.set_size_inches(10, 0.7 + down * (1.1 + ROW * len(models)))
    figure.get_layout_engine().set(hspace=0.08, wspace=0.04)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).flat
    used = set()
    for axes, column in zip(panels, columns, strict=False):
        for y, (model, of) in enumerate(zip(models, column.figures, strict=True)):
            kind = "best" if model == column.best else "worse" if model in column.worse else ""
            used.add(kind)
            colour, marker, _ = STYLES[kind]
            if of.value is not None:
                draw_measured(axes, of, y, colour=colour, marker=marker)
        better = {"low": ", low is good", "high": ", high is good"}.get(column.better, "")
        axes.set_title(f"{column.name}{better}", loc="left", fontsize=10, parse_math=False)
        name_rows(axes, [label(model, 24) for model in models], 4)
    for axes in list(figure.axes)[len(columns) :]:
        axes.set_visible(False)
    mark: dict[str, Any] = {"linestyle": "", "markersize": 7}
    keys = [
        Line2D([], [], color=colour, marker=marker, label=text, **mark)
        for kind, (colour, marker, text) in STYLES.items()
        if kind in used
    ]
    figure.legend(handles=keys, loc="outside lower left", ncols=3, frameon=False)
