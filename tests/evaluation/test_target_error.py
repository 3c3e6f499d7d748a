"""Each document gets the samples that its standard error takes."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy import sparse

from evaluation import LikelihoodEstimate, log_likelihood
from evaluation.target_error import MARGIN, MOST_SAMPLES, reach_standard_error
from models import LDATopics

METHOD = "left-to-right-sequential"


def normal_method(spread, asked):
    """A method whose errors are known: normal with `spread` (D,) over √n, and that it says so."""

    def method(topics, counts, *, n_samples, seed, n_jobs):
        own = np.asarray(counts.sum(axis=1)).ravel()  # here: the number of the document, plus one
        error = spread[own - 1] / np.sqrt(n_samples)
        noise = np.random.default_rng([seed, 7]).normal(size=len(own))
        asked.append((own - 1, n_samples))
        return LikelihoodEstimate(
            log_likelihood=-100.0 - own + error * noise,
            standard_error=error,
            n_tokens=own.astype(np.int64),
            method="normal",
            convention="sequence",
            direction="unbiased",
            n_samples=np.full(len(own), n_samples),
        )

    return method


def numbered(n_docs):
    return sparse.csr_array(np.arange(1, n_docs + 1)[:, None])


def reach(spread, target, n_samples=10, seed=0):
    asked = []
    method = normal_method(np.asarray(spread, float), asked)
    found = reach_standard_error(
        method, None, numbered(len(spread)), target, n_samples=n_samples, seed=seed, n_jobs=None
    )
    return found, asked


def test_each_document_has_the_samples_it_takes_and_no_more():
    found, _ = reach([0.1, 1.0, 5.0, 20.0], 0.1)
    assert (found.standard_error <= MARGIN * 0.1).all()
    needed = (np.array([0.1, 1.0, 5.0, 20.0]) / 0.1) ** 2
    assert (found.n_samples >= needed).all()
    assert (found.n_samples <= np.maximum(10, 2 * MARGIN * needed)).all()


def test_the_first_look_is_thrown_away():
    """Else what stopped the sampling would be in the estimate."""
    found, asked = reach([1e-3, 1e-3], 1.0)
    assert len(asked) == 2
    first = normal_method(np.full(2, 1e-3), [])(None, numbered(2), n_samples=10, seed=0, n_jobs=1)
    assert (found.log_likelihood != first.log_likelihood).all()


def test_documents_of_one_size_are_scored_together():
    _, asked = reach([1.0] * 20 + [3.0] * 20, 0.1)
    assert len(asked) == 3
    assert [len(rows) for rows, _ in asked] == [40, 20, 20]


def test_a_method_without_randomness_is_asked_once():
    found, asked = reach([0.0, 0.0], 0.1)
    assert len(asked) == 1
    assert (found.standard_error == 0).all()


def test_there_is_an_end(caplog):
    with caplog.at_level(logging.WARNING, "evaluation"):
        found, _ = reach([1.0, 1e9], 0.1)
    assert "1 documents have a standard error above 0.1 nats" in caplog.text
    assert found.standard_error[0] <= MARGIN * 0.1
    assert MOST_SAMPLES <= found.n_samples[1] < 2 * MOST_SAMPLES


def test_an_unknown_error_asks_for_more():
    model = LDATopics([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [0.3, 0.3])
    found = log_likelihood(
        model, [[4, 3, 2]], METHOD, n_samples=1, target_standard_error=0.1, random_state=0
    )
    assert found.standard_error[0] <= MARGIN * 0.1


@pytest.mark.parametrize("method", [METHOD, "mean-field-is-1"])
def test_of_real_methods(method):
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.full(40, 0.3), 3), np.full(3, 0.3))
    lengths = [0, 2, 10, 40, 120]
    counts = [rng.multinomial(n, rng.dirichlet([0.5] * 3) @ model.topic_word) for n in lengths]
    target = 0.03
    found = log_likelihood(model, counts, method, target_standard_error=target, random_state=1)
    truth = log_likelihood(model, counts, "exact")
    assert (found.standard_error <= MARGIN * target).all()
    assert found.n_samples[0] == 0
    assert found.log_likelihood[0] == 0.0
    assert (np.abs(found.log_likelihood - truth.log_likelihood) < 5 * MARGIN * target).all()
    again = log_likelihood(
        model, counts, method, target_standard_error=target, random_state=1, n_jobs=2
    )
    assert (again.log_likelihood == found.log_likelihood).all()


@pytest.mark.parametrize("method", ["exact", "variational-bound"])
def test_what_is_not_sampled_is_as_without_a_target(method):
    model = LDATopics([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [0.3, 0.3])
    plain = log_likelihood(model, [[4, 3, 2]], method)
    found = log_likelihood(model, [[4, 3, 2]], method, target_standard_error=0.1)
    assert found.log_likelihood == plain.log_likelihood


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_target_must_be_positive(bad):
    model = LDATopics([[0.5, 0.5]], [1.0])
    with pytest.raises(ValueError, match="target_standard_error"):
        log_likelihood(model, [[1, 2]], METHOD, target_standard_error=bad)
