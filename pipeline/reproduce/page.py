"""All reproduced tables and figures on one page, ours beside the published."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from pipeline.figures.svg import DamagedFigureError, file_svg
from pipeline.report.page import render_template
from pipeline.reproduce import claims
from pipeline.reproduce.experiment import Experiment, Figure, Paper
from pipeline.reproduce.papers import PAPERS
from pipeline.reproduce.tables import Headline, Table

logger = logging.getLogger(__name__)

TITLE = "Five papers again"
SAID = "What is drawn is in the tables below."  # Alternative text of a drawing, after its caption
OLDER = "Decided by an older version of this software: run it again for a verdict."
OTHER_VERSION = "its result is of another version of this software: run it again"


class Outcome(NamedTuple):
    """Results of an experiment, as JSON has them, or the reason why there are none."""

    results: list[dict[str, Any]]
    problem: str = ""  # Reason why there is none, or why the last attempt failed
    has_failed: bool = False
    command: str = ""  # Command for a result, where there is none


class Drawing(NamedTuple):
    """A figure of the page."""

    caption: str
    svg: Markup
    is_themed: bool  # Whether its colours are those of the page; else it needs white paper


@dataclass(frozen=True)
class ResultView:
    """A result as the page has it."""

    id: str
    result: dict[str, Any]
    verdict: str
    data: str  # Note on the data; mostly empty
    findings: tuple[claims.Finding, ...]
    headline: Headline
    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True)
class ExperimentView:
    """An experiment as the page has it."""

    experiment: Experiment
    paper: Paper
    outcome: Outcome
    results: tuple[ResultView, ...]

    @property
    def verdict(self) -> str:
        """The worst verdict of its results, or the reason why there is none."""
        if self.outcome.has_failed:
            return claims.FAILED
        if not self.results:
            return claims.FAILED if self.outcome.results else claims.NOT_RUN
        verdicts = [view.verdict for view in self.results if view.verdict != claims.NOT_COMPARED]
        return max(verdicts, key=claims.VERDICTS.index, default=claims.NOT_COMPARED)


def views_of(outcomes: Mapping[str, Outcome], directory: Path) -> list[ExperimentView]:
    """Return the views of all experiments; pictures are in `directory`/EXPERIMENT."""
    views = []
    for paper, experiment in ((of, each) for of in PAPERS for each in of.experiments):
        found, outcome = [], outcomes[experiment.name]
        for result in outcome.results:
            try:
                found.append(_result(experiment, result, directory / experiment.name))
            except Exception as error:  # noqa: BLE001 - a stored result may have any fault
                logger.warning("%s: %s (%r)", experiment.name, OTHER_VERSION, error)
                outcome = outcome._replace(problem=outcome.problem or OTHER_VERSION)
        views.append(ExperimentView(experiment, paper, outcome, tuple(found)))
    return views


def _result(experiment: Experiment, result: dict[str, Any], place: Path) -> ResultView:
    findings = claims.findings_of(result)
    return ResultView(
        result["name"],
        result,
        claims.verdict_of(findings) if experiment.is_compared(result) else claims.NOT_COMPARED,
        f"{experiment.data(result)} {OLDER if claims.is_older(result) else ''}".strip(),
        tuple(findings),
        experiment.headline(result),
        tuple(experiment.tables(result)),
        tuple(_drawings(result, place, experiment.figures)),
    )


def _drawings(result: dict[str, Any], place: Path, figures: Sequence[Figure]) -> list[Drawing]:
    """Return the SVG pictures of a result, without those that are missing or damaged."""
    captions = {result["name"] + each.suffix: each.caption for each in figures}
    drawn = []
    for file in result["pictures"]:
        stem, _, kind = file.rpartition(".")
        if kind != "svg" or "/" in file:
            continue
        caption = captions.get(stem, stem)
        try:
            svg = file_svg(place / file, stem, f"{caption}. {SAID}")
        except DamagedFigureError as error:
            logger.warning("left out of the page: %s", error)
            continue
        markup = Markup(svg)  # noqa: S704 - made by file_svg
        drawn.append(Drawing(caption, markup, "var(--ink," in svg))
    return drawn


def reproductions_page(views: list[ExperimentView], made: str) -> str:
    """Return the page; `made` says when and by which command it was made."""
    papers = [(paper, [view for view in views if view.paper is paper]) for paper in PAPERS]
    counts = Counter(sorted((view.verdict for view in views), key=claims.VERDICTS.index))
    shown: dict[str, Any] = {"papers": papers, "views": views, "counts": counts, "made": made}
    return render_template("reproductions.html.j2", None, title=TITLE, **shown)
