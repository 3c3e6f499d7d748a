"""`convert`: bags of words from one format into another; a run's topics as MALLET writes them."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.formats import (
    DocTopics,
    TopicKeys,
    UnknownFormatError,
    check_file_target,
    check_target,
    format_of,
    losses,
    read_corpus,
    write_corpus,
    write_doc_topics,
    write_mallet_state,
    write_topic_keys,
)
from pipeline.errors import UsageError
from pipeline.exports.targets import name_is_taken

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

KEY_WORDS = 20  # Words a topic, as MALLET writes them


@dataclass(frozen=True)
class Conversion:
    """Paths, formats ("" to tell them from the names) and vocabulary file of a conversion."""

    source: str
    target: str
    source_format: str = ""
    target_format: str = ""
    vocabulary: str | None = None
    force: bool = False


def convert(asked: Conversion) -> dict[str, Any]:
    """Convert a file or a run, and return its sizes and what was lost.

    Raises UsageError if a name does not tell its format, the target exists, or the run does not
    have what is asked for.
    """
    try:
        if (Path(asked.source) / "provenance.json").is_file():
            return _convert_run(asked)
        return _convert_corpus(asked, asked.source, asked.source_format)
    except UnknownFormatError as error:
        raise UsageError(f"{error}; --from and --to name formats") from error
    except FileExistsError as error:
        raise name_is_taken(error, force=asked.force) from error


def _convert_corpus(asked: Conversion, source: str, source_format: str) -> dict[str, Any]:
    reading = format_of(source, source_format)
    writing = format_of(asked.target, asked.target_format)
    check_target(asked.target, writing, replace=asked.force)
    both = Path(source), Path(asked.target)
    if all(path.exists() for path in both) and both[0].samefile(both[1]):
        raise UsageError(f"{source} and {asked.target} are the same: choose another name")
    logger.info("reading %s (%s), to write %s (%s)", source, reading.name, both[1], writing.name)
    corpus = read_corpus(source, reading.name, asked.vocabulary)
    lost = losses(corpus, writing)
    write_corpus(corpus, asked.target, writing.name, replace=asked.force)
    if lost:
        logger.warning(
            "%s: left out, as %s cannot hold them: %s", asked.target, writing.title, ", ".join(lost)
        )
    return {
        "input": asked.source,
        "output": asked.target,
        "from": reading.name,
        "to": writing.name,
        "documents": corpus.n_docs,
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "lost": list(lost),
    }


def _convert_run(asked: Conversion) -> dict[str, Any]:
    """Write the bags of words of a run, or its topics in MALLET's formats."""
    # Imported here: models import numba.
    from pipeline.runs.loaded_run import LoadedRun  # noqa: PLC0415
    from pipeline.runs.run_directory import RunDirectory  # noqa: PLC0415

    loaded = LoadedRun(RunDirectory(Path(asked.source)))
    run = loaded.directory
    run.provenance()
    asked = replace(asked, target_format=_format_of_target(asked))
    writing = RUN_OUTPUTS.get(asked.target_format)
    if writing is None:
        if not run.has_corpus:
            raise UsageError(f"{asked.source} has no bags of words yet: let its training end")
        return _convert_corpus(asked, str(run.corpus_path), "corpus")
    if asked.vocabulary is not None or asked.source_format:
        raise UsageError("a run holds its own vocabulary: leave --vocabulary and --from out")
    check_file_target(asked.target, asked.target_format, replace=asked.force)
    logger.info("reading run %s, to write %s (%s)", run.path, asked.target, asked.target_format)
    sizes = writing(loaded, asked.target)
    paths = {"input": asked.source, "output": asked.target}
    return {**paths, "from": "run", "to": asked.target_format, **sizes}


def _format_of_target(asked: Conversion) -> str:
    """Name of the format that is asked for, or a run's own format that the file name tells."""
    if asked.target_format:
        return asked.target_format
    with suppress(UnknownFormatError):
        told = format_of(asked.target).name
        return told if told in RUN_OUTPUTS else ""
    return ""


def _write_keys(run: LoadedRun, target: str) -> dict[str, int]:
    # Imported here: estimators import numba.
    from pipeline.exports.as_lda import lda_of  # noqa: PLC0415

    model, lda = run.model, lda_of(run, "whose alpha is in topic keys")
    words = tuple(
        tuple(model.vocabulary[w] for w in row)
        for row in model.topics.top_words(KEY_WORDS).tolist()
    )
    write_topic_keys(TopicKeys(lda.alpha, words), target)
    return {"topics": model.topics.n_topics}


def _write_proportions(run: LoadedRun, target: str) -> dict[str, int]:
    model, corpus = run.model, run.corpus
    proportions = model.topics.proportions(corpus.counts)
    write_doc_topics(DocTopics(tuple(corpus.doc_ids), proportions), target)
    return {"documents": corpus.n_docs, "tokens": corpus.n_tokens, "topics": model.topics.n_topics}


def _write_state(run: LoadedRun, target: str) -> dict[str, int]:
    # Imported here: models import numba.
    from pipeline.exports.sampled_tokens import mallet_state  # noqa: PLC0415

    state = mallet_state(run)
    write_mallet_state(state, target)
    sizes = {"documents": len(state.sources), "words": len(state.vocabulary)}
    return {**sizes, "tokens": len(state.doc_of), "topics": state.n_topics}


RUN_OUTPUTS: dict[str, Callable[[LoadedRun, str], dict[str, int]]] = {
    "mallet-topic-keys": _write_keys,
    "mallet-doc-topics": _write_proportions,
    "mallet-state": _write_state,
}
"""Formats of a run besides those of a corpus, with their writers."""
