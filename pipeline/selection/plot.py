"""Plot of the table of a selection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.figures.style import LINES, MUTED, series_style
from pipeline.figures.write import write_figures


def plot_selection(
    rows: Sequence[dict[str, Any]], recommended: int, directory: Path, scored: str
) -> list[Path]:
    """Write `select.svg` and `select.png`: each column of `rows_of` against K, one K marked.

    `scored` is the name of the part that perplexity is measured on.
    """
    topics = [row["topics"] for row in rows]
    panels = {
        f"perplexity of the {scored} part": ["perplexity"],
        "nats a word above the best, paired": ["difference"],
        "seconds of training": ["seconds"],
        "coherence: c_v, c_npmi": ["c_v", "c_npmi"],
        "coherence: u_mass": ["u_mass"],
        "diversity, exclusivity": ["diversity", "exclusivity"],
    }

    def draw(figure: Any) -> None:
        for axes, (title, names) in zip(figure.subplots(2, 3).flat, panels.items(), strict=True):
            axes.axvline(recommended, color=MUTED, linestyle=":", linewidth=1.0)
            for n, name in enumerate(names):
                values, errors = _column(rows, name)
                line = {**series_style(n), "linestyle": LINES[n]}
                axes.errorbar(topics, values, yerr=errors, capsize=3, label=name, **line)
            axes.set_title(title)
            axes.set_xscale("log")
            axes.set_xticks(topics, [str(k) for k in topics])
            axes.minorticks_off()
            axes.set_xlabel("topics")
            if len(names) > 1:
                axes.legend()

    return write_figures({"select": draw}, directory)


def _column(rows: Sequence[dict[str, Any]], name: str) -> tuple[list[float], list[float]]:
    """Values of a column and their standard errors; NaN where there is no value."""
    if name == "difference":
        values = [row["difference_to_best"] for row in rows]
        errors = [row["difference_standard_error"] for row in rows]
    elif isinstance(rows[0][name], dict):
        values = [row[name]["mean"] for row in rows]
        errors = [row[name]["standard_error"] for row in rows]
    else:
        values = [row[name] for row in rows]
        errors = [row.get(f"{name}_standard_error") for row in rows]
    gap = float("nan")
    return [gap if value is None else value for value in values], [e or 0.0 for e in errors]
