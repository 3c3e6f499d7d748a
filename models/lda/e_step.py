"""E-step of a mini-batch as values, so that parts of it can run in other processes.

    EStep, counts of some documents → expected_counts → BatchStatistics
    BatchStatistics, BatchStatistics → combined → BatchStatistics

Sufficient statistics are summed in a binary tree whose leaves are `LEAF` consecutive documents:
leaf 0 with 1, 2 with 3, then the sums of these pairs, and so on. A part of a batch that is a node
of this tree can be computed and combined in any process: the sums have the same bits as if one
process had computed the whole batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from models.arrays import Floats, Ints32
from models.kernel import exact_kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.inference import (
    DOCUMENT_BLOCK,
    Occurrences,
    documents_of,
    infer_documents,
    noisy_start,
)

LEAF = 128  # Documents in a leaf, whose statistics are summed one after the other
WORD_BLOCK = 512  # Words in a task of a thread
_DEEPEST = 40


@dataclass(frozen=True, eq=False)
class EStep:
    """Parameters and settings of the E-step of a batch."""

    words: Ints32  # (n,), the words of the batch, ascending
    weight: Floats  # (n, K), exp E[log φ] of these words; each row may have any factor
    alpha: Floats  # (K,)
    max_iterations: int
    tolerance: float
    seed: tuple[int, ...]
    """Seed of the batch; with the number of a leaf it fixes the starting values of γ there."""
    learns_alpha: bool  # Whether to compute Σ_d E[log θ_d]


class BatchStatistics(NamedTuple):
    """Sufficient statistics of a part of a batch, for the M-step."""

    words: Ints32  # (m,) words of the part, ascending
    sums: Floats
    """(m, K) Σ_d n_dw t_dk / Σ_j t_dj b_jw: times b_kw, the expected counts of the words."""
    elog_doc_topic: Floats  # (K,), Σ_d E[log θ_dk]; zeros if it was not asked for
    n_documents: int
    iterations: int  # Iterations of the fixed points of all documents


SubmitEStep = Callable[[sparse.csr_array, EStep], Callable[[], BatchStatistics]]
"""Function that begins the E-step of a batch (S, V), and returns one that waits for the result."""


def expected_counts(
    counts: sparse.csr_array, step: EStep, n_jobs: int | None = None, *, first_leaf: int = 0
) -> BatchStatistics:
    """Return the E-step of documents (S, V), which begin at leaf `first_leaf` of the batch.
    Only nodes of the tree can be combined: 2^i leaves, or those left at the end of the batch, that
    begin at a multiple of 2^i.
    """
    n_threads, n_docs = effective_n_jobs(n_jobs), counts.shape[0]
    words, place, word_of = _numbered(counts, step.words)
    weight = step.weight if len(words) == len(step.words) else step.weight[place]
    weight, alpha = read_only(weight), read_only(step.alpha)
    doc_topic_dirichlet = np.concatenate(
        [
            noisy_start(
                counts[first : first + LEAF],
                step.alpha,
                np.random.default_rng([*step.seed, first_leaf + first // LEAF]),
            )
            for first in range(0, n_docs, LEAF)
        ]
    )
    documents = documents_of(counts)._replace(word_of=read_only(word_of))
    exp_elog_doc_topic = np.empty_like(doc_topic_dirichlet)
    ratio = np.empty(counts.nnz)
    iterations = np.zeros(-(-n_docs // DOCUMENT_BLOCK), dtype=np.int64)

    def infer(first: int, last: int) -> None:
        iterations[first // DOCUMENT_BLOCK] = infer_documents(
            documents,
            first,
            last,
            weight,
            alpha,
            step.max_iterations,
            step.tolerance,
            doc_topic_dirichlet,
            exp_elog_doc_topic,
            ratio,
        )

    for_blocks(infer, n_docs, DOCUMENT_BLOCK, n_threads)
    by_word = sparse.csr_array(
        (ratio, documents.word_of, documents.start), shape=(n_docs, len(words))
    ).tocsc()
    occurrences = Occurrences(by_word.indptr, by_word.indices, by_word.data)
    sums = np.empty((len(words), step.alpha.shape[0]))
    for_blocks(
        lambda first, last: sum_by_word(first, last, occurrences, exp_elog_doc_topic, sums),
        len(words),
        WORD_BLOCK,
        n_threads,
    )
    return BatchStatistics(
        words=words,
        sums=sums,
        elog_doc_topic=_sum_elog(doc_topic_dirichlet)
        if step.learns_alpha
        else np.zeros_like(step.alpha),
        n_documents=n_docs,
        iterations=int(iterations.sum()),
    )


def combined(first: BatchStatistics, second: BatchStatistics) -> BatchStatistics:
    """Combine the statistics of two neighbours in the tree into those of their parent."""
    words = np.union1d(first.words, second.words)
    sums = np.zeros((len(words), first.sums.shape[1]))
    sums[np.searchsorted(words, first.words)] = first.sums
    sums[np.searchsorted(words, second.words)] += second.sums
    return BatchStatistics(
        words=words,
        sums=sums,
        elog_doc_topic=first.elog_doc_topic + second.elog_doc_topic,
        n_documents=first.n_documents + second.n_documents,
        iterations=first.iterations + second.iterations,
    )


def nodes(n_documents: int, at_least: int) -> list[tuple[int, int]]:
    """Split a batch into `at_least` nodes of one level of the tree, or more, if it has so many.
    Returns the first and last + 1 document of each. Combining neighbours, level after level, gives
    the whole batch; a node without a neighbour at the end of a level goes to the next level.
    """
    n_leaves = -(-n_documents // LEAF)
    size = 1
    while size < n_leaves and -(-n_leaves // (2 * size)) >= at_least:
        size *= 2
    step = size * LEAF
    return [(first, min(first + step, n_documents)) for first in range(0, n_documents, step)]


def words_of(counts: sparse.csr_array) -> Ints32:
    """Return the words (n,) of a batch (S, V), ascending."""
    present = np.zeros(counts.shape[1], dtype=np.bool_)
    present[counts.indices] = True
    return np.flatnonzero(present).astype(np.int32)


def _numbered(counts: sparse.csr_array, known: Ints32) -> tuple[Ints32, NDArray[np.int64], Ints32]:
    """Return the words (m,) of a part, their places (m,) in `known`, and the word of each entry.
    The last (nnz,) is an index into the first.
    Equivalent to `np.unique(counts.indices, return_inverse=True)`, without sorting the entries.
    """
    words = words_of(counts)
    number = np.empty(counts.shape[1], dtype=np.int32)
    number[words] = np.arange(len(words), dtype=np.int32)
    return words, np.searchsorted(known, words), number[counts.indices]


def _sum_elog(doc_topic_dirichlet: Floats) -> Floats:
    """Return Σ_d E[log θ_d] (K,) for q(θ_d) = Dirichlet(γ_d), γ (S, K), summed by the tree."""
    elog = psi(doc_topic_dirichlet) - psi(doc_topic_dirichlet.sum(axis=1, keepdims=True))
    sums = [elog[first : first + LEAF].sum(axis=0) for first in range(0, len(elog), LEAF)]
    while len(sums) > 1:
        sums = [sum(sums[i + 1 : i + 2], sums[i]) for i in range(0, len(sums), 2)]
    total: Floats = sums[0]
    return total


@exact_kernel
def sum_by_word(
    first: int, last: int, occurrences: Occurrences, exp_elog_doc_topic: Floats, sums: Floats
) -> None:
    """Fill rows `first:last` of `sums` (m, K) with Σ_d ratio_dw t_dk, in the order of the tree.
    A stack holds the sums of nodes so far. Its two last nodes are added when no further document is
    below their lowest common ancestor.
    """
    n_topics = sums.shape[1]
    stack = np.empty((_DEEPEST, n_topics))
    leaves = np.empty(_DEEPEST, dtype=np.int64)  # one of each node
    for i in range(first, last):
        depth = 0
        for j in range(occurrences.start[i], occurrences.start[i + 1]):
            d = occurrences.doc_of[j]
            leaf = d // LEAF
            if depth == 0 or leaves[depth - 1] != leaf:
                while depth >= 2 and is_whole(leaves[depth - 2], leaves[depth - 1], leaf):
                    depth -= 1
                    add_to(stack[depth - 1], stack[depth], 1.0)
                leaves[depth] = leaf
                stack[depth] = 0.0
                depth += 1
            add_to(stack[depth - 1], exp_elog_doc_topic[d], occurrences.ratio[j])
        while depth >= 2:
            depth -= 1
            add_to(stack[depth - 1], stack[depth], 1.0)
        for k in range(n_topics):
            sums[i, k] = stack[0, k]


@exact_kernel
def is_whole(a: int, b: int, leaf: int) -> bool:
    """Whether the lowest common ancestor of leaves a < b is below that of b and `leaf` > b."""
    below, above = a ^ b, b ^ leaf
    return below < above and below < (below ^ above)  # by their highest bits


@exact_kernel
def add_to(total: Floats, added: Floats, times: float) -> None:
    """Add `times` times `added` (K,) to `total` (K,), in place."""
    for k in range(total.shape[0]):
        total[k] += times * added[k]
