"""Coherence of a run's topics in documents that it did not learn from."""

import numpy as np

from corpora import Corpus
from evaluation import coherence
from evaluation.topics.reference.index import ReferenceIndex
from evaluation.topics.resampling import ResampledValue
from pipeline.report.sections import CoherenceSection, Measured
from pipeline.runs.loaded_run import LoadedRun
from pipeline.scoring.measures import COHERENCE, index_at
from pipeline.scoring.measures_result import within_bounds

N_WORDS = 10  # Top words of a topic, as in `evaluate --measures`
MIN_DOCUMENTS = 2


def coherence_section(run: LoadedRun, reference: str) -> CoherenceSection | None:
    """Count the top words of each topic in the index at `reference`, or else in the test part.

    None if there is no such part, or no topic has two words that occur in it. Topics of weight 0
    have no top words, and no value.

    Raises UsageError if there is no such index; CorpusFormatError if it is damaged.
    """
    topics, test = run.model.topics, run.parts.test
    corpus: Corpus | ReferenceIndex = index_at(reference) if reference else test
    n_words = min(N_WORDS, topics.n_words)
    has_words = np.flatnonzero(topics.topic_word.any(axis=1))
    if n_words < 2 or not len(has_words) or corpus.n_docs < MIN_DOCUMENTS:
        return None
    top = topics.top_words(n_words)[has_words].tolist()
    words = [[run.model.vocabulary[w] for w in row] for row in top]
    found = coherence(words, corpus, COHERENCE, n_words=n_words)
    if not found.n_topics:
        return None
    of_topic = dict.fromkeys(range(topics.n_topics), Measured(None, why="it has no words"))
    for k, value, of_documents in zip(
        has_words.tolist(), found.per_topic.tolist(), found.by_document.topics, strict=True
    ):
        of_topic[k] = _measured(value, of_documents)
    order = sorted(of_topic, key=lambda k: -_or_least(of_topic[k].value))
    return CoherenceSection(
        measure=found.measure,
        n_words=n_words,
        counted_in=_counted_in(corpus, found.window_size),
        topics=tuple((k, of_topic[k]) for k in order),
        mean=_measured(found.mean, found.by_document.mean),
    )


def _or_least(value: float | None) -> float:
    return -np.inf if value is None else value


def _measured(value: float, of_documents: ResampledValue) -> Measured:
    """Return a coherence with its interval over documents, if that can be trusted."""
    if not np.isfinite(value):
        return Measured(None, why=of_documents.why_none)
    half = of_documents.margin
    if not np.isfinite(half):
        return Measured(value, why=of_documents.why_none)
    return Measured(value, *within_bounds(COHERENCE, value, value - half, value + half))


def _counted_in(corpus: Corpus | ReferenceIndex, size: int | None) -> str:
    if isinstance(corpus, ReferenceIndex):
        return f"{corpus.n_articles:,} articles of {corpus.path}, in windows of {size} words"
    return f"the {corpus.n_docs:,} documents of the test part, each a window"
