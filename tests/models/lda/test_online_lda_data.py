from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from corpora import Corpus
from models import OnlineLDA
from tests.models.lda.counts import fitted_lambda, random_counts

# --- odd data -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "counts",
    [
        [[1]],
        [[0]],
        [[3, 0, 1]],
        np.zeros((4, 3), dtype=int),
        [[0, 0, 0], [1, 0, 2], [0, 0, 0]],
        [[0.5, 1.25], [3.75, 0.0]],
        [[10**12, 1], [1, 10**15]],
        np.array([[1, 0], [0, 1]], dtype=bool),
        np.array([[200, 3]], dtype=np.uint8),
    ],
    ids=["1x1", "zero", "one-doc", "empty", "gaps", "float", "huge", "bool", "uint8"],
)
@pytest.mark.parametrize("n_topics", [1, 2, 7])
def test_odd_data_gives_a_model(counts, n_topics):
    counts = np.asarray(counts)
    model = OnlineLDA(n_topics, n_passes=3, random_state=0).fit(counts)
    assert np.isfinite(model.topic_word_dirichlet_).all()
    assert (model.topic_word_dirichlet_ > 0).all()
    assert np.isfinite(model.score(counts))
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)


def test_one_topic_is_the_word_frequencies():
    counts = random_counts()
    model = OnlineLDA(1, eta=0.5, batch_size=60, learning_decay=0.0, n_passes=1, random_state=0)
    model.fit(counts)
    assert_allclose(model.topic_word_dirichlet_[0], 0.5 + counts.sum(axis=0), rtol=1e-12)


def test_words_never_seen_return_to_the_prior():
    counts = random_counts().toarray()
    counts[:, [3, 8]] = 0
    model = fitted_lambda(counts, learning_offset=0.0, eta=0.07)
    assert (model.topic_word_dirichlet_[:, [3, 8]] == 0.07).all()


@pytest.mark.parametrize("dtype", [np.float16, object, np.float32, np.longdouble])
def test_fractions_are_kept_whatever_the_type(dtype):
    counts = np.array([[0.5, 2.5, 0.0], [1.5, 0.0, 0.25]])
    expected = fitted_lambda(counts).topic_word_dirichlet_
    found = fitted_lambda(counts.astype(dtype)).topic_word_dirichlet_
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_unsigned_counts_do_not_wrap(dtype):
    counts = np.array([[3_000_000_000, 1], [1, 5]])
    expected = fitted_lambda(counts).topic_word_dirichlet_
    assert_allclose(fitted_lambda(counts.astype(dtype)).topic_word_dirichlet_, expected)


def non_canonical():
    """Unsorted, with a duplicate and an explicit zero; and what it stands for."""
    data, indices = np.array([1, 2, 3, 4, 0, 5]), np.array([3, 0, 2, 2, 1, 0])
    counts = sparse.csr_array((data, indices, np.array([0, 2, 5, 6])), shape=(3, 4))
    return counts, np.array([[2, 0, 0, 1], [0, 0, 7, 0], [5, 0, 0, 0]])


@pytest.mark.parametrize("read_only", [False, True])
def test_the_callers_matrix_is_left_alone(read_only):
    counts, dense = non_canonical()
    arrays = (counts.data, counts.indices, counts.indptr)
    kept = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=not read_only)
    model = fitted_lambda(counts)
    model.partial_fit(counts).transform(counts)
    model.score(counts)
    for array, before in zip((counts.data, counts.indices, counts.indptr), kept, strict=True):
        assert array.tolist() == before.tolist()
    expected = fitted_lambda(sparse.csr_array(dense)).topic_word_dirichlet_
    assert_allclose(fitted_lambda(counts).topic_word_dirichlet_, expected, rtol=1e-12)


@pytest.mark.parametrize("container", [sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_any_sparse_format(container):
    counts = random_counts()
    expected = fitted_lambda(counts).topic_word_dirichlet_
    assert (fitted_lambda(container(counts)).topic_word_dirichlet_ == expected).all()


# --- bad arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name in ("n_topics", "batch_size", "max_e_iterations", "n_passes", "total_documents")
        for value in (0, -1, 2.0, "3", True, np.nan)
    ]
    + [("n_topics", None), ("n_passes", None), ("max_e_iterations", None)]
    + [("word_budget", value) for value in (-1, 1.5, "all", False)]
    + [
        (name, value)
        for name in ("e_tolerance", "learning_decay", "learning_offset")
        for value in (-0.1, np.nan, np.inf, "0.5", None, [0.5], True)
    ]
    + [
        (name, value)
        for name in ("alpha", "eta")
        for value in (0.0, -1.0, np.nan, np.inf, "auto", None, {}, [0.1], [0.1] * 99, [[1.0]])
    ]
    + [("alpha", [0.1, -0.1, 0.1]), ("eta", [np.nan] * 12)]
    + [("n_jobs", value) for value in (0, 1.5, "2", True)]
    + [("random_state", value) for value in ("0", 1.5, [1], True)],
)
def test_a_bad_setting_is_named(name, value):
    model = OnlineLDA(**{"n_topics": 3, "random_state": 0, name: value})
    for call in (model.fit, model.partial_fit):
        with pytest.raises((ValueError, TypeError), match=name):
            call(random_counts())


def test_a_negative_seed():
    with pytest.raises(ValueError, match="seed"):
        OnlineLDA(3, random_state=-1).fit(random_counts())


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_bad_counts_are_refused_everywhere(bad, as_sparse):
    counts = random_counts().toarray().astype(float)
    counts[3, 4] = bad
    counts = sparse.csr_array(counts) if as_sparse else counts
    model = fitted_lambda(random_counts())
    for call in (clone(model).fit, model.partial_fit, model.transform, model.score):
        with pytest.raises(ValueError, match=r"Negative|NaN|inf"):
            call(counts)


@pytest.mark.parametrize(
    "counts", [np.zeros((0, 3)), np.zeros((3, 0)), [1, 2], [["a", "b"]], None, np.zeros((2, 2, 2))]
)
def test_what_is_no_matrix_of_counts(counts):
    with pytest.raises((ValueError, TypeError), match=r".{5}"):
        OnlineLDA(2, random_state=0).fit(counts)


@parametrize_with_checks(
    [
        OnlineLDA(3, n_passes=2, random_state=0),
        OnlineLDA(2, n_passes=1, batch_size=7, alpha="learned", eta="learned", word_budget=1),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_mapped_corpus_stays_on_disk(tmp_path):
    """To fit on counts that are mapped takes a fraction of the memory that they would."""
    rng = np.random.default_rng(0)
    words = np.argsort(rng.random((10_000, 200)), axis=1)[:, :50]
    start = np.arange(0, 500_001, 50)
    ones = np.ones(500_000, dtype=np.int32)
    counts = sparse.csr_array((ones, np.sort(words, axis=1).ravel(), start), shape=(10_000, 200))
    counts.indices = counts.indices.astype(np.int32)
    names = tuple(f"d{d}" for d in range(10_000))
    Corpus(counts, tuple(f"w{w}" for w in range(200)), names).save(tmp_path / "corpus")
    mapped = Corpus.load(tmp_path / "corpus", mmap=True).counts
    settings = {"n_topics": 4, "n_passes": 1, "batch_size": 200, "random_state": 0}
    expected = OnlineLDA(**settings).fit(counts).topics_
    tracemalloc.start()
    found = OnlineLDA(**settings).fit(mapped).topics_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (mapped.data.nbytes + mapped.indices.nbytes) / 2
    assert_allclose(found.topic_word, expected.topic_word, rtol=0)
