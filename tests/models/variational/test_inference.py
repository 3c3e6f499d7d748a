import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import psi

from models.kernel import read_only
from models.variational.fixed_point import infer_document
from models.variational.inference import documents_of, infer_doc_topic, infer_documents
from tests.oracles import online_vb


def tiny(seed, n_docs=5, n_words=7, n_topics=3):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, size=(n_docs, n_words))
    weight = rng.gamma(1.0, 1.0, size=(n_words, n_topics)) + 1e-3
    return counts, weight, rng.gamma(1.0, 0.3, size=n_topics) + 0.05


@pytest.mark.parametrize("cap", [1, 2, 5, 100])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_naive_fixed_point(seed, cap):
    counts, weight, alpha = tiny(seed)
    matrix = sparse.csr_array(counts)
    found = infer_doc_topic(matrix, weight, alpha, max_iterations=cap, tolerance=1e-3)
    for d, document in enumerate(counts):
        start = alpha + document.sum() / len(alpha)
        expected = online_vb.infer_document(document, weight.T, alpha, start, cap, 1e-3)
        assert_allclose(found[d], expected, rtol=1e-9)


def run(function, counts, weight, alpha, cap=20):
    matrix = sparse.csr_array(counts)
    documents, gamma = documents_of(matrix), alpha + counts.sum(axis=1, keepdims=True) / len(alpha)
    theta, ratio = np.empty_like(gamma), np.empty(matrix.nnz)
    given = read_only(weight), read_only(alpha)
    iterations = function(documents, 0, len(counts), *given, cap, 1e-3, gamma, theta, ratio)
    return gamma, theta, ratio, iterations


def test_compiled_and_python_agree():
    problem = tiny(11)
    compiled = run(infer_documents, *problem)
    python = run(getattr(infer_documents, "py_func", infer_documents), *problem)
    for a, b in zip(compiled, python, strict=True):
        assert_allclose(a, b, rtol=1e-12)


def test_only_the_asked_rows_are_touched():
    counts, weight, alpha = tiny(3)
    matrix = sparse.csr_array(counts)
    documents, gamma = documents_of(matrix), np.full((5, 3), 1.5)
    theta, ratio = np.full((5, 3), -1.0), np.full(matrix.nnz, -1.0)
    given = read_only(weight), read_only(alpha)
    infer_documents(documents, 1, 3, *given, 20, 1e-3, gamma, theta, ratio)
    assert (gamma[[0, 3, 4]] == 1.5).all()
    assert (theta[[0, 3, 4]] == -1.0).all()
    inside = np.zeros(matrix.nnz, dtype=bool)
    inside[matrix.indptr[1] : matrix.indptr[3]] = True
    assert (ratio[~inside] == -1.0).all()
    assert (ratio[inside] > 0).all()


def test_iterations_are_counted_and_capped():
    counts, weight, alpha = tiny(4)
    assert run(infer_documents, counts, weight, alpha, cap=1)[3] == len(counts)
    assert run(infer_documents, np.zeros((2, 7), int), weight, alpha)[3] == 2


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_a_factor_of_a_words_weights_changes_nothing(scale):
    counts, weight, alpha = tiny(5)
    matrix, factors = sparse.csr_array(counts), scale ** np.linspace(0, 1, len(weight))[:, None]
    settings = {"max_iterations": 50, "tolerance": 1e-9}
    plain = infer_doc_topic(matrix, weight, alpha, **settings)
    assert_allclose(infer_doc_topic(matrix, weight * factors, alpha, **settings), plain, rtol=1e-8)


@pytest.mark.parametrize("n_topics", [2, 100, 500, 3000])
@pytest.mark.parametrize("prior", [0.1, 1.0, 1e-3])
def test_every_token_is_shared_out_however_faint_the_topics(n_topics, prior):
    """γ sums to Σα + n; exp ψ(γ) of short documents and many topics would underflow."""
    weight = np.random.default_rng(0).dirichlet(np.ones(20), size=n_topics).T.copy()
    alpha = np.full(n_topics, prior / n_topics)
    counts = sparse.csr_array(np.eye(20, dtype=int)[:4] * [[1], [2], [10], [1]])
    gamma = infer_doc_topic(counts, weight, alpha, max_iterations=100, tolerance=1e-6)
    assert_allclose(gamma.sum(axis=1), alpha.sum() + counts.sum(axis=1), rtol=1e-9)


def test_word_of_no_topic_is_passed_over():
    weight, alpha = np.array([[0.5, 0.2], [0.0, 0.0], [0.5, 0.8]]), np.array([0.3, 0.4])
    settings = {"max_iterations": 100, "tolerance": 1e-10}
    without = infer_doc_topic(sparse.csr_array([[2, 0, 1]]), weight, alpha, **settings)
    with_it = infer_doc_topic(sparse.csr_array([[2, 5, 1]]), weight, alpha, **settings)
    assert np.isfinite(with_it).all()
    assert_allclose(with_it, without, rtol=1e-5)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("data", [np.int32, np.int64, np.float32, np.float64])
def test_any_type_of_counts_gives_the_same_bits(index, data):
    counts, weight, alpha = tiny(6)
    matrix = sparse.csr_array(counts)
    other = sparse.csr_array(matrix.astype(data))
    other.indices, other.indptr = other.indices.astype(index), other.indptr.astype(index)
    settings = {"max_iterations": 20, "tolerance": 1e-3}
    expected = infer_doc_topic(matrix, weight, alpha, **settings)
    assert (infer_doc_topic(other, weight, alpha, **settings) == expected).all()


