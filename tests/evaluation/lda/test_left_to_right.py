import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.left_to_right import (
    error_over_particles,
    left_to_right_particle,
    predictive_factors,
    straight_sequential,
)
from evaluation.monte_carlo.token_sweep import document_words
from models import LDATopics
from tests.evaluation.lda.small_topics import model_of, row, truth_of, without_words
from tests.oracles.lda_likelihood import tokens_of

METHODS = pytest.mark.parametrize("method", [left_to_right_particle, straight_sequential])


def factors_of(topics, document, n_chains, n_sweeps, seed):
    """The kernel's (n_chains, L, n_sweeps), put back to the scale of the topics."""
    words = np.flatnonzero(document).astype(np.int32)
    word_of = np.repeat(np.arange(len(words)), np.asarray(document)[words])
    scaled, rng = document_words(topics, words), np.random.default_rng(seed)
    factors = predictive_factors(scaled.word_topic, scaled.alpha, word_of, n_chains, n_sweeps, rng)
    return factors * np.exp(scaled.log_scale)[word_of][:, None]


def probabilities(topics, w, others):
    pairs = zip(topics.topic_word, topics.alpha, strict=True)
    return [words[w] * (others.count(k) + alpha) for k, (words, alpha) in enumerate(pairs)]


def naive_factors(topics, tokens, n_chains, n_sweeps, rng):
    """The algorithm of the paper, mended, with the same random numbers."""

    def draw(p):
        rest, running = rng.random() * sum(p), itertools.accumulate(p)
        return next(k for k, reached in enumerate(running) if reached > rest)

    factors = np.empty((n_chains, len(tokens), n_sweeps))
    for chain in range(n_chains):
        topic_of = []
        for t, w in enumerate(tokens):
            for sweep in range(n_sweeps):
                for i in range(t):
                    others = topic_of[:i] + topic_of[i + 1 :]
                    topic_of[i] = draw(probabilities(topics, tokens[i], others))
                p = probabilities(topics, w, topic_of)
                factors[chain, t, sweep] = sum(p) / (t + sum(topics.alpha))
            topic_of.append(draw(p))
    return factors


@pytest.mark.parametrize("n_topics", [1, 3, 8, 20])
@pytest.mark.parametrize(("n_chains", "n_sweeps"), [(6, 1), (1, 6), (2, 3)])
def test_the_same_factors_as_plain_loops(n_topics, n_chains, n_sweeps):
    rng = np.random.default_rng(n_topics)
    weights = rng.dirichlet(np.full(9, 0.3), n_topics)
    weights[weights < 0.02] = 0.0
    weights[0] += 0.01
    topics = LDATopics.from_weights(weights, rng.gamma(1, 1, n_topics) + 0.01)
    document = [2, 0, 1, 5, 0, 1, 1, 3, 1]
    found = factors_of(topics, document, n_chains, n_sweeps, seed=7)
    tokens, rng = tokens_of(document), np.random.default_rng(7)
    assert_allclose(found, naive_factors(topics, tokens, n_chains, n_sweeps, rng), rtol=1e-10)


@METHODS
def test_the_estimate_is_the_product_of_mean_factors_in_a_random_order(method):
    topics, document = model_of(1), [2, 0, 1, 2, 1, 0]
    found = method(topics, DocumentBlock(row(document)), n_samples=9, seed=4)
    shape = (9, 1) if method is left_to_right_particle else (1, 9)
    rng = np.random.default_rng([4, 0])
    factors = naive_factors(topics, rng.permutation(tokens_of(document)), *shape, rng)
    assert found.log_likelihood[0] == pytest.approx(np.log(factors.mean(axis=(0, 2))).sum())
    relative = factors / factors.mean(axis=(0, 2), keepdims=True)
    if method is left_to_right_particle:
        error = relative.sum(axis=(1, 2)).std(ddof=1) / 3
    else:
        batches = relative[0].reshape(-1, 3, 3).mean(axis=2)
        error = math.sqrt((batches.var(axis=1, ddof=1) / 3).sum())
    assert found.standard_error[0] == pytest.approx(error)


