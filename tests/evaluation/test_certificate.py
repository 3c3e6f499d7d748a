import dataclasses
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from evaluation.certificate import STANDARD_ERRORS, certify
from evaluation.estimate import LikelihoodEstimate
from models import LDATopics, OnlineLDA
from tests.evaluation.lda.small_topics import truth_of
from tests.evaluation.registry import add_method

RNG = np.random.default_rng(0)
MODEL = LDATopics(RNG.dirichlet(np.full(20, 0.2), 3), [0.2, 0.4, 0.3])
LENGTHS = np.tile([12, 14, 10, 0, 7], 12)
FAST = {"n_chains": 4, "n_temperatures": 60}


@pytest.fixture
def oracle(monkeypatch):
    """A method "oracle": exact values, plus `off` a document, plus noise."""

    def enter(off=0.0, noise=0.0, direction="exact", convention="sequence"):
        def method(topics, documents, *, n_samples=None, seed=0, n_jobs=None):
            rows, n_tokens = documents.counts.toarray(), documents.n_tokens
            values = np.array([truth_of(topics, counts) for counts in rows]) + off
            values += np.random.default_rng(seed).normal(0, noise, len(values))
            kind = ("oracle", convention, direction)
            return LikelihoodEstimate(values, np.zeros(len(values)), n_tokens, *kind)

        add_method(monkeypatch, LDATopics, "oracle", method)

    return enter


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_exact_values_are_in_the_bracket(oracle, noise):
    oracle(noise=noise)
    found = [certify(MODEL, LENGTHS, "oracle", random_state=s, **FAST) for s in range(5)]
    # Of estimators that are right, some one in twenty is called inconsistent by chance.
    assert sum(one.consistent for one in found) >= 4


@pytest.mark.parametrize("off", [-0.5, 0.5])
def test_half_a_nat_a_document_is_noticed(oracle, off):
    oracle(off=off)
    found = certify(MODEL, LENGTHS, "oracle", random_state=1, **FAST)
    assert not found.consistent
    name = "above_lower" if off < 0 else "below_upper"
    gap, error = getattr(found, name), getattr(found, f"{name}_standard_error")
    assert gap == pytest.approx(-0.5, abs=4 * error)
    assert gap < -STANDARD_ERRORS * error


def test_what_it_says_adds_up(oracle):
    oracle(off=0.1, noise=0.5)
    found = certify(MODEL, LENGTHS, "oracle", n_documents=30, random_state=3, n_samples=7, **FAST)
    assert (found.method, found.n_documents, found.n_samples) == ("oracle", 30, 7)
    assert (found.n_chains, found.n_temperatures, found.seed) == (4, 60, 3)
    assert 30 * 7 <= found.n_tokens <= 30 * 14
    assert found.gap == pytest.approx(found.upper - found.lower)
    assert found.gap == pytest.approx(found.above_lower + found.below_upper)
    assert found.gap_per_word == pytest.approx(found.gap * 30 / found.n_tokens)
    # Documents differ by more than bounds on one of them.
    assert 0 < found.above_lower_standard_error < 0.5 * found.lower_standard_error
    assert 0 < found.gap_standard_error < 0.5 * found.lower_standard_error
    assert found.gap_per_word_standard_error > 0
    assert all(type(value) in {int, float, str, bool} for value in vars(found).values())
    assert dataclasses.is_dataclass(found)


def test_documents_of_one_length_and_one_topic():
    found = certify(MODEL, [12] * 25, "variational-bound", random_state=0, **FAST)
    assert found.n_tokens == 300
    assert found.gap_per_word_standard_error == pytest.approx(found.gap_standard_error / 12)
    found = certify(LDATopics([[0.5, 0.3, 0.2]], [0.1]), [300, 40], "variational-bound")
    assert found.consistent
    assert abs(found.gap) < 1e-9


def test_the_variational_bound_is_below_the_bracket():
    found = certify(MODEL, LENGTHS, "variational-bound", random_state=0, **FAST)
    assert found.above_lower < -5 * found.above_lower_standard_error
    assert not found.consistent
    assert found.direction == "lower bound"


