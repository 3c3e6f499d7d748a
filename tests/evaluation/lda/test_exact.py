import itertools
import math
import threading

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import gammaln, logsumexp

from evaluation.document_blocks import DocumentBlock
from evaluation.exact_cost import ExactCostError
from evaluation.lda import exact as module
from evaluation.lda.count_filter import filter_counts, simplex_sizes
from evaluation.lda.exact import exact
from models import LDATopics
from tests.oracles import lda_likelihood as oracle


def exact_of(model, counts, **settings):
    return exact(model, DocumentBlock(sparse.csr_array(counts).astype(np.int64)), **settings)


def one(model, counts):
    return exact_of(model, [counts]).log_likelihood[0]


def in_order(model, words):
    """The same of a document whose tokens are taken in the order of `words`."""
    return module.log_probability_in_order(model, *np.unique(words, return_inverse=True))


def model_of(seed, n_topics=3, n_words=6, alpha=None):
    rng = np.random.default_rng(seed)
    drawn = rng.gamma(1, 1, n_topics) + 0.05
    topic_word = rng.dirichlet(np.full(n_words, 0.5), n_topics) + 1e-6
    return LDATopics.from_weights(topic_word, drawn if alpha is None else np.full(n_topics, alpha))


@st.composite
def models(draw, max_topics=4, max_words=4):
    """Some topics lack some words; no word is in none. alpha from 1e-3 to 1e3."""
    n_topics, n_words = draw(st.integers(1, max_topics)), draw(st.integers(1, max_words))
    elements = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))
    weight = draw(hnp.arrays(float, (n_topics, n_words), elements=elements))
    weight[draw(st.integers(0, n_topics - 1))] += 0.01
    weight[weight.sum(axis=1) == 0] = 1.0
    log_alpha = draw(hnp.arrays(float, n_topics, elements=st.floats(-3, 3)))
    return LDATopics.from_weights(weight, 10**log_alpha)


@st.composite
def tiny_cases(draw):
    """At most 4 topics and 6 tokens: 4,096 assignments."""
    model = draw(models())
    most = 6 if model.n_topics < 4 else 5
    return model, draw(st.lists(st.integers(0, model.n_words - 1), min_size=1, max_size=most))


def counts_of(words, n_words):
    return np.bincount(words, minlength=n_words)


@settings(max_examples=60)
@given(tiny_cases())
def test_equals_the_sum_over_all_assignments(case):
    model, words = case
    counts = counts_of(words, model.n_words)
    expected = oracle.log_probability_by_enumeration(counts, model.topic_word, model.alpha)
    assert one(model, counts) == pytest.approx(expected, rel=0, abs=1e-10)


@settings(max_examples=40)
@given(models(), st.integers(1, 6))
def test_probabilities_of_all_documents_of_a_length_sum_to_one(model, length):
    possible = np.flatnonzero(model.topic_word.max(axis=0) > 0)
    bags = list(itertools.combinations_with_replacement(possible, length))
    counts = np.array([counts_of(bag, model.n_words) for bag in bags])
    found = exact_of(model, counts).log_likelihood
    log_orders = math.lgamma(length + 1) - gammaln(counts + 1.0).sum(axis=1)
    assert logsumexp(found + log_orders) == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize(
    ("n_topics", "n_tokens"), [(2, 60), (3, 40), (4, 20), (5, 12), (6, 8), (8, 5), (10, 4), (30, 2)]
)
def test_equals_the_polynomial(n_topics, n_tokens):
    model = model_of(n_topics, n_topics, 9)
    counts = np.random.default_rng(0).multinomial(n_tokens, np.full(9, 1 / 9))
    expected = oracle.log_probability_by_polynomial(counts, model.topic_word, model.alpha)
    assert one(model, counts) == pytest.approx(expected, rel=0, abs=1e-10)


def log_sum_over_grid(log_values, step):
    """log ∫, by the trapezoidal rule: good to all digits for what is smooth."""
    return logsumexp(log_values) + np.log(step) * np.ndim(log_values)


def log_sigmoid(t):
    return -np.logaddexp(0.0, -t)


def log_beta_density(t, a, b):
    """Of t = logit θ where θ is Beta(a, b)."""
    return (gammaln(a + b) - gammaln(a) - gammaln(b)) + a * log_sigmoid(t) + b * log_sigmoid(-t)


