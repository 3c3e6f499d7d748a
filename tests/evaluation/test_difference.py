from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from evaluation import ZeroProbabilityError, log_likelihood_difference
from evaluation.difference import LikelihoodDifference
from models import GammaPoissonTopics, LDATopics, OnlineLDA
from tests.evaluation.lda.small_topics import model_of, truth_of, without_words
from tests.oracles.gamma_poisson_likelihood import (
    length_probabilities,
    log_probability_by_partitions,
)

N_DOCS = 150
SETTINGS = {"n_samples": 10, "n_temperatures": 40, "random_state": 0}


def documents_of(document, n=N_DOCS):
    return sparse.csr_array(np.tile(np.asarray(document), (n, 1)))


def z_score(found, truth):
    n = len(found.difference)
    return (found.difference.mean() - truth) * np.sqrt(n) / found.difference.std()


@pytest.mark.parametrize(("k_a", "k_b"), [(3, 3), (4, 2), (1, 3)])
def test_difference_from_exact_values(k_a, k_b):
    a, b, document = model_of(1, k_a), model_of(2, k_b), [3, 0, 2, 1, 0, 4]
    found = log_likelihood_difference(a, b, documents_of(document), **SETTINGS)
    truth = truth_of(a, document) - truth_of(b, document)
    assert abs(z_score(found, truth)) < 4
    assert np.sqrt((found.standard_error**2).mean()) == pytest.approx(
        found.difference.std(), rel=0.2
    )
    assert found.lower.mean() - truth < 4 * found.lower.std() / np.sqrt(N_DOCS)
    assert found.upper.mean() - truth > -4 * found.upper.std() / np.sqrt(N_DOCS)
    assert found.total_standard_error > 0
    assert abs(z_score(found, truth + 0.25)) > 5  # the test would notice a quarter of a nat


def test_words_that_one_model_has_in_fewer_topics():
    weights = np.random.default_rng(0).random((3, 4)) + 0.2
    a = without_words(weights, [0.4, 0.3, 0.5], [(0, 1), (1, 0), (2, 3)])
    b, document = model_of(5, 2, 4), [2, 1, 0, 3]
    settings = {**SETTINGS, "n_temperatures": 60}
    found = log_likelihood_difference(a, b, documents_of(document), **settings)
    assert abs(z_score(found, truth_of(a, document) - truth_of(b, document))) < 4


def test_equal_models_differ_by_exactly_nothing():
    model = model_of(0, 5)
    shuffled = LDATopics(model.topic_word[::-1], model.alpha[::-1])
    found = log_likelihood_difference(model, shuffled, documents_of([2, 3, 0, 1, 1, 9], 3))
    assert found.difference.tolist() == [0.0, 0.0, 0.0]
    assert found.total_standard_error == 0.0
    assert not found.warnings


def test_swapping_the_models_changes_the_sign():
    a, b, counts = model_of(3), model_of(4, 2), documents_of([3, 0, 2, 1, 0, 4])
    one = log_likelihood_difference(a, b, counts, **SETTINGS)
    other = log_likelihood_difference(b, a, counts, **{**SETTINGS, "random_state": 1})
    error = np.hypot(one.total_standard_error, other.total_standard_error)
    assert abs(one.total + other.total) < 4 * error
    assert abs(one.total) > 10 * error


def test_gamma_poisson_against_its_exact_values_and_against_lda():
    document, rng = [2, 0, 1, 3], np.random.default_rng(0)
    one, two = (
        GammaPoissonTopics(rng.dirichlet(np.ones(4), k), rng.random(k) + 0.5, rng.random(k) * 0.5)
        for k in (2, 3)
    )
    found = log_likelihood_difference(one, two, documents_of(document), **SETTINGS)
    exact = []
    for each in (one, two):
        parameters = (each.topic_word, each.shape, each.probability)
        of_counts = log_probability_by_partitions(np.array(document), *parameters)
        n_tokens = sum(document)
        exact.append(of_counts - np.log(length_probabilities(n_tokens, *parameters)[n_tokens]))
    assert abs(z_score(found, exact[0] - exact[1])) < 4
    lda = model_of(7, 2, 4)
    mixed = log_likelihood_difference(one, lda, documents_of(document), **SETTINGS)
    other = log_likelihood_difference(two, lda, documents_of(document), **SETTINGS)
    error = np.sqrt(sum(N_DOCS * x.difference.var() for x in (mixed, other, found)))
    assert abs(mixed.total - other.total - found.total) < 4 * error


def test_threads_and_other_documents_change_no_bit():
    a, b = model_of(3), model_of(4, 2)
    counts = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (9, 6)))
    one = log_likelihood_difference(a, b, counts, random_state=3, n_jobs=1)
    two = log_likelihood_difference(a, b, counts, random_state=3, n_jobs=2)
    some = log_likelihood_difference(a, b, counts[:4], random_state=3)
    assert np.array_equal(one.difference, two.difference)
    assert np.array_equal(one.difference[:4], some.difference)


