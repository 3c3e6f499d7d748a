import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from evaluation.document_blocks import DocumentBlock
from evaluation.exact_cost import ExactCostError
from evaluation.lda.exact import exact as lda_exact
from evaluation.poisson_mrf.exact_likelihood import exact
from models import LDATopics
from models.poisson_mrf.topics import LPMRFTopics
from tests.models.poisson_mrf.test_assignment_kernel import model_of
from tests.oracles import poisson_mrf_topics as oracle


def tokens_of(row):
    return np.repeat(np.arange(len(row)), row).tolist()


def short_documents(rng, n_words=5, most=6):
    """With an empty one and one of a single word."""
    counts = rng.poisson(0.9, (6, n_words))
    counts = counts[counts.sum(axis=1) <= most]
    return np.concatenate([counts, np.zeros((1, n_words), int), 4 * np.eye(1, n_words, dtype=int)])


def without_edges(topic_word, alpha):
    n_topics = len(alpha)
    edges = (np.zeros(0, int), np.zeros((0, 2), int), np.zeros(0))
    return LPMRFTopics(
        topic_word, *edges, np.full(n_topics, np.inf), np.zeros((n_topics, 2)), alpha
    )


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_sum_over_all_assignments(seed, density):
    rng = np.random.default_rng(seed)
    plain = oracle.random_model(rng, n_topics=1 + seed % 3, density=density, scale=1.0)
    plain["table"][:, 0] = 0.0  # of no tokens
    counts = short_documents(rng)
    found = exact(model_of(plain), DocumentBlock(sparse.csr_array(counts)))
    expected = [oracle.log_probability_by_enumeration(tokens_of(row), plain) for row in counts]
    assert_allclose(found.log_likelihood, expected, rtol=1e-12, atol=1e-14)
    assert (found.method, found.convention, found.direction) == ("exact", "sequence", "exact")
    assert found.n_tokens.tolist() == counts.sum(axis=1).tolist()
    assert not found.standard_error.any()


@pytest.mark.parametrize(
    ("n_topics", "length", "alpha"), [(2, 150, 0.1), (3, 40, 0.7), (8, 6, 1e-3), (1, 30, 2.0)]
)
def test_without_edges_it_is_lda(n_topics, length, alpha):
    rng = np.random.default_rng(0)
    topic_word = rng.dirichlet(np.full(9, 0.4), n_topics) + 1e-9
    topic_word /= topic_word.sum(axis=1, keepdims=True)
    lda = LDATopics(topic_word, rng.uniform(0.5, 1.5, n_topics) * alpha)
    counts = sparse.csr_array(rng.multinomial(length, np.full(9, 1 / 9), 4))
    found = exact(without_edges(lda.topic_word, lda.alpha), DocumentBlock(counts))
    expected = lda_exact(lda, DocumentBlock(counts)).log_likelihood
    assert_allclose(found.log_likelihood, expected, rtol=1e-12)


def test_documents_of_a_length_sum_to_one():
    plain = oracle.random_model(np.random.default_rng(1), n_topics=2, n_words=3, scale=1.5)
    model = model_of({**plain, "table": np.array(oracle.log_partitions(plain, 4))})
    for length in (1, 2, 4):
        sequences = np.array(list(itertools.product(range(3), repeat=length)))
        counts = (sequences[:, :, None] == np.arange(3)).sum(axis=1)
        found = exact(model, DocumentBlock(sparse.csr_array(counts)))
        assert np.exp(found.log_likelihood).sum() == pytest.approx(1.0, rel=1e-12)


def test_beyond_the_table_and_with_interactions_as_large_as_they_like():
    plain = oracle.random_model(np.random.default_rng(2), longest=3)
    model, counts = model_of(plain), sparse.csr_array([[2, 1, 0, 2, 1]])
    longer = {**plain, "table": model.log_partition_to(6)}
    expected = oracle.log_probability_by_enumeration([0, 0, 1, 3, 3, 4], longer)
    found = exact(model, DocumentBlock(counts)).log_likelihood[0]
    assert found == pytest.approx(expected, rel=1e-12)
    plain = oracle.random_model(np.random.default_rng(3), n_topics=2, scale=500.0, density=1.0)
    counts = sparse.csr_array([[2, 1, 1, 2, 1], [5, 0, 0, 0, 1]])
    found = exact(model_of(plain), DocumentBlock(counts)).log_likelihood
    for row, log_p in zip(counts.toarray(), found, strict=True):
        tokens = tokens_of(row)
        every = oracle.assignments(tokens, plain)
        largest = max(oracle.log_weight_of_topics(tokens, each, plain) for each in every)
        constant = sum(np.log(plain["alpha"].sum() + i) for i in range(len(tokens)))
        assert 0 <= log_p - (largest - constant) <= len(tokens) * np.log(2)
    plain = oracle.random_model(np.random.default_rng(4))
    plain["alpha"] = np.array([1e12, 2e12, 3e12])
    counts = sparse.csr_array([[1, 2, 0, 1, 0]])
    zero = {**plain, "phi": 0 * plain["phi"], "table": 0 * plain["table"]}
    mean = plain["topic_word"].T @ plain["alpha"] / 6e12
    found = exact(model_of(zero), DocumentBlock(counts)).log_likelihood[0]
    assert found == pytest.approx(np.log(mean[[0, 1, 1, 3]]).sum(), rel=1e-10)


def dense_model(n_topics=6, n_words=30):
    rng = np.random.default_rng(5)
    return model_of(oracle.random_model(rng, n_topics, n_words, scale=0.01, density=1.0))


def test_what_is_too_long_is_refused():
    counts = np.zeros((3, 30), dtype=int)
    counts[0, 0], counts[1], counts[2, :4] = 1, 1, 1
    with pytest.raises(ExactCostError, match="annealed-importance-sampling") as caught:
        exact(dense_model(), DocumentBlock(sparse.csr_array(counts)))
    assert (caught.value.document, caught.value.n_tokens) == (1, 30)
    assert caught.value.seconds > 3600
    assert exact(dense_model(), DocumentBlock(sparse.csr_array(counts[[0, 2]]))).total < 0
    with pytest.raises(ExactCostError):
        exact(dense_model(), DocumentBlock(sparse.csr_array(np.full((1, 30), 10**15))))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_is_what_all_threads_take(n_jobs):
    model = without_edges(np.full((4, 3), 1 / 3), np.ones(4))
    counts = sparse.csr_array([[20, 20, 20]])  # binom(63, 3) totals of 144 bytes
    enough = {"max_memory": 6_000_000 * n_jobs, "n_jobs": n_jobs}
    assert exact(model, DocumentBlock(counts), **enough).total < 0
    with pytest.raises(ExactCostError, match="max_memory"):
        exact(model, DocumentBlock(counts), max_memory=5_000_000 * n_jobs, n_jobs=n_jobs)


@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_bad_memory(value, error):
    one_token = DocumentBlock(sparse.csr_array(np.eye(1, 30, dtype=int)))
    with pytest.raises(error, match="max_memory"):
        exact(dense_model(), one_token, max_memory=value)
