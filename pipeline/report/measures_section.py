"""Several runs by the measures of `evaluate --measures`."""

import logging
from collections.abc import Sequence
from typing import Any

from pipeline.errors import UsageError
from pipeline.report.comparison_section import names_of_runs
from pipeline.report.sections import ComparisonSection, MeasureColumn, Measured, MeasuresSection
from pipeline.runs.any_model import AnyModel
from pipeline.runs.loaded_run import LoadedRun
from pipeline.scoring.judged import Judged
from pipeline.scoring.measures import MEASURES, judge_rows
from pipeline.scoring.measures_result import result_of
from pipeline.scoring.measures_table import MEANINGS, warnings_of
from pipeline.settings import EvaluateSettings, ReportSettings

logger = logging.getLogger(__name__)


def measures_section(
    runs: Sequence[LoadedRun], settings: ReportSettings, comparison: ComparisonSection
) -> MeasuresSection | None:
    """Return the table of `evaluate --measures all`, without labels.

    Documents are those of the comparison, all of them except for the likelihood, which is that of
    the comparison, and left out where that ranks no models. None if there is nothing to measure;
    the log says why.

    Raises CorpusFormatError if the index of --reference is damaged.
    """
    is_ranked = bool(comparison.rows) and comparison.is_comparable
    skipped = {"labels"} if is_ranked else {"labels", "likelihood"}
    asked = EvaluateSettings(
        measures=",".join(each for each in MEASURES if each not in skipped),
        method=comparison.method if is_ranked else None,
        samples=settings.samples,
        seed=settings.seed,
        reference=settings.reference,
        runs=settings.runs,
        threads=settings.threads,
    )
    rows = [
        Judged(name, (AnyModel.of_run(name, run),))
        for name, run in zip(names_of_runs(runs), runs, strict=True)
    ]
    try:
        return section_of(result_of(asked, judge_rows(asked, rows, settings.scored)))
    except UsageError as error:
        logger.info("no measures: %s", error)
        return None


def section_of(result: dict[str, Any]) -> MeasuresSection:
    """Return the section of a result of `evaluate --measures`."""
    rows = result["models"]
    measures = dict.fromkeys(m for row in rows for m in row["figures"])
    columns = tuple(_column(result, measure) for measure in measures)
    models = tuple(row["model"] for row in rows)
    return MeasuresSection(
        models=models,
        columns=columns,
        documents=result["documents"],
        coherence_in=result["coherence_in"],
        notes=(*(f"{each}." for each in warnings_of(result)), *_reasons(models, columns)),
    )


def _reasons(models: Sequence[str], columns: Sequence[MeasureColumn]) -> list[str]:
    """Return why figures or intervals are missing, a sentence for each reason."""
    missing: dict[tuple[str, str], dict[str, list[str]]] = {}
    for column in columns:
        for model, of in zip(models, column.figures, strict=True):
            if of.why:
                what = "value" if of.value is None else "interval"
                missing.setdefault((what, of.why), {}).setdefault(model, []).append(column.name)
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (what, why), by_model in missing.items():
        for model, names in by_model.items():
            found.setdefault((what, why, tuple(names)), []).append(model)
    return [
        f"{', '.join(some)}: no {what} of {', '.join(names)}, because {why}."
        for (what, why, names), some in found.items()
    ]


def _column(result: dict[str, Any], measure: str) -> MeasureColumn:
    figures = [row["figures"][measure] for row in result["models"]]
    comparison = result["comparisons"].get(measure, {})
    return MeasureColumn(
        name=measure,
        meaning=MEANINGS[measure].format(**result),
        better=comparison.get("better", ""),
        over=next((each["over"] for each in figures if each["over"]), ""),
        figures=tuple(_measured(each) for each in figures),
        best=comparison.get("best", ""),
        worse=tuple(each["model"] for each in comparison.get("against", ()) if each["told_apart"]),
    )


def _measured(figure: dict[str, Any]) -> Measured:
    value, low, high = figure["value"], figure["low"], figure["high"]
    return Measured(value, low, high, figure["why"] or "")
