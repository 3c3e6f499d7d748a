import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multinomial

from evaluation import log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.poisson_mrf.map_assignment import map_assignment
from models import LPMRFClusters, LPMRFTopics
from tests.evaluation.poisson_mrf.test_exact_likelihood import tokens_of
from tests.models.poisson_mrf.test_assignment_kernel import model_of
from tests.oracles import poisson_mrf_topics as oracle


def all_documents(n_words, length):
    rows = itertools.product(range(length + 1), repeat=n_words)
    return np.array([row for row in rows if sum(row) == length])


def log_orders(row):
    n, n_words = sum(row), len(row)
    return multinomial.logpmf(row, n, np.full(n_words, 1 / n_words)) + n * np.log(n_words)


def log_probability_of_best(row, plain):
    """The most that Σ_k log p(z_k | m_k), bags of words, comes to: all splits gone through."""
    n_topics, tokens = len(plain["alpha"]), tokens_of(row)
    best = -np.inf
    for assignment in itertools.product(range(n_topics), repeat=len(tokens)):
        total = 0.0
        for k in range(n_topics):
            part = [w for w, topic in zip(tokens, assignment, strict=True) if topic == k]
            if part:
                total += oracle.log_probability_of_field(part, plain, k)
                total += log_orders(np.bincount(part, minlength=len(row)))
        best = max(best, total)
    return best


def plain_model(seed, n_topics=2):
    plain = oracle.random_model(np.random.default_rng(seed), n_topics=n_topics, n_words=3)
    return {**plain, "table": np.array(oracle.log_partitions(plain, 5))}


@pytest.mark.parametrize("seed", range(3))
def test_of_a_topic_model_it_is_a_split_that_hardly_any_beats(seed):
    plain, rows = plain_model(seed), all_documents(3, 4)
    found = map_assignment(model_of(plain), DocumentBlock(sparse.csr_array(rows)))
    assert (found.method, found.convention, found.direction) == ("best-split", "bag", "plug-in")
    best = np.array([log_probability_of_best(row, plain) for row in rows])
    assert (found.log_likelihood <= best + 1e-12).all()
    assert np.isclose(found.log_likelihood, best, rtol=1e-12).mean() > 0.7  # others: local optima


@pytest.mark.parametrize("seed", range(3))
def test_of_a_mixture_it_is_the_best_component(seed):
    plain, rows = plain_model(seed, n_topics=3), all_documents(3, 4)
    found = map_assignment(model_of(plain, LPMRFClusters), DocumentBlock(sparse.csr_array(rows)))
    expected = [
        max(oracle.log_probability_of_field(tokens_of(row), plain, k) for k in range(3))
        + log_orders(row)
        for row in rows
    ]
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-11)


def test_one_topic_both_conventions_and_no_tokens():
    rows = sparse.csr_array(all_documents(3, 4))
    for kind in (LPMRFTopics, LPMRFClusters):
        total = {
            k: logsumexp(
                map_assignment(
                    model_of(plain_model(1, k), kind), DocumentBlock(rows)
                ).log_likelihood
            )
            for k in (1, 2)
        }
        assert total[1] == pytest.approx(0.0, abs=1e-12)
        assert total[2] > 0.05
    model, rows = model_of(plain_model(0)), np.array([[1, 2, 1], [0, 0, 0], [3, 0, 1]])
    bag = log_likelihood(model, rows, "best-split")
    assert (bag.log_likelihood[1], bag.n_documents) == (0, 2)
    assert (bag.standard_error == 0).all()
    sequence = log_likelihood(model, rows, "best-split", convention="sequence")
    assert sequence.convention == "sequence"
    orders = np.array([log_orders(row) if row.any() else 0.0 for row in rows])
    np.testing.assert_allclose(bag.log_likelihood - sequence.log_likelihood, orders, rtol=1e-12)
