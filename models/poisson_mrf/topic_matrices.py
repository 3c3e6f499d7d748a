"""The topic matrices of documents: how many tokens of each word are of each topic, at their best.

    Z = argmax Σ_k log p(z_k | θ^k, Φ^k, m_k),    Σ_k z_k = x,  m_k = Σ_s z_sk

(Inouye, Ravikumar & Dhillon 2015, Sec. 3), found by moves of one word's tokens between two topics.
Nothing is taken from a prior of m. What is found is a local optimum: with Φ = 0 and A = 0 as well,
tokens of another topic cost the log of a binomial coefficient of m.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from models.arrays import Floats, Ints, Ints32
from models.checks import check_whole
from models.counts import checked_counts
from models.parallel import effective_n_jobs, for_blocks
from models.poisson_mrf.edges import Fields
from models.poisson_mrf.field_scores import field_scores, log_arrangements
from models.poisson_mrf.move_kernel import DocumentWords, FieldTables, improve_splits

DOCUMENT_BLOCK = 64


@dataclass(frozen=True, eq=False)
class TopicMatrices:
    """Tokens of D documents, shared out among K topics."""

    counts: sparse.csr_array  #: (D, V), the documents: sorted, no word twice, no zeros.
    split: Ints32  #: (nnz, K); row e shares out the `counts.data[e]` tokens.
    objective: Floats  #: (D,), Σ_k log p(z_k | m_k), a bag of words each.

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.split.shape[1])

    @cached_property
    def lengths(self) -> Ints:
        """(D, K), tokens of each topic: m."""
        before = np.zeros((len(self.split) + 1, self.n_topics), dtype=np.int64)
        np.cumsum(self.split, axis=0, out=before[1:])
        return np.diff(before[self.counts.indptr], axis=0)

    def of_topic(self, k: int) -> sparse.csr_array:
        """The documents' tokens of topic k, (D, V), int64 without zeros: z_k."""
        return tokens_of_topic(self.counts, self.split[:, k])


def tokens_of_topic(counts: sparse.csr_array, share: Any) -> sparse.csr_array:
    """Counts (D, V) with the entries (nnz,) of `share`, as int64 without zeros."""
    arrays = (share.astype(np.int64), counts.indices, counts.indptr)
    found = sparse.csr_array(arrays, shape=counts.shape, copy=True)
    found.eliminate_zeros()
    return found


def map_assignment(
    topics: Fields,
    counts: Any,
    start: Any = None,
    *,
    max_sweeps: int = 100,
    tolerance: float = 1e-9,
    n_jobs: int | None = None,
) -> TopicMatrices:
    """Topic matrices that no move of one word's tokens between two topics makes more probable.

    Each document's result depends on that document alone. In a sweep every word, in order, is split
    optimally between every pair of topics. The objective never falls.

    Parameters
    ----------
    counts : sparse or dense (D, V)
        Whole numbers.
    start : integers (nnz, K), optional
        Initial `TopicMatrices.split`, for the entries of `counts` in CSR order. By default each
        document begins whole in the topic that makes it most probable.
    max_sweeps : int
        Sweeps of a document at most; 0 scores the start.
    tolerance : float
        A move must gain more than this, so that rounding errors make none.

    Raises ValueError or TypeError if counts are none, or not of the model's words; if `start` does
    not share them out; or if a setting is out of its range.
    """
    n_threads = effective_n_jobs(n_jobs)
    check_whole("max_sweeps", max_sweeps, 0)
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance must be finite and not negative, found {tolerance}")
    documents = _whole_counts(counts, topics.n_words)
    if start is None:
        split = _whole_documents(topics, documents)
    else:
        if not np.array_equal(sparse.csr_array(counts).indices, documents.indices):
            raise ValueError(
                "start is of the entries of counts, which must be in order and hold no zeros and "
                "no word twice: take the counts of the TopicMatrices that start is from"
            )
        split = _checked_start(start, documents, topics.n_topics)
    words = DocumentWords(documents.indptr.astype(np.int64), documents.indices.astype(np.int32))
    longest = int(documents.sum(axis=1).max()) if documents.shape[0] else 0
    fields = _field_tables(topics, longest)
    neighbours = topics.neighbours
    objective = np.empty(documents.shape[0])

    def work(first: int, last: int) -> None:
        improve_splits(
            first, last, words, fields, neighbours, max_sweeps, tolerance, split, objective
        )

    for_blocks(work, documents.shape[0], DOCUMENT_BLOCK, n_threads)
    return TopicMatrices(documents, split, objective)


def single_topic_scores(topics: Fields, counts: Any) -> Floats:
    """Log p(x | θ^k, Φ^k, L) of each document in each topic (D, K), as a bag of words.
    Raises ValueError if counts are no whole numbers, or not of the model's words.
    """
    documents = _whole_counts(counts, topics.n_words)
    return field_scores(topics, documents) + log_arrangements(documents)[:, None]


def _whole_documents(topics: Fields, documents: sparse.csr_array) -> Ints32:
    """The split (nnz, K) that leaves each document in its most probable topic."""
    best = single_topic_scores(topics, documents).argmax(axis=1)
    split = np.zeros((documents.nnz, topics.n_topics), dtype=np.int32)
    split[np.arange(documents.nnz), np.repeat(best, np.diff(documents.indptr))] = documents.data
    return split


def _field_tables(topics: Fields, longest: int) -> FieldTables:
    """Tables of the fields for moves, for documents of up to `longest` tokens."""
    lengths = np.arange(longest + 1)
    log_factorial: Floats = gammaln(lengths + 1.0)
    return FieldTables(
        node=np.log(topics.word_topic),
        weight=np.stack([field.weight(lengths) for field in topics.fields]),
        log_partition=topics.log_partition_to(longest) - log_factorial,
        log_factorial=log_factorial,
    )


def _whole_counts(counts: Any, n_words: int) -> sparse.csr_array:
    """Counts (D, V) as int32 CSR, sorted, without zeros; errors as `checked_counts`."""
    documents = checked_counts(counts, n_words)
    if documents.nnz and documents.sum(axis=1, dtype=np.float64).max() > np.iinfo(np.int32).max:
        raise ValueError(f"a document must not have more than {np.iinfo(np.int32).max} tokens")
    return documents.astype(np.int32)


def _checked_start(start: Any, documents: sparse.csr_array, n_topics: int) -> Ints32:
    """A copy of `start` (nnz, K). Raises ValueError, naming an entry that is not shared out."""
    split = np.asarray(start)
    if split.shape != (documents.nnz, n_topics):
        raise ValueError(
            f"start must be (entries of counts, topics) = ({documents.nnz}, {n_topics}), found "
            f"shape {split.shape}"
        )
    if split.dtype.kind not in "iu":
        raise ValueError(f"start must hold integers, found type {split.dtype}")
    is_wrong = (split < 0).any(axis=1) | (split.sum(axis=1) != documents.data)
    if is_wrong.any():
        e = int(is_wrong.argmax())
        d = int(np.searchsorted(documents.indptr, e, side="right")) - 1
        raise ValueError(
            f"start must share out the tokens of each entry of counts, none negative: word "
            f"{documents.indices[e]} of document {d} has {documents.data[e]}, found {split[e]}"
        )
    return split.astype(np.int32, order="C")
