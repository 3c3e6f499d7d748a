"""Anchor words: first topics that only the documents decide, in whatever order they are.

A word that only one topic has, its anchor, stands for the topic: the words beside it are the
topic's. Anchors are corners of the simplex that the words' rows of co-occurrences span, found as in
the first loop of algorithm 4 of Arora et al. 2013, "A practical algorithm for topic modeling with
provable guarantees": one after another the row farthest from the span, here the affine one, of
those before. Its second loop and the recovery of topics are left out, since sampling follows. An
anchor's topic is the words found beside it.
"""

import numpy as np
from scipy import sparse

from corpora.row_blocks import row_blocks
from models.arrays import Floats, Ints

MIN_WORDS, WORDS_A_TOPIC, MAX_WORDS = 500, 10, 3000
"""Words that can be anchors: so many for each topic, within these bounds, and at least as many as
topics. They are those in the most documents, as anchors that are rare make poor first topics: at
K = 25, which learns 50 topics, on 25,000 articles, perplexity was 1536 after 40 sweeps with 3,000
words, 1530 with 1,000 and 1525 with 500. With fewer, seeds differ more: at K = 50 (100 topics) the
perplexities of 20 seeds had a range of 1.3 after 200 sweeps with 1,000, and of 4.4 with 500."""
TIE = 1e-12
"""Squared distances that differ by less are equal, and the first word is taken: their last bits
depend on the threads of the matrix product."""


def anchor_topics(counts: sparse.csr_array, n_topics: int) -> Floats:
    """Return topics (V, N) that have the words beside N anchors in documents counts (D, V).

    N is `n_topics`, or fewer if not so many rows of co-occurrences are affinely independent.
    """
    n_words = counts.shape[1]
    n_docs = np.zeros(n_words, dtype=np.int64)
    for _, block in row_blocks(counts):
        n_docs += np.bincount(block.indices[block.data > 0], minlength=n_words)
    n_candidates = max(n_topics, min(MAX_WORDS, max(MIN_WORDS, WORDS_A_TOPIC * n_topics)))
    words = np.argsort(-n_docs, kind="stable")[:n_candidates]
    rows = cooccurrences(counts, words, words)
    if not (has_company := rows.any(axis=1)).all():
        words, rows = words[has_company], rows[has_company]
    rows /= rows.sum(axis=1, keepdims=True)
    beside = cooccurrences(counts, words[_corners(rows, n_topics)], np.arange(n_words))
    beside /= beside.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(beside.T)


def cooccurrences(counts: sparse.csr_array, words: Ints, others: Ints) -> Floats:
    """Return (n, m), how often two tokens of a document are one of `words` and one of `others`.

    Each document (counts has shape (D, V)) contributes the probability that two of its tokens,
    drawn without replacement, are these words; it has none if it has a single token.
    """
    total = np.zeros((len(words), len(others)))
    once = np.zeros(counts.shape[1])
    for _, block in row_blocks(counts):
        n_tokens = block.sum(axis=1, dtype=np.float64)
        weight = np.divide(1.0, n_tokens * (n_tokens - 1.0), where=n_tokens > 1, out=0.0 * n_tokens)
        weighted = sparse.csr_array(sparse.diags_array(weight) @ block)
        total += (block[:, words].T @ weighted[:, others]).toarray()
        once += weighted.sum(axis=0)
    _, rows, columns = np.intersect1d(words, others, assume_unique=True, return_indices=True)
    total[rows, columns] -= once[words[rows]]
    return total


def _corners(rows: Floats, n_corners: int) -> Ints:
    """Return the numbers of at most `n_corners` of `rows` (n, m), each the farthest from the affine
    span of those before; the first is the one farthest from the origin. Mutates `rows`.
    """
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    corners = [_first_of_largest(np.einsum("ij,ij->i", rows, rows))]
    rows -= rows[corners[0]].copy()
    product = rows @ rows.T
    squared = np.diagonal(product).copy()
    # A Cholesky decomposition of the inner products that takes the largest remainder first.
    factor = np.zeros((min(n_corners, len(rows)) - 1, len(rows)))
    for n in range(len(factor)):
        squared[corners] = 0.0
        row = _first_of_largest(squared)
        if squared[row] <= TIE:
            break
        corners.append(row)
        factor[n] = (product[row] - factor[:n].T @ factor[:n, row]) / np.sqrt(squared[row])
        squared -= factor[n] ** 2
    return np.array(corners)


def _first_of_largest(values: Floats) -> int:
    return int(np.argmax(values >= values.max() - TIE))
