"""Pictures of `allocate`: evidence against rank, how the particles fared, factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.picture_style import HEAT_MAP, INK, LINES, line_look, look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pipeline.allocation_cells import Score
    from pipeline.allocation_factors import Factors

    Draw = Callable[[Any], None]

MOST_LABELS = 40
"""Of an axis that are written out; of longer axes as many of the most probable values are shown."""
MOST_TABLES = 12
NEAR = 15.0
"""Nats below certainty that log odds are shown of."""


def pictures_of(
    rows: Sequence[Mapping[str, Any]],
    scores: Sequence[Score],
    best: int,
    factors: Factors | None,
    what: str,
) -> dict[str, Draw]:
    """Each picture that there is something for, by its name."""
    drawn: dict[str, Draw] = {"allocation": _evidence(rows, what)}
    if any(score.estimate.path is not None for score in scores):
        drawn["particles"] = _particles(rows, scores, best)
    if factors is not None:
        drawn["factors"] = _factors(factors)
    return drawn


def _evidence(rows: Sequence[Mapping[str, Any]], what: str) -> Draw:
    """Log marginal over rank for each graph, and log odds of the models that come near the best.

    A graph without rank is a line from side to side.
    """

    def draw(figure: Any) -> None:
        whole, near = figure.subplots(1, 2)
        _lines(whole, rows, "log_marginal", "standard_error")
        whole.set_ylabel(f"{what}, nats")
        whole.legend()
        _lines(near, rows, "log_odds", "log_odds_standard_error")
        near.set_ylim(-NEAR, 0.03 * NEAR)
        near.set_ylabel("posterior log odds, nats")
        for axes in (whole, near):
            axes.set_xlabel("rank")
            axes.xaxis.get_major_locator().set_params(integer=True)

    return draw


def _lines(axes: Any, rows: Sequence[Mapping[str, Any]], value: str, error: str) -> None:
    for n, graph in enumerate(dict.fromkeys(row["graph"] for row in rows)):
        of = [row for row in rows if row["graph"] == graph and row[value] is not None]
        if of and of[0]["rank"] is None:
            line = {"color": look(n)["color"], "linestyle": LINES[1 + n % 3]}
            axes.axhline(of[0][value], label=graph, **line)
            continue
        axes.errorbar(
            [row["rank"] for row in of],
            [row[value] for row in of],
            yerr=[row[error] or 0.0 for row in of],
            capsize=3,
            label=graph,
            **look(n),
        )


def _particles(rows: Sequence[Mapping[str, Any]], scores: Sequence[Score], best: int) -> Draw:
    """Effective particles and surviving ancestors over the tokens taken in, means over runs.

    The best model stands out.
    """

    def draw(figure: Any) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        for n, (row, score) in enumerate(zip(rows, scores, strict=True)):
            path = score.estimate.path
            if path is None or not path.tokens.size:
                continue
            name = row["graph"] if row["rank"] is None else f"{row['graph']}, {row['rank']}"
            style = (
                {"color": INK, "linewidth": 1.5, "zorder": 3, "label": f"{name} (the best)"}
                if n == best
                else line_look(n)
                | {"linewidth": 0.8, "alpha": 0.8, "label": name if len(rows) <= 20 else None}
            )
            style["marker"] = ""
            upper.plot(path.tokens, path.effective_sample_size.mean(axis=0), **style)
            lower.plot(path.tokens, path.n_ancestors.mean(axis=0), **style)
        upper.set_ylabel("effective particles")
        lower.set_ylabel("ancestors with descendants")
        lower.set_xlabel("tokens taken in")
        for axes in (upper, lower):
            axes.set_ylim(bottom=0)
        figure.legend(*upper.get_legend_handles_labels(), loc="outside right upper")

    return draw


def _factors(factors: Factors) -> Draw:
    """Each conditional table as a heat map: rows are the parents' values, columns its own."""
    header = factors.header
    groups = [group[1:] for group in header["tied"]]
    again = {name for group in groups for name in group}
    names = [name for name in header["families"] if name not in again][:MOST_TABLES]

    def draw(figure: Any) -> None:
        n_columns = min(3, len(names))
        n_rows = -(-len(names) // n_columns)
        figure.set_size_inches(4.5 * n_columns, 3.2 * n_rows + 0.4)
        panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axes, name in zip(panels, names, strict=False):
            _heat_map(axes, factors, name)
        for axes in panels[len(names) :]:
            axes.set_axis_off()

    return draw


def _heat_map(axes: Any, factors: Factors, name: str) -> None:
    family = factors.header["families"][name]
    labels = factors.header["labels"]
    table = factors.tables[name].reshape(-1, factors.tables[name].shape[-1])
    own, shown = labels[name], _most(table.shape[1], factors, name, axis=0)
    above = _most(len(table), factors, name, axis=1)
    rows = [labels[family[0]][row] for row in above] if len(family) == 2 else []
    table = table[above]
    image = axes.imshow(table[:, shown], aspect="auto", cmap=HEAT_MAP, vmin=0)
    axes.figure.colorbar(image, ax=axes)
    given = f" | {', '.join(family[:-1])}" if len(family) > 1 else ""
    few = f" ({len(shown)} of {len(own)} values)" if len(shown) < len(own) else ""
    axes.set_title(f"p({name}{given}){few}")
    axes.set_xticks(range(len(shown)), [_short(own[v]) for v in shown], rotation=90, fontsize=6)
    axes.set_yticks(range(len(rows)), [_short(each) for each in rows], fontsize=6)
    axes.set_ylabel(", ".join(family[:-1]))


def _most(n_values: int, factors: Factors, name: str, axis: int) -> NDArray[np.int64]:
    """Which rows or columns of a table are drawn, in order: all, or those with most tokens."""
    if n_values <= MOST_LABELS:
        return np.arange(n_values)
    counts = factors.counts[name]
    weights = counts.reshape(-1, counts.shape[-1]).sum(axis=axis)
    return np.sort(np.argsort(-weights, kind="stable")[:MOST_LABELS])


def _short(label: str) -> str:
    return label if len(label) <= 16 else label[:15] + "…"
