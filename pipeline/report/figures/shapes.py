"""Shapes r of the topics of a Gamma-Poisson model: the active topics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from pipeline.figures.style import BLUE, INK, MUTED
from pipeline.figures.write import Figure
from pipeline.report.sections import TopicsSection

ACTIVE = 0.99  # Share of Σ r: the fewest topics that have it together are called active
MAX_NUMBERED = 60
MIN_TICKS, MAX_TICKS = 3, 8
STEPS = (1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)
"""Multiples of powers of ten with a label: the first tuple that gives `MIN_TICKS`."""


def shapes(section: TopicsSection, values: Sequence[float]) -> Figure | None:
    """Draw the shapes r_k in descending order on a logarithmic axis.

    A topic's weight in a document is Gamma(shape r_k, scale p_k / (1 − p_k)), with the mean
    r_k p_k / (1 − p_k). The smaller r_k, the fewer documents have the topic; an unused topic has an
    r_k near 0 (Zhou & Carin 2015; Capdevila et al. 2018, eqs. 1 and 3).
    """
    if len(values) == 0:
        return None
    shape = np.array(values, dtype=np.float64)
    order = np.argsort(-shape, kind="stable")
    sizes = shape[order]
    total = float(sizes.sum())
    n_active = int(np.searchsorted(np.cumsum(sizes), ACTIVE * total * (1 - 1e-12))) + 1
    n_active = min(n_active, len(sizes)) if total > 0 else 0
    numbers = [section.topics[k].number for k in order]
    description = (
        "r is the shape of the gamma distribution of a topic's weight in a document: if it is "
        "small, the topic is absent from most documents. The expected weight is r p/(1−p); each "
        "topic has its own p. "
        f"The shapes r of {len(sizes):,} topics in descending order, from {sizes[0]:.3g} of topic "
        f"{numbers[0]} to {sizes[-1]:.3g} of topic {numbers[-1]}. The "
        f"active {'topic makes' if n_active == 1 else 'topics make'} up {ACTIVE:.0%} of the sum of "
        f"r, {total:.3g}: {n_active:,}."
    )
    return Figure(
        "shapes",
        "Active topics",
        description,
        lambda figure: _draw(figure, sizes, numbers, n_active),
    )


def _draw(figure: Any, sizes: Any, numbers: list[int], n_active: int) -> None:
    figure.set_size_inches(10, 4.2)
    axes = figure.subplots()
    ranks = np.arange(1, len(sizes) + 1)
    seen = np.maximum(sizes, max(float(sizes[0]) * 1e-12, 1e-300))
    floor = float(seen.min()) / 2
    axes.set_yscale("log")
    ceiling = 2 * float(seen.max())
    axes.set_ylim(floor, ceiling)
    mark = 6 if len(sizes) <= MAX_NUMBERED else 3
    for part, colour, marker, face, name in (
        (slice(0, n_active), BLUE, "o", BLUE, f"active: {ACTIVE:.0%} of the sum of r"),
        (slice(n_active, None), MUTED, "o", "none", "inactive"),
    ):
        if not len(ranks[part]):
            continue
        axes.plot(
            ranks[part],
            seen[part],
            color=colour,
            marker=marker,
            markersize=mark,
            markerfacecolor=face,
            linestyle="",
            label=f"{name} ({len(ranks[part]):,})",
        )
    axes.minorticks_off()
    axes.yaxis.set_major_locator(FixedLocator(_ticks(floor, ceiling)))
    axes.yaxis.set_major_formatter(FuncFormatter(_power))
    if len(sizes) <= MAX_NUMBERED:
        turned = 90 if len(sizes) > 40 else 0
        axes.set_xticks(ranks, [str(number) for number in numbers], fontsize=8, rotation=turned)
        axes.set_xlabel("number of the topic")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_xlabel("topics, the largest shape first")
    axes.set_xlim(0.3, len(sizes) + 0.7)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(
        "r, shape of the topic's weight\n(small: absent from most documents)", color=INK
    )
    axes.legend(loc="upper right")


def _ticks(low: float, high: float) -> list[float]:
    """Return three to eight round numbers from `low` to `high`, at least a factor of 4 apart."""
    exponents = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in STEPS:
        ticks = [step * 10.0**e for e in exponents for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= MIN_TICKS:
            break
    return ticks[:: -(-len(ticks) // MAX_TICKS)]


def _power(value: float, _: int = 0) -> str:
    """Format a number of a logarithmic axis, as 10⁻⁶ if it is small."""
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    exponent = round(float(np.log10(value)))
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
