import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.mean_field import (
    independent_start,
    log_weights,
    mean_field,
    mean_field_is_1,
    mean_field_is_2,
)
from models import LDATopics
from tests.evaluation.lda.small_topics import model_of, truth_of, without_words
from tests.oracles.lda_likelihood import log_prior_of_counts

METHODS = pytest.mark.parametrize("method", [mean_field_is_1, mean_field_is_2])
ORDERS = pytest.mark.parametrize("second_order", [False, True])


def copies(document, n):
    return sparse.csr_array(np.tile(np.asarray(document, dtype=np.int64), (n, 1)))


def factors_of(q, others, alpha, second_order):
    """exp E log(C_k + alpha_k), approximately, of the tokens `others`."""
    result = []
    for k, a in enumerate(alpha):
        mean = a + sum(q[m][k] for m in others)
        factor = mean
        if second_order:
            factor *= math.exp(-sum(q[m][k] * (1 - q[m][k]) for m in others) / (2 * mean**2))
        result.append(max(a, factor))
    return result


def naive_mean_field(word_topic, word_of, alpha, second_order, n_cycles):
    """Token by token, all sums anew every time."""

    def normalised(u, factors):
        values = [p * f for p, f in zip(word_topic[u], factors, strict=True)]
        return [value / sum(values) for value in values]

    q = [normalised(u, alpha) for u in word_of]
    for _ in range(n_cycles):
        for i, u in enumerate(word_of):
            others = [m for m in range(len(word_of)) if m != i]
            q[i] = normalised(u, factors_of(q, others, alpha, second_order))
    return np.array(q)


def mean_field_of(word_topic, n, alpha, second_order, n_cycles):
    start = independent_start(word_topic, alpha)
    return mean_field(word_topic, n, alpha, start, second_order, n_cycles)


@ORDERS
@pytest.mark.parametrize("alpha", [[0.3, 1.5, 0.8, 0.1], [1e-3] * 4, [1e3, 5e2, 1.0, 1e3]])
def test_of_words_that_occur_once_it_is_the_token_by_token_mean_field(second_order, alpha):
    word_topic = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 7)
    word_topic[2, 1:3] = 0.0
    found = mean_field_of(word_topic, np.ones(7, dtype=np.int64), np.array(alpha), second_order, 10)
    expected = naive_mean_field(word_topic, range(7), alpha, second_order, 10)
    assert_allclose(found, expected, rtol=1e-9)
    fewer = naive_mean_field(word_topic, range(7), alpha, second_order, 1)
    assert np.abs(found - fewer).max() > 1e-8  # negative control: of the first cycle only
    assert (found[2, 1:3] == 0).all()


@ORDERS
def test_tokens_of_one_word_share_the_fixed_point(second_order):
    word_topic, alpha = np.random.default_rng(1).dirichlet(np.ones(3), 4), np.array([0.5, 1.0, 2.0])
    n = np.array([1, 3, 2, 4])
    found = mean_field_of(word_topic, n, alpha, second_order, 1000)
    word_of = np.repeat(np.arange(4), n)
    expected = naive_mean_field(word_topic, word_of, alpha, second_order, 1000)
    assert_allclose(found[word_of], expected, rtol=1e-6)


def test_the_orders_differ():
    word_topic = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    n, alpha = np.full(4, 2), np.full(3, 0.5)
    first, second = (mean_field_of(word_topic, n, alpha, order, 10) for order in (False, True))
    assert np.abs(first - second).max() > 0.01


@ORDERS
@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 1.0, 1e6])
def test_it_is_positive_wherever_the_word_is_possible(second_order, alpha):
    rng = np.random.default_rng(2)
    word_topic = rng.dirichlet(np.full(20, 0.1), 30)
    word_topic[word_topic < 1e-4] = 0.0
    n = rng.integers(1, 40, 30)
    q = mean_field_of(word_topic, n, np.full(20, alpha), second_order, 10)
    assert ((q > 0) == (word_topic > 0)).all()
    assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
    least = word_topic * alpha / (word_topic.max(axis=1, keepdims=True) * (n.sum() + 20 * alpha))
    assert (q >= least * (1 - 1e-9)).all()


def z_of(ratios):
    return abs(ratios.mean() - 1) / (ratios.std(ddof=1) / math.sqrt(len(ratios)))


IMPOSSIBLE = ((0, 0), (1, 0), (1, 2), (2, 2), (2, 4))
"""Pairs of a topic and a word that it does not have."""
CASES = {
    "mixed": ([2, 0, 1, 2, 1, 1], [1.2, 2.5, 0.7], ()),
    "large alpha": ([2, 1, 2, 2, 0, 1], [1e3, 2e3, 5e2], ()),
    "impossible words": ([2, 1, 2, 0, 1, 1], [0.5, 0.3, 0.9], IMPOSSIBLE),
    "small alpha": ([2, 1, 2, 0, 0, 1], [0.05, 0.03, 0.09], IMPOSSIBLE),
    "tiny alpha": ([2, 1, 2, 0, 1, 1], [1e-3, 2e-3, 1e-3], IMPOSSIBLE),
    "tiny alpha, all possible": ([2, 0, 1, 2, 1, 1], [1e-3, 1e-3, 1e-3], ()),
}
"""Documents, alpha, and impossible pairs."""
TAME = ["mixed", "large alpha", "impossible words", "small alpha"]
"""Those whose weights vary so little that some ten thousand show it if their mean is wrong."""


