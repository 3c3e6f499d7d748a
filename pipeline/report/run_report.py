"""All that a report says of one run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from models.families import family_of
from pipeline.progress import Progress
from pipeline.report.article_names import names_of
from pipeline.report.corpus_section import corpus_section
from pipeline.report.documents_section import documents_section
from pipeline.report.likelihood_section import likelihood_section
from pipeline.report.provenance_section import provenance_section
from pipeline.report.sections import RunReport
from pipeline.report.topics_section import topics_section
from pipeline.report.training_section import training_section
from pipeline.runs.topic_table import topic_rows
from pipeline.training.trainers import spec_of

if TYPE_CHECKING:
    from pipeline.report.sections import DocumentsSection, LikelihoodSection
    from pipeline.runs.loaded_run import LoadedRun
    from pipeline.settings import ReportSettings

logger = logging.getLogger(__name__)

N_SECTIONS = 4
"""That take time."""


def run_report(run: LoadedRun, name: str, settings: ReportSettings, n_threads: int) -> RunReport:
    """Every section that the run has something for; the page calls the run `name`.

    Raises
    ------
    CorpusFormatError
        If a file of the run is missing or damaged. A store that is not there any more is none of
        its files: titles then come from the corpus, and a note says so.
    """
    names, model = names_of(run), run.model
    with Progress(f"report {name}", N_SECTIONS, "sections") as progress:
        topics = topics_section(
            run,
            names,
            n_words=settings.words,
            n_typical=settings.typical,
            n_threads=n_threads,
        )
        progress.update(1)
        documents = None
        if settings.documents:
            documents = documents_section(
                run, names, n_documents=settings.documents, n_threads=n_threads
            )
        progress.update(1)
        likelihood = None
        if settings.scored:
            likelihood = likelihood_section(
                run,
                most_documents=settings.scored,
                n_samples=settings.samples,
                seed=settings.seed,
                n_threads=n_threads,
            )
        progress.update(1)
        notes = _notes(names.note, documents, likelihood, settings)
        rows = topic_rows(model, 10) if model.topics.edges is not None else None
        shape = model.topics.score_shape
        shapes = None
        if shape is not None:
            shapes = tuple(float(shape[row.number]) for row in topics.topics)
        report = RunReport(
            name=name,
            family=family_of(model.topics),
            family_name=spec_of(run.settings).title,
            corpus=corpus_section(run),
            training=training_section(run),
            topics=topics,
            documents=documents,
            likelihood=likelihood,
            provenance=provenance_section(run),
            dependencies=None if rows is None else tuple(rows),
            shapes=shapes,
            notes=notes,
        )
        progress.update(1)
    return report


def _notes(
    on_names: str,
    documents: DocumentsSection | None,
    likelihood: LikelihoodSection | None,
    settings: ReportSettings,
) -> tuple[str, ...]:
    """What was asked for and is not there."""
    notes = [on_names] if on_names else []
    if settings.documents and documents is None:
        notes.append("No document was held out, so none is shown.")
    if settings.scored and likelihood is None:
        notes.append(
            "There is no test part, so no likelihood of unseen documents: train with --test, such "
            "as 0.1, for it."
        )
    return tuple(notes)
