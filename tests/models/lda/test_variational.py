import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from models.lda.variational import Documents, infer_doc_topic, infer_documents
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
    found = infer_doc_topic(
        sparse.csr_array(counts), weight, alpha, max_iterations=cap, tolerance=1e-3
    )
    for d, document in enumerate(counts):
        start = alpha + document.sum() / len(alpha)
        expected = online_vb.infer_document(document, weight.T, alpha, start, cap, 1e-3)
        assert_allclose(found[d], expected, rtol=1e-9)


def run(function, counts, weight, alpha, cap=20):
    matrix = sparse.csr_array(counts)
    documents = Documents(matrix.indptr, matrix.indices, matrix.data.astype(float))
    gamma = alpha + counts.sum(axis=1, keepdims=True) / len(alpha)
    theta, ratio = np.empty_like(gamma), np.empty(matrix.nnz)
    iterations = function(documents, 0, len(counts), weight, alpha, cap, 1e-3, gamma, theta, ratio)
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
    documents = Documents(matrix.indptr, matrix.indices, matrix.data.astype(float))
    gamma = np.full((5, 3), 1.5)
    theta, ratio = np.full((5, 3), -1.0), np.full(matrix.nnz, -1.0)
    infer_documents(documents, 1, 3, weight, alpha, 20, 1e-3, gamma, theta, ratio)
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
    matrix = sparse.csr_array(counts)
    factors = scale ** np.linspace(0, 1, len(weight))[:, None]
    settings = {"max_iterations": 50, "tolerance": 1e-9}
    plain = infer_doc_topic(matrix, weight, alpha, **settings)
    scaled = infer_doc_topic(matrix, weight * factors, alpha, **settings)
    assert_allclose(scaled, plain, rtol=1e-8)


@pytest.mark.parametrize("n_topics", [2, 100, 500, 3000])
@pytest.mark.parametrize("prior", [0.1, 1.0, 1e-3])
def test_every_token_is_shared_out_however_faint_the_topics(n_topics, prior):
    """γ sums to Σα + n; exp ψ(γ) of short documents and many topics would underflow."""
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.ones(20), size=n_topics).T.copy()
    alpha = np.full(n_topics, prior / n_topics)
    counts = sparse.csr_array(np.eye(20, dtype=int)[:4] * [[1], [2], [10], [1]])
    gamma = infer_doc_topic(counts, weight, alpha, max_iterations=100, tolerance=1e-6)
    assert_allclose(gamma.sum(axis=1), alpha.sum() + counts.sum(axis=1), rtol=1e-9)


def test_word_of_no_topic_is_passed_over():
    weight = np.array([[0.5, 0.2], [0.0, 0.0], [0.5, 0.8]])
    alpha = np.array([0.3, 0.4])
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