@pytest.mark.parametrize(("alpha", "n_words"), [((0.5, 0.7), 5), ((3.0, 1.0), 400), ((90, 4), 40)])
def test_long_documents_of_two_topics_by_integration_over_proportions(alpha, n_words):
    """p = ∫ Beta(θ; α) ∏_w (θ φ_1w + (1 - θ) φ_2w)^n_w dθ, over t = logit θ."""
    model = LDATopics(model_of(1, 2, n_words).topic_word, alpha)
    counts = np.random.default_rng(2).multinomial(3000, [0.3, 0.7] @ model.topic_word)
    t, step = np.linspace(-80, 80, 8001, retstep=True)
    log_p = log_beta_density(t, *alpha)
    for n, (a, b) in zip(counts, np.log(model.topic_word.T), strict=True):
        log_p += n * np.logaddexp(log_sigmoid(t) + a, log_sigmoid(-t) + b)
    expected = log_sum_over_grid(log_p, step)
    assert one(model, counts) == pytest.approx(expected, rel=1e-12)


def test_long_documents_of_three_topics_by_integration_over_proportions():
    """θ by two broken sticks: θ_1 = σ(s), θ_2 = (1 - θ_1) σ(t)."""
    model = LDATopics(model_of(5, 3, 4).topic_word, [1.0, 2.0, 1.5])
    counts = np.random.default_rng(2).multinomial(400, [0.3, 0.6, 0.1] @ model.topic_word)
    t, step = np.linspace(-35, 35, 1001, retstep=True)
    a, b, c = model.alpha
    log_p = log_beta_density(t, a, b + c)[:, None] + log_beta_density(t, b, c)
    first, rest = np.exp(log_sigmoid(t))[:, None], np.exp(log_sigmoid(-t))[:, None]
    second, third = rest * first.T, rest * rest.T
    for n, phi in zip(counts, model.topic_word.T, strict=True):
        log_p += n * np.log(first * phi[0] + second * phi[1] + third * phi[2])
    expected = log_sum_over_grid(log_p, step)
    assert one(model, counts) == pytest.approx(expected, rel=1e-11)


@settings(max_examples=40)
@given(models(max_topics=6, max_words=6), st.data())
def test_the_order_of_words_does_not_matter(model, data):
    words = data.draw(st.lists(st.integers(0, model.n_words - 1), min_size=1, max_size=12))
    shuffled, total = data.draw(st.permutations(words)), in_order(model, words)
    assert in_order(model, shuffled) == pytest.approx(total, abs=1e-11)
    assert one(model, counts_of(words, model.n_words)) == pytest.approx(total, abs=1e-11)


@settings(max_examples=40)
@given(models(max_topics=5, max_words=5), st.data())
def test_the_order_of_topics_does_not_matter(model, data):
    order = data.draw(st.permutations(range(model.n_topics)))
    counts = data.draw(hnp.arrays(int, model.n_words, elements=st.integers(0, 4)))
    shuffled = LDATopics(model.topic_word[order], model.alpha[order])
    assert one(shuffled, counts) == pytest.approx(one(model, counts), abs=1e-11)


@settings(max_examples=40)
@given(models(max_words=5), st.floats(0.01, 0.99), st.data())
def test_a_topic_in_two_halves_is_one_with_their_alphas_summed(model, share, data):
    k = data.draw(st.integers(0, model.n_topics - 1))
    counts = data.draw(hnp.arrays(int, model.n_words, elements=st.integers(0, 4)))
    alpha = np.append(model.alpha, model.alpha[k] * (1 - share))
    alpha[k] *= share
    halves = LDATopics(np.vstack([model.topic_word, model.topic_word[k]]), alpha)
    assert one(halves, counts) == pytest.approx(one(model, counts), abs=1e-11)


@pytest.mark.parametrize("counts", [[3, 0, 2, 9], [0, 1, 0, 0], [2**52, 1, 0, 2**40]])
def test_one_topic_is_a_unigram_model(counts):
    model = model_of(0, 1, 4)
    expected = (np.array(counts) * np.log(model.topic_word[0])).sum()
    assert one(model, counts) == pytest.approx(expected, rel=1e-14)


def test_one_token_and_extreme_alpha():
    model = model_of(1, 40, 7)
    found = exact_of(model, np.eye(7)).log_likelihood
    assert_allclose(found, np.log(model.alpha @ model.topic_word / model.alpha.sum()), rtol=1e-13)
    counts, small = np.array([4, 0, 3, 5, 1, 7]), model_of(2, 4, alpha=1e-9)
    each = counts @ np.log(small.topic_word).T
    assert one(small, counts) == pytest.approx(logsumexp(each) - np.log(4), abs=1e-6)
    large = model_of(2, 4, alpha=1e9)
    expected = counts @ np.log(large.topic_word.mean(axis=0))
    assert one(large, counts) == pytest.approx(expected, abs=1e-6)
    assert abs(one(small, counts) - one(large, counts)) > 1


