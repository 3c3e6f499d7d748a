"""Input of pyLDAvis, the interactive view of topics (Sievert & Shirley 2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.row_blocks import row_blocks, tokens_of_documents
from models.parallel import effective_n_jobs

if TYPE_CHECKING:
    from pipeline.runs.loaded_run import LoadedRun


def pyldavis(run: LoadedRun, n_jobs: int = -1) -> dict[str, Any]:
    """Return the arguments of `pyLDAvis.prepare`, from the training documents that have tokens.

    `topic_term_dists` (K, V) and `doc_topic_dists` (D, K) have rows that sum to 1. `vocab` has the
    words of these documents: pyLDAvis divides by the frequency of a word. pyLDAvis numbers topics
    by size from 1; `sort_topics=False, start_index=0` keeps the numbers of the run.
    """
    topics, corpus = run.model.topics, run.parts.train
    frequency = np.zeros(corpus.n_words, dtype=np.int64)
    for _, block in row_blocks(corpus.counts):
        frequency += np.asarray(block.sum(axis=0, dtype=np.int64)).ravel()
    lengths = tokens_of_documents(corpus.counts)
    words, documents = np.flatnonzero(frequency), np.flatnonzero(lengths)
    topic_word = topics.topic_word[:, words]
    shares = np.empty((len(documents), topics.n_topics))
    n_threads, done = effective_n_jobs(n_jobs), 0
    for first, block in row_blocks(corpus.counts):
        some = block[lengths[first : first + block.shape[0]] > 0]
        shares[done : done + some.shape[0]] = topics.proportions(some, n_jobs=n_threads)
        done += some.shape[0]
    return {
        "topic_term_dists": topic_word / topic_word.sum(axis=1, keepdims=True),
        "doc_topic_dists": shares,
        "doc_lengths": lengths[documents],
        "vocab": [corpus.vocabulary[w] for w in words],
        "term_frequency": frequency[words],
    }
