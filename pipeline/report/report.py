"""`report`: runs as one page that opens from disk, and as figures.

RUN/report.html      the page, unless --output names another; ./report.html for several runs
RUN/figures/         every figure as SVG and PNG; those of a comparison in figures/ beside the page
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpora import writer_lock
from corpora.files import atomic_write_text
from models.families import family_of
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.figures.write import Figure, page_svg, write_figures
from pipeline.progress import Progress
from pipeline.report.allocation_report import allocation_page, is_allocation
from pipeline.report.article_names import names_of
from pipeline.report.coherence_section import coherence_section
from pipeline.report.comparison_section import comparison_section, names_of_runs
from pipeline.report.corpus_section import corpus_section
from pipeline.report.documents_section import documents_section
from pipeline.report.figures import all_figures, comparison_figures
from pipeline.report.likelihood_section import likelihood_section
from pipeline.report.measures_section import measures_section
from pipeline.report.page import render
from pipeline.report.provenance_section import provenance_section
from pipeline.report.sections import (
    ComparisonSection,
    DocumentsSection,
    LikelihoodSection,
    MeasuresSection,
    Report,
    RunReport,
)
from pipeline.report.topics_section import topics_section
from pipeline.report.training_section import training_section
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.topic_rows import topic_rows
from pipeline.scoring.measures import index_at
from pipeline.setting_sources import check_least, check_seed
from pipeline.settings import ReportSettings
from pipeline.training.trainers import spec_of

N_STEPS = 4


def report(settings: ReportSettings, names: Sequence[str]) -> dict[str, Any]:
    """Write the page, and the figures of each run.

    Raises UsageError if a setting is invalid, a run is named twice or has no model yet, or an
    `allocate` directory is named together with others; CorpusFormatError or ModelFormatError if a
    run is damaged.
    """
    _check(settings)
    allocations = [name for name in names if is_allocation(name)]
    if allocations and len(names) > 1:
        raise UsageError(
            f"{allocations[0]} is an `allocate` directory, whose report is a page of its own: name "
            "no other"
        )
    if allocations:
        directory = Path(allocations[0])
        page = _page_path(settings, directory)
        atomic_write_text(page, allocation_page(directory))
        return {"page": str(page), "bytes": page.stat().st_size, "runs": [], "figures": []}
    n_threads = effective_n_jobs(settings.threads)
    found = _found(names, settings.runs)
    paths = [run.directory.path for run in found]
    page = _page_path(settings, paths[0] if len(found) == 1 else Path())
    for directory in paths + [page.parent] * (len(found) > 1):
        drawn = directory / "figures"
        if not settings.page_only and drawn.exists() and not drawn.is_dir():
            raise UsageError(f"{drawn} exists and is not a directory: move it, or use --page-only")
    for run in found:
        _ = run.model, run.corpus  # fail early
    comparison, measures = _compared(found, settings, n_threads)
    runs: list[RunReport] = []
    svgs: dict[tuple[int | None, str], str] = {}
    written: list[Path] = []
    called = names_of_runs(found)
    for number, (each, name) in enumerate(zip(found, called, strict=True)):
        with writer_lock(each.directory.path):
            about = run_report(each, name, settings, n_threads)
            figures = all_figures(about, each.model)
            if not settings.page_only:
                written += _write(figures, each.directory.path / "figures")
        runs.append(about)
        svgs |= _for_page(figures, number)
    if comparison is not None:
        figures = comparison_figures(comparison, runs, measures)
        if not settings.page_only:
            written += _write(figures, page.parent / "figures")
        svgs |= _for_page(figures, None)
    title = " and ".join(called) if len(found) < 3 else f"{len(found)} runs"
    atomic_write_text(page, render(Report(title, tuple(runs), comparison, measures), svgs))
    return {
        "page": str(page),
        "bytes": page.stat().st_size,
        "runs": called,
        "figures": [str(path) for path in written],
    }


def _check(settings: ReportSettings) -> None:
    check_least(settings, documents=0, scored=0, words=1, typical=0, samples=1)
    check_seed(settings.seed)
    if settings.scored == 1:
        raise UsageError("--scored must be at least 2, or 0 for no likelihoods, found 1")
    if settings.reference:
        index_at(settings.reference)


def _found(names: Sequence[str], runs: str) -> list[LoadedRun]:
    found = [LoadedRun.find(runs, name, is_checked=False) for name in names]
    paths = [run.directory.path.resolve() for run in found]
    twice = next((name for i, name in enumerate(names) if paths[i] in paths[:i]), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice")
    return found


def _compared(
    found: Sequence[LoadedRun], settings: ReportSettings, n_threads: int
) -> tuple[ComparisonSection | None, MeasuresSection | None]:
    """Return the sections on several runs; None for one."""
    if len(found) < 2:
        return None, None
    comparison = comparison_section(found, settings, n_threads)
    return comparison, measures_section(found, settings, comparison)


def _page_path(settings: ReportSettings, directory: Path) -> Path:
    """Return the path of the page after checking that it can be written."""
    page = Path(settings.output) if settings.output else directory / "report.html"
    if not page.parent.is_dir():
        raise UsageError(f"--output: the directory of {page} does not exist")
    if page.exists() and not page.is_file():
        raise UsageError(f"--output: {page} exists and is not a file: name another")
    if not os.access(page.parent, os.W_OK):
        raise UsageError(f"--output: {page.parent} is not writable: name another directory")
    return page


def _write(figures: Sequence[Figure], directory: Path) -> list[Path]:
    directory.mkdir(exist_ok=True)
    return write_figures({figure.name: figure.draw for figure in figures}, directory)


def _for_page(figures: Sequence[Figure], run: int | None) -> dict[tuple[int | None, str], str]:
    """Return figures as markup with different ids."""
    prefix = "comparison" if run is None else f"run{run}"
    return {(run, figure.name): page_svg(figure, f"{prefix}-{figure.name}") for figure in figures}


def run_report(run: LoadedRun, name: str, settings: ReportSettings, n_threads: int) -> RunReport:
    """Return every section that the run has data for; the page calls the run `name`.

    Raises CorpusFormatError if a file of the run is missing or damaged. The store may be missing:
    titles then come from the corpus, and a note says so.
    """
    names, model = names_of(run), run.model
    with Progress(f"report {name}", N_STEPS, "sections") as progress:
        topics = topics_section(run, names, settings.words, settings.typical, n_threads)
        progress.update(1)
        documents = likelihood = None
        if settings.documents:
            documents = documents_section(run, names, settings.documents, n_threads)
        progress.update(1)
        if settings.scored:
            likelihood = likelihood_section(run, settings, n_threads)
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
            coherence=coherence_section(run, settings.reference),
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
