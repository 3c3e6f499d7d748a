"""Figure 5 of Cemgil et al. 2019 again, as a table and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import BLUE, MUTED, VERMILION
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019.histogram import Histogram, HistogramSettings, histogram
from pipeline.reproduce.cemgil2019.rank_scores_view import print_findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-histogram"
N_BINS = 60


def run(settings: ReproduceSettings, cache: ResultCache) -> Histogram:
    """Both scales are the same: all of it takes a second, and nothing is drawn."""
    del settings, cache
    wanted = HistogramSettings()
    with Progress(NAME, len(wanted.a), "values of a") as progress:
        return histogram(wanted, lambda: progress.update(1))


def as_json(found: Histogram) -> dict[str, Any]:
    """A row for each a, one for each number of effective parameters, and what should hold."""
    settings = found.settings
    values, lowest, highest = found.levels
    return {
        "name": NAME,
        "matrix": settings.matrix,
        "rank": settings.rank,
        "allocations": len(found.d_ep),
        "rows": [
            {
                "a": a,
                "exact": float(found.exact[i]),
                "log_sum": float(found.log_sum[i]),
                "spacing": float(found.spacing[i]),
                "above_log_a": float(found.spacing[i] - np.log(a)),
                "explained": float(found.explained[i]),
                "limit_error": float(found.limit_error[i - 1]) if i else None,
                "levels_are_separate": bool(found.are_separate[i]),
                "distinct": len(np.unique(found.log_pi[i].round(6))),
            }
            for i, a in enumerate(settings.a)
        ],
        "levels": [
            {
                "effective_parameters": int(value),
                "allocations": int((found.d_ep == value).sum()),
                "log_pi": {
                    f"{a:g}": [float(lowest[i, n]), float(highest[i, n])]
                    for i, a in enumerate(settings.a)
                },
            }
            for n, value in enumerate(values)
        ],
        "findings": _findings(found),
    }


def _findings(found: Histogram) -> list[dict[str, Any]]:
    a = found.settings.a

    def at(fails: Any) -> list[str]:
        return [f"a = {each:g}" for each, failed in zip(a, fails, strict=True) if failed]

    last = len(a) - 1
    is_last = np.arange(len(a)) == last
    explained, limit = found.explained, found.limit_error
    above = found.spacing - np.log(np.array(a))
    return [
        {
            "claim": "Σ π(S) over all S is the exact likelihood, to 1e-10 nats",
            "fails_at": at(np.abs(found.log_sum - found.exact) > 1e-10),
        },
        {
            "claim": "effective parameters explain more the smaller a is",
            "fails_at": at([False, *(np.diff(explained) < 0)]),
        },
        {
            "claim": f"modes are log a and a constant ({above[last]:.2f} nats) apart: the same, to "
            "0.01 nats, at the last two a",
            "fails_at": at(is_last & (abs(above[last] - above[last - 1]) > 0.01)),
        },
        {
            "claim": f"modes do not overlap at a = {a[last]:g}",
            "fails_at": at(is_last & ~found.are_separate),
        },
        {
            "claim": "log π(S) / log a goes to d_EP + 1 for every S: the worst slope between the "
            f"last two a is off by {limit[-1]:.1e}, less than a hundredth",
            "fails_at": at(is_last & (limit[-1] > 0.01)),
        },
    ]


def print_result(result: dict[str, Any]) -> None:
    """A table over a, one over effective parameters, then what should hold."""
    print(
        f"log π(S), nats, of all {result['allocations']:,} allocations S of {result['matrix']} at "
        f"K = {result['rank']}; b = a / S₊\n"
        "spacing: nats that one effective parameter costs, by a line of log π(S) over d_EP, and "
        "beside it less log a;\nexplained: variance by that line; limit: worst S's error of "
        "d log π / d log a = d_EP + 1, from the a before;\napart: no S of more effective "
        "parameters as probable as one of fewer\n"
    )
    print(
        f"{'a':>7s}{'log Σ π(S)':>16s}{'exact log L':>16s}{'distinct':>10s}{'spacing':>10s}"
        f"{'- log a':>9s}{'explained':>11s}{'limit':>10s}{'apart':>7s}"
    )
    for row in result["rows"]:
        limit = row["limit_error"]
        print(
            f"{row['a']:7g}{row['log_sum']:16.9f}{row['exact']:16.9f}{row['distinct']:10,d}"
            f"{row['spacing']:10.3f}{row['above_log_a']:9.3f}{row['explained']:11.4f}"
            f"{'-' if limit is None else f'{limit:.1e}':>10s}"
            f"{'yes' if row['levels_are_separate'] else 'no':>7s}"
        )
    smallest = f"{result['rows'][-1]['a']:g}"
    print(f"\n{'d_EP':>5s}{'allocations':>13s}  log π(S) at a = {smallest}")
    for level in result["levels"]:
        low, high = level["log_pi"][smallest]
        print(
            f"{level['effective_parameters']:5d}{level['allocations']:13,d}"
            f"{low:12.2f} to {high:.2f}"
        )
    print_findings(result["findings"])


def pictures(found: Histogram) -> dict[str, Callable[[Any], None]]:
    """Figure 5: a panel for each a, and one of the effective parameters."""

    def draw(figure: Any) -> None:
        a = found.settings.a
        n_panels = len(a) + 1
        n_columns = min(4, n_panels)
        grid = figure.subplots(-(-n_panels // n_columns), n_columns, squeeze=False)
        for axes in grid.flat[n_panels:]:
            axes.set_axis_off()
        figure.set_size_inches(12, 3 * len(grid))
        for i, value in enumerate(a):
            axes = grid.flat[i]
            axes.hist(found.log_pi[i], bins=N_BINS, color=BLUE, histtype="stepfilled")
            axes.axvline(found.exact[i], color=VERMILION, label="log marginal likelihood")
            axes.set_title(f"a = {value:g}")
            axes.set_xlabel("log π(S), nats")
        figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="lower right")
        grid[0, 0].set_ylabel("allocations")
        values, counts = np.unique(found.d_ep, return_counts=True)
        axes = grid.flat[len(a)]
        axes.bar(values, counts, color=MUTED)
        axes.invert_xaxis()  # the fewest on the right, as the most probable are
        axes.set_title("effective parameters")
        axes.set_xlabel("d_EP")

    return {NAME: draw}