def iterated(entries, counts, alpha, gamma, tolerance=1e-9, *, drop=False):
    """The plain fixed point of one document: `entries` (n, K) are the weights of its words.
    To `drop` topics at rest, which have changed by less than a tenth of the tolerance, is the wrong
    way to be fast: their γ stays as it is for good.
    """
    active = np.ones(len(alpha), dtype=bool)
    for _ in range(20_000):
        theta = np.exp(psi(gamma) - psi(gamma.max()))
        updated = alpha + theta * ((counts / (entries @ theta)) @ entries)
        change, gamma = np.abs(updated - gamma) * active, np.where(active, updated, gamma)
        if change.mean() < tolerance:
            break
        if drop:
            active &= change >= 0.1 * tolerance
    return gamma


def many_topics(seed, n_topics, prior, n_words=40, length=60):
    """Entries (n, K) of a document of few topics, counts (n,) and alpha (K,)."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(n_words, 0.2), size=n_topics).T + 1e-6
    proportions = rng.dirichlet(np.full(n_topics, 0.05))
    counts = rng.multinomial(length, weight @ proportions / (weight @ proportions).sum())
    return weight, counts, (prior * rng.uniform(0.5, 2.0, size=n_topics))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_topics=st.integers(1, 70),
    prior=st.sampled_from([1e-3, 0.03, 0.1, 1.0, 5.0]),
    length=st.sampled_from([0, 1, 7, 60, 5000]),
)
def test_fixed_point_of_many_topics_is_that_of_plain_iteration(seed, n_topics, prior, length):
    weight, counts, alpha = many_topics(seed, n_topics, prior, length=length)
    once = sparse.csr_array(counts[None, :])
    found = infer_doc_topic(once, weight, alpha, max_iterations=20_000, tolerance=1e-9)[0]
    expected = iterated(weight, counts, alpha, alpha + length / n_topics)
    assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    # Of a document that ends by the cap, topics at rest are 50 iterations behind at most.
    assert_allclose(found.sum(), alpha.sum() + length, rtol=1e-9, atol=50 * 1e-10 * n_topics)
    # A word may stand twice in a document.
    twice = sparse.csr_array(
        (np.tile(once.data / 2, 2), np.tile(once.indices, 2), [0, 2 * once.nnz]), shape=once.shape
    )
    again = infer_doc_topic(twice, weight, alpha, max_iterations=20_000, tolerance=1e-9)[0]
    assert_allclose(again, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("prior", [0.1, 1.0])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_done_when_an_iteration_over_all_topics_changes_little(prior, tolerance):
    for seed in range(20):
        weight, counts, alpha = many_topics(seed, 80, prior)
        gamma = infer_doc_topic(
            sparse.csr_array(counts[None, :]),
            weight,
            alpha,
            max_iterations=9999,
            tolerance=tolerance,
        )[0]
        theta = np.exp(psi(gamma))
        updated = alpha + theta * ((counts / (weight @ theta)) @ weight)
        assert np.abs(updated - gamma).mean() < tolerance


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_short_caps_are_those_of_the_paper_for_any_number_of_topics(cap):
    weight, counts, alpha = many_topics(1, 60, 0.1)
    found = infer_doc_topic(
        sparse.csr_array(counts[None, :]), weight, alpha, max_iterations=cap, tolerance=1e-3
    )[0]
    start = alpha + counts.sum() / 60
    expected = online_vb.infer_document(counts, weight.T, alpha, start, cap, 1e-3)
    assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("faint_weight", "winners_weight", "losers_start", "count", "prior"),
    [(0.02, 0.54, 33.5, 1, 0.2), (0.00057, 0.62, 34.0, 1, 0.1)],
)
def test_a_topic_at_rest_wakes(faint_weight, winners_weight, losers_start, count, prior):
    """Topic 2 is faint while topic 0 explains word 0; topic 1 takes word 1 from topic 0 slowly, and
    in the end topic 0 is too faint to keep word 0.
    """
    entries = np.full((2, 6), 1e-12)
    entries[0, :3] = faint_weight, 1e-9, 1.0
    entries[1, :3] = 0.5, winners_weight, 0.0
    counts, alpha = np.array([count, 40.0]), np.full(6, prior)
    start = alpha.copy()
    start[:2] += losers_start, counts.sum() - losers_start
    gamma, theta = start.copy(), np.empty(6)
    words = np.arange(2, dtype=np.int32)
    given = [read_only(each) for each in (words, counts, entries, alpha)]
    infer_document(*given, 9999, 1e-3, gamma, theta)
    expected = iterated(entries, counts, alpha, start, 1e-3)
    assert expected[2] == pytest.approx(prior + count, abs=0.02)
    assert_allclose(gamma, expected, atol=0.01)
    assert iterated(entries, counts, alpha, start, 1e-3, drop=True)[2] < prior + 0.1


@pytest.mark.parametrize("n_topics", [4, 50])
def test_a_document_is_the_same_bits_in_any_company(n_topics):
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.full(60, 0.2), size=n_topics).T.copy()
    counts = sparse.csr_array(rng.poisson(0.5, size=(100, 60)))
    alpha, cap = np.full(n_topics, 0.1), {"max_iterations": 100, "tolerance": 1e-4}
    together = infer_doc_topic(counts, weight, alpha, **cap)
    assert (infer_doc_topic(counts, weight, alpha, **cap, n_jobs=2) == together).all()
    for d in range(0, 100, 7):
        assert (infer_doc_topic(counts[[d]], weight, alpha, **cap)[0] == together[d]).all()
