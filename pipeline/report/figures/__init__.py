"""Figures of a report, one function each, drawn from its sections."""

from collections.abc import Sequence

from models import SavedModel
from pipeline.figures.write import Figure
from pipeline.report.figures.alignment import alignment
from pipeline.report.figures.coherences import coherences
from pipeline.report.figures.comparison import comparison
from pipeline.report.figures.dependencies import dependencies
from pipeline.report.figures.likelihoods import likelihoods
from pipeline.report.figures.measures import measures
from pipeline.report.figures.prevalence import prevalence
from pipeline.report.figures.shapes import shapes
from pipeline.report.figures.top_words import top_words
from pipeline.report.figures.topic_map import topic_map
from pipeline.report.figures.training_curve import training_curve
from pipeline.report.figures.word_clouds import word_clouds
from pipeline.report.sections import ComparisonSection, MeasuresSection, RunReport


def all_figures(run: RunReport, model: SavedModel | None = None) -> list[Figure]:
    """Return every figure that a run has data for, in the order of its page.

    Without the model there is no figure of dependencies.
    """
    drawn = [
        None if run.training is None else training_curve(run.training),
        topic_map(run.topics),
        prevalence(run.topics),
        top_words(run.topics),
        word_clouds(run.topics),
        None if run.coherence is None else coherences(run.coherence, run.labels),
        None if run.likelihood is None else likelihoods(run.likelihood),
        None if run.shapes is None else shapes(run.topics, run.shapes),
        None if not run.dependencies or model is None else dependencies(model, run.dependencies),
    ]
    return [figure for figure in drawn if figure is not None]


def comparison_figures(
    section: ComparisonSection,
    runs: Sequence[RunReport] = (),
    of_all: MeasuresSection | None = None,
) -> list[Figure]:
    """Return the paired differences, the measures, and an alignment for each of `alignments`.

    Topics of a run that is not among `runs` have numbers, but no labels.
    """
    labels = {run.name: run.labels for run in runs}
    drawn = [comparison(section), None if of_all is None else measures(of_all)] + [
        alignment(each, n, labels.get(each.first, {}), labels.get(each.second, {}))
        for n, each in enumerate(section.alignments)
    ]
    return [figure for figure in drawn if figure is not None]