def test_topics_without_any_of_the_words_cost_nothing():
    model = LDATopics(np.kron(np.eye(60), [0.7, 0.3]), np.full(60, 0.5))
    counts = np.zeros(120, dtype=int)
    counts[[4, 5, 80]] = 30, 20, 50
    # Dirichlet moments: 50 tokens of topic 2, 50 of topic 40.
    expected = oracle.log_prior_of_counts([50, 50], [0.5, 29.5])
    expected += gammaln(50.5) - gammaln(0.5) - gammaln(79.5) + gammaln(29.5)
    expected += 30 * np.log(0.7) + 20 * np.log(0.3) + 50 * np.log(0.7)
    assert one(model, counts) == pytest.approx(expected, rel=1e-12)
    counts[80] = 0
    expected = oracle.log_prior_of_counts([50, 0], [0.5, 29.5]) + 30 * np.log(0.7)
    assert one(model, counts) == pytest.approx(expected + 20 * np.log(0.3), rel=1e-12)


def two_sided(n):
    """n tokens that are better in topic 0, then n that all but need topic 1.

    alpha is small, so one topic has them all: f of C_1 = n must not be lost though it is far below
    f of C_0 = n after the first half.
    """
    model = LDATopics([[0.9, 1e-6, 0.1 - 1e-6], [0.5, 0.4, 0.1]], [0.001, 0.001])
    return model, np.repeat([0, 1], n)


def test_what_is_improbable_on_the_way_is_not_lost():
    model, words = two_sided(1200)
    all_in_topic_1 = np.log(0.5) + 1200 * np.log(0.5) + 1200 * np.log(0.4)
    total = in_order(model, words)
    assert total == pytest.approx(all_in_topic_1, abs=0.02)
    assert one(model, [1200, 1200, 0]) == pytest.approx(total, rel=1e-11)


def test_floating_point_alone_would_lose_it(monkeypatch):
    model, words = two_sided(1200)
    monkeypatch.setattr(module, "_nothing_is_lost", lambda *_: True)
    assert in_order(model, words) < one(model, [1200, 1200, 0]) - 10


def logs_used(monkeypatch):
    used = []

    def record(*arguments):
        used.append(arguments[4])
        filter_counts(*arguments)

    monkeypatch.setattr(module, "filter_counts", record)
    return used


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_documents_drawn_from_the_model_need_no_logarithms(monkeypatch, alpha):
    rng, model = np.random.default_rng(0), model_of(3, 3, 500, alpha)
    counts = rng.multinomial(600, rng.dirichlet(model.alpha) @ model.topic_word)
    used = logs_used(monkeypatch)
    assert one(model, counts) < -1000
    assert used == [False]


def test_values_beyond_floating_point(monkeypatch):
    used = logs_used(monkeypatch)
    model = LDATopics([[1.0, 0.0, 0.0], [0.0, 1.0, 1e-310]], [1.0, 1e-300])
    expected = np.log([1e-300, 1e-310]).sum() - np.log(12)  # times 1, 1/2, 2/3 and 1/4
    assert in_order(model, [0, 1, 0, 2]) == pytest.approx(expected, rel=1e-12)
    assert used == [False, True]


@pytest.mark.parametrize(("n_topics", "n_tokens"), [(2, 30), (3, 20), (4, 12), (5, 8), (7, 5)])
def test_the_filter_in_logarithms_is_the_same(n_topics, n_tokens):
    rng = np.random.default_rng(n_topics)
    word_topic, alpha = rng.random((6, n_topics)), rng.gamma(1, 1, n_topics) + 0.01
    word_topic[rng.random((6, n_topics)) < 0.2] = 0.0
    word_topic[:, 0] += 0.01
    word_of = rng.integers(6, size=n_tokens)
    plain, in_logs = np.empty(n_tokens), np.empty(n_tokens)
    filter_counts(word_of, word_topic, alpha, alpha.sum(), False, plain)
    with np.errstate(divide="ignore"):
        filter_counts(word_of, np.log(word_topic), alpha, alpha.sum(), True, in_logs)
    assert_allclose(in_logs, plain, rtol=0, atol=1e-12)


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 999))
def test_no_proportions_make_the_rest_more_probable_than_its_bound(n_tokens, n_topics, seed):
    rng = np.random.default_rng(seed)
    token_topic = rng.random((n_tokens, n_topics)) ** 3
    bound = module._future_bound(token_topic)
    theta = rng.dirichlet(np.full(n_topics, 0.5), size=200)
    rest = np.log(theta @ token_topic.T)[:, ::-1].cumsum(axis=1)[:, ::-1]
    assert (rest <= bound[:-1] + 1e-12).all()
    assert bound[-1] == 0
    # Near the truth for the whole document, or it would be of no use.
    best = np.full(n_topics, 1 / n_topics)
    for _ in range(1000):
        best *= (token_topic / (token_topic @ best)[:, None]).mean(axis=0)
    attained = np.log(token_topic @ best).sum()
    assert attained - 1e-9 <= bound[0] <= attained + 0.1 * n_tokens


