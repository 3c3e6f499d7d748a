"""Figure of the dependencies between words: a graph for each topic."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from models import SavedModel
from pipeline.figures.style import BLUE, GRID, PAPER, VERMILION, label
from pipeline.figures.word_graph_layout import Box, laid_out

Draw = Callable[[Any], None]
Rows = Sequence[Mapping[str, Any]]

MAX_PANELS = 12  # Topics that are drawn, the most prevalent; a note counts the others
WORDS_ACROSS = 240  # Words in panels side by side; panels with more words are wider
POSITIVE, NEGATIVE = BLUE, VERMILION  # Colours of dependencies; negative ones are also dashed
POINTS = 72.0  # Points per inch
TITLE, LEGEND = 22.0, 34.0  # Heights in points
MARGIN = 6.0
FONT_SIZE = 7.5
LETTER = 0.62 * FONT_SIZE  # Width of a letter, a generous estimate
MAX_LETTERS = 24  # Letters of a word; longer words are cut
WIDEST, THINNEST = 4.0, 0.8  # Widths of lines in points
DASHES = (3.0, 1.5)  # Dash and gap, in points
LARGEST, SMALLEST = 22.0, 4.0  # Diameters of nodes, in points


def dependency_figure(model: SavedModel, rows: Rows) -> Draw:
    """Return a function that draws a panel for each of the rows of `topic_rows`.

    Top words are nodes, dependencies lines.
    """
    n_left_out = len(rows[MAX_PANELS:])
    rows = rows[:MAX_PANELS]
    scale = _Scale(model, rows)

    def draw(figure: Any) -> None:
        figure.set_layout_engine("none")
        most = max(len(_words(row)) for row in rows)
        n_columns = min(3, len(rows), max(1, WORDS_ACROSS // most))
        n_rows = -(-len(rows) // n_columns)
        width, height = POINTS * figure.get_size_inches()
        panel_width = width / n_columns
        graphs = [
            laid_out(
                {word: scale.box(row, word) for word in _words(row)},
                [(each["first"], each["second"]) for each in row["positive"] + row["negative"]],
                panel_width - 2 * MARGIN,
            )
            for row in rows
        ]
        # All panels are as high as the highest; the figure grows if they need it.
        room = max((height - LEGEND) / n_rows - TITLE - 2 * MARGIN, 0.0)
        inner = max([room if n_rows == 1 else 0.0, *(graph.height for graph in graphs)])
        panel_height = inner + TITLE + 2 * MARGIN
        height = n_rows * panel_height + LEGEND
        figure.set_size_inches(width / POINTS, height / POINTS)
        for number, (row, graph) in enumerate(zip(rows, graphs, strict=True)):
            line, column = divmod(number, n_columns)
            bottom = height - (line + 1) * panel_height
            axes = figure.add_axes(
                (
                    (column * panel_width + MARGIN) / width,
                    (bottom + MARGIN) / height,
                    (panel_width - 2 * MARGIN) / width,
                    inner / height,
                )
            )
            # One unit of data is a point: labels have the size of the layout.
            axes.set(xlim=(0, panel_width - 2 * MARGIN), ylim=(0, inner), xticks=[], yticks=[])
            axes.grid(visible=False)
            axes.spines[:].set_visible(True)
            axes.spines[:].set_color(GRID)
            share = "" if row["prevalence"] is None else f", {row['prevalence']:.1%} of tokens"
            none = "" if row["positive"] or row["negative"] else ": no dependencies"
            axes.set_title(f"topic {row['topic']}{share}{none}", fontsize=9, pad=4)
            _draw_graph(axes, row, graph.spread(inner), scale)
        _draw_legend(figure, scale, LEGEND / height)
        if n_left_out:
            left_out = f"{n_left_out} more topics are not drawn"
            figure.text(1 - MARGIN / width, MARGIN / height, left_out, ha="right", fontsize=7)

    return draw


class _Scale:
    """Widths of lines and sizes of nodes, the same in all panels."""

    def __init__(self, model: SavedModel, rows: Rows) -> None:
        self._column = {word: w for w, word in enumerate(model.vocabulary)}
        self._topic_word = model.topics.topic_word
        pairs = [each for row in rows for each in row["positive"] + row["negative"]]
        weights = [abs(each["weight"]) for each in pairs]
        self.largest_weight = max(weights, default=1.0)
        self.largest_probability = max(
            self.probability(row, word) for row in rows for word in _words(row)
        )

    def probability(self, row: Mapping[str, Any], word: str) -> float:
        return float(self._topic_word[row["topic"], self._column[word]])

    def line_width(self, weight: float) -> float:
        return max(THINNEST, WIDEST * abs(weight) / self.largest_weight)

    def diameter(self, probability: float) -> float:
        """Return the diameter of a node; areas are proportional to probabilities."""
        return max(SMALLEST, LARGEST * float(np.sqrt(probability / self.largest_probability)))

    def box(self, row: Mapping[str, Any], word: str) -> Box:
        """Return the box of a node with its label."""
        diameter = self.diameter(self.probability(row, word))
        return Box(max(diameter, LETTER * len(_short(word)) + 2), max(diameter, FONT_SIZE + 2))


def _words(row: Mapping[str, Any]) -> list[str]:
    pairs = row["positive"] + row["negative"]
    in_pairs = [word for each in pairs for word in (each["first"], each["second"])]
    return list(dict.fromkeys([*in_pairs, *row["words"]]))


def _short(word: str) -> str:
    return label(word, MAX_LETTERS)


def _draw_graph(
    axes: Any, row: Mapping[str, Any], place: Mapping[str, tuple[float, float]], scale: _Scale
) -> None:
    from matplotlib.patheffects import withStroke  # noqa: PLC0415 - slow

    for each in (*row["negative"], *row["positive"]):
        ends = place[each["first"]], place[each["second"]]
        line = _line(each["weight"], scale)
        axes.plot(*zip(*ends, strict=True), zorder=1, marker="", **line)
    for word, (x, y) in place.items():
        diameter = scale.diameter(scale.probability(row, word))
        is_top = word in row["words"]
        axes.scatter(x, y, s=diameter**2, color=GRID, linewidths=0, zorder=2)
        axes.text(
            *(x, y, _short(word)),
            fontsize=FONT_SIZE,
            fontweight="bold" if is_top else "normal",
            ha="center",
            va="center_baseline",
            zorder=3,
            parse_math=False,
            path_effects=[withStroke(linewidth=1.5, foreground=PAPER)],
        )


def _line(weight: float, scale: _Scale) -> dict[str, Any]:
    width = scale.line_width(weight)
    dashes = (0, tuple(points / width for points in DASHES))
    return {
        "color": POSITIVE if weight > 0 else NEGATIVE,
        "linestyle": "-" if weight > 0 else dashes,
        "linewidth": width,
    }


def _draw_legend(figure: Any, scale: _Scale, height: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow

    strong = float(f"{scale.largest_weight:.2g}")
    likely = float(f"{scale.largest_probability:.1g}")
    lines = {
        f"often together, Φ = {strong:g}": _line(strong, scale),
        f"Φ = {strong / 4:.2g}": _line(strong / 4, scale),
        f"seldom together, Φ = −{strong:g}": _line(-strong, scale),
        f"Φ = −{strong / 4:.2g}": _line(-strong / 4, scale),
    }
    handles = [Line2D([], [], label=text, **style) for text, style in lines.items()]
    for text, probability in ((f"exp θ = {likely:g}", likely), (f"{likely / 10:g}", likely / 10)):
        size = scale.diameter(probability)
        node = Line2D([], [], color=GRID, marker="o", linestyle="", label=text)
        node.set(markersize=size, markeredgewidth=0)
        handles.append(node)
    handles.append(Line2D([], [], linestyle="", label="bold: top words"))
    figure.legend(
        handles=handles,
        ncols=len(handles),
        loc="center",
        bbox_to_anchor=(0.5, height / 2),
        frameon=False,
        fontsize=7.5,
        columnspacing=1.4,
        handlelength=2.4,
    )