def case(name, seed=0):
    document, alpha, impossible = CASES[name]
    topics = without_words(model_of(seed).topic_word, alpha, impossible)
    return topics, document, truth_of(topics, document)


def mean_of_weights(topics, document, q):
    """Σ_k q(k) · p(j, k) / q(k) over all assignments k that q can draw, over p(j)."""
    words = np.flatnonzero(document)
    word_of, total = np.repeat(np.arange(len(words)), np.array(document)[words]), 0.0
    for k in itertools.product(range(topics.n_topics), repeat=len(word_of)):
        if all(q[u, topic] > 0 for u, topic in zip(word_of, k, strict=True)):
            p = math.exp(log_prior_of_counts(np.bincount(k, minlength=3), topics.alpha))
            total += p * math.prod(topics.topic_word[k, words[word_of]])
    return total


def proposal(topics, document, second_order):
    words = np.flatnonzero(document)
    word_topic, n = topics.word_topic[words], np.array(document)[words]
    return word_topic, n, mean_field_of(word_topic, n, topics.alpha, second_order, 10)


def without_topics_below(threshold, q):
    cut = np.where(q < threshold, 0.0, q)
    return cut / cut.sum(axis=1, keepdims=True)


@ORDERS
@pytest.mark.parametrize("name", CASES)
def test_the_weights_have_the_right_mean(second_order, name):
    topics, document, truth = case(name)
    _, _, q = proposal(topics, document, second_order)
    assert mean_of_weights(topics, document, q) == pytest.approx(math.exp(truth), rel=1e-12)
    cut = without_topics_below(0.02, q)  # negative control
    assert mean_of_weights(topics, document, cut) < math.exp(truth) * (1 - 1e-6)


@METHODS
@pytest.mark.parametrize("name", TAME)
def test_unbiased(method, name):
    topics, document, truth = case(name)
    found = method(topics, DocumentBlock(copies(document, 1000)), n_samples=30, seed=1)
    assert z_of(np.exp(found.log_likelihood - truth)) < 4
    assert found.direction == "unbiased"


@ORDERS
@pytest.mark.parametrize("name", TAME)
def test_the_check_notices_a_proposal_that_leaves_topics_out(second_order, name):
    topics, document, truth = case(name)
    word_topic, n, q = proposal(topics, document, second_order)
    z = []
    for threshold in (0.0, 0.15):
        cut, rng = without_topics_below(threshold, q), np.random.default_rng(1)
        weights = np.exp(log_weights(word_topic, n, topics.alpha, cut, 30_000, rng) - truth)
        z.append(z_of(weights.reshape(1000, 30).mean(axis=1)))
    assert z[0] < 4 < z[1]


@METHODS
def test_with_tiny_alpha_one_mode_is_all_that_is_seen(method):
    """What the module warns of: the other mode is in weights so large and rare that 200 samples do
    not meet them, and their standard error does not know of it.
    """
    topics, document = LDATopics([[0.6, 0.4], [0.42, 0.58]], [1e-3, 1e-3]), [5, 5]
    found = method(topics, DocumentBlock(copies(document, 100)))
    error = found.log_likelihood - truth_of(topics, document)
    assert np.median(error) < -0.5
    assert np.median(error / (found.standard_error + 1e-3)) < -5


@METHODS
def test_standard_errors_are_the_spread(method):
    topics, document, _ = case("impossible words")
    found = method(topics, DocumentBlock(copies(document, 2000)), n_samples=200, seed=0)
    spread = found.log_likelihood.std()
    assert math.sqrt((found.standard_error**2).mean()) == pytest.approx(spread, rel=0.1)
    expected = 200 / (1 + 199 * found.standard_error**2)  # (Σw)² / Σw² by the same two moments
    assert_allclose(found.effective_sample_size, expected, rtol=1e-9)


@METHODS
def test_many_topics(method):
    """Means of 60 samples against the mean of 200,000, where the exact value is out of reach."""
    rng, topics = np.random.default_rng(0), model_of(3, n_topics=30, n_words=50, alpha=np.ones(30))
    document = rng.multinomial(10, np.full(50, 0.02))
    few = method(topics, DocumentBlock(copies(document, 1000)), n_samples=60)
    many = method(topics, DocumentBlock(copies(document, 1)), n_samples=200_000)
    ratios = np.exp(few.log_likelihood - many.log_likelihood[0])
    error = math.hypot(ratios.std() / math.sqrt(1000), many.standard_error[0])
    assert abs(ratios.mean() - 1) < 4 * error < 0.1
