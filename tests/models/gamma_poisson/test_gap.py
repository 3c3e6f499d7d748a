import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from models.gamma_poisson.gap import GaP
from models.gamma_poisson.topics import GammaPoissonTopics
from tests.models.gamma_poisson.factorisations import block_counts, match, random_counts
from tests.models.states import carried

RATES = ["length", "common", "topic", 0.5]
WAYS = {
    "rate": st.sampled_from(RATES),
    "shape": st.sampled_from([1.0, 1.1, 4.0]),
    "relaxation": st.sampled_from([1.0, 1.8]),
    "doc_updates": st.integers(1, 3),
}


def fitted(counts, **settings):
    return GaP(**{"n_topics": 3, "n_iter": 8, "random_state": 0, **settings}).fit(counts)


def log_joint(counts, state, shape):
    """log p(y, θ | φ, a, b) by scipy's densities."""
    likelihood = stats.poisson.logpmf(counts.toarray(), state.doc_topic @ state.word_topic.T)
    prior = stats.gamma.logpdf(state.doc_topic, shape, scale=1.0 / state.rate)
    return likelihood.sum() + prior.sum()


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 4), st.fixed_dictionaries(WAYS))
def test_the_log_joint_never_falls(seed, n_topics, ways):
    counts, model = random_counts(seed), GaP(n_topics, n_iter=25, random_state=seed, **ways)
    assert (np.diff([step.objective for step in model.iterate(counts)]) >= 0).all()
    assert_allclose(model.state_.word_topic.sum(axis=0), 1.0)


@pytest.mark.parametrize("rate", [*RATES, [0.1, 0.2, 3.0]])
@pytest.mark.parametrize("shape", [1.0, 1.1, [1.0, 2.0, 1.5]])
def test_the_objective_is_the_log_joint(rate, shape):
    counts = random_counts()
    for n_iter in (1, 8):
        model = fitted(counts, rate=rate, shape=shape, n_iter=n_iter)
        expected = log_joint(counts, model.state_, np.asarray(shape))
        assert_allclose(model.state_.objective, expected, rtol=1e-10)


def test_a_plain_sweep_is_the_papers_em_step():
    counts = random_counts()
    y, rng, shape = counts.toarray(), np.random.default_rng(1), np.array([1.1, 1.4, 3.0])
    theta, phi = rng.gamma(2.0, size=(60, 3)), rng.dirichlet(np.ones(12), size=3)
    model = GaP(3, shape=shape, rate="topic", n_iter=1, init=(theta, phi)).fit(counts)
    theta = (shape - 1 + theta * ((y / (theta @ phi)) @ phi.T)) / ((shape / theta.mean(axis=0)) + 1)
    phi = phi * (theta.T @ (y / (theta @ phi)))
    phi /= phi.sum(axis=1, keepdims=True)
    assert_allclose(model.state_.doc_topic, theta, rtol=1e-10)
    assert_allclose(model.state_.word_topic.T, phi, rtol=1e-10)
    assert_allclose(model.state_.rate, shape / theta.mean(axis=0), rtol=1e-10)


def test_no_scores_nearby_are_more_probable():
    """The log joint at the end has no slope in θ, whose prior keeps it from 0."""
    counts = random_counts(n_docs=20)
    state = fitted(counts, n_iter=5000, tolerance=0.0, shape=2.0, rate=0.5).state_
    best, rng = log_joint(counts, state, 2.0), np.random.default_rng(0)
    for _ in range(20):
        step, moved = np.exp(0.01 * rng.standard_normal(state.doc_topic.shape)), carried(state)
        moved.doc_topic = state.doc_topic * step
        assert log_joint(counts, moved, 2.0) < best


def test_a_rate_of_its_own_lets_a_rare_topic_fade():
    """Which is why it is not the default: documents have 0.2 tokens of the second topic."""
    rng = np.random.default_rng(0)
    counts = np.hstack([rng.poisson(5.0, size=(200, 6)), rng.poisson(0.1, size=(200, 2))])
    start = np.kron(np.eye(2), np.ones(6))[:, :8] / [[6.0], [2.0]] + 1e-3
    init = (np.ones((200, 2)), start)
    assert GaP(2, rate="topic", n_iter=300, init=init).fit(counts).state_.rate[1] > 1e4
    held = GaP(2, n_iter=300, init=init).fit(counts)
    assert_allclose(held.state_.rate, 2 * 1.1 / (counts.sum() / 200))


@pytest.mark.parametrize("rate", ["length", "common", "topic"])
def test_planted_topics_are_found_again(rate):
    counts, truth, tokens = block_counts(1)
    model = fitted(counts, n_iter=400, tolerance=1e-9, rate=rate)
    topics = model.topics_
    assert isinstance(topics, GammaPoissonTopics)
    matched = match(topics.topic_word, truth)
    assert_allclose(topics.topic_word, truth[matched], atol=1e-4)
    mode = (0.1 + tokens[:, matched]) / (1.0 + topics.rate)
    assert_allclose(model.state_.doc_topic, mode, atol=0.02)
    assert_allclose(topics.shape, 1.1)
    assert_allclose(topics.rate, model.state_.rate)


def test_lengths_are_expected_as_they_are():
    counts = random_counts(rate=2.0)
    topics = fitted(counts, shape=[1.1, 2.0, 1.3]).topics_
    assert_allclose((topics.shape / topics.rate).sum(), counts.sum() / 60)


def test_documents_and_words_without_tokens():
    counts = random_counts().toarray()
    counts[[0, 7]] = 0
    counts[:, 3] = 0
    model = fitted(sparse.csr_array(counts))
    topics = model.topics_
    assert_array_equal(topics.topic_word[:, 3], 0.0)
    assert_allclose(model.state_.doc_topic[[0, 7]], 0.1 / (1.0 + model.state_.rate[0]))
    mean = topics.shape / (topics.rate + 1.0)
    assert_allclose(model.transform(counts)[[0, 7]], [mean, mean], rtol=1e-6)
    for shape in (1.0, 1.1):
        nothing = fitted(np.zeros((5, 4), dtype=np.int32), shape=shape, rate="topic").topics_
        assert_allclose(nothing.topic_word.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shape", value) for value in (-1.0, np.nan, np.inf, "a", [1.1], [1.1, 0.5, 2.0], None)]
    + [("shape must .* no mode", 0.99)]
    + [("rate", value) for value in (0.0, -1.0, np.nan, np.inf, "each", [1.0], [1.0, 1.0, 0.0])]
    + [("rate", {})],
)
def test_a_bad_setting_is_named(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        fitted(random_counts(), **{name.split()[0]: value})


def test_an_empty_topic_to_start_from_is_refused():
    topics = np.ones((3, 12))
    topics[2] = 0.0
    with pytest.raises(ValueError, match="topic 2"):
        fitted(random_counts(), init=(np.ones((60, 3)), topics))


def test_a_start_that_expects_nothing_of_a_count_is_refused():
    scores, topics = np.ones((60, 3)), np.ones((3, 12))
    topics[:, 4] = 0.0
    with pytest.raises(ValueError, match=r"init .* and word 4, .* add a small number"):
        fitted(random_counts(), init=(scores, topics))
    topics[1, 4] = 1.0
    scores[:, 1] = 0.0  # scores start above 0 whatever was given
    assert np.isfinite(fitted(random_counts(), init=(scores, topics)).state_.objective)
