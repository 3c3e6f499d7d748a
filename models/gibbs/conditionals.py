"""Topics from the full conditionals of all tokens, denser than counts of samples.

    n̂_kw = Σ_{t: w_t = w} p_tk,   p_tk ∝ (n_dk − [z_t = k] + alpha_k) (m_kw − r_tk) / (m_k − r_tk)

(Papanikolaou, Foulds, Rubin & Tsoumakas 2017, "Dense distributions from sparse samples", JMLR 18
(62): a sum of the tokens' conditional probabilities in the place of one topic for each). n_dk are
counts of the last assignment z, without the token itself. Where the paper takes the words' counts
of a single sample, m_kw are averages over samples: their φ_kw times m_k = n_k + Σ eta, at least
eta_w. They have the token in them, too, so that its expected share r_t is taken out: p_t as it is
without that, at most m_kw − eta_w, and what is then missing from 1 in proportion to the rest of the
word. So nothing is left of a word that occurs once, and its document alone decides.

For topics that the document has not in z the conditionals of all tokens of a word are then alike up
to a factor, if r_tk is the mean share, (m_kw − eta_w) / n_w, and m_k is left whole. So the cost of
a token is its document's number of topics, and not K.
"""

from typing import NamedTuple

import numpy as np

from models.arrays import Bools, Ints32
from models.gibbs.dense import Floats32, Topics, sum_of
from models.gibbs.tokens import Tokens
from models.gibbs.topic_lists import TopicLists
from models.kernel import kernel

LEAST = np.float32(1e-37)
"""Least sum of a token's probabilities, so that none is NaN where all underflow."""


class SampledTopics(NamedTuple):
    """Average of samples of topics, in the form that `expect_word_topics` takes.

    m_kw = scale_k (weight_wk + eta_w inverse_k)
    """

    weight: Floats32  # (V, K)
    inverse: Floats32  # (K,), 0 if weights have the prior's part
    scale: Floats32  # (K,)
    total: Floats32  # (K,), m_k
    alpha: Floats32  # (K,)
    eta: Floats32  # (V,)
    n_w: Floats32  # (V,), tokens of each word
    frozen: Bools  # (V,), words that are in no topic's counts


class DocumentTopics(NamedTuple):
    """Topics of documents in an assignment: a table or, if that has no rows, lists."""

    table: Ints32  # (D, at least K) or (0, K)
    lists: TopicLists


class _Word(NamedTuple):
    """Rows (K,) of the word of a run."""

    mean: Floats32  # m_kw - eta_w, at least 0
    phi: Floats32  # alpha_k m_kw / m_k
    other: Floats32  # p_tk, unnormalised, of topics that the document has not
    of_run: Floats32  # Σ (p_tk - other_k), normalised
    sums: Floats32  # Sums of the first three


class _Document(NamedTuple):
    """A document's topics; rows (K,), or one more, of which the first places are in use."""

    topic: Topics
    prior: Floats32  # n_dk + alpha_k, without the token
    mean: Floats32
    own: Floats32  # r_tk
    p: Floats32


