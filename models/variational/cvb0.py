"""Topic proportions of new documents by collapsed variational inference of order zero (CVB0).

The proportions are integrated out (Asuncion et al. 2009, CVB0). With topics φ fixed, each of the
n_dw equal tokens of word w has topic k with probability

    r_wk ∝ (α_k + N_k - r_wk) φ_kw,    N_k = Σ_w n_dw r_wk,

in which its own part is left out of N. The proportions are (α_k + N_k) / Σ_j (α_j + N_j).

Each word has a list of its likeliest topics (see `likely_topics`); each other topic gets the mean
share of the others. A list is read from memory much faster than the weights of 1,000 topics.
Documents of more than `_LONG` tokens read all weights, as a mean would bias them however long they
are.

1. A document begins with what its words say alone, s_k = Σ_w n_dw φ_kw / Σ_j φ_jw, in which each
   word counts only for its `LANES` likeliest topics, and with N in proportion to s_k³, as
   documents have fewer topics than their words say alone. A pass over these topics gives the first
   N.
2. Topics with a small N_k, in documents of up to `_SHORT` tokens a small s_k, are left out for
   good, except those of a large α_k: of 1,000 some 50 stay in an article of 200 tokens.
3. The other passes are over the topics that stay. `AT_ONCE` words are updated at once, with the N
   of all words before them; in the first of these passes all words see the first N.

A document is left to the mean field if the few topics with most s_k say too little of it, or if it
would take too much room (see `infer_by_cvb0`).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from models.arrays import Bools, Floats
from models.kernel import kernel, prefetch, read_only
from models.lanes import LANES
from models.parallel import effective_n_jobs, for_blocks
from models.variational.first_passes import LEAST_NORM, Floats32, Ints
from models.variational.inference import DOCUMENT_BLOCK, Documents, documents_of
from models.variational.lanes import AT_ONCE, add_word, fill_word, update_words
from models.variational.likely_topics import LikelyTopics

_SMALL = 0.5  # tokens: a topic with fewer is left out
_SAID = 0.3  # tokens: of a topic with fewer a document's words say nothing
_SHARE = 0.005  # of a document's tokens: neither of these is more than that
_LARGE = 3.0  # times the mean α: a topic of which the prior expects more than `_SMALL` stays
_MOST, _TOKENS_EACH = 64, 4.0  # topics that stay, or one for so many tokens if that is more
_RAISED = 1.25  # factor of what is small, where more topics would stay
_EXPLAINED = 0.15  # of a document's tokens: if its topics with most s_k have less it is left
_LISTED = 0.3  # of its tokens: if all s_k have less, it is left too
_SHORT = 40.0  # tokens: up to so many s_k decides which topics stay
_LONG = 1000.0  # tokens: beyond so many all weights are read
_ROOM = 8_000_000  # entries of the weights
_LONGEST = 1e9  # tokens
_LARGEST_PRIOR = 1e30  # float32 ends at 3e38
_AHEAD = 4  # words by which lists are fetched before they are read


def infer_by_cvb0(
    counts: sparse.csr_array,
    word_topic: Floats,
    likely: LikelyTopics,
    alpha: Floats,
    max_iterations: Ints,
    tolerance: float,
    *,
    leaves_unexplained: bool = True,
    n_jobs: int | None = None,
) -> tuple[Floats, Bools]:
    """Return proportions (D, K) of documents (D, V), and which of them (D,) are inferred.

    `likely` are the likeliest topics of `word_topic` (V, K). A document is done when a pass changes
    N by less than `tolerance` times its tokens, summed over topics, or after its `max_iterations`
    (D,); the first pass, over the likeliest topics, is not counted. Its result depends on neither
    the other documents nor the number of threads.

    Not inferred are documents whose weights have more than `_ROOM` entries, some 64 MB in all, or
    that have more than `_LONGEST` tokens, and all if a prior is above `_LARGEST_PRIOR`. With
    `leaves_unexplained` it is also those of which the few topics that may stay explain less than
    `_EXPLAINED`, or of whose words the `LANES` likeliest topics have less than `_LISTED`.
    """
    if (counts.data == 0).any():
        counts = counts.copy()
        counts.eliminate_zeros()
    proportions = np.empty((counts.shape[0], len(alpha)))
    is_inferred = np.empty(counts.shape[0], dtype=np.bool_)
    if alpha.max() > _LARGEST_PRIOR:
        is_inferred[:] = False
        return proportions, is_inferred
    documents, alpha = documents_of(counts), read_only(alpha)
    given = read_only(word_topic), likely, alpha, read_only(max_iterations), tolerance
    results = leaves_unexplained, proportions, is_inferred
    for_blocks(
        lambda first, last: infer_blocks(documents, first, last, *given, *results),
        counts.shape[0],
        DOCUMENT_BLOCK,
        effective_n_jobs(n_jobs),
    )
    return proportions, is_inferred


@kernel
def infer_blocks(
    documents: Documents,
    first: int,
    last: int,
    word_topic: Floats,
    likely: LikelyTopics,
    alpha: Floats,
    max_iterations: Ints,
    tolerance: float,
    leaves_unexplained: bool,
    proportions: Floats,
    is_inferred: Bools,
) -> None:
    """Fill the rows `first:last` of `proportions` (D, K) and `is_inferred` (D,)."""
    n_topics = alpha.shape[0]
    # lists have topics up to K
    alone, raised = np.empty(n_topics + 1, np.float32), np.zeros(n_topics + 1, np.float32)
    first_n, column = np.empty(n_topics + 1, np.float32), np.empty(n_topics + 1, np.uint32)
    listed, mean_alpha = np.empty(n_topics, dtype=np.int64), alpha.sum() / n_topics
    for d in range(first, last):
        start, stop = documents.start[d], documents.start[d + 1]
        words, counts = documents.word_of[start:stop], documents.counts[start:stop]
        n_tokens = add_shares(words, counts, likely, alone)
        raise_shares(alone, alpha, n_tokens, raised)
        add_first(words, counts, likely, raised, first_n)
        n = first_n if n_tokens > _SHORT else alone
        topics = listed[: list_topics(n, alpha, mean_alpha, n_tokens, listed)]
        n_blocks = (topics.shape[0] + LANES - 1) // LANES
        n_groups = (words.shape[0] + AT_ONCE - 1) // AT_ONCE
        room_of_group = (n_blocks + 1) * LANES * AT_ONCE
        is_inferred[d] = n_groups * room_of_group <= _ROOM and n_tokens <= _LONGEST
        if leaves_unexplained:
            is_inferred[d] &= alone.sum() >= _LISTED * n_tokens
            is_inferred[d] &= explained(alone, n_tokens) >= _EXPLAINED * n_tokens
        if not is_inferred[d]:
            continue
        n_columns = n_blocks * LANES
        prior, total = np.zeros(n_columns, np.float32), np.zeros(n_columns, np.float32)
        column[:] = n_columns * AT_ONCE
        for i in range(topics.shape[0]):
            prior[i], total[i] = np.float32(alpha[topics[i]]), first_n[topics[i]]
            column[topics[i]] = i // LANES * LANES * AT_ONCE + i % LANES
        weight = np.empty((n_groups, n_blocks + 1, AT_ONCE, LANES), dtype=np.float32)
        # places beyond the words have any weight but 0
        if n_tokens > _LONG and likely.topic.shape[1] < n_topics:
            copy_weights(words, word_topic, likely, topics, weight)
        else:
            fill_weights(words, likely, column, weight)
        expected = np.zeros((n_groups, n_blocks, AT_ONCE, LANES), np.float32)
        n_of = np.zeros(n_groups * AT_ONCE, np.float32)
        for w in range(words.shape[0]):
            n_of[w] = np.float32(counts[w])
        limit = tolerance * n_tokens
        all_known = iterate(n_of, weight, prior, max_iterations[d], limit, total, expected)
        dirichlet = proportions[d]
        dirichlet[:] = alpha
        add_expected(expected, topics, dirichlet)
        if not all_known:
            add_others(words, counts, expected, likely, alpha, dirichlet)
        dirichlet *= 1.0 / dirichlet.sum()  # while it is in the cache


@kernel
def add_shares(words: Ints, counts: Floats, likely: LikelyTopics, alone: Floats32) -> float:
    """Fill `alone` (K,) with the tokens of each topic if each word had its own shares.
    Returns the number of tokens of words that some topic has.
    """
    alone[:] = np.float32(0.0)
    n_tokens, n_listed = 0.0, likely.topic.shape[1]
    last = words.shape[0] - 1
    for j in range(words.shape[0]):
        ahead = words[min(j + _AHEAD, last)] * n_listed
        for i in range(0, n_listed, LANES):
            prefetch(likely.share, ahead + i)
        for i in range(0, n_listed, 2 * LANES):
            prefetch(likely.topic, ahead + i)
        topic, share, n = likely.topic[words[j]], likely.share[words[j]], np.float32(counts[j])
        for i in range(LANES):
            alone[topic[i]] += n * share[i]
        n_tokens += counts[j] if share[0] > 0.0 else 0.0
    return n_tokens


@kernel
def raise_shares(alone: Floats32, alpha: Floats, n_tokens: float, raised: Floats32) -> None:
    """Fill `raised` (K,) with α + N, N in proportion to the cubes of what words say alone."""
    factor = np.float32(1.0 / max(n_tokens, 1e-30))
    for k in range(alpha.shape[0]):
        share = alone[k] * factor
        raised[k] = share * share * share
    scale = np.float32(n_tokens) / max(raised.sum(), LEAST_NORM)
    for k in range(alpha.shape[0]):
        raised[k] = np.float32(alpha[k]) + scale * raised[k]


@kernel
def explained(alone: Floats32, n_tokens: float) -> float:
    """Return the tokens of the topics of which the words say most, as many as may stay."""
    small, most = min(_SAID, _SHARE * n_tokens), most_that_stay(n_tokens)
    while True:
        n_topics = 0
        for k in range(alone.shape[0]):
            n_topics += alone[k] > small
        if n_topics <= most:
            break
        small *= _RAISED
    n_explained = 0.0
    for k in range(alone.shape[0]):
        n_explained += alone[k] if alone[k] > small else 0.0
    return n_explained


@kernel
def most_that_stay(n_tokens: float) -> int:
    """Return the number of topics that stay at most."""
    return max(_MOST, int(min(n_tokens, _LONGEST) / _TOKENS_EACH))


@kernel
def add_first(
    words: Ints, counts: Floats, likely: LikelyTopics, raised: Floats32, total: Floats32
) -> None:
    """Fill `total` (K,) with N after a pass over the first topics of words, from α + N `raised`."""
    total[:] = np.float32(0.0)
    for j in range(words.shape[0]):
        add_word(words[j], likely.topic, likely.share, np.float32(counts[j]), raised, total)


@kernel
def list_topics(
    n: Floats32, alpha: Floats, mean_alpha: float, n_tokens: float, listed: NDArray[np.int64]
) -> int:
    """Fill the first of `listed` (K,) with the topics that stay, for N or s in `n` (K,). Returns
    their number. All stay in a long document that may have so many.
    """
    n_topics, most = alpha.shape[0], most_that_stay(n_tokens)
    small = min(_SMALL, _SHARE * n_tokens)
    large = max(_LARGE * mean_alpha, _SMALL * mean_alpha * n_topics / max(n_tokens, _SMALL))
    if n_tokens > _LONG and most >= n_topics:
        small = -1.0
    n_listed = 0
    for k in range(n_topics):
        listed[n_listed] = k
        n_listed += n[k] > small or alpha[k] > large
    while n_listed > most:
        small *= _RAISED
        large *= _RAISED
        n_before, n_listed = n_listed, 0
        for i in range(n_before):
            k = listed[i]
            listed[n_listed] = k
            n_listed += n[k] > small or alpha[k] > large
    return n_listed


@kernel
def copy_weights(
    words: Ints,
    word_topic: Floats,
    likely: LikelyTopics,
    topics: NDArray[np.int64],
    weight: Floats32,
) -> None:
    """Fill `weight` (n / AT_ONCE, blocks, AT_ONCE, LANES) with those of words in the A `topics`."""
    weight[:] = np.float32(1.0)
    for j in range(words.shape[0]):
        w = words[j]
        given, largest = word_topic[w], word_topic[w, likely.topic[w, 0]]
        factor = likely.share[w, 0] / largest if largest > 0.0 else 0.0
        for i in range(topics.shape[0]):
            share = np.float32(given[topics[i]] * factor)
            weight[j // AT_ONCE, i // LANES, j % AT_ONCE, i % LANES] = share


@kernel
def fill_weights(
    words: Ints, likely: LikelyTopics, column: NDArray[np.uint32], weight: Floats32
) -> None:
    """Fill `weight` as `copy_weights`, by lists.

    `column` (K,) has the place of each topic among those of a word; topics that do not stay share
    one that is not read.
    """
    size, n_blocks = weight.shape[1] * AT_ONCE * LANES, weight.shape[1] - 1
    flat = weight.reshape(weight.size)
    for j in range(words.shape[0]):
        w, first = words[j], j // AT_ONCE * size + j % AT_ONCE * LANES
        fill_word(w, likely.topic, likely.share, likely.rest[w], column, flat, first, n_blocks)
    for j in range(words.shape[0], weight.shape[0] * AT_ONCE):
        weight[j // AT_ONCE, :, j % AT_ONCE] = np.float32(1.0)


@kernel
def iterate(
    counts: Floats32,
    weight: Floats32,
    prior: Floats32,
    max_iterations: int,
    limit: float,
    total: Floats32,
    expected: Floats32,
) -> bool:
    """Fill `expected` (n / AT_ONCE, A / LANES, AT_ONCE, LANES), zeros before, with n_w r_wk.

    From N in `total` (A,), which is changed. `weight` has as many places, and a block more; `prior`
    (A,) is α. Returns whether each word has a topic.
    """
    n_groups, n_columns = expected.shape[0], prior.shape[0]
    joint, before = np.empty(n_columns * AT_ONCE, np.float32), np.empty(n_columns, np.float32)
    weights = weight.reshape((n_groups, (n_columns + LANES) * AT_ONCE))
    responses, by_group = (
        expected.reshape((n_groups, n_columns * AT_ONCE)),
        counts.reshape((n_groups, AT_ONCE)),
    )
    all_known = True
    for iteration in range(max_iterations):
        all_known = True
        copy(total, before)
        if iteration == 0:
            total[:] = np.float32(0.0)
        seen = before if iteration == 0 else total
        for i in range(n_groups):
            all_known &= update_words(i, by_group, weights, responses, prior, seen, total, joint)
        change = 0.0
        for k in range(n_columns):
            change += abs(total[k] - before[k])
        if iteration > 0 and change < limit:
            break
    return all_known


@kernel
def copy(source: Floats32, target: Floats32) -> None:
    """Copy a short array in a loop, which is faster than assigning a slice."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@kernel
