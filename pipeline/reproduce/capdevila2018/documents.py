"""What both experiments of Capdevila et al. 2018 begin with: words, documents, trained topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from models import BetaGammaPFA

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from models import GammaPoissonTopics

TRAINING, DRAWING = 0, 1
"""What a seed is for: each use has random numbers of its own."""


class TooFewDocumentsError(ValueError):
    """A corpus leaves fewer documents than an experiment can do with; the message says why."""


def whole_counts(counts: sparse.csr_array) -> sparse.csr_array:
    """The counts (D, V) as estimators take them: int64, each entry once, none of them 0."""
    documents: sparse.csr_array = sparse.csr_array(counts).astype(np.int64)  # a copy
    documents.sum_duplicates()
    documents.eliminate_zeros()
    return documents


def most_frequent_words(counts: sparse.csr_array, n_words: int) -> sparse.csr_array:
    """The columns of the `n_words` words with most tokens, in their order; all if there are fewer.

    Of words with as many tokens the first ones.
    """
    n_tokens = np.asarray(counts.sum(axis=0)).ravel()
    chosen = np.sort(np.argsort(-n_tokens, kind="stable")[:n_words])
    return sparse.csr_array(counts[:, chosen])


def used_words(counts: sparse.csr_array) -> sparse.csr_array:
    """The columns of the words that some document has."""
    n_tokens = np.asarray(counts.sum(axis=0)).ravel()
    return sparse.csr_array(counts[:, np.flatnonzero(n_tokens)])


def draw_rows(among: NDArray[np.intp], n_rows: int, seed: int) -> NDArray[np.intp]:
    """`n_rows` of the row numbers `among`, drawn at random, in order; all if there are no more."""
    rng = np.random.default_rng([seed, DRAWING])
    return np.sort(rng.permutation(among)[:n_rows])


def trained_topics(
    counts: sparse.csr_array,
    n_topics: int,
    sweeps: tuple[int, int],
    seed: int,
    *,
    n_jobs: int | None = None,
    on_sweep: Callable[[], object] | None = None,
) -> GammaPoissonTopics:
    """βΓ-PFA as in the paper (Sec. 6.1): φ ~ Dirichlet(0.1), r = 1, Gibbs sampling.

    Parameters
    ----------
    sweeps : tuple of int
        How many, and how many of them are burn-in; the paper's are 1,000 and 500.
    on_sweep : callable, optional
        Called after each.
    """
    n_iter, burn_in = sweeps
    rng = np.random.default_rng([seed, TRAINING])
    model = BetaGammaPFA(
        n_topics,
        eta=0.1,
        shape=1.0,
        learn_shape=False,
        n_iter=n_iter,
        burn_in=burn_in,
        random_state=int(rng.integers(2**32)),
        n_jobs=n_jobs,
    )
    for _ in model.iterate(counts):
        if on_sweep is not None:
            on_sweep()
    topics: GammaPoissonTopics = model.topics_
    return topics
