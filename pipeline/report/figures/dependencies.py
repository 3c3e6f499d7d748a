"""Strongest dependencies between words of each topic, of Poisson Markov random fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from models import SavedModel
from pipeline.figures.style import MUTED, label
from pipeline.figures.word_graph import MAX_PANELS, dependency_figure
from pipeline.figures.write import Figure

LEGEND = (
    "Φ, of lines: how strongly two words depend on each other   "
    "exp θ, of circles: expected count of a word without dependencies"
)


def dependencies(model: SavedModel, rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Draw a graph of words for each of the most prevalent topics; None without dependencies."""
    pairs = [
        (each, row["topic"])
        for row in rows
        for each in (*row.get("positive", ()), *row.get("negative", ()))
    ]
    if not pairs:
        return None
    strongest, topic = max(pairs, key=lambda found: abs(found[0]["weight"]))
    together = "together" if strongest["weight"] > 0 else "apart"
    first, second = (label(strongest[which], 40) for which in ("first", "second"))
    panels = min(len(rows), MAX_PANELS)
    description = (
        f"Graphs of the words that depend on each other in {panels} of {len(rows):,} "
        f"{'topic' if len(rows) == 1 else 'topics'}. The strongest of {len(pairs):,} dependencies "
        f"is in topic {topic}: {first} and {second} are {together} more often than by chance, "
        f"Φ = {strongest['weight']:.2g}."
    )
    draw_graphs = dependency_figure(model, rows)

    def draw(figure: Any) -> None:
        draw_graphs(figure)
        height = 72 * figure.get_size_inches()[1]
        figure.text(0.01, 4 / height, LEGEND, fontsize=7, color=MUTED, va="bottom")

    return Figure("dependencies", "Words that depend on each other", description, draw)
