import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.monte_carlo.token_sweep import LANES, document_words, pick, resample
from models import LDATopics
from tests.oracles.lda_likelihood import log_prior_of_counts

weights = st.lists(st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.3, 1.0, 7.0]), min_size=1).filter(any)


def padded(values):
    return np.array([*values, *[0.0] * (-len(values) % LANES)])


@given(weights, st.floats(0, 1, exclude_max=True))
def test_pick_is_the_inverse_of_the_running_sums(values, uniform):
    p = padded(values)
    rest = uniform * p.sum()
    k = pick(p, rest)
    assert p[k] > 0
    running = math.fsum(p[: k + 1])
    slack = 1e-12 * p.sum()  # sums are made in another order
    assert running - p[k] <= rest + slack
    assert running >= rest - slack


@given(weights)
def test_a_rest_that_rounding_leaves_is_the_last_topics(values):
    p = padded(values)
    assert pick(p, p.sum() * (1 + 1e-12)) == np.flatnonzero(p)[-1]
    assert p[pick(p, 0.0)] > 0


def test_words_are_scaled_and_padded():
    topics = LDATopics([[0.5, 0.5 - 1e-300, 1e-300], [1.0, 0.0, 0.0]], [0.3, 2.0])
    document = document_words(topics, np.array([2, 0], dtype=np.int32))
    assert document.word_topic.shape == (2, LANES)
    assert document.word_topic[:, :2].tolist() == [[1.0, 0.0], [0.5, 1.0]]
    assert document.log_scale == pytest.approx([math.log(1e-300), 0.0])
    assert document.alpha[:2].tolist() == [0.3, 2.0]
    assert not document.word_topic[:, 2:].any()
    assert not document.alpha[2:].any()


def sweep_many(topics, word_of, n_sweeps, seed):
    words, n_tokens = document_words(topics, np.arange(topics.n_words)), len(word_of)
    rng = np.random.default_rng(seed)
    topic_of = np.array([int(np.argmax(words.word_topic[w])) for w in word_of])
    n_k = np.bincount(topic_of, minlength=len(words.alpha)).astype(float)
    p, chain = np.empty(len(n_k)), []
    for _ in range(n_sweeps):
        resample(words.word_topic, words.alpha, word_of, n_tokens, topic_of, n_k, p, rng)
        chain.append(tuple(topic_of.tolist()))
    assert (n_k == np.bincount(topic_of, minlength=len(n_k))).all()
    return chain


def joint(topics, word_of, alpha):
    p = {}
    for k in itertools.product(range(topics.n_topics), repeat=len(word_of)):
        prior = log_prior_of_counts([k.count(i) for i in range(topics.n_topics)], alpha)
        p[k] = math.exp(prior) * math.prod(
            topics.topic_word[i, w] for i, w in zip(k, word_of, strict=True)
        )
    total = sum(p.values())
    return {k: value / total for k, value in p.items()}


def largest_z(chain, expected):
    """Of the frequencies of assignments in every tenth record; these are all but independent."""
    chain = chain[::10]
    seen, z = Counter(chain), []
    for k, p in expected.items():
        n = seen[k]
        if p == 0:
            assert n == 0
        else:
            z.append(abs(n - p * len(chain)) / math.sqrt(p * (1 - p) * len(chain)))
    return max(z)


def test_sweeps_keep_the_posterior():
    topics = LDATopics([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.5, 0.5, 0.0]], [0.7, 0.4, 1.2])
    word_of = np.array([0, 2, 2, 1])
    chain = sweep_many(topics, word_of, 40_000, seed=0)
    assert largest_z(chain, joint(topics, word_of, topics.alpha)) < 4.5  # of 81
    # Negative control: the posterior under another alpha.
    assert largest_z(chain, joint(topics, word_of, 1.3 * topics.alpha)) > 4.5
