import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from models import BetaGammaPFA, GammaPoissonTopics
from tests.models.gamma_poisson.factorisations import random_counts
from tests.models.states import assert_same_state
from tests.oracles.simulated import block_topics


def fitted(counts, **settings):
    return BetaGammaPFA(**{"n_topics": 3, "n_iter": 6, "random_state": 0, **settings}).fit(counts)


def simulated(topic_word, shape, probability, n_docs, rng):
    """Counts (D, V) of the model itself, drawn by scores."""
    scale = np.asarray(probability) / (1 - np.asarray(probability))
    scores = rng.gamma(shape, scale, (n_docs, len(shape)))
    return sparse.csr_array(rng.poisson(scores @ topic_word).astype(np.int32))


def assignment_posterior(doc_of, word_of, n_docs, shape, probability, eta):
    """p(z | w) of all K^N assignments: scores and topics integrated out, one Gamma for each."""
    n_topics, n_words = len(shape), len(eta)
    log = []
    for topic_of in itertools.product(range(n_topics), repeat=len(doc_of)):
        n_dk, n_kw = np.zeros((n_docs, n_topics)), np.zeros((n_topics, n_words))
        for d, w, k in zip(doc_of, word_of, topic_of, strict=True):
            n_dk[d, k] += 1
            n_kw[k, w] += 1
        total = 0.0
        for k in range(n_topics):
            # ∫ Gamma(θ; r, scale p/(1-p)) θ^n exp(-θ) dθ = Γ(r+n)/Γ(r) p^n (1-p)^r
            for d in range(n_docs):
                total += math.lgamma(shape[k] + n_dk[d, k]) - math.lgamma(shape[k])
                total += n_dk[d, k] * math.log(probability[k])
            total += sum(math.lgamma(n + e) for n, e in zip(n_kw[k], eta, strict=True))
            total -= math.lgamma(n_kw[k].sum() + sum(eta))
        log.append(total)
    p = np.exp(np.array(log) - max(log))
    return p / p.sum()


@pytest.mark.parametrize(
    "sampler", [pytest.param("exact-dense", marks=pytest.mark.slow), "exact-sparse"]
)
def test_topics_have_the_enumerated_distribution(sampler):
    counts = sparse.csr_array(np.array([[2, 1, 0], [0, 1, 1]], dtype=np.int32))
    shape, probability, eta = np.array([0.4, 1.1]), np.array([0.9, 0.2]), 0.5
    estimator = BetaGammaPFA(2, eta=eta, sampler=sampler, random_state=0)
    estimator.resume(counts, None)
    state = estimator.state_
    state.alpha, state.probability = shape, probability
    tokens = estimator._sweeps._tokens
    n_sweeps, visits = 10_000, np.zeros(2 ** len(tokens.doc_of))
    for _ in range(n_sweeps):
        estimator._sweeps.sweep()
        visits[int("".join(map(str, state.topic_of)), 2)] += 1
    of_tokens = (tokens.doc_of, tokens.word_of, 2, shape)
    truth, without_p = (
        assignment_posterior(*of_tokens, p, np.full(3, eta)) for p in (probability, np.full(2, 0.5))
    )
    distance = 0.5 * np.abs(visits / n_sweeps - truth).sum()
    assert distance < 0.03  # by chance up to 0.022 in twelve seeds
    assert 0.5 * np.abs(without_p - truth).sum() > 0.1


def matched(found, truth):
    return linear_sum_assignment(np.abs(found[None, :, :] - truth[:, None, :]).sum(axis=2))[1]


def test_topics_shapes_and_probabilities_are_found_again():
    rng, topic_word = np.random.default_rng(0), 0.9 * block_topics(3, 8) + 0.1 / 24
    shape, probability = np.array([0.3, 1.0, 2.0]), np.array([0.95, 0.9, 0.8])
    counts = simulated(topic_word, shape, probability, 1500, rng)
    found = fitted(counts, n_iter=150, burn_in=50).topics_
    order = matched(found.topic_word, topic_word)
    assert np.abs(found.topic_word[order] - topic_word).max() < 0.02
    assert_allclose(found.shape[order], shape, rtol=0.15)
    mean = shape * probability / (1 - probability)
    assert_allclose((found.shape / found.rate)[order], mean, rtol=0.1)
    assert_allclose(found.probability[order], probability, atol=0.03)


@pytest.mark.parametrize("learn_shape", [pytest.param(False, marks=pytest.mark.slow), True])
def test_surplus_topics_are_switched_off(learn_shape):
    rng, topic_word = np.random.default_rng(1), 0.95 * block_topics(3, 6) + 0.05 / 18
    counts = simulated(topic_word, np.ones(3), np.full(3, 0.9), 300, rng)
    estimator = fitted(counts, n_topics=9, n_iter=1000, burn_in=700, learn_shape=learn_shape)
    found = estimator.topics_
    expected = found.shape / found.rate
    assert np.sort(expected / expected.sum())[::-1][:3].sum() > 0.97
    assert estimator.n_active_topics_ < 9
    order = np.argsort(-expected)[:3]
    best = order[matched(found.topic_word[order], topic_word)]
    assert np.abs(found.topic_word[best] - topic_word).max() < 0.03