def add_expected(expected: Floats32, topics: NDArray[np.int64], dirichlet: Floats) -> None:
    """Add the tokens of the A `topics` to `dirichlet` (K,)."""
    n_groups, size = expected.shape[0], expected.shape[1] * AT_ONCE * LANES
    by_group, n = expected.reshape((n_groups, size)), np.zeros(size, dtype=np.float32)
    for group in range(n_groups):
        for i in range(size):
            n[i] += by_group[group, i]
    of_place = n.reshape((expected.shape[1], AT_ONCE, LANES))
    for i in range(topics.shape[0]):
        block, lane = i // LANES, i % LANES
        for place in range(AT_ONCE):
            dirichlet[topics[i]] += of_place[block, place, lane]


@kernel
def add_others(
    words: Ints,
    counts: Floats,
    expected: Floats32,
    likely: LikelyTopics,
    alpha: Floats,
    dirichlet: Floats,
) -> None:
    """Add tokens of words that no topic which stays has to `dirichlet` (K,), by α_k φ_kw."""
    joint = np.empty(min(likely.topic.shape[1], alpha.shape[0]))
    for j in range(words.shape[0]):
        if not expected[j // AT_ONCE, :, j % AT_ONCE].any():
            topic, share = likely.topic[words[j]], likely.share[words[j]]
            for i in range(joint.shape[0]):
                joint[i] = alpha[topic[i]] * share[i]
            norm = joint.sum()
            if norm > 0.0:
                for i in range(joint.shape[0]):
                    dirichlet[topic[i]] += counts[j] * joint[i] / norm
