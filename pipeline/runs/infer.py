"""`infer`: the topics of new texts."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corpora import (
    Article,
    Corpus,
    CorpusFormatError,
    annotate_articles,
    load_annotator,
    select,
    stop_words_of,
)
from models.parallel import effective_n_jobs
from pipeline.runs.loaded_run import LoadedRun
from pipeline.setting_sources import check_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.settings import InferSettings

logger = logging.getLogger(__name__)


def infer(settings: InferSettings, run_name: str, files: list[str]) -> dict[str, Any]:
    """Topic proportions of text files ("-" is stdin) under a run's model."""
    check_least(settings, words=1)
    run = LoadedRun.find(settings.runs, run_name)
    model = run.model
    how = run.text_settings
    logger.info(
        "reading %s with %s, for topics of run %s", ", ".join(files), how.spacy_model, run.name
    )
    texts = [_read(file) for file in files]
    annotated = annotate_articles(
        (Article(d, 0, files[d], "", "", "und", "", text) for d, text in enumerate(texts)),
        load_annotator(how.spacy_model, noun_chunks=how.noun_chunks),
        stop_words_of(how.spacy_model),
    )
    # Each file is one document, even if the run's documents are sections.
    block = run.bigrams.join(select(annotated, replace(how, documents="article")))
    corpus = Corpus.from_blocks([block], model.vocabulary)
    proportions = model.topics.proportions(corpus.counts, n_jobs=effective_n_jobs(settings.threads))
    top = model.topics.top_words(settings.words)
    n_known: NDArray[np.int64] = corpus.counts.sum(axis=1)
    return {
        "run": run.name,
        "texts": [
            {
                "file": file,
                "tokens": int(n_known[d]),
                "unknown": int(corpus.n_unknown[d]),
                "topics": [
                    {
                        "topic": int(k),
                        "proportion": float(proportions[d, k]),
                        "words": [model.vocabulary[w] for w in top[k]],
                    }
                    for k in np.argsort(-proportions[d], kind="stable")
                ],
            }
            for d, file in enumerate(files)
        ],
    }


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusFormatError(f"{file}: not UTF-8 text: {error}") from error
