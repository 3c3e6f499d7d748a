"""Coherence of the topics with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pipeline.figures.style import BLUE, INK, MUTED, PAPER, SPACE, label
from pipeline.figures.write import Figure
from pipeline.report.figures.comparison import name_rows
from pipeline.report.sections import CoherenceSection, Measured

MAX_NAMED = 30  # Largest number of topics with a row and a label each
MAX_NUMBERED = 60  # Largest number of points with their topic's number below them


def coherences(section: CoherenceSection, labels: Mapping[int, str]) -> Figure | None:
    """Draw the coherence of each topic with its 95 % interval, the most coherent first.

    `labels` are the names of topics by number. Values without an interval are hollow.
    """
    known = [(k, each) for k, each in section.topics if each.value is not None]
    if not known or section.mean.value is None:
        return None
    first, last = known[0], known[-1]
    n_without = sum(each.low is None for _, each in known)
    without = f" {n_without:,} have no interval." if n_without else ""
    description = (
        f"{section.measure} of {len(known):,} topics in {section.counted_in}, with 95 % intervals, "
        f"the most coherent first: from {_said(first[1])} of topic {first[0]} "
        f"({label(labels.get(first[0], ''), 60)}) to {_said(last[1])} of topic {last[0]} "
        f"({label(labels.get(last[0], ''), 60)}); the mean is {_said(section.mean)}.{without}"
    )
    rows = [f"{label(labels.get(k, ''), 44)}{SPACE}{k}" for k, _ in known]
    return Figure(
        "coherences",
        "Coherence of the topics",
        description,
        lambda figure: _draw(figure, section, known, rows),
    )


def _said(of: Measured) -> str:
    """Return a value with its interval in words."""
    interval = "" if of.low is None else f" ({of.low:.2f} to {of.high:.2f})"
    return f"{of.value:.2f}{interval}"


def _draw(
    figure: Any,
    section: CoherenceSection,
    known: Sequence[tuple[int, Measured]],
    names: Sequence[str],
) -> None:
    has_rows = len(known) <= MAX_NAMED
    figure.set_size_inches(10, 1.3 + 0.27 * len(known) if has_rows else 4.4)
    axes = figure.subplots()
    mean = section.mean
    line, span = (axes.axvline, axes.axvspan) if has_rows else (axes.axhline, axes.axhspan)
    line(mean.value, color=MUTED, linewidth=1, linestyle="--", marker="")
    if mean.low is not None and mean.high is not None:
        span(mean.low, mean.high, color=MUTED, alpha=0.15, linewidth=0)
    size = 6 if len(known) <= MAX_NUMBERED else 3.5
    for at, (_, of) in enumerate(known):
        draw_measured(axes, of, at, size=size, is_row=has_rows)
    what = f"{section.measure} of {section.n_words} top words"
    if has_rows:
        name_rows(axes, names, 7)
        axes.set_xlabel(what)
    else:
        _number(axes, [k for k, _ in known])
        axes.set_ylabel(what)
    keys = [Line2D([], [], color=MUTED, linewidth=1, linestyle="--", label="mean of the topics")]
    if any(of.low is None for _, of in known):
        style: dict[str, Any] = {"color": BLUE, "marker": "o", "markerfacecolor": PAPER}
        words = "hollow: too few documents for an interval"
        keys.append(Line2D([], [], linestyle="", label=words, **style))
    figure.legend(handles=keys, loc="outside lower left", ncols=2, frameon=False)


def draw_measured(
    axes: Any,
    of: Measured,
    at: int,
    *,
    colour: str = BLUE,
    marker: str = "o",
    size: float = 7,
    is_row: bool = True,
) -> None:
    """Draw a figure with its interval in row `at`, or in column `at`; hollow without one."""
    bars = None
    if of.low is not None and of.high is not None and of.value is not None:
        bars = [[max(of.value - of.low, 0.0)], [max(of.high - of.value, 0.0)]]
    axes.errorbar(
        *(([of.value], [at]) if is_row else ([at], [of.value])),
        **{"xerr" if is_row else "yerr": bars},
        color=colour,
        marker=marker,
        markersize=size,
        markeredgecolor=colour,
        markerfacecolor=PAPER if bars is None else colour,
        elinewidth=1.4,
        ecolor=colour if colour != PAPER else INK,
        capsize=2.5,
    )


def _number(axes: Any, numbers: Sequence[int]) -> None:
    """Write the numbers of topics below their points, if they are not too many."""
    if len(numbers) <= MAX_NUMBERED:
        turned = 90 if len(numbers) > 40 else 0
        names = [str(k) for k in numbers]
        axes.set_xticks(range(len(numbers)), names, fontsize=7, rotation=turned)
        axes.set_xlabel("number of the topic")
    else:
        axes.set_xticks([])
        axes.set_xlabel("topics, the most coherent first")
    axes.set_xlim(-0.7, len(numbers) - 0.3)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(6))
