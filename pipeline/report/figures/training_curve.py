"""Perplexity of validation documents during training."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from pipeline.figures.style import BLUE, INK, VERMILION, label
from pipeline.figures.text_width import text_width
from pipeline.figures.write import Figure
from pipeline.report.sections import CheckRow, TrainingSection

MAX_LINEAR = 3.0
"""Largest ratio of perplexities on a linear axis; beyond it, the axis is logarithmic."""
MAX_CHECKS = 100  # Largest number of checks that are drawn, evenly spaced
MAX_MARKS = 25  # Largest number of marks on a line
WIDTH = 10.0  # Inches of the figure
KEY = 45.0  # Points of a legend's entry besides its text: the sample of the line, and gaps
MARGIN = 0.05  # Free space on both sides, as a share of the range of the checks


def training_curve(section: TrainingSection) -> Figure | None:
    """Draw perplexity, and that of the bound if known, against documents and against seconds."""
    checks = section.checks
    if not checks:
        return None
    last = checks[-1]
    kept = checks[section.best] if section.best is not None else last
    measure = label(section.measure, 80)
    if len(checks) == 1:
        description = f"One check on the validation documents: perplexity {_with_error(kept)}"
    else:
        description = (
            f"Perplexity of the validation documents ({measure}) at {len(checks)} checks: from "
            f"{checks[0].perplexity:,.0f} after {checks[0].documents:,} documents to "
            f"{last.perplexity:,.0f} after {last.documents:,} documents and {last.seconds:,.1f} "
            f"seconds. The topics kept are those of perplexity {_with_error(kept)}"
        )
    return Figure(
        "training",
        "Perplexity during training",
        f"{description}, after {kept.documents:,} documents.",
        lambda figure: _draw(figure, section),
    )


def _with_error(check: CheckRow) -> str:
    error = check.perplexity_standard_error
    return f"{check.perplexity:,.1f}" + ("" if error is None else f" ± {error:,.1f}")


def _draw(figure: Any, section: TrainingSection) -> None:
    figure.set_size_inches(WIDTH, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    section = _thinned(section)
    for axes, name in ((left, "documents"), (right, "seconds")):
        x = [getattr(check, name) for check in section.checks]
        _draw_curves(axes, section, np.array(x, dtype=np.float64))
    bounds = [check.bound_perplexity for check in section.checks if check.bound_perplexity]
    shown = np.array([*(check.perplexity for check in section.checks), *bounds])
    if shown.max() > MAX_LINEAR * shown.min():
        left.set_yscale("log")
        subs = (1, 2, 5) if shown.max() > 20 * shown.min() else (1, 1.5, 2, 3, 5, 7)
        left.yaxis.set_major_locator(LogLocator(subs=subs))
        left.yaxis.set_minor_locator(NullLocator())
    else:
        left.yaxis.set_major_locator(MaxNLocator(6))
    left.yaxis.set_major_formatter(FuncFormatter(_number))
    left.set_ylabel("perplexity")
    left.set_xlabel("documents seen, over all passes")
    right.set_xlabel("seconds of training")
    handles, names = left.get_legend_handles_labels()
    points = sum(text_width(name, 9) + KEY for name in names)
    columns = len(names) if points <= 0.9 * 72 * WIDTH else 2  # the page's font may be wider
    figure.legend(handles, names, loc="outside upper left", ncols=columns, frameon=False)


def _draw_curves(axes: Any, section: TrainingSection, x: Any) -> None:
    checks = section.checks
    every = max(1, -(-len(checks) // MAX_MARKS))
    perplexity, error, bound = np.array(
        [(c.perplexity, c.perplexity_standard_error, c.bound_perplexity) for c in checks],
        dtype=np.float64,  # None becomes NaN
    ).T
    name = label(section.measure.partition(" (")[0], 64) or "perplexity"
    if np.isfinite(error).any():
        low, high = perplexity - 2 * error, perplexity + 2 * error
        band = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "label": "± 2 standard errors"}
        if len(checks) > 1:
            axes.fill_between(x, np.maximum(low, 1.0), high, **band)
        else:
            axes.errorbar(x, perplexity, 2 * error, color=BLUE, capsize=4, linestyle="", marker="")
    axes.plot(x, perplexity, color=BLUE, marker="o", markevery=every, label=name)
    if np.isfinite(bound).any():
        look = {"color": VERMILION, "marker": "s", "linestyle": "--", "markevery": every}
        axes.plot(x, bound, label="variational bound: an upper bound", **look)
    if section.best is not None:
        axes.plot(
            [x[section.best]],
            [perplexity[section.best]],
            color=INK,
            linestyle="",
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgewidth=1.4,
            label=f"kept: {perplexity[section.best]:,.0f}",
        )
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(_number))
    if len(checks) == 1:
        axes.set_xlim(0, 2 * max(float(x[0]), 1e-9))
    else:
        low, high = float(x.min()), float(x.max())
        margin = MARGIN * max(high - low, 1e-9)
        axes.set_xlim(max(low - margin, 0.0), high + margin)


def _thinned(section: TrainingSection) -> TrainingSection:
    """Keep evenly spaced checks, with the first, the last and the best one."""
    n = len(section.checks)
    if n <= MAX_CHECKS:
        return section
    chosen = {round(each) for each in np.linspace(0, n - 1, MAX_CHECKS)}
    if section.best is not None:
        chosen.add(section.best)
    order = sorted(chosen)
    best = None if section.best is None else order.index(section.best)
    return replace(section, checks=tuple(section.checks[i] for i in order), best=best)


def _number(value: float, _: int = 0) -> str:
    """Format a number with commas and no redundant digits."""
    if abs(value) >= 1e7:
        return f"{value / 1e6:,.0f} M"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
