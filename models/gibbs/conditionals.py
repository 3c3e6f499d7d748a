"""Topics from the full conditionals of all tokens, denser than counts of samples.

    n̂_kw = Σ_{t: w_t = w} p_tk,   p_tk ∝ (n_dk − [z_t = k] + alpha_k) (m_kw − r_tk) / (m_k − r_tk)

(Papanikolaou, Foulds, Rubin & Tsoumakas 2017, "Dense distributions from sparse samples", JMLR 18
(62): a sum of the tokens' conditional probabilities in the place of one topic for each). n_dk are
counts of the last assignment z, without the token itself. Where the paper takes the words' counts
of a single sample, m_kw are averages over samples: their φ_kw times m_k = n_k + Σ eta, at least
eta_w. They have the token in them, too, so that its expected share r_t is taken out: p_t as it is
without that, at most m_kw − eta_w, and what is then missing from 1 in proportion to the rest of the
word. So nothing is left of a word that occurs once, and its document alone decides.
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
    frozen: Bools  # (V,), words that are in no topic's counts


class DocumentTopics(NamedTuple):
    """Topics of documents in an assignment: a table or, if that has no rows, lists."""

    table: Ints32  # (D, at least K) or (0, K)
    lists: TopicLists


class _Rows(NamedTuple):
    """Rows (K,) in which a token's conditional is computed."""

    mean: Floats32  # m_kw of the word
    phi: Floats32  # m_kw / m_k
    of_document: Floats32  # n_dk + alpha_k, without the token
    p: Floats32
    own: Floats32
    of_run: Floats32  # Σ p_t of a run's tokens


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
    rows = _Rows(
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
        np.empty(n_topics, dtype=np.float32),
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
            _load_word(topics, w, rows)
            rows.of_run[:] = np.float32(0.0)
            t, last = tokens.run_start[run], tokens.run_start[run + 1]
            while t < last:
                d, z, first = tokens.doc_of[t], topic_of[t], t
                while t < last and tokens.doc_of[t] == d and topic_of[t] == z:
                    t += 1  # they have the same conditional
                _load_document(documents, d, topics.alpha, rows.of_document)
                rows.of_document[z] -= np.float32(1.0)
                _add_conditional(np.float32(t - first), topics.eta[w], topics.total, rows)
            for k in range(n_topics):
                expected[w, k] += rows.of_run[k]


@kernel
def _load_word(topics: SampledTopics, w: int, rows: _Rows) -> None:
    """Fill `rows.mean` and `rows.phi`."""
    eta, weight, mean, phi = topics.eta[w], topics.weight[w], rows.mean, rows.phi
    for k in range(mean.shape[0]):
        mean[k] = topics.scale[k] * (weight[k] + eta * topics.inverse[k])
    for k in range(mean.shape[0]):  # where m_k is of fewer tokens than in earlier samples
        mean[k] = mean[k] if mean[k] > eta else eta
    for k in range(mean.shape[0]):
        phi[k] = mean[k] / topics.total[k]


@kernel
def _load_document(documents: DocumentTopics, d: int, alpha: Floats32, row: Floats32) -> None:
    """Fill `row` (K,) with n_dk + alpha_k."""
    if documents.table.shape[0]:
        n_dk = documents.table[d]
        for k in range(row.shape[0]):
            row[k] = np.float32(n_dk[k]) + alpha[k]
    else:
        lists = documents.lists
        for k in range(row.shape[0]):
            row[k] = alpha[k]
        for place in range(lists.start[d], lists.start[d] + lists.n_distinct[d]):
            row[lists.topic[place]] += np.float32(lists.n_tokens[place])


@kernel
def _add_conditional(n: np.float32, eta: np.float32, total: Floats32, rows: _Rows) -> None:
    """Add the conditional of `n` equal tokens to `rows.of_run`; mutates `rows.p`."""
    mean, phi, of_document, p, own, of_run = rows
    for k in range(p.shape[0]):
        p[k] = of_document[k] * phi[k]
    inverse = np.float32(1.0) / max(sum_of(p), LEAST)
    for k in range(p.shape[0]):
        share, most = p[k] * inverse, mean[k] - eta
        own[k] = share if share < most else most
    left = np.float32(1.0) - sum_of(own)
    for k in range(p.shape[0]):
        p[k] = mean[k] - eta - own[k]
    part = min(left / max(sum_of(p), LEAST), np.float32(1.0))
    for k in range(p.shape[0]):
        taken = own[k] + part * p[k]
        p[k] = of_document[k] * (mean[k] - taken) / (total[k] - taken)
    inverse = n / max(sum_of(p), LEAST)
    for k in range(p.shape[0]):
        of_run[k] += p[k] * inverse
