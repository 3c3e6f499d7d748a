"""Figure 3 of Inouye et al. 2015: perplexities as bars, and by the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.figures.style import INK, bar_style
from pipeline.reproduce.experiment import number
from pipeline.reproduce.inouye2015.models import BASES, FEW, FIELDS, MULTINOMIAL
from pipeline.reproduce.tables import indexed

STYLES: dict[tuple[bool, str], dict[str, Any]] = {
    (is_gibbs, base): bar_style(n) | {"label": label}
    for n, (is_gibbs, base, label) in enumerate(
        (
            *((False, base, title) for base, title in BASES.items()),
            (True, MULTINOMIAL, "LDA, Gibbs sampling"),
            (True, FIELDS, "LPMRF, Gibbs sampling"),
        )
    )
}
WIDTH = 0.2


def draw_published(figure: Any, result: Any, _: Any) -> None:
    """The published measure: single distributions at the left, over K at the right."""
    left, right = _panels(figure, result)
    for at, row in enumerate(row for row in result["rows"] if row["kind"] == "single"):
        left.bar(at, row["test"], **STYLES[False, row["base"]])
        left.text(at, row["test"], f"{row['test']:.2f}", ha="center", va="bottom")
        theirs = row["published"]["test"] if row["published"] else row["figure_3"]
        if theirs is not None:
            _mark(left, at, theirs, 0.8)
    for x, row, style in _bars(result):
        right.bar(x, row["test"], WIDTH, **style)
        if row["published"]:
            _mark(right, x, row["published"]["test"], WIDTH)
    left.set_ylabel("test perplexity, counts of words")
    _finish(left, right, "tokens shared out at their best: no likelihood")


def draw_likelihood(figure: Any, result: Any, _: Any) -> None:
    """The likelihood of tokens in order, bars of two standard errors over documents."""
    left, right = _panels(figure, result)
    singles = [row for row in result["rows"] if row["kind"] == "single" and row["base"] != FEW]
    shown = [
        (left, float(at), 0.8, row, STYLES[False, row["base"]]) for at, row in enumerate(singles)
    ]
    shown += [(right, x, WIDTH, row, style) for x, row, style in _bars(result)]
    for axes, x, width, row, style in shown:
        summed = row["likelihood"]
        error = 2 * number(summed["standard_error"])
        axes.bar(x, number(summed["perplexity"]), width, yerr=error, ecolor=INK, **style)
    left.set_ylabel("test perplexity, tokens in order")
    _finish(left, right, "likelihood, ± 2 standard errors over documents")


def _panels(figure: Any, result: Any) -> tuple[Any, Any]:
    """Axes for single distributions, and, if there are any, for those of more topics."""
    places = _places(result)
    if places:
        left, right = figure.subplots(1, 2, width_ratios=(1, 2), sharey=True)
        labels = [f"{kind}\nK = {n_topics}" for kind, n_topics in places]
        right.set_xticks([float(at) for at in range(len(places))], labels)
    else:
        left, right = figure.subplots(), None
    left.set_xticks(range(3), ["Mult", "LPMRF", "LPMRF,\nfew temp."])
    figure.suptitle(result["corpus"]["name"])
    return left, right


def _places(result: Any) -> list[tuple[str, int]]:
    """Groups of bars on the axis of K, mixtures before topic models."""
    topics = dict.fromkeys(row["topics"] for row in result["rows"] if row["kind"] == "mixture")
    return [(kind, n) for kind in ("mixture", "topic model") for n in topics]


def _bars(result: Any) -> list[tuple[float, Any, dict[str, Any]]]:
    """Middles, rows and styles of all bars over K."""
    rows, bars = indexed(result["rows"], "kind", "base", "topics"), []
    for middle, (group, n_topics) in enumerate(_places(result)):
        kinds = ("mixture",) if group == "mixture" else ("topics", "gibbs")
        members = [(kind, base) for kind in kinds for base in (MULTINOMIAL, FIELDS)]
        offsets = WIDTH * (np.arange(len(members)) - (len(members) - 1) / 2)
        for offset, (kind, base) in zip(offsets.tolist(), members, strict=True):
            bars.append(
                (middle + offset, rows[kind, base, n_topics], STYLES[kind == "gibbs", base])
            )
    return bars


def _mark(axes: Any, x: float, value: float, width: float) -> None:
    ends = [x - width / 2, x + width / 2]
    axes.plot(ends, [value, value], color=INK, linewidth=1.5, marker="", label="published")


def _finish(left: Any, right: Any, title: str) -> None:
    """Add titles, and a legend with a line for each style."""
    left.set_title("single")
    if right is not None:
        right.set_title(title)
    axes = left if right is None else right
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    axes.legend(once.values(), once.keys(), fontsize="small", framealpha=0.8)