def test_documents_without_tokens_count_for_nothing():
    a, b = model_of(3), model_of(4)
    found = log_likelihood_difference(a, b, np.zeros((2, 6), dtype=int))
    assert found.total == 0.0
    assert np.isnan(found.nats_per_word)
    assert not found.warnings
    assert "nan" in found._repr_html_()


def test_far_models_are_warned_of():
    rng = np.random.default_rng(0)
    a, b = (LDATopics(rng.dirichlet(np.full(60, 0.1), 20), np.full(20, 0.1)) for _ in range(2))
    counts = rng.multinomial(100, rng.dirichlet(np.full(60, 0.3)), 3)
    found = log_likelihood_difference(a, b, counts, n_temperatures=5, random_state=0)
    assert found.has_low_ess.all()
    assert "3 of 3 documents" in found.warnings[0]
    assert "take more temperatures" in found._repr_html_()
    assert np.isfinite(found.difference).all()
    assert np.isnan(found.standard_error).all()
    assert np.isnan([found.total_standard_error, found.nats_per_word_standard_error]).all()


def test_a_document_that_is_hardly_sampled_takes_the_error_of_totals_and_of_its_group_alone():
    settings = {**SETTINGS, "n_samples": 6, "n_temperatures": 2}
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), 20)
    other = np.hstack([topics[:, :30], rng.permuted(topics[:, 30:], axis=1)])  # half is the same
    a, b = LDATopics(topics, np.full(20, 0.1)), LDATopics(other, np.full(20, 0.1))
    counts = np.zeros((3, 60), dtype=int)
    counts[0, 0], counts[1, 30:] = 1, 3
    found = log_likelihood_difference(a, b, counts, **settings)
    assert found.has_low_ess.tolist() == [False, True, False]
    assert "1 of 2 documents" in found.warnings[0]
    assert np.isnan(found.standard_error).tolist() == [False, True, False]
    assert np.isnan(found.total_standard_error)
    grouped = found.by_group(["x", "y", "x"])
    assert np.isnan(grouped.standard_error).tolist() == [False, True]
    assert np.isnan(grouped.nats_per_word_standard_error)


def test_few_chains_have_no_error_that_can_be_trusted():
    a, b = model_of(3), model_of(4)
    found = log_likelihood_difference(a, b, documents_of([1, 2, 0, 0, 1, 1], 4), n_samples=4)
    assert np.isnan(found.total_standard_error)
    assert "fewer than 5 samples" in found.warnings[0]


def test_directions_that_contradict_each_other_have_no_error():
    a, b = model_of(3), model_of(4)
    found = log_likelihood_difference(a, b, documents_of([1, 2, 0, 0, 1, 1], 9), random_state=0)
    assert np.isfinite(found.total_standard_error)
    wrong = replace(found, lower=found.upper + 1, upper=found.lower - 1)
    assert np.isnan([wrong.total_standard_error, wrong.nats_per_word_standard_error]).all()
    assert "contradict" in wrong.warnings[0]


def test_few_documents_contradict_less_easily():
    n_tokens = np.array([9, 9, 9])
    ones = np.ones(3)
    gap = np.array([-1.0, -2.0, -3.0])  # 3.5 standard errors below 0, of two degrees of freedom
    found = LikelihoodDifference(ones, ones, ones, ones + gap, 9 * ones, n_tokens, 10, 100, 3)
    assert found.gap < -3 * found.gap_standard_error
    assert np.isfinite(found.total_standard_error)
    ten = [np.tile(each, 5) for each in (ones, ones, ones, ones + gap, 9 * ones, n_tokens)]
    assert "contradict" in LikelihoodDifference(*ten, 10, 100, 3).warnings[0]


def test_groups_are_sums():
    a, b = model_of(3), model_of(4)
    found = log_likelihood_difference(a, b, documents_of([1, 2, 0, 0, 1, 1], 4), random_state=0)
    grouped = found.by_group(["x", "y", "x", "x"])
    assert grouped.total == pytest.approx(found.total)
    assert grouped.n_tokens.tolist() == [15, 5]
    with pytest.raises(ValueError, match="4 documents"):
        found.by_group(["x"])


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"n_samples": 0}, ValueError, "n_samples"),
        ({"n_temperatures": 1}, ValueError, "n_temperatures"),
        ({"b": model_of(0, 2, 5)}, ValueError, "same words, found 6 and 5"),
        ({"b": OnlineLDA()}, NotFittedError, "fit"),
        ({"b": object()}, TypeError, "object"),
        ({"counts": np.ones((2, 5), dtype=int)}, ValueError, "6"),
        ({"a": LDATopics([[0.5, 0.5, 0, 0, 0, 0]], [1.0])}, ZeroProbabilityError, "probability 0"),
    ],
)
def test_bad_arguments_are_named(change, error, match):
    arguments = {"a": model_of(0), "b": model_of(1), "counts": np.ones((2, 6), dtype=int)}
    with pytest.raises(error, match=match):
        log_likelihood_difference(**{**arguments, **change})