def refusal(model, counts, **settings):
    with pytest.raises(ExactCostError) as caught:
        exact_of(model, counts, **settings)
    return caught.value


def test_a_document_that_needs_too_much_memory(monkeypatch):
    monkeypatch.setattr(module, "filter_counts", None)  # nothing is computed before
    counts = np.zeros((3, 6), dtype=np.int64)
    counts[:, 0] = 4, 151, 20
    error = refusal(model_of(0, 10), counts)
    assert (error.document, error.n_tokens, error.n_topics) == (1, 151, 10)
    assert error.n_bytes == pytest.approx(8 * math.comb(160, 9), rel=1e-6)
    for part in ("document 1 ", "151 tokens", "10 topics", "GiB", "seconds", "max_memory is 2 GiB"):
        assert part in str(error)
    assert "left-to-right" in str(error)
    assert isinstance(error, ValueError)


def test_a_document_that_would_take_too_long():
    error = refusal(model_of(0, 3), [[10**5, 10**5, 0, 0, 0, 0]], max_memory=10**15)
    assert "the limit is 3600 seconds" in str(error)
    assert error.seconds > 3600


def test_numbers_beyond_floating_point_are_refused_too():
    error = refusal(model_of(0, 2000), [[2**52, 0, 0, 0, 0, 0]], max_memory=10**300)
    assert error.n_bytes == math.inf
    assert refusal(model_of(0, 2), [[2**52, 0, 0, 0, 0, 0]]).n_bytes > 2**55


def test_the_limit_is_where_it_says():
    model, counts = model_of(0, 4), np.array([[9, 0, 3, 4, 0, 1]])
    needed = math.ceil(refusal(model, counts, max_memory=1).n_bytes)
    assert exact_of(model, counts, max_memory=needed).n_documents == 1
    refusal(model, counts, max_memory=needed - 1)


@pytest.mark.parametrize("bad", [0, -1, 1e9, "2G", True, None])
def test_a_bad_limit(bad):
    with pytest.raises((TypeError, ValueError), match="max_memory"):
        exact_of(model_of(0), [[1, 0, 0, 0, 0, 0]], max_memory=bad)


def test_documents_at_the_same_time_stay_within_the_limit(monkeypatch):
    model = model_of(0, 4)
    counts = np.random.default_rng(0).multinomial([3] * 12 + [25] * 12, np.full(6, 1 / 6))
    cost = module._costs(counts.sum(axis=1), np.full(24, 4), 4).n_bytes
    limit = int(cost.max() * 1.5)
    assert 2 * cost.min() < limit
    running, largest, lock = [0.0], [0.0, 0], threading.Lock()
    waiting, met = cost.min(), threading.Event()  # documents of this cost wait for another one
    real = module._log_probability

    def watched(model, words, n):
        needed = module._costs(np.array([n.sum()]), np.array([4]), 4).n_bytes[0]
        with lock:
            running[0] += needed
            largest[0] = max(largest[0], running[0])
            largest[1] = max(largest[1], round(running[0] / needed))
            if running[0] >= 2 * waiting == 2 * needed:
                met.set()
        if needed == waiting:
            met.wait(timeout=60)
        result = real(model, words, n)
        with lock:
            running[0] -= needed
        return result

    expected = exact_of(model, counts).log_likelihood
    monkeypatch.setattr(module, "_log_probability", watched)
    assert (exact_of(model, counts, max_memory=limit, n_jobs=2).log_likelihood == expected).all()
    assert largest[0] <= limit
    assert largest[1] == 2  # some were at the same time
    waiting = cost.max()
    met.clear()
    exact_of(model, counts, max_memory=4 * limit, n_jobs=2)
    assert largest[0] > limit  # the negative control


def test_what_is_returned():
    counts = np.array([[1, 0, 2, 0, 0, 3], [0] * 6, [0, 0, 0, 0, 1, 0]])
    found = exact_of(model_of(0), counts, n_samples=7, seed=3)
    assert (found.method, found.convention, found.direction) == ("exact", "sequence", "exact")
    assert (found.standard_error.tolist(), found.n_tokens.tolist()) == ([0, 0, 0], [6, 0, 1])
    assert found.log_likelihood[1] == 0
    assert (found.log_likelihood[[0, 2]] < 0).all()


def test_the_callers_arrays_are_left_alone():
    model, counts = model_of(0), sparse.csr_array(np.array([[1, 0, 2, 0, 0, 3]]))
    for array in (counts.data, counts.indices, counts.indptr):
        array.setflags(write=False)
    assert np.isfinite(exact(model, DocumentBlock(counts)).total)


def test_sizes_are_binomial_coefficients():
    size = simplex_sizes(6, 9)
    assert size.tolist() == [[math.comb(r + d, d) for r in range(9)] for d in range(6)]
