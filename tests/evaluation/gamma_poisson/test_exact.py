import itertools
import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from evaluation import log_likelihood
from evaluation.gamma_poisson.length import log_length_probability
from models import GammaPoissonTopics, LDATopics
from tests.evaluation.gamma_poisson.models_of import arrays_of, model_of, truth_of
from tests.oracles import gamma_poisson_likelihood as oracle
from tests.shared_data import shared_file


def exactly(topics, counts):
    return log_likelihood(topics, counts, "exact").log_likelihood


@st.composite
def models_and_documents(draw, most_topics=3, most_words=3, most_tokens=3):
    n_topics, n_words = draw(st.integers(1, most_topics)), draw(st.integers(1, most_words))

    def numbers(low, high, n):
        return draw(st.lists(st.floats(low, high), min_size=n, max_size=n))

    topic_word = np.array([numbers(0, 4, n_words) for _ in range(n_topics)])
    topic_word[topic_word < 1e-3] = 0.0
    document = draw(st.lists(st.integers(0, most_tokens), min_size=n_words, max_size=n_words))
    assume(topic_word.any() and (topic_word.max(axis=0)[np.array(document) > 0] > 0).all())
    shape, probability = numbers(0.05, 6, n_topics), numbers(0.01, 0.99, n_topics)
    return topic_word, shape, probability, document


@pytest.mark.parametrize("document", [[0, 0, 0], [1, 0, 2], [3, 1, 0]])
def test_the_oracles_agree_on_one_topic(document):
    phi, r, p = [0.7, 0.2, 0.6], 0.7, 0.6
    expected = oracle.log_probability_by_integration(document, phi, r, p)
    for found in (
        oracle.log_probability_of_one_topic(document, phi, r, p),
        oracle.log_probability_by_partitions(document, [phi], [r], [p]),
        oracle.log_probability_by_quadrature(document, [phi], [r], [p]),
    ):
        assert found == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40)
@given(models_and_documents())
def test_all_partitions_and_quadrature(case):
    *arrays, document = case
    found = exactly(GammaPoissonTopics(*arrays), [document])[0]
    for truth in (oracle.log_probability_by_partitions, oracle.log_probability_by_quadrature):
        assert found == pytest.approx(truth(document, *arrays), rel=1e-10, abs=1e-10)


@settings(max_examples=40)
@given(models_and_documents(most_topics=1, most_words=5, most_tokens=200))
def test_one_topic_is_a_negative_multinomial(case):
    topic_word, shape, probability, document = case
    found = exactly(GammaPoissonTopics(topic_word, shape, probability), [document])[0]
    expected = oracle.log_probability_of_one_topic(document, topic_word[0], *shape, *probability)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_longer_documents_of_two_topics(seed):
    topics, counts = model_of(seed), np.random.default_rng(seed).poisson(6, size=(5, 4))
    expected = [truth_of(topics, document) for document in counts]
    assert_allclose(exactly(topics, counts), expected, rtol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_documents_of_a_length_sum_to_its_probability(n):
    topics = model_of(3, n_topics=3, n_words=3)
    total = np.exp(exactly(topics, oracle.documents_of_length(n, 3))).sum()
    assert total == pytest.approx(np.exp(log_length_probability(topics, [n])[0]), rel=1e-12)


def test_all_documents_sum_to_one():
    topics = GammaPoissonTopics([[0.4, 0.3], [0.1, 0.9]], [0.7, 1.3], [0.3, 0.2])
    counts = [d for n in range(61) for d in oracle.documents_of_length(n, 2)]
    assert np.exp(exactly(topics, counts)).sum() == pytest.approx(1.0, rel=1e-12)
    # Negative control: without the one document that has no tokens.
    assert np.exp(exactly(topics, counts[1:])).sum() < 0.9


@pytest.mark.shared
def test_what_its_authors_published():
    golden = json.loads(shared_file("published/gapfa_twitter10_golden.json").read_text())
    topics = GammaPoissonTopics(golden["phi"], golden["r"], golden["p"])
    found = log_likelihood(topics, golden["y"], "exact")
    assert_allclose(found.log_likelihood, golden["log_marginal"], rtol=0, atol=1e-9)
    assert_allclose(found.log_likelihood, golden["published"], rtol=0, atol=1e-9)
    assert found.total == pytest.approx(-221.647979173298, abs=1e-9)


@pytest.mark.parametrize("convention", ["sequence", "bag"])
def test_lda_given_the_length(convention):
    rng = np.random.default_rng(0)
    topic_word, alpha = rng.dirichlet(np.ones(6), 3), rng.gamma(1, 1, 3) + 0.1
    counts = rng.poisson(1.5, size=(9, 6))
    counts[4] = 0
    settings = {"method": "exact", "convention": convention}
    expected = log_likelihood(LDATopics(topic_word, alpha), counts, **settings)
    for probability in (1e-6, 0.3, 1 - 1e-9):
        topics = GammaPoissonTopics.from_lda(topic_word, alpha, probability)
        found = log_likelihood(topics, counts, **settings)
        assert found.convention == expected.convention == convention
        assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-11, atol=1e-8)


def test_documents_of_whose_tokens_some_are_lost():
    """p(y) of the thinned model is the sum over whole documents of p(whole) p(y | whole)."""
    topics = GammaPoissonTopics([[0.5, 0.2], [0.1, 0.8]], [0.6, 1.1], [0.3, 0.25])
    kept, document, most = 0.7, np.array([2, 1]), 45
    whole = np.array(list(itertools.product(range(2, most), range(1, most))))
    lost = stats.binom.pmf(document, whole, kept).prod(axis=1)
    expected = np.log((np.exp(exactly(topics, whole)) * lost).sum())
    assert exactly(topics.thinned(kept), [document])[0] == pytest.approx(expected, rel=1e-10)
    assert exactly(topics, [document])[0] != pytest.approx(expected, rel=1e-3)


def test_a_document_without_tokens():
    topics = GammaPoissonTopics([[0.5, 0.0, 0.2], [0.1, 0.0, 0.0]], [0.6, 1.1], [0.3, 0.25])
    found = log_likelihood(topics, [[0, 0, 0], [1, 0, 0]], "exact")
    assert found.log_likelihood[0] == topics.tilted.log_empty
    truth = oracle.log_probability_by_partitions([0, 0, 0], *arrays_of(topics))
    assert topics.tilted.log_empty == pytest.approx(truth, rel=1e-12)
    assert found.n_documents == 2  # having no tokens is an outcome as any
