"""The figures of a report, a function each, from its sections."""

from pipeline.report.figures.gathered import all_figures, comparison_figures

__all__ = ["all_figures", "comparison_figures"]
