import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from corpora import Corpus
from models import OnlineLDA
from tests.models.lda.counts import BAD_PRIORS, fitted_lambda, random_counts


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
    assert np.isfinite(model.variational_bound(counts))
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)


def test_one_topic_and_words_never_seen():
    counts = random_counts()
    model = OnlineLDA(1, eta=0.5, batch_size=60, learning_decay=0.0, n_passes=1, random_state=0)
    model.fit(counts)
    assert_allclose(model.topic_word_dirichlet_[0], 0.5 + counts.sum(axis=0), rtol=1e-12)
    counts = random_counts().toarray()
    counts[:, [3, 8]] = 0
    model = fitted_lambda(counts, learning_offset=0.0, eta=0.07)
    assert (model.topic_word_dirichlet_[:, [3, 8]] == 0.07).all()


@pytest.mark.parametrize("dtype", [np.float16, object, np.float32, np.longdouble])
def test_fractions_are_kept_whatever_the_type(dtype):
    counts = np.array([[0.5, 2.5, 0.0], [1.5, 0.0, 0.25]])
    expected = fitted_lambda(counts).topic_word_dirichlet_
    assert_allclose(fitted_lambda(counts.astype(dtype)).topic_word_dirichlet_, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_unsigned_counts_do_not_wrap(dtype):
    counts = np.array([[3_000_000_000, 1], [1, 5]])
    expected = fitted_lambda(counts).topic_word_dirichlet_
    assert_allclose(fitted_lambda(counts.astype(dtype)).topic_word_dirichlet_, expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, np.inf) for name in ("e_tolerance", "learning_decay", "learning_offset")]
    + [(name, value) for name in ("alpha", "eta") for value in BAD_PRIORS]
    + [("alpha", [0.1, -0.1, 0.1]), ("eta", [np.nan] * 12)],
)
def test_a_bad_setting_is_named(name, value):
    model = OnlineLDA(**{"n_topics": 3, "random_state": 0, name: value})
    for call in (model.fit, model.partial_fit):
        with pytest.raises((ValueError, TypeError), match=name):
            call(random_counts())


@pytest.mark.parametrize(
    "counts", [np.zeros((0, 3)), np.zeros((3, 0)), [1, 2], [["a", "b"]], None, np.zeros((2, 2, 2))]
)
def test_what_is_no_matrix_of_counts(counts):
    with pytest.raises((ValueError, TypeError), match=r".{5}"):
        OnlineLDA(2, random_state=0).fit(counts)


def test_a_mapped_corpus_stays_on_disk(tmp_path):
    """To fit on counts that are mapped takes a fraction of the memory that they would."""
    words = np.argsort(np.random.default_rng(0).random((10_000, 200)), axis=1)[:, :50]
    start, ones = np.arange(0, 500_001, 50), np.ones(500_000, dtype=np.int32)
    counts = sparse.csr_array((ones, np.sort(words, axis=1).ravel(), start), shape=(10_000, 200))
    counts.indices = counts.indices.astype(np.int32)
    names = tuple(f"d{d}" for d in range(10_000))
    Corpus(counts, tuple(f"w{w}" for w in range(200)), names).save(tmp_path / "corpus")
    mapped = Corpus.load(tmp_path / "corpus", mmap=True).counts
    settings = {"n_topics": 4, "n_passes": 1, "batch_size": 200, "random_state": 0}
    expected = OnlineLDA(**settings).fit(counts).topics_
    tracemalloc.start()
    found, peak = OnlineLDA(**settings).fit(mapped).topics_, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (mapped.data.nbytes + mapped.indices.nbytes) / 2
    assert_allclose(found.topic_word, expected.topic_word, rtol=0)
