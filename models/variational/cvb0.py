"""Topic proportions of new documents by collapsed variational inference of order zero (CVB0).

The proportions are integrated out (Asuncion et al. 2009, CVB0). With topics φ fixed, each of the
n_dw equal tokens of word w has topic k with probability

    r_wk ∝ (α_k + N_k - r_wk) φ_kw,    N_k = Σ_w n_dw r_wk,

in which its own part is left out of N. The proportions are (α_k + N_k) / Σ_j (α_j + N_j).

1. A document begins with what its words say alone, s_k = Σ_w n_dw φ_kw / Σ_j φ_jw, in which each
   word counts only for its `N_LIKELY` likeliest topics.
2. Topics with a small s_k are left out for good, except those of a large α_k: of 1,000 some 60 stay
   in an article of 200 tokens.
3. Passes over the words read a copy of the weights of these topics, in 9 bits. The first pass takes
   N in proportion to s_k³, as documents have fewer topics than their words say alone. In the others
   `_AT_ONCE` words are updated at once, with the N of all before them.

A document of which the topics that stay explain too little is left to the mean field, as are those
that would take too much room (see `infer_by_cvb0`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Bools, Floats, Ints32
from models.kernel import kernel, read_only
from models.parallel import effective_n_jobs, for_blocks
from models.variational.first_passes import LEAST_NORM, Floats32, Ints
from models.variational.halved_weights import HalvedWeights, Halves, from_high
from models.variational.inference import DOCUMENT_BLOCK, Documents, documents_of

N_LIKELY = 16  # topics of a word
_SMALL, _SMALL_SHARE = 0.3, 0.005  # tokens, or of the document's: a topic with fewer is left out
_LARGE = 3.0  # times the mean α: a topic of which the prior expects more than `_SMALL` stays
_MOST, _TOKENS_EACH = 64, 4.0  # topics that stay, or one for so many tokens if that is more
_RAISED = 1.25  # factor of what is small, where more topics would stay
_EXPLAINED = 0.15  # of a document's tokens: with less in the topics that stay it is not inferred
_ROOM = 8_000_000  # entries of a copy
_LONGEST = 1e9  # tokens
_ROW = 8  # topics: rows of copies have a multiple of them, as loops over the rest would be slow
_AT_ONCE = 4  # words
_WORD_BLOCK = 512


class LikelyTopics(NamedTuple):
    """The likeliest topics of each word, M of them, in order."""

    topic: Ints32  # (V, M)
    share: Floats32  # (V, M), φ_kw / Σ_j φ_jw over all topics; 0 if no topic has the word


def likely_topics(word_topic: Floats, n_jobs: int | None = None) -> LikelyTopics:
    """Return the likeliest topics of each word, for `word_topic` (V, K)."""
    weight = read_only(word_topic)
    shape = weight.shape[0], min(N_LIKELY, weight.shape[1])
    topic, share = np.zeros(shape, dtype=np.int32), np.empty(shape, dtype=np.float32)
    for_blocks(
        lambda i, j: list_likely(weight[i:j], topic[i:j], share[i:j]),
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
    max_iterations: Ints,
    tolerance: float,
    *,
    n_jobs: int | None = None,
) -> tuple[Floats, Bools]:
    """Return proportions (D, K) of documents (D, V), and which of them (D,) are inferred.

    `halved` and `likely` are those of the topics by word. A document is done when a pass changes N
    by less than `tolerance` times its tokens, summed over topics, or after its `max_iterations`
    (D,). Its result depends on neither the other documents nor the number of threads.

    Not inferred are documents of which the topics that stay explain less than `_EXPLAINED`, those
    whose copies have more than `_ROOM` entries, 64 MB in all, and of more than `_LONGEST` tokens.
    """
    if (counts.data == 0).any():
        counts = counts.copy()
        counts.eliminate_zeros()
    proportions = np.empty((counts.shape[0], len(alpha)))
    is_inferred = np.empty(counts.shape[0], dtype=np.bool_)
    documents, alpha = documents_of(counts), read_only(alpha)
    given = halved.high, likely, alpha, read_only(max_iterations), tolerance
    for_blocks(
        lambda first, last: infer_blocks(documents, first, last, *given, proportions, is_inferred),
        counts.shape[0],
        DOCUMENT_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return proportions, is_inferred


@kernel
def list_likely(weight: Floats, topic: Ints32, share: Floats32) -> None:
    """Fill `topic` and `share` (n, M) with the likeliest topics of words, `weight` (n, K)."""
    n_topics, n_listed = weight.shape[1], topic.shape[1]
    largest = np.empty(n_listed)
    for w in range(weight.shape[0]):
        of_word, total = weight[w], weight[w].sum()
        largest[:] = -1.0
        for k in range(n_topics):
            if of_word[k] > largest[n_listed - 1]:
                i = n_listed - 1
                while i > 0 and of_word[k] > largest[i - 1]:
                    largest[i], topic[w, i] = largest[i - 1], topic[w, i - 1]
                    i -= 1
                largest[i], topic[w, i] = of_word[k], k
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
    max_iterations: Ints,
    tolerance: float,
    proportions: Floats,
    is_inferred: Bools,
) -> None:
    """Fill the rows `first:last` of `proportions` (D, K) and `is_inferred` (D,)."""
    n_topics = alpha.shape[0]
    alone, listed = np.empty(n_topics, dtype=np.float32), np.empty(n_topics, dtype=np.int64)
    mean_alpha = alpha.sum() / n_topics
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, counts = documents.word_of[start:stop], documents.counts[start:stop]
        n_tokens = add_shares(words, counts, likely, alone)
        topics = listed[: list_topics(alone, alpha, mean_alpha, n_tokens, listed)]
        n_padded = (topics.shape[0] + _ROW - 1) // _ROW * _ROW
        total = np.zeros(n_padded, np.float32)
        explained = start_from(alone, topics, n_tokens, total)
        is_inferred[d] = (
            explained >= _EXPLAINED * n_tokens
            and words.shape[0] * n_padded <= _ROOM
            and n_tokens <= _LONGEST
        )
        if not is_inferred[d]:
            continue
        prior = np.zeros(n_padded, np.float32)
        for i in range(topics.shape[0]):
            prior[i] = np.float32(alpha[topics[i]])
        weight = np.empty((words.shape[0], n_padded), dtype=np.float32)
        copy_weights(words, high, topics, weight)
        expected = np.zeros((words.shape[0], n_padded), dtype=np.float32)
        limit = tolerance * n_tokens
        all_known = iterate(counts, weight, prior, max_iterations[d], limit, total, expected)
        dirichlet = proportions[d]
        dirichlet[:] = alpha
        add_expected(expected, topics, dirichlet)
        if not all_known:
            add_others(words, counts, expected, high, alpha, dirichlet)
        dirichlet *= 1.0 / dirichlet.sum()  # while it is in the cache


@kernel
def add_shares(words: Ints, counts: Floats, likely: LikelyTopics, alone: Floats32) -> float:
    """Fill `alone` (K,) with the tokens of each topic if each word had its own shares.
    Returns the number of tokens of words that some topic has.
    """
    alone[:] = np.float32(0.0)
    n_tokens = 0.0
    for j in range(words.shape[0]):
        topic, share, n = likely.topic[words[j]], likely.share[words[j]], np.float32(counts[j])
        for i in range(topic.shape[0]):
            alone[topic[i]] += n * share[i]
        n_tokens += counts[j] if share[0] > 0.0 else 0.0
    return n_tokens


@kernel
def list_topics(
    alone: Floats32, alpha: Floats, mean_alpha: float, n_tokens: float, listed: NDArray[np.int64]
) -> int:
    """Fill the first of `listed` (K,) with the topics that stay. Returns their number."""
    n_topics = alone.shape[0]
    small = min(_SMALL, _SMALL_SHARE * n_tokens)
    large = max(_LARGE * mean_alpha, _SMALL * mean_alpha * n_topics / max(n_tokens, _SMALL))
    most = max(_MOST, int(min(n_tokens, _LONGEST) / _TOKENS_EACH))
    n_listed = 0
    for k in range(n_topics):
        listed[n_listed] = k
        n_listed += alone[k] > small or alpha[k] > large
    while n_listed > most:
        small *= _RAISED
        large *= _RAISED
        n_before, n_listed = n_listed, 0
        for i in range(n_before):
            k = listed[i]
            listed[n_listed] = k
            n_listed += alone[k] > small or alpha[k] > large
    return n_listed


@kernel
def start_from(
    alone: Floats32, topics: NDArray[np.int64], n_tokens: float, total: Floats32
) -> float:
    """Fill the first A of `total` with N of the A `topics`, in proportion to the cubes of what
    words say alone. Returns the tokens that these topics explain alone.
    """
    explained = 0.0
    for i in range(topics.shape[0]):
        explained += alone[topics[i]]
    sum_of_cubes = np.float32(0.0)
    for i in range(topics.shape[0]):
        share = alone[topics[i]] / np.float32(n_tokens)
        total[i] = share * share * share
    for i in range(topics.shape[0]):
        sum_of_cubes += total[i]
    scale = np.float32(n_tokens) / max(sum_of_cubes, LEAST_NORM)
    for i in range(topics.shape[0]):
        total[i] *= scale
    return explained


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
    limit: float,
    total: Floats32,
    expected: Floats32,
) -> bool:
    """Fill `expected` (n, A), zeros before, with n_w r_wk; from N in `total` (A,), which is
    changed. `weight` is (n, A), and `prior` (A,) is α. Returns whether each word has a topic.
    """
    n_topics, n_words = prior.shape[0], counts.shape[0]
    joint, factor = np.empty((_AT_ONCE, n_topics), np.float32), np.empty(_AT_ONCE, np.float32)
    seen, before = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    all_known = True
    for iteration in range(max_iterations):
        all_known = True
        copy(total, before)
        copy(total, seen)
        if iteration == 0:
            total[:] = np.float32(0.0)
        for i in range(0, n_words, _AT_ONCE):
            j = min(i + _AT_ONCE, n_words)
            if iteration > 0:
                copy(total, seen)
            all_known &= update_words(
                counts[i:j], weight[i:j], prior, seen, total, expected[i:j], joint, factor
            )
        change = 0.0
        for k in range(n_topics):
            change += abs(total[k] - before[k])
        if iteration > 0 and change < limit:
            break
    return all_known


@kernel
def update_words(
    counts: Floats,
    weight: Floats32,
    prior: Floats32,
    seen: Floats32,
    total: Floats32,
    expected: Floats32,
    joint: Floats32,
    factor: Floats32,
) -> bool:
    """Update `expected` (m, A) of a few words, and N in `total` (A,) by what it changes.

    All of them see the same N, `seen` (A,). `joint` (m, A) and `factor` (m,) are room to work.
    Returns whether each word has a topic.
    """
    n_words, n_topics = expected.shape
    all_known = True
    for j in range(n_words):
        b, r, p = weight[j], expected[j], joint[j]
        own = np.float32(min(1.0, 1.0 / counts[j]))
        for k in range(n_topics):
            p[k] = (max(seen[k] - own * r[k], np.float32(0.0)) + prior[k]) * b[k]
    for j in range(n_words):
        norm = joint[j].sum()
        is_known = norm >= LEAST_NORM
        all_known &= is_known
        factor[j] = np.float32(counts[j]) / norm if is_known else np.float32(0.0)
    for j in range(n_words):
        r, p, f = expected[j], joint[j], factor[j]
        for k in range(n_topics):
            p[k] *= f  # rounded, so that N of one word is what the word holds, to the bit
        for k in range(n_topics):
            total[k] += p[k] - r[k]
        copy(p, r)
    return all_known


@kernel
def copy(source: Floats32, target: Floats32) -> None:
    """Copy a short array in a loop, which is faster than assigning a slice."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@kernel
def add_expected(expected: Floats32, topics: NDArray[np.int64], dirichlet: Floats) -> None:
    """Add the tokens of the A `topics`, `expected` (n, A or more), to `dirichlet` (K,)."""
    n = np.zeros(expected.shape[1], dtype=np.float32)
    for j in range(expected.shape[0]):
        for i in range(n.shape[0]):
            n[i] += expected[j, i]
    for i in range(topics.shape[0]):
        dirichlet[topics[i]] += n[i]


@kernel
def add_others(
    words: Ints,
    counts: Floats,
    expected: Floats32,
    high: Halves,
    alpha: Floats,
    dirichlet: Floats,
) -> None:
    """Add tokens of words that no topic which stays has to `dirichlet` (K,), by α_k φ_kw."""
    joint = np.empty(alpha.shape[0])
    for j in range(words.shape[0]):
        if not expected[j].any():
            for k in range(joint.shape[0]):
                joint[k] = alpha[k] * from_high(high[words[j], k])
            norm = joint.sum()
            if norm > 0.0:
                for k in range(joint.shape[0]):
                    dirichlet[k] += counts[j] * joint[k] / norm
