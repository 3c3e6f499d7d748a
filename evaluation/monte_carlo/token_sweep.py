"""Gibbs sampling of the topics of a document's first tokens, one token after the other.

    p(k_i = k | all others, j) ∝ φ_k,j_i (C_k + alpha_k)

with topic counts C that exclude token i (the conditional of Buntine 2009, eq. 1). All K
probabilities of a token are computed in double precision, over blocks of topics that vectorise; a
topic in which the word has probability 0 is never drawn.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from models.kernel import kernel
from models.topics import WeightedTopics

LANES = 8  # topics in a block; rows are padded with zeros to a multiple


class DocumentWords(NamedTuple):
    """Probabilities of a document's different words under the topics, for `resample`."""

    word_topic: Floats
    """(U, K padded with zeros), φ_kw divided by each word's maximum, so that none underflows."""
    log_scale: Floats  # (U,), logarithms of these maxima
    alpha: Floats  # (K padded with zeros,)


def document_words(topics: WeightedTopics, words: Ints32) -> DocumentWords:
    """Return the rows of `topics` of a document's different words (U,)."""
    n_topics = topics.n_topics
    n_padded = -(-n_topics // LANES) * LANES
    alpha = np.zeros(n_padded)
    alpha[:n_topics] = topics.alpha
    rows = topics.word_topic[words]
    scale = rows.max(axis=1)
    word_topic = np.zeros((len(words), n_padded))
    word_topic[:, :n_topics] = rows / scale[:, None]
    return DocumentWords(word_topic, np.log(scale), alpha)


@kernel
def fill_probabilities(word_topic: Floats, u: int, alpha: Floats, n_k: Floats, p: Floats) -> float:
    """Set `p` (K,) to word_topic[u] · (n_k + alpha), in place, and return its sum."""
    total = 0.0
    for k in range(len(p)):
        p[k] = word_topic[u, k] * (n_k[k] + alpha[k])
    for k in range(len(p)):
        total += p[k]
    return total


@kernel
def pick(p: Floats, rest: float) -> int:
    """Return the first k with p_0 + … + p_k > rest, for 0 <= rest < Σ p; p (K,) in whole blocks."""
    k, last = 0, len(p) - LANES
    while k < last:
        block_sum = 0.0
        for lane in range(LANES):
            block_sum += p[k + lane]
        if rest < block_sum:
            break
        rest -= block_sum
        k += LANES
    block, running = k, 0.0
    for lane in range(LANES - 1):  # without branches, which would be unpredictable
        running += p[block + lane]
        k += 1 if rest >= running else 0
    while p[k] == 0.0 and k > 0:  # rounding left a rest: the last possible topic
        k -= 1
    return k


@kernel
def resample(
    word_topic: Floats,
    alpha: Floats,
    word_of: Ints,
    n_tokens: int,
    topic_of: Ints,
    n_k: Floats,
    p: Floats,
    rng: Rng,
) -> None:
    """Resample the topics of the first `n_tokens` tokens, each once, left to right.

    `word_topic` and `alpha` are those of `DocumentWords`, `word_of` (L,) is each token's word out
    of U. Mutates `topic_of` (L,), the tokens' topics, and `n_k` (K,), the number of the first
    tokens with each; `p` (K,) is scratch.
    """
    drawn = -1
    for i in range(n_tokens):
        u, left = word_of[i], topic_of[i]
        total = 0.0
        # All counts are written, as writing one and then reading it with its neighbours as a
        # vector stalls the processor.
        for k in range(len(p)):
            count = n_k[k]
            count = count + 1.0 if k == drawn else count
            count = count - 1.0 if k == left else count
            n_k[k] = count
            p[k] = word_topic[u, k] * (count + alpha[k])
        for k in range(len(p)):
            total += p[k]
        drawn = pick(p, rng.random() * total)
        topic_of[i] = drawn
    if drawn >= 0:
        n_k[drawn] += 1.0
