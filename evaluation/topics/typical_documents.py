"""Typical documents of topics: those with the largest share of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from models.checks import check_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evaluation.arrays import Floats, Ints

SHORT: Final = 0.25  # share of documents that count as short


def typical_documents(
    proportions: ArrayLike, n_tokens: ArrayLike, n_documents: int
) -> list[NDArray[np.intp]]:
    """Return the documents with the largest share of each topic, largest first.

    Proportions are expected shares given the model, which the prior dominates in short documents.
    But under a sparse prior three words are enough for 95 %, and then the shortest documents would
    come first. So the shortest quarter of the documents with tokens is left out: a document needs
    as many tokens as the lower quartile. Of equal shares the longer document comes first, then the
    earlier one.

    `proportions` are (D, K), `n_tokens` (D,); each of the K results has at most `n_documents`
    indices. Raises ValueError if shapes disagree, a value is no share or no count, or `n_documents`
    is not positive.
    """
    shares = np.asarray(proportions, dtype=np.float64)
    tokens = np.asarray(n_tokens)
    if shares.ndim != 2 or tokens.shape != shares.shape[:1]:
        raise ValueError(
            "proportions must be (n_docs, n_topics) and n_tokens (n_docs,), found shapes "
            f"{shares.shape} and {tokens.shape}"
        )
    if not np.isfinite(shares).all() or (tokens < 0).any():
        raise ValueError("proportions must be finite, and n_tokens not negative")
    check_whole("n_documents", n_documents, 1)
    known = tokens[tokens > 0]
    least = np.quantile(known, SHORT, method="lower") if len(known) else 1
    considered = np.flatnonzero((tokens > 0) & (tokens >= least))
    return [_largest(share, tokens, considered, n_documents) for share in shares.T]


def _largest(share: Floats, tokens: Ints, considered: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the typical documents of one topic among the `considered` ones."""
    of_considered = share[considered]
    if len(considered) > n:
        least = np.partition(of_considered, -n)[-n]
        considered = considered[of_considered >= least]
    order = np.lexsort((-tokens[considered], -share[considered]))
    return considered[order[:n]]
