"""Variational inference for LDA: kernels of plain arrays (Hoffman, Blei & Bach 2010, Algorithm 2).

With q(θ_d) = Dirichlet(γ_d) and topics given by weights b_kw (exp E[log φ_kw] while topics are
being learned, φ_kw itself once they are fixed), the fixed point of a document is

    γ_dk = α_k + Σ_w n_dw t_k b_kw / Σ_j t_j b_jw,    t_k = exp E[log θ_dk].

The responsibilities φ_dwk = t_k b_kw / Σ_j t_j b_jw are never stored, only one number for each
entry, the ratio n_dw / Σ_j t_j b_jw. The factor exp(-ψ(Σγ)) of t cancels in both, so t is exp(ψ(γ))
throughout. Any factor of a word's weights b_.w cancels too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Floats, Ints32
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.digamma import exp_digamma
from models.variational.fixed_point import TINY, infer_document, mix_topics

Ints = Ints32 | NDArray[np.int64]
DOCUMENT_BLOCK = 32
"""Documents in a task: few enough to keep all threads busy to the end of a batch."""
START_SHAPE = 2.0  # Shape of the Gamma noise in `noisy_start`; the larger, the less noise


class Documents(NamedTuple):
    """CSR matrix in the form of kernels; document d has the entries `start[d]:start[d+1]`."""

    start: Ints
    word_of: Ints
    counts: Floats


def documents_of(counts: sparse.csr_array) -> Documents:
    """Return a CSR matrix in the form that kernels take, with 32-bit indices if they suffice."""
    start: Ints = counts.indptr
    word_of: Ints = counts.indices
    if max(counts.nnz, counts.shape[1]) <= np.iinfo(np.int32).max:
        start, word_of = (each.astype(np.int32, copy=False) for each in (start, word_of))
    return Documents(
        start=read_only(start),
        word_of=read_only(word_of),
        counts=read_only(counts.data.astype(np.float64, copy=False)),
    )


class Occurrences(NamedTuple):
    """Entries by word (CSC); word w has the entries `start[w]:start[w+1]`."""

    start: Ints
    doc_of: Ints
    ratio: Floats  # n_dw / Σ_j t_j b_jw, from `infer_documents`


@kernel
def infer_documents(
    documents: Documents,
    first: int,
    last: int,
    word_topic_weight: Floats,
    alpha: Floats,
    max_iterations: int,
    tolerance: float,
    doc_topic_dirichlet: Floats,
    exp_elog_doc_topic: Floats,
    ratio: Floats,
) -> int:
    """Iterate γ of the documents `first <= d < last` to its fixed point.

    Mutates rows `first:last` of `doc_topic_dirichlet` (D, K), which hold the starting values, of
    `exp_elog_doc_topic` (D, K), exp ψ(γ) up to a factor a row, and the entries of these rows in
    `ratio` (nnz,). `word_topic_weight` is (V, K). A document is done when the mean absolute change
    of γ falls below `tolerance`, or after `max_iterations`, the cap (see `infer_document`). Returns
    the total number of iterations. What the M-step needs is left out if `ratio` is empty;
    `exp_elog_doc_topic` (1, K) is then room to work.
    """
    iterations = 0
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, counts = documents.word_of[start:stop], documents.counts[start:stop]
        theta = exp_elog_doc_topic[min(d, len(exp_elog_doc_topic) - 1)]
        iterations += infer_document(
            words,
            counts,
            word_topic_weight,
            alpha,
            max_iterations,
            tolerance,
            doc_topic_dirichlet[d],
            theta,
        )
        if len(ratio):
            mix_topics(words, word_topic_weight, theta, ratio[start:stop])
            for j in range(start, stop):
                ratio[j] = documents.counts[j] / (TINY + ratio[j])
    return iterations


@kernel
def weigh_words(
    words: Ints,
    first: int,
    last: int,
    excess: Floats,
    scale: float,
    eta: Floats,
    exp_elog_norm: Floats,
    word_topic_weight: Floats,
) -> None:
    """Fill rows `first:last` of `word_topic_weight` (n, K) with exp E[log φ_kw] of `words` (n,).
    λ_wk = eta_w + scale excess_wk, and `exp_elog_norm` (K,) is exp ψ(Σ_w λ_wk).
    """
    n_topics = excess.shape[1]
    dirichlet = np.empty(n_topics)
    for i in range(first, last):
        w = words[i]
        learned, row = excess[w], word_topic_weight[i]
        for k in range(n_topics):
            dirichlet[k] = eta[w] + scale * learned[k]
        exp_digamma(dirichlet, row)
        for k in range(n_topics):
            row[k] /= exp_elog_norm[k]


@kernel
def add_expected_counts(
    words: Ints,
    first: int,
    last: int,
    sums: Floats,
    word_topic_weight: Floats,
    factor: float,
    excess: Floats,
    added: Floats,
) -> None:
    """Add `factor` times the expected counts Σ_d n_dw φ_dwk to the rows `words[first:last]`.

    Mutates those rows of `excess` (V, K), and adds the sum of the additions to `added` (K,).
    Expected counts are the product of `sums` (n, K), from `models.lda.e_step`, and
    `word_topic_weight` (n, K), which are indexed like `words` (n,).
    """
    n_topics = excess.shape[1]
    for i in range(first, last):
        w = words[i]
        for k in range(n_topics):
            gain = factor * sums[i, k] * word_topic_weight[i, k]
            excess[w, k] += gain
            added[k] += gain


def starting_dirichlet(counts: sparse.csr_array, alpha: Floats) -> Floats:
    """Return the starting value γ_dk = α_k + n_d / K: tokens spread evenly over topics."""
    n_tokens = np.asarray(counts.sum(axis=1), dtype=np.float64).reshape(-1, 1)
    started: Floats = alpha + n_tokens / alpha.shape[0]
    return started


def noisy_start(counts: sparse.csr_array, alpha: Floats, rng: np.random.Generator) -> Floats:
    """Return the starting value of γ in training: the even one times Gamma noise of mean 1.

    A document has many fixed points. From the even start every visit reaches the one that the
    topics already favour; from noisy starts topics learn from several, which makes them better
    (measured in docs/benchmarks.md).
    """
    noise = rng.gamma(START_SHAPE, 1.0 / START_SHAPE, size=(counts.shape[0], alpha.shape[0]))
    return starting_dirichlet(counts, alpha) * noise


def infer_doc_topic(
    counts: sparse.csr_array,
    word_topic_weight: Floats,
    alpha: Floats,
    *,
    max_iterations: int,
    tolerance: float,
    n_jobs: int | None = None,
) -> Floats:
    """Return the variational Dirichlet parameters γ (D, K) of documents under fixed topics.
    The result of a document depends on neither the other documents in `counts` nor the number of
    threads.
    """
    doc_topic_dirichlet = starting_dirichlet(counts, alpha)
    documents = documents_of(counts)
    given = read_only(word_topic_weight), read_only(alpha), max_iterations, tolerance

    def work(first: int, last: int) -> None:
        room = np.empty((1, len(alpha))), np.empty(0)
        infer_documents(documents, first, last, *given, doc_topic_dirichlet, *room)

    for_blocks(work, counts.shape[0], DOCUMENT_BLOCK, effective_n_jobs(n_jobs))
    return doc_topic_dirichlet
