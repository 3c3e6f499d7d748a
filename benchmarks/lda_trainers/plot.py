"""Perplexity against seconds of training, a panel for each number of topics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import LogLocator, StrMethodFormatter

from benchmarks.lda_trainers.results import comparable, label
from pipeline.figures.style import series_style
from pipeline.figures.write import write_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.lda_trainers.results import Run

HEADROOM, FAR = 1.3, 1.5
"""The axis ends at `HEADROOM` times the worst of the last perplexities, as curves begin far above,
or times `FAR` times the best one."""
MAX_COLUMNS = 4


def plot_results(runs: Sequence[Run], directory: Path) -> list[Path]:
    """Write `lda_trainers.svg` and `.png`: ours in solid lines, peers in dashed ones.

    A panel for each number of topics, documents and threads. Nothing is written if all runs failed.
    """
    runs = [run for run in runs if run.looks]
    if not runs:
        return []
    panels = comparable(runs)
    names = list(dict.fromkeys(run.trainer for run in runs))

    def draw(figure: Any) -> None:
        n_columns = min(len(panels), MAX_COLUMNS)
        n_rows = math.ceil(len(panels) / n_columns)
        figure.set_size_inches(1 + 3.6 * n_columns, 1 + 3.2 * n_rows)
        looks = {name: series_style(n) for n, name in enumerate(names)}
        lines = {}
        for n, (group, there) in enumerate(panels.items()):
            axes = figure.add_subplot(n_rows, n_columns, n + 1)
            for run in there:
                (lines[run.trainer],) = axes.plot(
                    [look.seconds for look in run.looks],
                    [look.perplexity for look in run.looks],
                    **looks[run.trainer],
                    linestyle="-" if run.is_ours else "--",
                    linewidth=2.0 if run.is_ours else 1.2,
                    markersize=5,
                    markevery=[-1],
                )
            best = min(look.perplexity for run in there for look in run.looks)
            worst = min(FAR * best, max(run.looks[-1].perplexity for run in there))
            axes.set_ylim(best - 0.05 * (HEADROOM * worst - best), HEADROOM * worst)
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.minorticks_off()
            axes.set_title(f"K = {label(group, panels)}")
            axes.set_xlabel("seconds of training")
        figure.axes[0].set_ylabel("held-out perplexity")
        columns = min(4, 2 * len(panels))
        figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=columns)

    return write_figures({"lda_trainers": draw}, directory)
