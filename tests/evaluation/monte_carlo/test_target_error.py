from dataclasses import replace

import numpy as np
from scipy import sparse

from evaluation import LikelihoodEstimate, log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import MISSED_FROM
from evaluation.monte_carlo.target_error import (
    MARGIN,
    MAX_SAMPLES,
    MIN_PILOT_SAMPLES,
    sample_to_target,
)
from models import LDATopics

METHOD = "left-to-right-sequential"


def normal_method(spread, asked):
    """A method whose errors are known: normal with `spread` (D,) over √n, and that it says so.

    Documents that are emptied are not asked for.
    """

    def method(topics, documents, *, n_samples, seed, n_jobs):
        own = documents.n_tokens  # here: the number of the document, plus one
        assert (own == np.where(own > 0, np.arange(len(own)) + 1, 0)).all()
        error = np.where(own > 0, spread / np.sqrt(n_samples), 0.0)
        noise = np.random.default_rng([seed, 7]).normal(size=len(own))
        asked.append((np.flatnonzero(own), n_samples))
        return LikelihoodEstimate(
            log_likelihood=-100.0 - own + error * noise,
            standard_error=error,
            n_tokens=own.astype(np.int64),
            method="normal",
            convention="sequence",
            direction="unbiased",
            n_samples=np.where(own > 0, n_samples, 0),
        )

    return method


def numbered(n_docs):
    return DocumentBlock(sparse.csr_array(np.arange(1, n_docs + 1)[:, None]))


def reach(spread, target, n_samples=MIN_PILOT_SAMPLES, seed=0):
    asked = []
    method = normal_method(np.asarray(spread, float), asked)
    found = sample_to_target(
        method, None, numbered(len(spread)), target, n_samples=n_samples, seed=seed, n_jobs=None
    )
    return found, asked


def test_sizes_of_samplings():
    found, _ = reach([0.1, 1.0, 5.0, 20.0], 0.1)
    assert (found.standard_error <= 0.1).all()
    needed = (np.array([0.1, 1.0, 5.0, 20.0]) / 0.1) ** 2
    assert (found.n_samples >= needed).all()
    assert (found.n_samples <= np.maximum(MIN_PILOT_SAMPLES, 2 * MARGIN * needed)).all()
    found, asked = reach([1e-3, 1e-3], 1.0)
    assert [n for _, n in asked] == [MIN_PILOT_SAMPLES] * 2
    method = normal_method(np.full(2, 1e-3), [])
    look = method(None, numbered(2), n_samples=MIN_PILOT_SAMPLES, seed=0, n_jobs=1)
    assert (found.log_likelihood != look.log_likelihood).all()


def test_the_last_sampling_stands_whatever_its_error_is():
    """A method whose stated error is bad luck now and then, as that of few samples is."""
    asked = []

    def method(topics, counts, *, n_samples, seed, n_jobs):
        plain = normal_method(np.full(4, 1.0), asked)(
            topics, counts, n_samples=n_samples, seed=seed, n_jobs=n_jobs
        )
        luck = np.random.default_rng([seed, 1]).uniform(0.2, 5.0, len(plain.n_tokens))
        return replace(plain, standard_error=plain.standard_error * luck)

    found = sample_to_target(method, None, numbered(4), 0.2, n_samples=20, seed=3, n_jobs=None)
    last = {int(d): n for rows, n in asked for d in rows}
    assert [last[d] for d in range(4)] == found.n_samples.tolist()
    times = [sum(d in rows for rows, _ in asked) for d in range(4)]
    assert all(2 <= n <= 6 for n in times)
    assert (found.standard_error > 0.3).any()


def test_when_sampling_ends():
    _, asked = reach([20.0], 0.1)
    sizes = [n for _, n in asked]
    assert (sizes, sizes[0]) == (sorted(sizes), MIN_PILOT_SAMPLES)
    assert sizes[-2] >= sizes[-1] / 8  # the look that decided was not much smaller
    _, asked = reach([0.2] * 20 + [0.5] * 20, 0.1)
    assert [len(rows) for rows, _ in asked[:1]] == [40]
    assert sorted(len(rows) for rows, _ in asked[-2:]) == [20, 20]
    found, _ = reach([1.0, 1e9], 0.1)
    (warning,) = found.warnings
    assert warning.startswith("1 documents have a standard error above 0.15 nats")
    assert found.standard_error[0] <= 0.1
    assert MAX_SAMPLES <= found.n_samples[1] < 2 * MAX_SAMPLES
    model = LDATopics([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [0.3, 0.3])
    found = log_likelihood(
        model, [[4, 3, 2]], METHOD, n_samples=1, target_standard_error=0.1, random_state=0
    )
    assert 0 < found.standard_error[0] <= 0.15


def test_who_has_missed_the_target():
    estimate = LikelihoodEstimate(
        log_likelihood=np.zeros(4),
        standard_error=np.array([MISSED_FROM * 0.1, 0.2, np.nan, np.nan]),
        n_tokens=np.array([3, 3, 3, 0]),
        method="normal",
        convention="sequence",
        direction="unbiased",
        target_standard_error=0.1,
    )
    (warning,) = estimate.warnings
    assert warning.startswith("2 documents have a standard error above 0.15 nats")
    assert not replace(estimate, target_standard_error=None).warnings


def test_of_the_real_method():
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.full(40, 0.3), 3), np.full(3, 0.3))
    lengths = [0, 2, 10, 40, 120]
    counts = [rng.multinomial(n, rng.dirichlet([0.5] * 3) @ model.topic_word) for n in lengths]
    target = 0.03
    found = log_likelihood(model, counts, METHOD, target_standard_error=target, random_state=1)
    truth = log_likelihood(model, counts, "exact")
    assert (found.standard_error <= 1.5 * target).all()
    assert (found.n_samples[0], found.log_likelihood[0]) == (0, 0.0)
    assert (np.abs(found.log_likelihood - truth.log_likelihood) < 5 * 1.5 * target).all()
    settings = {"target_standard_error": target, "random_state": 1}
    again = log_likelihood(model, counts, METHOD, n_jobs=2, **settings)
    assert (again.log_likelihood == found.log_likelihood).all()
