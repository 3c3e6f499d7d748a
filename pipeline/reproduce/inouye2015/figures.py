"""Figure 3 of Inouye et al. 2015: perplexities as bars, and by the likelihood."""

from collections.abc import Iterator
from typing import Any

from pipeline.figures.style import INK, bar_style
from pipeline.reproduce.experiment import number
from pipeline.reproduce.inouye2015.models import BASES, FEW, FIELDS, MULTINOMIAL

LABELS = {(False, base): title for base, title in BASES.items()} | {
    (True, MULTINOMIAL): "LDA, Gibbs sampling",
    (True, FIELDS): "LPMRF, Gibbs sampling",
}
"""Entries of the legend, by whether a model is by Gibbs sampling, and its base."""
WIDTH = 0.2


def draw_published(figure: Any, result: Any, _: Any) -> None:
    """Draw the published measure: single distributions at the left, over K at the right."""
    left, right = _panels(figure, result)
    for at, row in enumerate(row for row in result["rows"] if row["kind"] == "single"):
        left.bar(at, row["test"], **_style(row))
        left.text(at, row["test"], f"{row['test']:.2f}", ha="center", va="bottom")
        theirs = row["published"]["test"] if row["published"] else row["figure_3"]
        if theirs is not None:
            _mark(left, at, theirs, 0.8)
    for x, row in _bars(result):
        right.bar(x, row["test"], WIDTH, **_style(row))
        if row["published"]:
            _mark(right, x, row["published"]["test"], WIDTH)
    left.set_ylabel("test perplexity, counts of words")
    _finish(left, right, "tokens shared out at their best: no likelihood")


def draw_likelihood(figure: Any, result: Any, _: Any) -> None:
    """Draw the likelihood of tokens in order, with bars of two standard errors over documents."""
    left, right = _panels(figure, result)
    singles = [row for row in result["rows"] if row["kind"] == "single" and row["base"] != FEW]
    shown = [(left, float(at), 0.8, row) for at, row in enumerate(singles)]
    for axes, x, width, row in [*shown, *((right, x, WIDTH, row) for x, row in _bars(result))]:
        error = 2 * number(row["likelihood"]["standard_error"])
        height = number(row["likelihood"]["perplexity"])
        axes.bar(x, height, width, yerr=error, ecolor=INK, **_style(row))
    left.set_ylabel("test perplexity, tokens in order")
    _finish(left, right, "likelihood, ± 2 standard errors over documents")


def _style(row: Any) -> dict[str, Any]:
    key = row["kind"] == "gibbs", row["base"]
    return bar_style(list(LABELS).index(key)) | {"label": LABELS[key]}


def _panels(figure: Any, result: Any) -> tuple[Any, Any]:
    """Return axes for single distributions, and, if there are any, for those of more topics."""
    groups = _groups(result)
    if groups:
        left, right = figure.subplots(1, 2, width_ratios=(1, 2), sharey=True)
        right.set_xticks([float(at) for at in range(len(groups))], list(groups))
    else:
        left, right = figure.subplots(), None
    left.set_xticks(range(3), ["Mult", "LPMRF", "LPMRF,\nfew temp."])
    figure.suptitle(result["corpus"]["name"])
    return left, right


def _groups(result: Any) -> dict[str, list[Any]]:
    """Return the rows of each group of bars over K, mixtures before topic models."""
    found: dict[str, list[Any]] = {}
    for row in result["rows"]:
        if row["kind"] != "single":
            kind = "mixture" if row["kind"] == "mixture" else "topic model"
            found.setdefault(f"{kind}\nK = {row['topics']}", []).append(row)
    return found


def _bars(result: Any) -> Iterator[tuple[float, Any]]:
    """Yield middles and rows of all bars over K."""
    for middle, rows in enumerate(_groups(result).values()):
        for n, row in enumerate(rows):
            yield middle + WIDTH * (n - (len(rows) - 1) / 2), row


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
