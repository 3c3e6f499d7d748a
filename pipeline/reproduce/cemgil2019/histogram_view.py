"""Figure 5 of Cemgil et al. 2019: probabilities of all allocations of a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.figures.style import BLUE, MUTED, VERMILION
from pipeline.progress import Progress
from pipeline.reproduce.cemgil2019.histogram import Histogram, HistogramSettings, histogram
from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.tables import Column, Headline, Table, text

if TYPE_CHECKING:
    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.claims import Finding
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "bam-histogram"
N_BINS = 60


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Enumerate all allocations; both scales are the same, as it takes a second."""
    del settings, cache
    wanted = HistogramSettings()
    with Progress(NAME, len(wanted.a), "values of a") as progress:
        found = histogram(wanted, lambda: progress.update(1))
    return Found(as_json(found), found)


def as_json(found: Histogram) -> dict[str, Any]:
    """Return a row for each a, and one for each number of effective parameters."""
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
    }


def _findings(found: Histogram) -> list[Finding]:
    a = found.settings.a

    def at(fails: Any) -> list[str]:
        return [f"a = {each:g}" for each, failed in zip(a, fails, strict=True) if failed]

    last = len(a) - 1
    is_last = np.arange(len(a)) == last
    explained, limit = found.explained, found.limit_error
    above = found.spacing - np.log(np.array(a))
    return [
        finding(
            "sum-is-exact",
            "Σ π(S) over all S is the exact likelihood, to 1e-10 nats",
            at(np.abs(found.log_sum - found.exact) > 1e-10),
        ),
        finding(
            "more-explained-for-small-a",
            "effective parameters explain more the smaller a is",
            at([False, *(np.diff(explained) < 0)]),
            "The effective parameters decide the probability of an allocation as a goes to 0.",
        ),
        finding(
            "modes-are-log-a-apart",
            f"modes are log a and a constant ({above[last]:.2f} nats) apart: the same, to "
            "0.01 nats, at the last two a",
            at(is_last & (abs(above[last] - above[last - 1]) > 0.01)),
            "Modes of log π(S) are log a apart.",
        ),
        finding(
            "modes-are-apart",
            f"modes do not overlap at a = {a[last]:g}",
            at(is_last & ~found.are_separate),
            "The modes do not overlap at a small a.",
        ),
        finding(
            "slope-is-effective-parameters",
            "log π(S) / log a goes to d_EP + 1 for every S: the worst slope between the "
            f"last two a is off by {limit[-1]:.1e}, less than a hundredth",
            at(is_last & (limit[-1] > 0.01)),
        ),
    ]


def tables(result: Any) -> list[Table]:
    """Return a table over a, and one over the effective parameters at the smallest a."""
    smallest = f"{result['rows'][-1]['a']:g}"
    return [
        Table(
            f"All {result['allocations']:,} allocations of {result['matrix']} at K = "
            f"{result['rank']}",
            (
                Column("a", "a", "g"),
                Column("log Σ π(S)", "log_sum", ".9f"),
                Column("exact log L", "exact", ".9f"),
                Column("distinct", "distinct", ","),
                Column("spacing", "spacing", ".3f"),
                Column("spacing − log a", "above_log_a", ".3f"),
                Column("explained", "explained", ".4f"),
                Column("limit", "limit_error", ".1e"),
                Column("modes apart", "levels_are_separate"),
            ),
            result["rows"],
            "b = a / S₊. Spacing: nats that one effective parameter costs, by a line of log π(S) "
            "over d_EP; published: log a. Explained: share of the variance of log π(S) that the "
            "effective parameters account for. Limit: worst S's error of d log π / d log a = "
            "d_EP + 1, from the a before.",
        ),
        Table(
            f"log π(S) at a = {smallest}, by effective parameters",
            (
                Column("effective parameters", "effective_parameters"),
                Column("allocations", "allocations", ","),
                Column("lowest", lambda level: level["log_pi"][smallest][0], ".2f"),
                Column("highest", lambda level: level["log_pi"][smallest][1], ".2f"),
            ),
            result["levels"],
        ),
    ]


def headline(result: Any) -> Headline:
    """Return the distance of modes at the smallest a."""
    last = result["rows"][-1]
    return Headline(
        f"nats between modes of log π(S) at a = {last['a']:g}",
        f"log a {text(last['above_log_a'], '+.2f')}",
        "log a",
    )


def _draw(figure: Any, _: Any, found: Histogram) -> None:
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


EXPERIMENT = Experiment(
    name=NAME,
    where="Figure 5",
    shows="How the probabilities of all allocations of a matrix gather at a few levels.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: _findings(found.drawn),
    figures=(Figure("", "Figure 5: histograms of log π(S), a panel for each a", _draw),),
)
