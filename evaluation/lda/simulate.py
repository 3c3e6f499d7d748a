"""Documents simulated from a model, with the topics of their tokens."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evaluation.arrays import Floats, Ints, Ints32, Rng
from models import LDATopics
from models.kernel import kernel


def simulated_documents(
    topics: LDATopics, lengths: ArrayLike, rng: Rng
) -> tuple[sparse.csr_array, Ints32]:
    """Simulate documents of given lengths, and the topic of each of their tokens.

    Returns canonical counts (D, V) of int64, and topics (n_tokens,) in the order of the rows of
    counts, and of the words in a row. Given its words, the topics of a document are an exact draw
    from their posterior.

    Raises ValueError if `lengths` are not whole numbers in one dimension, none negative.
    """
    n_tokens = checked_lengths(lengths)
    topic_of = np.empty(n_tokens.sum(), dtype=np.int32)
    word_of = np.empty(len(topic_of), dtype=np.int32)
    draw_tokens(
        n_tokens,
        float(topics.alpha.sum()),
        cumulative_shares(topics.alpha[None, :])[0],
        cumulative_shares(topics.topic_word),
        topic_of,
        word_of,
        rng,
    )
    return counts_of_tokens(n_tokens, word_of, topic_of, topics.n_words)


def counts_of_tokens(
    n_tokens: Ints, word_of: Ints32, topic_of: Ints32, n_words: int
) -> tuple[sparse.csr_array, Ints32]:
    """Return counts (D, V) of tokens by document, `n_tokens` (D,) of each, and reordered topics.

    The order is stable and depends on the words alone, so that topics stay a draw given these.
    """
    n_docs = len(n_tokens)
    doc_of = np.repeat(np.arange(n_docs), n_tokens)
    cell = doc_of * n_words + word_of
    order = np.argsort(cell, kind="stable")
    cells, data = np.unique(cell[order], return_counts=True)
    rows, columns = np.divmod(cells, n_words)
    start = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_docs))))
    counts = sparse.csr_array(
        (data.astype(np.int64), columns.astype(np.int32), start.astype(np.int32)),
        shape=(n_docs, n_words),
    )
    return counts, topic_of[order]


def checked_lengths(lengths: Any) -> Ints:
    """Return numbers of tokens (D,) as int64.

    Raises ValueError if they are not whole numbers in one dimension, none negative.
    """
    values = np.asarray(lengths)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise ValueError(
            "lengths must be whole numbers, one a document, found "
            f"{values.dtype} of shape {values.shape}"
        )
    if values.size and values.min() < 0:
        raise ValueError(f"lengths must not be negative, found {values.min()}")
    return values.astype(np.int64)


def cumulative_shares(weights: Floats) -> Floats:
    """Return each row's cumulative sums over the last: 1.0 from the last positive weight on."""
    sums = np.cumsum(weights, axis=1)
    result: Floats = sums / sums[:, -1:]
    return result


@kernel
def draw_tokens(
    n_tokens: Ints,
    alpha_sum: float,
    cumulative_alpha: Floats,
    cumulative_word: Floats,
    topic_of: Ints32,
    word_of: Ints32,
    rng: Rng,
) -> None:
    """Fill `topic_of` and `word_of` (n_tokens,) with the documents' tokens.

    Without θ: with probability l / (l + Σalpha), token l of a document has the topic of a uniformly
    chosen earlier token, else one drawn in proportion to alpha (Blackwell & MacQueen 1973). The
    cost of a token does not depend on the number of topics, and no θ underflows.
    """
    first = 0
    for n in n_tokens:
        for i in range(n):
            token = first + i
            drawn = rng.random() * (i + alpha_sum)
            if drawn < i:
                k = topic_of[first + min(int(drawn), i - 1)]
            else:
                k = np.searchsorted(cumulative_alpha, rng.random(), side="right")
            topic_of[token] = k
            word_of[token] = np.searchsorted(cumulative_word[k], rng.random(), side="right")
        first += n