def limit_of_particles(topics, document):
    """log of the estimate by infinitely many particles: all K^l assignments are followed."""

    def spread(states, at, w, inserted):
        """Every state's probability goes to those that differ from it at token `at`."""
        result = {}
        for state, probability in states.items():
            others = state[:at] + state[at + (not inserted) :]
            p = probabilities(topics, w, others)
            for k in range(len(p)):
                reached = (*others[:at], k, *others[at:])
                result[reached] = result.get(reached, 0) + probability * p[k] / sum(p)
        return result

    tokens, states, total = tokens_of(document), {(): 1.0}, 0.0
    for t, w in enumerate(tokens):
        for i in range(t):
            states = spread(states, i, tokens[i], inserted=False)
        mean = sum(p * sum(probabilities(topics, w, state)) for state, p in states.items())
        total += math.log(mean / (t + sum(topics.alpha)))
        states = spread(states, t, w, inserted=True)
    return total


UNSURE = LDATopics([[0.5, 0.1, 0.1, 0.3], [0.1, 0.5, 0.3, 0.1]], [0.05, 0.1])
"""Topics that the words of `[2, 2, 1, 2]` are at odds about: one sweep does not forget much."""


def test_the_particle_sampler_has_a_limit_that_is_not_the_truth():
    document = [2, 2, 1, 2]
    factors = factors_of(UNSURE, document, 200_000, 1, seed=0)
    found, error = np.log(factors.mean(axis=(0, 2))).sum(), error_over_particles(factors)
    assert abs(found - limit_of_particles(UNSURE, document)) < 4 * error
    assert abs(found - truth_of(UNSURE, document)) > 10 * error
    assert left_to_right_particle(UNSURE, DocumentBlock(row(document))).direction == "biased"


@pytest.mark.parametrize("document", [[2, 2, 1, 2], [1, 0, 2, 1], [2, 3, 0, 1], [1, 1, 2, 2]])
def test_the_product_of_one_chains_factors_is_unbiased(document):
    """As in annealed importance sampling: sweeps leave p(k | j_<l) as it is."""
    factors = factors_of(UNSURE, document, 30_000, 1, seed=0)[:, :, 0]

    def z(factors):
        ratios = factors.prod(axis=1) / math.exp(truth_of(UNSURE, document))
        return abs(ratios.mean() - 1) / (ratios.std() / math.sqrt(len(ratios)))

    assert z(factors) < 4
    # Negative control: factors of different chains do not belong together.
    assert z(np.random.default_rng(0).permuted(factors, axis=0)) > 4


def test_the_particles_standard_error_is_the_spread():
    found, squared = [], []
    for seed in range(1000):
        factors = factors_of(model_of(2), [2, 1, 1, 2, 1, 0], 50, 1, seed)
        found.append(np.log(factors.mean(axis=(0, 2))).sum())
        squared.append(error_over_particles(factors) ** 2)
    assert math.sqrt(np.mean(squared)) == pytest.approx(np.std(found), rel=0.1)


def as_printed(topics, document, n_sweeps, rng):
    """Buntine 2009, Sec. 3.6, to the letter: sweep k_0 … k_l given the words up to l, record."""
    tokens, n_topics, total = tokens_of(document), topics.n_topics, 0.0
    topic_of = []

    def draw(w, n_k):
        p = topics.topic_word[:, w] * (n_k + topics.alpha)
        return int(np.searchsorted(np.cumsum(p), rng.random() * p.sum(), side="right"))

    for t, w in enumerate(tokens):
        n_k = np.bincount(topic_of, minlength=n_topics).astype(float)
        topic_of.append(draw(w, n_k))
        n_k[topic_of[t]] += 1
        factors = []
        for _ in range(n_sweeps):
            for i in range(t + 1):
                n_k[topic_of[i]] -= 1
                topic_of[i] = draw(tokens[i], n_k)
                n_k[topic_of[i]] += 1
            n_k[topic_of[t]] -= 1
            before = topics.topic_word[:, w] @ (n_k + topics.alpha) / (t + topics.alpha.sum())
            n_k[topic_of[t]] += 1
            factors.append(before)
        total += math.log(np.mean(factors))
    return total


