"""All that a report says of one run."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora import ArticleStore, Corpus
from corpora.articles.remote import is_url, path_of
from corpora.errors import MissingExtraError
from corpora.files import sha256_of
from models.families import family_of
from pipeline.commands.topics import finished_model
from pipeline.learning import spec_of
from pipeline.progress import Progress
from pipeline.report.article_names import names_of
from pipeline.report.corpus_section import corpus_section
from pipeline.report.documents_section import documents_section
from pipeline.report.likelihood_section import likelihood_section
from pipeline.report.provenance_section import provenance_section
from pipeline.report.sections import RunReport
from pipeline.report.topics_section import topics_section
from pipeline.report.training_section import training_section
from pipeline.topic_table import topic_rows

if TYPE_CHECKING:
    from models import SavedModel
    from pipeline.report.sections import DocumentsSection, LikelihoodSection
    from pipeline.runs import RunDirectory
    from pipeline.settings import ReportSettings, TrainSettings

logger = logging.getLogger(__name__)

N_SECTIONS = 4
"""That take time."""


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A finished run and what is read of it."""

    run: RunDirectory
    settings: TrainSettings
    model: SavedModel
    corpus: Corpus

    @property
    def name(self) -> str:
        """As people call it."""
        return self.run.path.name


def open_finished(run: RunDirectory) -> OpenRun:
    """Read a run.

    Raises
    ------
    UsageError
        If its training has not come to its end.
    CorpusFormatError, ModelFormatError
        If it is damaged.
    """
    model = finished_model(run)
    return OpenRun(run, run.settings(), model, Corpus.load(run.corpus_path, mmap=True))


def run_report(opened: OpenRun, name: str, settings: ReportSettings, n_threads: int) -> RunReport:
    """Every section that the run has something for; the page calls the run `name`.

    Raises
    ------
    CorpusFormatError
        If a file of the run is missing or damaged. A store that is not there any more is none of
        its files: titles then come from the corpus, and a note says so.
    """
    run, trained, model, corpus = opened.run, opened.settings, opened.model, opened.corpus
    about = run, model, corpus, trained
    store = ArticleStore(store_path(run, trained))
    names = names_of(run, corpus, store.path)
    with Progress(f"report {name}", N_SECTIONS, "sections") as progress:
        topics = topics_section(
            *about,
            names,
            n_words=settings.words,
            n_typical=settings.typical,
            n_threads=n_threads,
        )
        progress.update(1)
        documents = None
        if settings.documents:
            documents = documents_section(
                *about,
                store if store.exists else None,
                n_documents=settings.documents,
                n_threads=n_threads,
            )
        progress.update(1)
        likelihood = None
        if settings.scored:
            likelihood = likelihood_section(
                *about,
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
            family_name=spec_of(trained).title,
            corpus=corpus_section(run, trained, corpus),
            training=training_section(run, trained, model.topics),
            topics=topics,
            documents=documents,
            likelihood=likelihood,
            provenance=provenance_section(run, store.path, sha256_of(run.model_path.read_bytes())),
            dependencies=None if rows is None else tuple(rows),
            shapes=shapes,
            notes=notes,
        )
        progress.update(1)
    return report


def store_path(run: RunDirectory, settings: TrainSettings) -> Path:
    """Where the articles of a run are: as its settings say, from here or from where `runs` is."""
    if is_url(settings.articles):
        try:
            return path_of(settings.articles)
        except MissingExtraError:
            return Path(settings.articles)  # where nothing is, and so is said
    path = Path(settings.articles)
    beside = run.path.parent.parent / path
    return beside if beside.is_dir() and not path.is_dir() else path


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
