"""log p(words | θ, φ), a term of every bound and estimator."""

import numpy as np
from scipy import sparse

from models.arrays import Floats
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.fixed_point import mix_topics
from models.variational.inference import DOCUMENT_BLOCK, Documents, documents_of


def log_word_probability(
    counts: sparse.csr_array, doc_topic: Floats, word_topic: Floats, n_jobs: int | None = None
) -> Floats:
    """Return Σ_w n_dw log Σ_k θ_dk φ_kw of each document (D,).
    `doc_topic` is (D, K) and `word_topic` (V, K), the topics by word. Equivalent to
    `(counts * np.log(doc_topic @ word_topic.T)).sum(axis=1)` without the (D, V) array.
    """
    documents, word_topic = documents_of(counts), read_only(word_topic)
    result = np.empty(counts.shape[0])
    for_blocks(
        lambda first, last: _sum_log_probability(
            documents, first, last, doc_topic, word_topic, result
        ),
        counts.shape[0],
        DOCUMENT_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return result


@kernel
def _sum_log_probability(
    documents: Documents,
    first: int,
    last: int,
    doc_topic: Floats,
    word_topic: Floats,
    log_probability: Floats,
) -> None:
    """Fill `log_probability[first:last]`; -inf for a document with a word that no topic has."""
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        probability = np.empty(stop - start)
        mix_topics(documents.word_of[start:stop], word_topic, doc_topic[d], probability)
        total = 0.0
        for j in range(stop - start):
            total += documents.counts[start + j] * np.log(probability[j])
        log_probability[d] = total
