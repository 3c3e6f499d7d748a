"""Figures of `allocate`: evidence against rank, effective sample sizes, factors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.allocation.marginal_estimate import TimedMarginal
from pipeline.allocation.factors import Factors
from pipeline.figures.style import BLUE, HEAT_MAP, INK, LINES, MUTED, VERMILION, series_style

Draw = Callable[[Any], None]

MAX_LABELS = 30  # Labels shown on an axis; of longer axes the most probable values
MAX_TABLES = 12
SAME_SCALE = 0.2
"""Share of the largest probability of all tables: tables that reach it share a colour scale."""
MAX_WRITTEN = 12  # Rows and columns of tables whose cells show their values as text
PANEL_WIDTH, PANEL_HEIGHT = 4.5, 3.2
BESIDE = 1.4, 1.0  # Margins of a panel beside and below its cells, in inches
ROW = 0.13  # Height of a row with room for its label, in inches
LABEL_SIZE = 7.5
DARK, LIGHT = "#101010", "#fafafa"
"""Colours of text on light and on dark cells; dark pages have the same cells."""
NEXT: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "linestyle": "--", "linewidth": 1.1, "zorder": 2.8},
    {"color": VERMILION, "linestyle": ":", "linewidth": 1.3, "zorder": 2.6},
)
"""Line styles of the models next to the best."""
NEAR = 15.0  # Nats below certainty down to which log odds are shown


def figures_of(
    rows: Sequence[Mapping[str, Any]],
    scores: Sequence[TimedMarginal],
    best: int,
    factors: Factors | None,
    what: str,
) -> dict[str, Draw]:
    """Figures that have data, by name."""
    drawn: dict[str, Draw] = {"allocation": _evidence(rows, what)}
    if any(score.estimate.path is not None for score in scores):
        drawn["particles"] = _particles(rows, scores, best)
    if factors is not None:
        drawn["factors"] = _factors(factors)
    return drawn


def _evidence(rows: Sequence[Mapping[str, Any]], what: str) -> Draw:
    """Log marginal over rank for each graph, and log odds of the models that come near the best.

    A graph without rank is a horizontal line.
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
            line = {"color": series_style(n)["color"], "linestyle": LINES[1 + n % 3]}
            axes.axhline(of[0][value], label=graph, **line)
            continue
        axes.errorbar(
            [row["rank"] for row in of],
            [row[value] for row in of],
            yerr=[row[error] or 0.0 for row in of],
            capsize=3,
            label=graph,
            **series_style(n),
        )


def _particles(
    rows: Sequence[Mapping[str, Any]], scores: Sequence[TimedMarginal], best: int
) -> Draw:
    """Effective sample size and surviving ancestors over tokens, means over runs.

    The best models have colours; all others are pale.
    """
    followed = [
        n
        for n, score in enumerate(scores)
        if score.estimate.path is not None and score.estimate.path.tokens.size
    ]
    ranked = sorted(
        (n for n in followed if n != best), key=lambda n: -_or_least(rows[n]["log_marginal"])
    )
    n_others = len(ranked[len(NEXT) :])

    def draw(figure: Any) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        for n in [each for each in [best] if each in followed] + ranked:
            row, path = rows[n], scores[n].estimate.path
            assert path is not None
            name = row["graph"] if row["rank"] is None else f"{row['graph']}, {row['rank']}"
            if n == best:
                style = {"color": INK, "linewidth": 1.5, "zorder": 3, "label": f"{name} (the best)"}
            elif n in ranked[: len(NEXT)]:
                style = {**NEXT[ranked.index(n)], "label": name}
            else:
                is_first = n == ranked[len(NEXT)]
                others = f"{n_others} {'other' if n_others == 1 else 'others'}"
                style = {"color": MUTED, "linewidth": 0.7, "alpha": 0.4}
                style["label"] = others if is_first else None
            style["marker"] = ""
            upper.plot(path.tokens, path.effective_sample_size.mean(axis=0), **style)
            lower.plot(path.tokens, path.n_ancestors.mean(axis=0), **style)
        upper.set_ylabel("effective particles")
        lower.set_ylabel("ancestors with descendants")
        is_annealed = scores[best].estimate.method == "annealed"
        lower.set_xlabel("steps to the model" if is_annealed else "tokens taken in")
        for axes in (upper, lower):
            axes.set_ylim(bottom=0)
        figure.legend(*upper.get_legend_handles_labels(), loc="outside right upper")

    return draw


