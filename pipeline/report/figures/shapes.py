"""Which topics of a Gamma-Poisson model are active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pipeline.picture_style import BLUE, INK, MUTED
from pipeline.pictures import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.report.sections import TopicsSection

ACTIVE = 0.99
"""Of Σ r: the topics that make it up together are called active."""
MOST_NUMBERED = 60


def shapes(section: TopicsSection, values: Sequence[float]) -> Figure | None:
    """The shapes r_k in descending order, on a logarithmic axis.

    A topic's rate in a document is Gamma(r_k, ·): the smaller r_k, the fewer documents have the
    topic at all, and topics that the model does without have an r_k near 0 (Zhou & Carin 2015).

    Parameters
    ----------
    values
        r_k in the order of the section's topics.
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
        f"The shapes r of {len(sizes):,} topics in descending order, from {sizes[0]:.3g} of topic "
        f"{numbers[0]} to {sizes[-1]:.3g} of topic {numbers[-1]}. {n_active:,} "
        f"{'topic makes' if n_active == 1 else 'topics make'} up {ACTIVE:.0%} of their sum, "
        f"{total:.3g}: they are the active ones."
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
    axes.set_ylim(floor, 2 * float(seen.max()))
    mark = 6 if len(sizes) <= MOST_NUMBERED else 3
    for part, colour, marker, face, name in (
        (slice(0, n_active), BLUE, "o", BLUE, f"active: {ACTIVE:.0%} of the sum of r"),
        (slice(n_active, None), MUTED, "o", "none", "all others"),
    ):
        if not len(ranks[part]):
            continue
        # One line for all stems, which is broken between them: a path each would be large.
        gap = np.full(len(ranks[part]), np.nan)
        ends = np.column_stack([np.full_like(gap, floor), seen[part], gap])
        axes.plot(
            np.repeat(ranks[part], 3), ends.ravel(), color=colour, linewidth=1, alpha=0.5, marker=""
        )
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
    axes.yaxis.set_major_formatter(FuncFormatter(_power))
    axes.minorticks_off()
    if len(sizes) <= MOST_NUMBERED:
        turned = 90 if len(sizes) > 40 else 0
        axes.set_xticks(ranks, [str(number) for number in numbers], fontsize=8, rotation=turned)
        axes.set_xlabel("number of the topic")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_xlabel("topics, the largest shape first")
    axes.set_xlim(0.3, len(sizes) + 0.7)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("shape r of the topic", color=INK)
    axes.legend(loc="upper right")


def _power(value: float, _: int = 0) -> str:
    """A number of a logarithmic axis, as 10⁻⁶ if it is small."""
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    exponent = round(float(np.log10(value)))
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