def test_topics_before_the_first_sample_and_after():
    counts, estimator = random_counts(), BetaGammaPFA(3, n_iter=6, burn_in=2, random_state=0)
    for step in estimator.iterate(counts):
        found = estimator.topics_
        assert isinstance(found, GammaPoissonTopics)
        assert_allclose(found.topic_word.sum(axis=1), 1.0)
        if step.n_sweeps == 2:
            assert_array_equal(found.shape, estimator.state_.alpha)
            assert_allclose(found.probability, estimator.state_.probability)
    assert estimator.state_.n_samples == 4


@pytest.mark.parametrize(
    ("counts", "n_topics"),
    [
        (random_counts(n_docs=500, rate=2.0), 3),
        (np.array([[100_000, 3], [0, 0]]), 1),
        (np.array([[2, 1, 4, 0, 4]]), 1),
        (np.array([[2, 1, 4, 0, 4]]), 3),
    ],
)
def test_what_is_expected_of_lengths_is_what_they_are(counts, n_topics):
    """With few documents, too, where r p / (1 - p) has no mean."""
    found = fitted(counts, n_topics=n_topics, n_iter=30, burn_in=10).topics_
    expected = (found.shape / found.rate).sum()
    assert expected == pytest.approx(counts.sum() / counts.shape[0], rel=1e-6)


def test_symmetric_priors_of_words_and_fixed_shapes():
    named, given = (fitted(random_counts(), eta=eta) for eta in ("symmetric", 1 / 12))
    assert_same_state(named.state_, given.state_)
    found = fitted(random_counts(), shape=[0.5, 1.0, 2.0], learn_shape=False).topics_
    assert_allclose(found.shape, [0.5, 1.0, 2.0])


def test_the_first_sweep_has_probabilities_that_fit_the_start():
    counts = random_counts(n_docs=300, rate=3.0)
    estimator = BetaGammaPFA(3, random_state=0).resume(counts, None)
    state = estimator.state_
    expected = state.alpha * state.probability / (1 - state.probability)
    assert_allclose(expected, estimator._sweeps.n_k / 300, rtol=0.3)


def test_priors_are_drawn_anew_after_each_sweep():
    estimator = BetaGammaPFA(3, random_state=0, learn_shape=False).resume(random_counts(), None)
    state, drawn = estimator.state_, []
    for state.n_sweeps in (1, 2, 1):
        estimator._learn_priors()
        drawn.append(state.probability)
    assert (drawn[0] != drawn[1]).all()
    assert_array_equal(drawn[0], drawn[2])


def test_empty_documents_and_words_that_do_not_occur():
    counts = random_counts().toarray()
    counts[:5] = 0
    counts[:, 3] = 0
    estimator = fitted(sparse.csr_array(counts), n_iter=20)
    assert (estimator.topics_.topic_word[:, 3] > 0).all()
    scores = estimator.transform(counts)
    assert np.isfinite(scores).all()
    prior_mean = estimator.topics_.shape / (1 + estimator.topics_.rate)  # given that nothing came
    assert_allclose(scores[0], prior_mean)


def test_settings_that_make_no_sense():
    for settings, error, message in (
        ({"shape": 0.0}, ValueError, "shape must be positive"),
        ({"shape": [1.0, 2.0]}, ValueError, r"shape must be a number or have shape \(3,\)"),
        ({"shape": "learned"}, TypeError, "shape must be a number or 3"),
        ({"eta": "learned"}, TypeError, 'eta must be a number, one for each word, or "symmetric"'),
        ({"base_mass": True}, TypeError, "base_mass must be a number"),
        ({"eta": -1.0}, ValueError, "eta must be positive"),
        ({"concentration": 0.0}, ValueError, "concentration must be above 0"),
        ({"base_mass": 1.0}, ValueError, "base_mass must be above 0 and below 1"),
        ({"learn_shape": "yes"}, TypeError, "learn_shape must be True or False"),
    ):
        with pytest.raises(error, match=message):
            fitted(random_counts(), **settings)


def test_sweeps_use_the_probabilities():
    estimator = BetaGammaPFA(3, random_state=0, start="random")
    estimator.resume(random_counts(), None)
    estimator.state_.probability = np.array([0.9, 1e-9, 0.9])
    sweeps = estimator._sweeps
    assert sweeps.n_k[1] > 50
    sweeps.sweep()
    assert sweeps.n_k[1] == 0
