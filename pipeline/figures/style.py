"""One look for all plots: colours, marks and the settings of matplotlib.

Series are told apart by colour and by mark, so that they are in greyscale too. The colours are
those of Okabe & Ito (2008), which people with any kind of colour blindness tell apart, without
yellow, which is not seen on white paper, and without black, which is what is written with.
"""

from __future__ import annotations

import unicodedata
from typing import Any

INK, MUTED, GRID, PAPER = "#1c1c1c", "#5c5c5c", "#dcdcdc", "#ffffff"
"""Of writing; of axes and of what is said in passing; of thin lines and quiet areas; of the ground.
On the page these four become `var(--ink)` and so on, and nothing else may have them; the others
become `var(--blue)` and so on."""
BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, ORANGE, SKY = "#cc79a7", "#e69f00", "#56b4e9"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
NAMES = {
    "blue": BLUE,
    "vermilion": VERMILION,
    "green": GREEN,
    "purple": PURPLE,
    "orange": ORANGE,
    "sky": SKY,
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Eight for six colours, so that 24 series all differ."""
SPACE = "\u2002\u2002"
"""Between parts of a label; usual spaces would become one on the page."""
LINES = ("-", "--", "-.", ":")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---")
"""Of bars and areas, where there are no marks."""
HEAT_MAP = "cividis"
"""Alike to those who see no red or green (Nuñez et al. 2018), and it only grows lighter."""
OTHER_SCRIPTS = (
    *("Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai"),
    *("WenQuanYi Micro Hei", "Arial Unicode MS", "Unifont"),
)
"""Fonts that write what DejaVu, which comes with matplotlib, does not, where they are installed."""


def series_style(n: int) -> dict[str, Any]:
    """Colour and mark of the `n`-th series."""
    return {"color": PALETTE[n % len(PALETTE)], "marker": MARKERS[n % len(MARKERS)]}


def bar_style(n: int) -> dict[str, Any]:
    """Colour and hatching of the `n`-th kind of bars."""
    hatch = HATCHES[n % len(HATCHES)]
    return {"color": PALETTE[n % len(PALETTE)], "hatch": hatch, "edgecolor": PAPER, "linewidth": 0}


def style() -> dict[Any, Any]:
    """The settings of matplotlib, for figures of 10 by 6 inches that are read in print."""
    from cycler import cycler  # noqa: PLC0415 - commands that draw nothing do not wait for it
    from matplotlib.font_manager import fontManager  # noqa: PLC0415

    installed = set(fontManager.get_font_names())
    series = [series_style(n) for n in range(24)]
    cycle = cycler(color=[each["color"] for each in series])
    cycle += cycler(marker=[each["marker"] for each in series])
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": MUTED,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.labelsize": 10,
        "axes.linewidth": 0.8,
        "axes.prop_cycle": cycle,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 11,
        "boxplot.boxprops.color": INK,
        "boxplot.capprops.color": INK,
        "boxplot.flierprops.markeredgecolor": MUTED,
        "boxplot.medianprops.color": VERMILION,
        "boxplot.whiskerprops.color": INK,
        "figure.facecolor": PAPER,
        "font.family": ["DejaVu Sans", *(name for name in OTHER_SCRIPTS if name in installed)],
        "font.size": 10,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "hatch.linewidth": 0.8,
        "image.cmap": HEAT_MAP,
        "legend.edgecolor": GRID,
        "legend.facecolor": PAPER,
        "legend.fontsize": 9,
        "legend.framealpha": 0.8,
        "legend.labelcolor": INK,
        "lines.linewidth": 1.4,
        "lines.markersize": 4.5,
        "savefig.facecolor": PAPER,
        "text.color": INK,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "xtick.labelsize": 9,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
        "ytick.labelsize": 9,
    }


def label(text: str, longest: int = 24) -> str:
    """A word or a title as it is written in a plot: on one line, not too long, no hidden marks.

    Control characters, marks that turn the direction of writing and what XML has no place for
    become spaces or are left out.
    """
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if character.isspace() or kind in {"Cc", "Zl", "Zp"}:
            kept.append(" ")
        elif kind not in {"Cf", "Cs", "Co", "Cn"} or character in "\u200c\u200d":
            kept.append(character)  # joiners are part of how words are written in many scripts
    short = " ".join("".join(kept).split())
    return short if len(short) <= longest else short[: longest - 1] + "…"
