import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.lda.mean_field import fill_alias_table, log_weights
from models.kernel import read_only
from tests.oracles.lda_likelihood import log_prior_of_counts


def table(q):
    cut, alias = np.empty(len(q)), np.empty(len(q), dtype=np.int64)
    fill_alias_table(q, cut, alias, np.empty(len(q), dtype=np.int64))
    return cut, alias


def probabilities(cut, alias):
    n = len(cut)
    kept = cut - np.arange(n)
    return (kept + np.bincount(alias, 1 - kept, minlength=n)) / n


@given(
    st.lists(
        st.sampled_from([0.0, 1e-300, 1e-12, 1e-3, 0.3, 1.0, 1.0, 2.0]), min_size=1, max_size=60
    ).filter(lambda values: sum(values) > 1e-200)
)
def test_a_table_gives_each_topic_its_probability(values):
    q = np.array(values) / sum(values)
    cut, alias = table(q)
    np.testing.assert_allclose(probabilities(cut, alias), q, atol=1e-13)
    impossible = np.flatnonzero(q == 0)
    assert (cut[impossible] == impossible).all()  # never drawn, not even by rounding
    assert not np.isin(alias, impossible).any()


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_many_topics(seed):
    q = np.random.default_rng(seed).dirichlet(np.full(2000, 0.05))
    np.testing.assert_allclose(probabilities(*table(q)), q, atol=1e-13)


def moments(word_topic, n, alpha, q, n_factors):
    """E w and E w² of the weight of topics drawn from q, by enumeration.

    Of the factors of p(k), one a token, only the first `n_factors` are in the weight.
    """
    word_of = np.repeat(np.arange(len(n)), n)
    first = second = 0.0
    for k in itertools.product(range(len(alpha)), repeat=len(word_of)):
        p = math.exp(log_prior_of_counts(np.bincount(k[:n_factors], minlength=len(alpha)), alpha))
        of_q = 1.0
        for topic, u in zip(k, word_of, strict=True):
            p *= word_topic[u, topic]
            of_q *= q[u, topic]
        first += p
        second += p**2 / of_q if p else 0.0
    return first, second


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_moments_of_weights(seed):
    rng = np.random.default_rng(seed)
    word_topic = rng.dirichlet(np.ones(4), 3)
    word_topic[0, 1] = 0.0
    n, alpha = np.array([2, 1, 2]), rng.gamma(1, 1, 4) + 0.1
    q = word_topic * rng.uniform(0.5, 2, word_topic.shape)
    q /= q.sum(axis=1, keepdims=True)
    weights = np.exp(log_weights(word_topic, n, read_only(alpha), q, 40_000, rng))
    all_factors, without_the_last = (moments(word_topic, n, alpha, q, m) for m in (5, 4))
    for power, expected, other in zip((1, 2), all_factors, without_the_last, strict=True):
        values = weights**power
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - expected) < 4 * error
        assert abs(values.mean() - other) > 4 * error  # negative control


def test_products_that_no_double_holds():
    rng, n = np.random.default_rng(0), np.array([1000, 1000])
    for scale in (1e-3, 1e3):
        found = log_weights(
            np.full((2, 1), scale), n, read_only(np.ones(1)), np.ones((2, 1)), 3, rng
        )
        np.testing.assert_allclose(found, 2000 * math.log(scale), rtol=1e-12)
