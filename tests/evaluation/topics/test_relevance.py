import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluation import relevance, relevant_words, topics_of_words
from evaluation.topics.relevance import WEIGHTS, _unbeaten


def test_by_hand():
    found = relevance([0.5, 0.1, 0.0], [0.4, 0.01, 0.3], 0.6)
    first = 0.6 * math.log(0.5) + 0.4 * math.log(0.5 / 0.4)
    second = 0.6 * math.log(0.1) + 0.4 * math.log(0.1 / 0.01)
    assert found[:2] == pytest.approx([first, second])
    assert (found[2], relevance([0.5], [0.4], 1)) == (-math.inf, pytest.approx([math.log(0.5)]))
    assert relevance([0.5], [0.4], 0) == pytest.approx([math.log(0.5 / 0.4)])
    assert relevance([0.0, 0.0], [0.0, 0.1], 0.5).tolist() == [-math.inf, -math.inf]
    # Probable everywhere; probable and telling; rare and telling; rarer, not telling; not there.
    topic, share = [0.5, 0.3, 0.15, 0.05, 0.0], [0.6, 0.1, 0.01, 0.09, 0.2]
    assert relevant_words([topic], share, 1)[0].tolist() == [0, 1, 2]
    assert relevant_words([topic], share, 2)[0].tolist() == [0, 1, 2]
    assert relevant_words([topic], share, 10)[0].tolist() == [0, 1, 2, 3]


def test_ties_and_topics_without_words():
    found = relevant_words([[1.0, 2.0, 1.0, 2.0, 1.0]], np.full(5, 0.2), 4)
    assert found[0].tolist() == [1, 3, 0, 2]
    assert relevant_words([np.ones(500)], np.ones(500), 5)[0].tolist() == [0, 1, 2, 3, 4]
    found = relevant_words([[0.0, 0.0], [0.0, 1.0]], [0.0, 1.0], 3)
    assert [words.tolist() for words in found] == [[], [1]]


def values_of(row, share, weight):
    with np.errstate(divide="ignore"):
        return weight * np.log(row) + (1 - weight) * (np.log(row) - np.log(share))


def first_by_full_sort(row, share, weight, n):
    """The whole vocabulary sorted: relevance, then probability, then the vocabulary's order."""
    there = [w for w, p in enumerate(row) if p > 0]
    values = dict(zip(there, values_of(row[there], share[there], weight).tolist(), strict=True))
    return sorted(there, key=lambda w: (-values[w], -row[w], w))[:n]


def check_law(topic_word, share, n, weights):
    """Words that are shown begin, sorted by relevance, as the whole vocabulary does; how many."""
    share, n_shown = share / share.sum(), 0
    for row, words in zip(topic_word, relevant_words(topic_word, share, n), strict=True):
        assert words.tolist() == sorted(words.tolist(), key=lambda w: (-row[w], w))
        assert (row[words] > 0).all()
        wanted = set()
        for weight in weights.tolist():
            values = values_of(row[words], share[words], weight)
            shown = words[np.argsort(-values, kind="stable")][:n].tolist()
            assert shown == first_by_full_sort(row, share, weight, n)
            wanted |= set(shown)
        if len(weights) == len(WEIGHTS):
            assert set(words.tolist()) == wanted  # and no word is there in vain
        n_shown += len(words)
    return n_shown


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8)), min_size=1, max_size=12),
    st.integers(1, 5),
)
@example([(1, 1), (1, 1), (1, 1)], 2)
@example([(1, 4), (2, 4), (1, 1)], 1)
@example([(0, 1), (0, 1), (2, 4), (7, 7)], 1)
def test_the_law_with_ties(pairs, n):
    """Weights are powers of two, so that many words tie; they sum to such, too.

    Else shares would be rounded when they are divided by their sum, and words that tie would not.
    """
    row, share = [2**a if a else 0 for a, _ in pairs], [2.0**-b for _, b in pairs]
    missing = 2**12 - sum(row)
    for a in range(12):
        if missing >> a & 1:
            row.append(2**a)
            share.append(2.0 ** -(1 + a % 3))
    row.append(0)
    share.append(16.0 - sum(share))
    check_law(np.array([row]) / 2**12, np.array(share), n, WEIGHTS[::20])


@pytest.mark.parametrize("seed", range(3))
def test_the_law_for_many_words(seed):
    rng = np.random.default_rng(seed)
    rows = rng.gamma(0.05, size=(2, 700)) + 1e-100
    rows /= rows.sum(axis=1, keepdims=True)
    share = 0.3 * rows.sum(axis=0) + rng.gamma(0.3, size=700) + 1e-12
    assert check_law(rows, share, 7, WEIGHTS) > 2 * 7 + 4  # the weights do change what is shown


def test_what_is_refused():
    for share, n, complaint in (
        ([1.0], 1, r"word_share must be \(2,\)"),
        ([1.0, 0.0], 1, "positive where a topic has weight"),
        ([1.0, -1.0], 1, "not negative"),
        ([1.0, math.inf], 1, "finite"),
        ([1.0, 1.0], 0, "n_words must be at least 1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            relevant_words([[0.5, 0.5]], share, n)
    for prevalence, n, complaint in (
        ([1.0], 1, r"prevalence must be \(2,\)"),
        ([1.0, -0.1], 1, "not negative"),
        ([1.0, math.nan], 1, "finite"),
        ([0.5, 0.5], 0, "n must be at least 1"),
    ):
        with pytest.raises(ValueError, match=complaint):
            topics_of_words([[1.0, 0.0], [1.0, 0.0]], prevalence, n)


@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 1000))
def test_bayes_rule(n_topics, n, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, (n_topics, 6)).astype(float)
    weights[:, 0] += 1
    prevalence = rng.dirichlet(np.ones(n_topics))
    topics, shares = topics_of_words(3 * weights, 7 * prevalence, n)
    rows = weights / weights.sum(axis=1, keepdims=True)
    assert topics.shape == shares.shape == (6, min(n, n_topics))
    for w in range(6):
        joint = [float(prevalence[k] * rows[k, w]) for k in range(n_topics)]
        expected = sorted(((-p / (sum(joint) or 1), k) for k, p in enumerate(joint)))[:n]
        assert shares[w] == pytest.approx([-p for p, _ in expected])
        assert [joint[k] for k in topics[w]] == pytest.approx([joint[k] for _, k in expected])


def test_ranks_of_some_words_ties_and_words_of_no_topic():
    rng = np.random.default_rng(0)
    weights, prevalence = rng.gamma(0.1, size=(3, 9000)), np.array([0.2, 0.5, 0.3])
    topics, shares = topics_of_words(weights, prevalence, 2)
    for w in (0, 4095, 4096, 8999):
        one, share = topics_of_words(weights / weights.sum(1, keepdims=True), prevalence, 3)
        assert (topics[w].tolist(), shares[w]) == (one[w, :2].tolist(), pytest.approx(share[w, :2]))
    assert np.bincount(topics[:, 0], minlength=3).min() > 500
    topics, shares = topics_of_words([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5], 2)
    assert (topics[0].tolist(), shares.tolist()) == ([0, 1], [[0.5, 0.5], [0.0, 0.0]])
    lift, n_expected = np.random.default_rng(0).random(50_000), 30 * (1 + math.log(50_000 / 30))
    assert 0.8 * n_expected < len(_unbeaten(lift, 30)) < 3 * n_expected