def _or_least(value: float | None) -> float:
    return -np.inf if value is None else value


def _factors(factors: Factors) -> Draw:
    """Each conditional table as a heat map: rows are the parents' values, columns its own.

    Tables share one colour scale, except those of much smaller probabilities. Values have the order
    of the table of counts.
    """
    header = factors.header
    groups = [group[1:] for group in header["tied"]]
    again = {name for group in groups for name in group}
    names = [name for name in header["families"] if name not in again][:MAX_TABLES]
    tables = [_Table(factors, name) for name in names]
    largest = max(table.largest for table in tables)

    def draw(figure: Any) -> None:
        n_columns = min(3, len(names))
        lines = [tables[n : n + n_columns] for n in range(0, len(tables), n_columns)]
        heights = [
            max(PANEL_HEIGHT, *(ROW * len(table.cells) + BESIDE[1] for table in line))
            for line in lines
        ]
        figure.set_size_inches(PANEL_WIDTH * n_columns + 0.6, sum(heights) + 0.4)
        panels = list(
            figure.subplots(len(lines), n_columns, squeeze=False, height_ratios=heights).flat
        )
        shared = None
        for axes, table in zip(panels, tables, strict=False):
            is_shared = table.largest >= SAME_SCALE * largest
            image = _heat_map(axes, table, largest if is_shared else table.largest)
            if is_shared:
                shared = image
            else:
                figure.colorbar(image, ax=axes)
        for axes in panels[len(names) :]:
            axes.set_axis_off()
        figure.colorbar(shared, ax=panels, label="probability", aspect=30, pad=0.01)

    return draw


class _Table:
    def __init__(self, factors: Factors, name: str) -> None:
        family = factors.header["families"][name]
        labels = factors.header["labels"]
        table = factors.tables[name].reshape(-1, factors.tables[name].shape[-1])
        shown = _most(table.shape[1], factors, name, axis=0)
        above = _most(len(table), factors, name, axis=1)
        self.cells: NDArray[np.float64] = table[np.ix_(above, shown)]
        self.columns = [_short(labels[name][v]) for v in shown]
        self.rows = [_short(labels[family[0]][v]) for v in above] if len(family) == 2 else []
        self.parents = ", ".join(family[:-1])
        given = f" | {self.parents}" if self.parents else ""
        few = f" ({len(shown)} of {table.shape[1]} values)" if len(shown) < table.shape[1] else ""
        self.title = f"p({name}{given}){few}"
        self.largest = float(self.cells.max())


def _heat_map(axes: Any, table: _Table, most: float) -> Any:
    """Draw the image, whose lightest colour is the probability `most`."""
    # Imported here: commands that draw nothing do not wait for it.
    from pipeline.figures.text_width import text_width  # noqa: PLC0415

    image = axes.imshow(table.cells, aspect="auto", cmap=HEAT_MAP, vmin=0, vmax=most)
    axes.grid(visible=False)
    axes.set_title(table.title, parse_math=False)
    room = 72 * (PANEL_WIDTH - BESIDE[0]) / len(table.columns)
    fits = max(text_width(each, LABEL_SIZE) for each in table.columns) + 3 <= room
    texts: dict[str, Any] = {"fontsize": LABEL_SIZE, "parse_math": False}
    axes.set_xticks(range(len(table.columns)), table.columns, rotation=0 if fits else 90, **texts)
    axes.set_yticks(range(len(table.rows)), table.rows, **texts)
    axes.set_ylabel(table.parents, parse_math=False)
    if max(table.cells.shape) <= MAX_WRITTEN:
        size = min(8.0, room / text_width("0.00", 1.0) * 0.9)
        for (row, column), value in np.ndenumerate(table.cells):
            ink = DARK if value > most / 2 else LIGHT
            text = f"{value:.2f}"
            axes.text(column, row, text, fontsize=size, color=ink, ha="center", va="center")
    return image


def _most(n_values: int, factors: Factors, name: str, axis: int) -> NDArray[np.int64]:
    """Rows or columns of a table that are drawn, in order: all, or those with most tokens."""
    if n_values <= MAX_LABELS:
        return np.arange(n_values)
    counts = factors.counts[name]
    weights = counts.reshape(-1, counts.shape[-1]).sum(axis=axis)
    return np.sort(np.argsort(-weights, kind="stable")[:MAX_LABELS])


def _short(label: str) -> str:
    return label if len(label) <= 16 else label[:15] + "…"