@kernel
def expect_word_topics(
    tokens: Tokens,
    word_range: int,
    topic_of: Topics,
    documents: DocumentTopics,
    topics: SampledTopics,
    expected: Floats32,
) -> None:
    """Add p_t of the tokens of a range of words to `expected` (V, K), in place."""
    n_blocks, n_topics = tokens.block_start.shape[0] - 1, expected.shape[1]
    word = _Word(
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(3, dtype=np.float32),
    )
    document = _Document(
        np.empty(n_topics + 1, dtype=np.uint16),
        np.empty(n_topics + 1, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
    )
    for block in range(n_blocks):
        cell = block * n_blocks + word_range
        for run in range(tokens.cell_start[cell], tokens.cell_start[cell + 1]):
            w = tokens.word_of_run[run]
            if topics.frozen[w]:
                continue
            _load_word(topics, w, word)
            others = np.float32(0.0)
            t, last = tokens.run_start[run], tokens.run_start[run + 1]
            while t < last:
                d, z, first = tokens.doc_of[t], topic_of[t], t
                while t < last and tokens.doc_of[t] == d and topic_of[t] == z:
                    t += 1  # they have the same conditional
                n = _load_document(documents, d, z, topics.alpha, document)
                others += _add_conditional(np.float32(t - first), n, w, topics, word, document)
            for k in range(n_topics):
                expected[w, k] += max(word.of_run[k] + others * word.other[k], np.float32(0.0))


@kernel
def _load_word(topics: SampledTopics, w: int, word: _Word) -> None:
    """Fill the rows of a word."""
    eta, weight, mean, phi, other = topics.eta[w], topics.weight[w], *word[:3]
    left = np.float32(1.0) - np.float32(1.0) / topics.n_w[w]
    for k in range(mean.shape[0]):
        mean[k] = topics.scale[k] * (weight[k] + eta * topics.inverse[k]) - eta
    for k in range(mean.shape[0]):  # m_k may be of fewer tokens than in earlier samples
        mean[k] = mean[k] if mean[k] > 0 else np.float32(0.0)
    for k in range(mean.shape[0]):
        phi[k] = topics.alpha[k] * (mean[k] + eta) / topics.total[k]
    for k in range(mean.shape[0]):
        other[k] = topics.alpha[k] * (mean[k] * left + eta) / topics.total[k]
    for k in range(mean.shape[0]):
        word.of_run[k] = np.float32(0.0)
    word.sums[0], word.sums[1], word.sums[2] = sum_of(mean), sum_of(phi), sum_of(other)


@kernel
def _load_document(
    documents: DocumentTopics, d: int, z: int, alpha: Floats32, document: _Document
) -> int:
    """Fill the topics and the prior of a document without a token of topic `z`; return how many."""
    n, topic, prior = 0, document.topic, document.prior
    if documents.table.shape[0]:
        n_dk = documents.table[d]
        for k in range(alpha.shape[0]):
            topic[n] = k
            prior[n] = np.float32(n_dk[k]) + alpha[k]
            n += n_dk[k] > 0  # without a branch, which would be mispredicted
    else:
        lists, start = documents.lists, documents.lists.start[d]
        n = int(lists.n_distinct[d])
        for i in range(n):
            topic[i] = lists.topic[start + i]
            prior[i] = np.float32(lists.n_tokens[start + i]) + alpha[topic[i]]
    for i in range(n):
        if topic[i] == z:
            prior[i] -= np.float32(1.0)
    return n


@kernel
def _add_conditional(
    n_tokens: np.float32, n: int, w: int, topics: SampledTopics, word: _Word, document: _Document
) -> np.float32:
    """Add the conditional of equal tokens to `word.of_run`, less the share of other topics; return
    the factor of these. `document` has `n` topics.
    """
    topic, prior, mean, own, p = document
    eta, total = topics.eta[w], topics.total
    for i in range(n):
        mean[i] = word.mean[topic[i]]
    for i in range(n):
        p[i] = prior[i] * (mean[i] + eta) / total[topic[i]]
    of_mean, of_phi, of_other = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for i in range(n):
        of_mean += mean[i]
    for i in range(n):
        of_phi += word.phi[topic[i]]
    for i in range(n):
        of_other += word.other[topic[i]]
    inverse = np.float32(1.0) / max(_sum(p, n) + max(word.sums[1] - of_phi, 0), LEAST)
    for i in range(n):
        share = p[i] * inverse
        own[i] = share if share < mean[i] else mean[i]
    of_own = _sum(own, n)
    left = np.float32(1.0) - of_own - (word.sums[0] - of_mean) / topics.n_w[w]
    part = min(max(left, 0) / max(of_mean - of_own, LEAST), np.float32(1.0))
    for i in range(n):
        own[i] += part * (mean[i] - own[i])
    for i in range(n):
        p[i] = prior[i] * (mean[i] + eta - own[i]) / (total[topic[i]] - own[i])
    inverse = n_tokens / max(_sum(p, n) + max(word.sums[2] - of_other, 0), LEAST)
    for i in range(n):
        word.of_run[topic[i]] += (p[i] - word.other[topic[i]]) * inverse
    return np.float32(inverse)


@kernel
def _sum(p: Floats32, n: int) -> np.float32:
    """Equivalent to `p[:n].sum()`, with sums over lanes."""
    total = np.float32(0.0)
    for i in range(n):
        total += p[i]
    return np.float32(total)
