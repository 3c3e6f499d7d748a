"""Figures of a made-up report: those of matplotlib, or plain ones that stand in for them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pipeline.figures.write import page_svg
from pipeline.report.figures import all_figures, comparison_figures

if TYPE_CHECKING:
    from pipeline.report.sections import Report, TopicsSection


def drawn_figures(report: Report) -> dict[tuple[int | None, str], str]:
    """The real figures, which take some seconds to draw."""
    found: dict[tuple[int | None, str], str] = {
        (i, figure.name): page_svg(figure, f"run-{i}-{figure.name}")
        for i, run in enumerate(report.runs)
        for figure in all_figures(run)
    }
    if report.comparison is not None:
        for figure in comparison_figures(report.comparison, report.runs):
            found[None, figure.name] = page_svg(figure, f"all-{figure.name}")
    return found


def made_up_figures(report: Report) -> dict[tuple[int | None, str], str]:
    """SVG as `page_svg` makes it, but plain: a map with circles, and boxes."""
    found: dict[tuple[int | None, str], str] = {}
    for i, run in enumerate(report.runs):
        found[i, "topic-map"] = _map(run.topics, f"r{i}")
        for name in ("training", "prevalence", "top-words", "word-clouds", "likelihoods"):
            found[i, name] = _box(f"r{i}-{name}", name)
    if report.comparison is not None:
        found[None, "comparison"] = _box("comparison-figure", "comparison")
        for i in range(len(report.comparison.alignments)):
            found[None, f"alignment-{i + 1}"] = _box(f"alignment-figure-{i}", "alignment")
    return found


def _map(section: TopicsSection, prefix: str) -> str:
    circles = "".join(
        f'<g id="{prefix}-topic-{row.number}" data-gid="topic-{row.number}">'
        f'<path d="M {x - r:.1f} {y:.1f} a {r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0'
        f' a {r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0 z"'
        ' style="fill: var(--grid, #ccc); stroke: var(--muted, #555)"></path>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" dominant-baseline="central"'
        f' style="fill: var(--ink, #000); font-size: 11px">{row.number}</text></g>'
        for row in section.topics
        for x, y, r in [
            (40 + 420 * row.place[0], 40 + 420 * row.place[1], 70 * np.sqrt(row.prevalence))
        ]
    )
    return (
        f'<svg viewBox="0 0 500 500" role="group" aria-labelledby="{prefix}-map-title">'
        f'<title id="{prefix}-map-title">Map of topics</title>{circles}</svg>'
    )


def _box(prefix: str, name: str) -> str:
    return (
        f'<svg viewBox="0 0 720 432" role="img" aria-labelledby="{prefix}-title">'
        f'<title id="{prefix}-title">{escape(name)}</title>'
        '<rect x="40" y="20" width="660" height="380" style="fill: none; stroke: var(--grid)">'
        '</rect><text x="60" y="60" style="fill: var(--ink)">A figure stands here</text></svg>'
    )