def test_the_mended_sampler_is_right_and_the_printed_one_far_too_high():
    rng = np.random.default_rng(0)
    topics = model_of(5, n_topics=3, n_words=8, alpha=[0.1, 0.1, 0.1])
    documents = rng.multinomial(9, rng.dirichlet(topics.alpha, 12) @ topics.topic_word)
    truth = np.array([truth_of(topics, document) for document in documents])

    def t_value(estimates):
        error = estimates - truth
        return error.mean() / (error.std(ddof=1) / math.sqrt(len(error)))

    found = straight_sequential(topics, DocumentBlock(row(documents)), n_samples=300)
    assert abs(t_value(found.log_likelihood)) < 4
    printed = np.array([as_printed(topics, document, 60, rng) for document in documents])
    assert t_value(printed) > 4
    assert (printed - truth).mean() > 0.5


@pytest.mark.parametrize(
    ("document", "alpha", "impossible"),
    [
        ([3, 0, 1, 2, 1, 1], [0.2, 1.5, 0.7], ()),
        ([2, 1, 0, 1, 2, 0], [0.1, 0.2, 0.1], ()),
        pytest.param([3, 2, 2, 3, 0, 4], [1e3, 2e3, 5e2], (), marks=pytest.mark.slow),
        ([2, 1, 2, 0, 0, 1], [1e-3, 2e-3, 1e-3], ((0, 0), (1, 0), (1, 2), (2, 2))),
        ([2, 1, 2, 0, 1, 1], [0.5, 0.3, 0.9], ((0, 0), (1, 0), (1, 2), (2, 4))),
    ],
)
def test_it_converges_to_the_truth(document, alpha, impossible):
    topics = without_words(model_of(0).topic_word, alpha, impossible)
    documents = DocumentBlock(row([document] * 8))
    found = straight_sequential(topics, documents, n_samples=40_000, seed=1)
    error = found.log_likelihood - truth_of(topics, document)
    assert abs(error.mean()) < 5 * error.std(ddof=1) / math.sqrt(8) + 1e-12
    assert abs(error.mean()) < 0.01
    # Negative control: the same check of a model with half of alpha.
    other = LDATopics(topics.topic_word, 0.5 * topics.alpha)
    off = error.mean() + truth_of(topics, document) - truth_of(other, document)
    assert abs(off) > 5 * (error.std(ddof=1) / math.sqrt(8))


def test_its_standard_error_is_about_the_spread():
    """Not quite, since it leaves out what goes on from token to token."""
    topics = model_of(2)
    documents = DocumentBlock(row([[2, 1, 1, 2, 1, 0]] * 500))
    found = straight_sequential(topics, documents, n_samples=200)
    ratio = math.sqrt((found.standard_error**2).mean()) / found.log_likelihood.std()
    assert 0.7 < ratio < 1.2


@METHODS
def test_seeds_and_threads(method):
    topics, counts = model_of(0), row(np.random.default_rng(1).poisson(1.5, size=(40, 6)))

    def values(**settings):
        found = method(topics, DocumentBlock(counts), n_samples=5, **settings)
        return found.log_likelihood.tolist()

    assert values(seed=3) == values(seed=3, n_jobs=2) == values(seed=3, n_jobs=3)
    assert values(seed=3) != values(seed=4)
    twins = method(topics, DocumentBlock(row([[1, 2, 0, 1, 1, 0]] * 2)), n_samples=5).log_likelihood
    assert twins[0] != twins[1]  # documents draw for themselves
