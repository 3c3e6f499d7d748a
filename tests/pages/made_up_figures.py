"""Figures of a made-up report: those of matplotlib, or boxes that stand in for most of them."""

from pipeline.figures.write import page_svg
from pipeline.report.figures import all_figures, comparison_figures
from pipeline.report.figures.topic_map import topic_map


def drawn_figures(report):
    figures = [(i, each) for i, run in enumerate(report.runs) for each in all_figures(run)]
    if report.comparison is not None:
        of_all = comparison_figures(report.comparison, report.runs, report.measures)
        figures += [(None, each) for each in of_all]
    return {(of, each.name): page_svg(each, f"run-{of}-{each.name}") for of, each in figures}


def made_up_figures(report):
    found = {}
    for i, run in enumerate(report.runs):
        found[i, "topic-map"] = page_svg(topic_map(run.topics), f"r{i}-map")
        names = ("training", "prevalence", "top-words", "word-clouds", "coherences", "likelihoods")
        for name in names:
            found[i, name] = _box(f"r{i}-{name}")
    if report.comparison is not None:
        for name in ("comparison", "measures"):
            found[None, name] = _box(f"{name}-figure")
        for i in range(len(report.comparison.alignments)):
            found[None, f"alignment-{i + 1}"] = _box(f"alignment-figure-{i}")
    return found


def _box(name):
    return (
        f'<svg viewBox="0 0 720 432" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{name}</title>'
        '<rect x="40" y="20" width="660" height="380" style="fill: none; stroke: var(--grid)">'
        '</rect><text x="60" y="60" style="fill: var(--ink)">A figure stands here</text></svg>'
    )
