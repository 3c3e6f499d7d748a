"""Style of all figures: colours, marks and settings of matplotlib.

Series differ in colour and in mark, so that they also differ in greyscale. The colours are those of
Okabe & Ito (2008), which people with any colour blindness can distinguish, without yellow, which is
hard to see on white, and without black, the colour of text.
"""

import unicodedata
from typing import Any

INK, MUTED, GRID, PAPER = "#1c1c1c", "#5c5c5c", "#dcdcdc", "#ffffff"
"""Text; axes and secondary text; thin lines and pale areas; background. On a page these four become
`var(--ink)` and so on, so nothing else may have them; the other colours become `var(--blue)` …"""
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
"""Eight marks for six colours: 24 series all differ."""
SPACE = "\u2002\u2002"
"""Space between parts of a label; a page would merge ordinary spaces into one."""
LINES = ("-", "--", "-.", ":")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---")
"""Hatching of bars and areas, which have no marks."""
HEAT_MAP = "cividis"
"""The same with and without red-green colour blindness (Nuñez et al. 2018); lightness increases."""
OTHER_SCRIPTS = (
    *("Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai"),
    *("WenQuanYi Micro Hei", "Arial Unicode MS", "Unifont"),
)
"""Fonts, used if installed, for scripts that matplotlib's own DejaVu lacks."""


def series_style(n: int) -> dict[str, Any]:
    """Return the colour and mark of the `n`-th series."""
    return {"color": PALETTE[n % len(PALETTE)], "marker": MARKERS[n % len(MARKERS)]}


def bar_style(n: int) -> dict[str, Any]:
    """Return the colour and hatching of the `n`-th kind of bars."""
    hatch = HATCHES[n % len(HATCHES)]
    return {"color": PALETTE[n % len(PALETTE)], "hatch": hatch, "edgecolor": PAPER, "linewidth": 0}


def style() -> dict[Any, Any]:
    """Return the settings of matplotlib, for printed figures of 10 by 6 inches."""
    from cycler import cycler  # noqa: PLC0415 - slow; commands that draw nothing skip it
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
    """Return a word or a title for a plot: one line of at most `longest` characters.

    Control characters, direction marks and characters that XML forbids become spaces or go.
    """
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if character.isspace() or kind in {"Cc", "Zl", "Zp"}:
            kept.append(" ")
        elif kind not in {"Cf", "Cs", "Co", "Cn"} or character in "\u200c\u200d":
            kept.append(character)  # many scripts write joiners inside words
    short = " ".join("".join(kept).split())
    return short if len(short) <= longest else short[: longest - 1] + "…"
