"""Perplexity of validation documents during training."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from pipeline.figures.style import BLUE, INK, VERMILION, label
from pipeline.figures.text_width import text_width
from pipeline.figures.write import Figure

if TYPE_CHECKING:
    from pipeline.report.sections import Look, TrainingSection

LOGARITHMIC = 3.0
"""Perplexities that differ by a larger factor are shown on a logarithmic axis."""
MOST_LOOKS = 100
"""Of more looks some are drawn: no eye tells more apart."""
MOST_MARKS = 25
"""Of more looks only some are marked on their line."""
WIDE = 10.0
"""Inches of the figure."""
KEY = 45.0
"""Points of a legend's entry beside its text: the sample of the line, and gaps."""
BESIDE = 0.05
"""Of the range of the looks, that is left free on both sides."""


def training_curve(section: TrainingSection) -> Figure | None:
    """Perplexity, and the bound's if there is one, against documents and against seconds."""
    looks = section.looks
    if not looks:
        return None
    last = looks[-1]
    kept = looks[section.best] if section.best is not None else last
    measure = label(section.measure, 80)
    if len(looks) == 1:
        description = f"One look at the validation documents: perplexity {_with_error(kept)}"
    else:
        description = (
            f"Perplexity of the validation documents ({measure}) over {len(looks)} looks: from "
            f"{looks[0].perplexity:,.0f} after {looks[0].documents:,} documents to "
            f"{last.perplexity:,.0f} after {last.documents:,} documents and {last.seconds:,.1f} "
            f"seconds. The topics kept are those of perplexity {_with_error(kept)}"
        )
    return Figure(
        "training",
        "Perplexity during training",
        f"{description}, after {kept.documents:,} documents.",
        lambda figure: _draw(figure, section),
    )


def _with_error(look: Look) -> str:
    error = look.perplexity_standard_error
    return f"{look.perplexity:,.1f}" + ("" if error is None else f" ± {error:,.1f}")


def _draw(figure: Any, section: TrainingSection) -> None:
    figure.set_size_inches(WIDE, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    section = _thinned(section)
    looks = section.looks
    for axes, x in (
        (left, [look.documents for look in looks]),
        (right, [look.seconds for look in looks]),
    ):
        _draw_curves(axes, section, np.array(x, dtype=np.float64))
    shown = _shown(section)
    if shown.max() > LOGARITHMIC * shown.min():
        left.set_yscale("log")
        subs = (1, 2, 5) if shown.max() > 20 * shown.min() else (1, 1.5, 2, 3, 5, 7)
        left.yaxis.set_major_locator(LogLocator(subs=subs))
        left.yaxis.set_minor_locator(NullLocator())
    else:
        left.yaxis.set_major_locator(MaxNLocator(6))
    left.yaxis.set_major_formatter(FuncFormatter(_number))
    left.set_ylabel("perplexity")
    left.set_xlabel("documents seen, those of every pass")
    right.set_xlabel("seconds of training")
    handles, names = left.get_legend_handles_labels()
    columns = _columns(names)
    figure.legend(handles, names, loc="outside upper left", ncols=columns, frameon=False)


def _columns(names: list[str]) -> int:
    """How many entries of a legend stand beside each other: all, or two if they are too long."""
    points = sum(text_width(name, 9) + KEY for name in names)
    return len(names) if points <= 0.9 * 72 * WIDE else 2  # the page's font may be wider


def _draw_curves(axes: Any, section: TrainingSection, x: Any) -> None:
    looks = section.looks
    every = max(1, -(-len(looks) // MOST_MARKS))
    perplexity = np.array([look.perplexity for look in looks])
    error = np.array([_nan(look.perplexity_standard_error) for look in looks])
    bound = np.array([_nan(look.bound_perplexity) for look in looks])
    name = label(section.measure.partition(" (")[0], 64) or "perplexity"
    if np.isfinite(error).any():
        low, high = perplexity - 2 * error, perplexity + 2 * error
        band = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "label": "± 2 standard errors"}
        if len(looks) > 1:
            axes.fill_between(x, np.maximum(low, 1.0), high, **band)
        else:
            axes.errorbar(x, perplexity, 2 * error, color=BLUE, capsize=4, linestyle="", marker="")
    axes.plot(x, perplexity, color=BLUE, marker="o", markevery=every, label=name)
    if np.isfinite(bound).any():
        looks_of = {"color": VERMILION, "marker": "s", "linestyle": "--", "markevery": every}
        axes.plot(x, bound, label="variational bound: an upper bound", **looks_of)
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
    if len(looks) == 1:
        axes.set_xlim(0, 2 * max(float(x[0]), 1e-9))
    else:
        low, high = float(x.min()), float(x.max())
        beside = BESIDE * max(high - low, 1e-9)
        axes.set_xlim(max(low - beside, 0.0), high + beside)


def _thinned(section: TrainingSection) -> TrainingSection:
    """Looks that are evenly spaced, the first, the last and the kept one among them."""
    n = len(section.looks)
    if n <= MOST_LOOKS:
        return section
    chosen = {round(each) for each in np.linspace(0, n - 1, MOST_LOOKS)}
    if section.best is not None:
        chosen.add(section.best)
    order = sorted(chosen)
    best = None if section.best is None else order.index(section.best)
    return replace(section, looks=tuple(section.looks[i] for i in order), best=best)


def _shown(section: TrainingSection) -> Any:
    values = [look.perplexity for look in section.looks]
    values += [look.bound_perplexity for look in section.looks if look.bound_perplexity]
    return np.array(values)


def _nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _number(value: float, _: int = 0) -> str:
    """With commas, and no more digits than it needs."""
    if abs(value) >= 1e7:
        return f"{value / 1e6:,.0f} M"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
