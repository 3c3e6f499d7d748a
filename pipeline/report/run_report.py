"""Report of one run: all its sections."""

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
from pipeline.report.sections import DocumentsSection, LikelihoodSection, RunReport
from pipeline.report.topics_section import topics_section
from pipeline.report.training_section import training_section
from pipeline.runs.topic_table import topic_rows
from pipeline.training.trainers import spec_of

if TYPE_CHECKING:
    from pipeline.runs.loaded_run import LoadedRun
    from pipeline.settings import ReportSettings

logger = logging.getLogger(__name__)

N_STEPS = 4


def run_report(run: LoadedRun, name: str, settings: ReportSettings, n_threads: int) -> RunReport:
    """Return every section that the run has data for; the page calls the run `name`.

    Raises
    ------
    CorpusFormatError
        If a file of the run is missing or damaged. The store may be missing: titles then come from
        the corpus, and a note says so.
    """
    names, model = names_of(run), run.model
    with Progress(f"report {name}", N_STEPS, "sections") as progress:
        topics = topics_section(
            run, names, n_words=settings.words, n_typical=settings.typical, n_threads=n_threads
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
                max_documents=settings.scored,
                n_samples=settings.samples,
                seed=settings.seed,
                n_threads=n_threads,
            )
        progress.update(1)
        notes = _notes(names.note, documents, likelihood, settings)
        shape = model.topics.score_shape
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
            dependencies=None if model.topics.edges is None else tuple(topic_rows(model, 10)),
            shapes=None if shape is None else tuple(float(shape[k.number]) for k in topics.topics),
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
    """Return a sentence for each requested section that is missing."""
    notes = [on_names] if on_names else []
    if settings.documents and documents is None:
        notes.append("No documents are shown: none was held out.")
    if settings.scored and likelihood is None:
        notes.append(
            "There is no likelihood of unseen documents: the run has no test part. Train with "
            "--test, such as 0.1, for one."
        )
    return tuple(notes)