@pytest.mark.slow
def test_standard_errors_are_the_spread_of_fresh_certificates():
    of_documents = (MODEL, [15] * 25, "variational-bound")
    settings = {"n_chains": 2, "n_temperatures": 10}
    found = [certify(*of_documents, random_state=seed, **settings) for seed in range(200)]
    for name in ("lower", "upper", "gap", "gap_per_word", "above_lower", "below_upper"):
        spread = np.std([getattr(one, name) for one in found])
        errors = np.array([getattr(one, name + "_standard_error") for one in found])
        assert math.sqrt((errors**2).mean()) == pytest.approx(spread, rel=0.25)  # 5 · 1/√400


def test_lengths_of_counts_and_of_documents_at_random():
    counts = np.random.default_rng(0).multinomial(15, np.full(20, 0.05), size=8)
    settings = {"random_state": 5, "n_chains": 2, "n_temperatures": 5}
    first = certify(MODEL, counts, "variational-bound", **settings)
    assert first == certify(MODEL, sparse.csr_matrix(counts), "variational-bound", **settings)
    assert first == certify(MODEL, [15] * 8, "variational-bound", **settings)
    assert first == certify(MODEL, [15, 0] * 8, "variational-bound", n_jobs=2, **settings)
    settings["random_state"] = 6
    assert first != certify(MODEL, counts, "variational-bound", **settings)
    lengths, settings = np.arange(1, 201), {"n_documents": 20, "n_chains": 1, "n_temperatures": 2}
    of_documents = (MODEL, lengths, "variational-bound")
    totals = [certify(*of_documents, random_state=s, **settings).n_tokens for s in range(30)]
    expected, sd = 20 * 100.5, math.sqrt(20 * (200**2 - 1) / 12 * (1 - 19 / 199))
    assert abs(np.mean(totals) - expected) < 4 * sd / math.sqrt(30)
    assert 0.5 * sd < np.std(totals) < 1.6 * sd


def test_no_random_state_is_one_that_is_told():
    settings = {"n_chains": 1, "n_temperatures": 3}
    found = certify(MODEL, [5, 6], "variational-bound", **settings)
    assert found == certify(MODEL, [5, 6], "variational-bound", random_state=found.seed, **settings)


def test_an_estimator_is_certified_by_its_topics():
    counts = np.random.default_rng(0).poisson(1.0, size=(30, 20))
    model = OnlineLDA(3, random_state=0).fit(counts)
    settings = {"random_state": 0, "n_chains": 1, "n_temperatures": 3}
    found = certify(model, counts, "variational-bound", **settings)
    assert found == certify(model.topics_, counts, "variational-bound", **settings)
    with pytest.raises(NotFittedError):
        certify(OnlineLDA(3), counts, "variational-bound")


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"completion.*whole documents.*left-to-right"):
        certify(MODEL, LENGTHS, "completion", n_documents=5)
    for lengths, settings, message in (
        ([3, 0], {}, "two documents with a token"),
        ([3.5, 4], {}, "whole"),
        ([[1, 2]], {}, "2 words, the model 20"),
        (np.full((2, 20), -1), {}, "negative"),
        (np.full((2, 20), np.nan), {}, "whole"),
        ([3, 4], {"n_documents": 1}, "n_documents"),
        ([3, 4], {"n_documents": 2.0}, "n_documents"),
        ([3, 4], {"n_samples": 0}, "n_samples"),
        ([3, 4], {"n_chains": 0}, "at least 1"),
        ([3, 4], {"n_temperatures": 1}, "n_temperatures"),
        ([3, 4], {"random_state": "2"}, "random_state"),
        ([3, 4], {"method": "perplexity"}, "not an estimator"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            certify(MODEL, lengths, **{"method": "variational-bound", **settings})
    with pytest.raises(TypeError, match="no likelihood estimator for a object"):
        certify(object(), [3, 4], "variational-bound")


def test_what_is_no_log_probability_of_a_sequence_is_refused(oracle):
    oracle(direction="plug-in")
    with pytest.raises(ValueError, match="method = 'oracle' scores"):
        certify(MODEL, [3, 4], "oracle")
