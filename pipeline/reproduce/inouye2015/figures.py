"""Figure 3 of Inouye et al. 2015: perplexities as bars, and by the likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import INK, bar_style
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL, Cell

if TYPE_CHECKING:
    from pipeline.reproduce.inouye2015.perplexity import Perplexities

LOOKS: dict[str, dict[str, Any]] = {
    MULTINOMIAL: bar_style(0) | {"label": "Multinomial"},
    FIELDS: bar_style(1) | {"label": "LPMRF"},
    FEW: bar_style(2) | {"label": "LPMRF, few temperatures"},
}
GIBBS_LOOKS: dict[str, dict[str, Any]] = {
    MULTINOMIAL: bar_style(3) | {"label": "LDA, Gibbs sampling"},
    FIELDS: bar_style(4) | {"label": "LPMRF, Gibbs sampling"},
}
WIDTH = 0.2


def draw_published(figure: Any, found: Perplexities) -> None:
    """The published measure: single distributions at the left, over K at the right."""
    left, right = _panels(figure, found)
    for at, cell in enumerate(cell for cell in found.scores if cell.kind == "single"):
        score = found.scores[cell]
        left.bar(at, score.test.mean(), **LOOKS[cell.base])
        left.text(at, score.test.mean(), f"{score.test.mean():.2f}", ha="center", va="bottom")
        theirs = found.published(cell)
        value = theirs[0] if theirs else lpmrf_published.FIGURE_3[found.name].get(cell.base)
        if value is not None:
            _mark(left, at, value, 0.8)
    left.set_ylabel("test perplexity, counts of words")
    left.set_title("single")
    if right is None:
        _legend(left)
        return
    for x, cell, look in _bars(found):
        score, theirs = found.scores[cell], found.published(cell)
        right.bar(x, score.test.mean(), WIDTH, **look)
        if theirs:
            _mark(right, x, theirs[0], WIDTH)
    right.set_title("tokens shared out at their best: no likelihood")
    _legend(right)


def draw_likelihood(figure: Any, found: Perplexities) -> None:
    """The likelihood of tokens in order, bars of two standard errors over documents."""
    left, right = _panels(figure, found)
    singles = [c for c in found.scores if c.kind == "single" and c.base != FEW]
    shown = [(left, float(at), 0.8, cell, LOOKS[cell.base]) for at, cell in enumerate(singles)]
    shown += [(right, x, WIDTH, cell, look) for x, cell, look in _bars(found)]
    for axes, x, width, cell, look in shown:
        summed = found.scores[cell].summed
        assert summed is not None
        error = 2 * summed.perplexity_standard_error
        axes.bar(x, summed.perplexity, width, yerr=error, ecolor=INK, **look)
    left.set_ylabel("test perplexity, tokens in order")
    left.set_title("single")
    if right is None:
        _legend(left)
        return
    right.set_title("likelihood, ± 2 standard errors over documents")
    _legend(right)


def _panels(figure: Any, found: Perplexities) -> tuple[Any, Any]:
    """Axes for single distributions, and, if there are any, for those of more topics."""
    names = [base for base in LOOKS if Cell("single", base, 1) in found.scores]
    if not found.settings.n_topics:
        left, right = figure.subplots(), None
    else:
        left, right = figure.subplots(1, 2, width_ratios=(1, 2), sharey=True)
        places = _places(found)
        right.set_xticks(
            list(places.values()), [f"{kind}\nK = {n_topics}" for kind, n_topics in places]
        )
    left.set_xticks(range(len(names)), ["Mult", "LPMRF", "LPMRF,\nfew temp."][: len(names)])
    figure.suptitle(found.corpus)
    return left, right


def _places(found: Perplexities) -> dict[tuple[str, int], float]:
    """Where on the axis of K each group of bars is, mixtures before topic models."""
    groups = [(k, n) for k in ("mixture", "topic model") for n in found.settings.n_topics]
    return {group: float(at) for at, group in enumerate(groups)}


def _bars(found: Perplexities) -> list[tuple[float, Cell, dict[str, Any]]]:
    """Middles, models and looks of all bars over K."""
    bars: list[tuple[float, Cell, dict[str, Any]]] = []
    for (kind, n_topics), middle in _places(found).items():
        kinds = ("mixture",) if kind == "mixture" else ("topics", "gibbs")
        group = [
            (Cell(each, base, n_topics), (GIBBS_LOOKS if each == "gibbs" else LOOKS)[base])
            for each in kinds
            for base in (MULTINOMIAL, FIELDS)
        ]
        offsets = WIDTH * (np.arange(len(group)) - (len(group) - 1) / 2)
        for offset, (cell, look) in zip(offsets, group, strict=True):
            bars.append((middle + float(offset), cell, look))
    return bars


def _mark(axes: Any, x: float, value: float, width: float) -> None:
    ends = [x - width / 2, x + width / 2]
    axes.plot(ends, [value, value], color=INK, linewidth=1.5, marker="", label="published")


def _legend(axes: Any) -> None:
    """A line a look, however often it was drawn."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    axes.legend(once.values(), once.keys(), fontsize="small", framealpha=0.8)
