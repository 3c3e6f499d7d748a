"""Documents of the experiments of Capdevila et al. 2018: which words, and which are scored."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DRAWING = 1
"""Stream of random numbers that documents are drawn by."""


def whole_counts(counts: sparse.csr_array) -> sparse.csr_array:
    """Return a copy of counts (D, V) as estimators take them: int64, each entry once, none 0."""
    documents: sparse.csr_array = sparse.csr_array(counts).astype(np.int64)  # a copy
    documents.sum_duplicates()
    documents.eliminate_zeros()
    return documents


def most_frequent_words(counts: sparse.csr_array, n_words: int) -> sparse.csr_array:
    """Return the columns of the words with most tokens, in their order; all if there are fewer.

    Among words with as many tokens the first ones are taken.
    """
    n_tokens = np.asarray(counts.sum(axis=0)).ravel()
    chosen = np.sort(np.argsort(-n_tokens, kind="stable")[:n_words])
    return sparse.csr_array(counts[:, chosen])


def draw_rows(among: NDArray[np.intp], n_rows: int, seed: int) -> NDArray[np.intp]:
    """Draw `n_rows` of the row numbers `among`, in order; all if there are no more."""
    rng = np.random.default_rng([seed, DRAWING])
    return np.sort(rng.permutation(among)[:n_rows])
