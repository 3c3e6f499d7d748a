"""Topic proportions of new documents by collapsed variational inference of order zero (CVB0).

The proportions are integrated out (Asuncion et al. 2009, eq. 11). With topics φ fixed, each of the
n_dw equal tokens of word w has topic k with probability

    r_wk ∝ (α_k + N_k - r_wk) φ_kw,    N_k = Σ_w n_dw r_wk,

in which its own part is left out of N.

1. A document begins with what its words say alone, s_k = Σ_w n_dw α_k φ_kw / Σ_j α_j φ_jw, over the
   `_LIKELY` likeliest topics of each word.
2. Topics of a small share are left out: of 1,000 some 50 stay in an article of 200 tokens.
3. Passes over the words read a copy of the weights of these topics, of 9 bits. The first pass takes
   N in proportion to s_k³, as documents have fewer topics than their words say alone: this saves
   two passes. In the others `_AT_ONCE` words are updated at once, with the N of all before them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Floats, Ints32
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.first_passes import LEAST_NORM, Floats32, Ints
from models.variational.halved_weights import HalvedWeights, Halves, from_high
from models.variational.inference import DOCUMENT_BLOCK, Documents, documents_of

_LIKELY = 16  # topics of a word
_SMALL, _SMALL_SHARE = 0.3, 0.005  # tokens, or of the document's: a topic with fewer is left out
_MOST, _TOKENS_EACH = 64, 4.0  # topics that stay, or one for so many tokens if that is more
_RAISED = np.float32(1.25)  # factor of what is small, where more topics would stay
_ROW = 8  # topics: rows of copies have a multiple of them, as loops over the rest would be slow
_AT_ONCE = 4  # words
_WORD_BLOCK = 512


class LikelyTopics(NamedTuple):
    """The likeliest topics of each word, M of them, in order."""

    topic: Ints32  # (V, M)
    share: Floats32  # (V, M), α_k φ_kw / Σ_j α_j φ_jw over all topics; 0 if no topic has the word


def likely_topics(word_topic: Floats, alpha: Floats, n_jobs: int | None = None) -> LikelyTopics:
    """Return the likeliest topics of each word, for `word_topic` (V, K) and `alpha` (K,)."""
    weight, alpha = read_only(word_topic), read_only(alpha)
    shape = weight.shape[0], min(_LIKELY, weight.shape[1])
    topic, share = np.zeros(shape, dtype=np.int32), np.empty(shape, dtype=np.float32)
    for_blocks(
        lambda i, j: list_likely(weight[i:j], alpha, topic[i:j], share[i:j]),
        len(weight),
        _WORD_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return LikelyTopics(read_only(topic), read_only(share))


def infer_by_cvb0(
    counts: sparse.csr_array,
    halved: HalvedWeights,
    likely: LikelyTopics,
    alpha: Floats,
    max_iterations: int,
    tolerance: float,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """Return proportions (D, K) of documents (D, V), α_k + N_dk divided by its sum.

    `halved` and `likely` are those of the topics by word. A document is done when a pass changes N
    by less than `tolerance` times its tokens, summed over topics, or after `max_iterations` passes.
    Its result depends on neither the other documents nor the number of threads. Tokens of words
    that no topic has count nowhere.
    """
    proportions = np.empty((counts.shape[0], len(alpha)))
    documents, alpha = documents_of(counts), read_only(alpha)
    given = halved.high, likely, alpha, max_iterations, tolerance
    for_blocks(
        lambda first, last: infer_blocks(documents, first, last, *given, proportions),
        counts.shape[0],
        DOCUMENT_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return proportions


@kernel
def list_likely(weight: Floats, alpha: Floats, topic: Ints32, share: Floats32) -> None:
    """Fill `topic` and `share` (n, M) with the likeliest topics of words, `weight` (n, K)."""
    n_topics, n_listed = weight.shape[1], topic.shape[1]
    joint, largest = np.empty(n_topics), np.empty(n_listed)
    for w in range(weight.shape[0]):
        for k in range(n_topics):
            joint[k] = alpha[k] * weight[w, k]
        total = joint.sum()
        largest[:] = -1.0
        for k in range(n_topics):
            if joint[k] > largest[n_listed - 1]:
                i = n_listed - 1
                while i > 0 and joint[k] > largest[i - 1]:
                    largest[i], topic[w, i] = largest[i - 1], topic[w, i - 1]
                    i -= 1
                largest[i], topic[w, i] = joint[k], k
        for i in range(n_listed):
            share[w, i] = largest[i] / total if total > 0.0 else 0.0


@kernel
def infer_blocks(
    documents: Documents,
    first: int,
    last: int,
    high: Halves,
    likely: LikelyTopics,
    alpha: Floats,
    max_iterations: int,
    tolerance: float,
    proportions: Floats,
) -> None:
    """Fill the rows `first:last` of `proportions` (D, K), as `infer_by_cvb0`."""
    share = np.empty(alpha.shape[0], dtype=np.float32)
    listed = np.empty(alpha.shape[0], dtype=np.int64)
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, counts = documents.word_of[start:stop], documents.counts[start:stop]
        add_shares(words, counts, likely, share)
        topics = listed[: list_topics(share, counts.sum(), listed)]
        n_padded = (topics.shape[0] + _ROW - 1) // _ROW * _ROW
        prior, total = np.zeros(n_padded, np.float32), np.zeros(n_padded, np.float32)
        start_from(share, topics, counts.sum(), alpha, prior, total)
        weight = np.empty((words.shape[0], n_padded), dtype=np.float32)
        copy_weights(words, high, topics, weight)
        held = np.zeros((words.shape[0], n_padded), dtype=np.float32)
        is_complete = iterate(counts, weight, prior, max_iterations, tolerance, total, held)
        dirichlet = proportions[d]
        dirichlet[:] = alpha
        add_held(held, topics, dirichlet)
        if not is_complete:
            add_lost(words, counts, held, likely, dirichlet)
        dirichlet *= 1.0 / dirichlet.sum()  # while it is in the cache


@kernel
def add_shares(words: Ints, counts: Floats, likely: LikelyTopics, share: Floats32) -> None:
    """Fill `share` (K,) with the tokens of each topic if each word had its own shares."""
    share[:] = np.float32(0.0)
    for j in range(words.shape[0]):
        topic, of_word, n = likely.topic[words[j]], likely.share[words[j]], np.float32(counts[j])
        for i in range(topic.shape[0]):
            share[topic[i]] += n * of_word[i]


@kernel
def list_topics(share: Floats32, n_tokens: float, listed: NDArray[np.int64]) -> int:
    """Fill the first of `listed` (K,) with the topics that stay. Returns their number."""
    small = np.float32(min(_SMALL, _SMALL_SHARE * n_tokens))
    most = max(_MOST, int(n_tokens / _TOKENS_EACH))
    n_listed = 0
    for k in range(share.shape[0]):
        listed[n_listed] = k
        n_listed += share[k] > small
    while n_listed > most:
        small *= _RAISED
        n_before, n_listed = n_listed, 0
        for i in range(n_before):
            k = listed[i]
            listed[n_listed] = k
            n_listed += share[k] > small
    return n_listed


@kernel
def start_from(
    share: Floats32,
    topics: NDArray[np.int64],
    n_tokens: float,
    alpha: Floats,
    prior: Floats32,
    total: Floats32,
) -> None:
    """Fill the first A of `prior` with α and of `total` with α_k + N_k, of the A `topics`.
    N is in proportion to the cubes of their tokens, `share` (K,).
    """
    cube = np.empty(topics.shape[0], dtype=np.float32)
    for i in range(topics.shape[0]):
        of_tokens = share[topics[i]] / np.float32(n_tokens)
        cube[i] = of_tokens * of_tokens * of_tokens
        prior[i] = np.float32(alpha[topics[i]])
    scale = np.float32(n_tokens) / max(cube.sum(), LEAST_NORM)
    for i in range(topics.shape[0]):
        total[i] = prior[i] + scale * cube[i]


@kernel
def copy_weights(words: Ints, high: Halves, topics: NDArray[np.int64], weight: Floats32) -> None:
    """Fill `weight` (n, A or more) with those of the words in the A `topics`, and 0 beyond them."""
    n_topics, in_fours = topics.shape[0], words.shape[0] // 4 * 4
    for j in range(0, in_fours, 4):
        b0, b1, b2, b3 = high[words[j]], high[words[j + 1]], high[words[j + 2]], high[words[j + 3]]
        w0, w1, w2, w3 = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
        for i in range(n_topics):
            k = topics[i]
            w0[i], w1[i] = from_high(b0[k]), from_high(b1[k])
            w2[i], w3[i] = from_high(b2[k]), from_high(b3[k])
    for j in range(in_fours, words.shape[0]):
        for i in range(n_topics):
            weight[j, i] = from_high(high[words[j], topics[i]])
    weight[:, n_topics:] = np.float32(0.0)


@kernel
def iterate(
    counts: Floats,
    weight: Floats32,
    prior: Floats32,
    max_iterations: int,
    tolerance: float,
    total: Floats32,
    held: Floats32,
) -> bool:
    """Fill `held` (n, A), zeros before, with n_w r_wk; from α_k + N_k in `total` (A,), which is
    changed. `weight` is (n, A), and `prior` (A,) is α. Returns whether each word has a topic.
    """
    n_topics, n_words = prior.shape[0], counts.shape[0]
    joint, factor = np.empty((_AT_ONCE, n_topics), np.float32), np.empty(_AT_ONCE, np.float32)
    seen, before = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    limit = tolerance * counts.sum()
    is_complete = True
    for iteration in range(max_iterations):
        is_complete = True
        before[:] = total
        seen[:] = total
        if iteration == 0:
            total[:] = prior
        for i in range(0, n_words, _AT_ONCE):
            j = min(i + _AT_ONCE, n_words)
            if iteration > 0:
                seen[:] = total
            is_complete &= update_words(
                counts[i:j], weight[i:j], prior, seen, total, held[i:j], joint, factor
            )
        change = 0.0
        for k in range(n_topics):
            change += abs(total[k] - before[k])
        if change < limit:
            break
    return is_complete


@kernel
def update_words(
    counts: Floats,
    weight: Floats32,
    prior: Floats32,
    seen: Floats32,
    total: Floats32,
    held: Floats32,
    joint: Floats32,
    factor: Floats32,
) -> bool:
    """Update `held` (m, A) of a few words, and `total` (A,) by what it changes.

    All of them see the same α_k + N_k, `seen` (A,). `joint` (m, A) and `factor` (m,) are room to
    work. Returns whether each word has a topic.
    """
    n_words, n_topics = held.shape
    is_complete = True
    for j in range(n_words):
        b, r, p = weight[j], held[j], joint[j]
        own = np.float32(min(1.0, 1.0 / counts[j]))
        for k in range(n_topics):
            p[k] = max(seen[k] - own * r[k], prior[k]) * b[k]
    for j in range(n_words):
        norm = joint[j].sum()
        is_lost = norm < LEAST_NORM
        is_complete &= not is_lost
        factor[j] = np.float32(0.0) if is_lost else np.float32(counts[j]) / norm
    for j in range(n_words):
        r, p, f = held[j], joint[j], factor[j]
        for k in range(n_topics):
            total[k] += f * p[k] - r[k]
        for k in range(n_topics):
            r[k] = f * p[k]
    return is_complete


@kernel
def add_held(held: Floats32, topics: NDArray[np.int64], dirichlet: Floats) -> None:
    """Add what words hold of the A `topics`, `held` (n, A or more), to `dirichlet` (K,)."""
    n = np.zeros(held.shape[1], dtype=np.float32)
    for j in range(held.shape[0]):
        for i in range(n.shape[0]):
            n[i] += held[j, i]
    for i in range(topics.shape[0]):
        dirichlet[topics[i]] += n[i]


@kernel
def add_lost(
    words: Ints, counts: Floats, held: Floats32, likely: LikelyTopics, dirichlet: Floats
) -> None:
    """Add the own shares of words that no topic which stayed has to `dirichlet` (K,)."""
    for j in range(words.shape[0]):
        if not held[j].any():
            topic, share = likely.topic[words[j]], likely.share[words[j]]
            for i in range(topic.shape[0]):
                dirichlet[topic[i]] += counts[j] * share[i]
