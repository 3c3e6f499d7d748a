import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from corpora.formats import MalletState
from models import LDATopics


def topics(seed=0, n_topics=3, n_words=8):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(n_words, 0.5), n_topics)
    return LDATopics(topic_word, rng.gamma(1, 1, n_topics) + 0.1)


def test_shapes_normalisation_and_arrays_of_its_own():
    model = topics()
    assert (model.n_topics, model.n_words) == (3, 8)
    assert_allclose(model.topic_word.sum(axis=1), 1.0, rtol=1e-15)
    slightly_off = LDATopics(model.topic_word * 1.000005, model.alpha)
    assert_allclose(slightly_off.topic_word.sum(axis=1), 1.0, rtol=1e-15)
    model = LDATopics([0.25, 0.75], 0.5)
    assert (model.topic_word.shape, model.alpha.shape) == ((1, 2), (1,))
    given = np.array([[0.5, 0.5]])
    model = LDATopics(given, [1.0])
    given[0, 0] = 0.9
    assert model.topic_word[0, 0] == 0.5


@pytest.mark.parametrize("seed", range(30))
def test_made_from_its_own_arrays_it_is_the_same_to_the_bit(seed):
    model = topics(seed, n_topics=5, n_words=37)
    for order in "CF":
        again = LDATopics(np.array(model.topic_word, order=order), model.alpha)
        assert (again.topic_word == model.topic_word).all()
        assert again.topic_word.tobytes() == model.topic_word.tobytes()


def test_what_is_no_topic_model_is_refused_and_its_row_named():
    for topic_word, alpha in (
        ([[0.5, 0.5]], [1.0, 1.0]),
        ([[0.5, 0.4]], [1.0]),
        *(([row], [1.0]) for row in ([1.5, -0.5], [np.nan, 1.0], [np.inf, 1.0], ["a", "b"])),
        *(([[0.5, 0.5]], [alpha]) for alpha in (0.0, -1.0, np.nan, np.inf)),
        ([[[1.0]]], [1.0]),
        ([[1.0]], [[1.0]]),
        (np.empty((0, 3)), np.empty(0)),
        (np.empty((2, 0)), np.ones(2)),
        ([[0.5, 0.5], [0.0, 0.0]], [1.0, 1.0]),
    ):
        with pytest.raises(ValueError, match=r".{10}"):
            LDATopics(topic_word, alpha)
    with pytest.raises(ValueError, match=r"row 1 sums to 0\.9"):
        LDATopics([[0.5, 0.5], [0.5, 0.4]], [1.0, 1.0])


def test_topics_by_word_and_top_words():
    model = topics()
    assert (model.word_topic == model.topic_word.T).all()
    assert model.word_topic.flags.c_contiguous
    assert model.word_topic is model.word_topic
    with pytest.raises(ValueError, match="read-only"):
        model.word_topic[...] = 1.0
    model = LDATopics([[0.1, 0.4, 0.1, 0.4], [0.7, 0.1, 0.1, 0.1]], [1.0, 1.0])
    assert model.top_words(3).tolist() == [[1, 3, 0], [0, 1, 2]]
    assert model.top_words(99).shape == (2, 4)


def test_from_weights():
    model = LDATopics.from_weights([[1, 3], [2, 2]], 0.5)
    assert_allclose(model.topic_word, [[0.25, 0.75], [0.5, 0.5]])
    assert model.alpha.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="positive weight"):
        LDATopics.from_weights([[1, 3], [0, 0]], 0.5)
    with pytest.raises(ValueError, match="negative"):
        LDATopics.from_weights([[4, -1]], 0.5)


def test_transform_of_no_words_and_of_very_many():
    model, counts = topics(), np.array([[0] * 8, [1] * 8, [0, 0, 9, 0, 0, 0, 0, 1]])
    proportions = model.transform(sparse.csr_array(counts))
    assert_allclose(proportions.sum(axis=1), 1.0, rtol=1e-14)
    assert_allclose(proportions[0], model.alpha / model.alpha.sum(), rtol=1e-14)
    model = topics()
    counts = np.round(model.topic_word[:1] * 1e15)
    proportions = model.transform(sparse.csr_array(counts), max_iterations=5000, tolerance=1e-9)
    assert proportions[0, 0] > 0.99


def small_corpus():
    return np.random.default_rng(0).poisson(0.7, size=(40, 15))


def test_from_sklearn():
    from sklearn.decomposition import LatentDirichletAllocation

    theirs = LatentDirichletAllocation(3, doc_topic_prior=0.2, random_state=0, max_iter=3)
    theirs.fit(small_corpus())
    ours = LDATopics.from_sklearn(theirs)
    expected = theirs.components_ / theirs.components_.sum(axis=1, keepdims=True)
    assert_allclose(ours.topic_word, expected, rtol=1e-12)
    assert_allclose(ours.alpha, 0.2)


@pytest.mark.parametrize("alpha", ["symmetric", "asymmetric", [0.1, 0.2, 0.3]])
def test_from_gensim(alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

    corpus = Sparse2Corpus(sparse.csc_array(small_corpus()), documents_columns=False)
    id2word = {i: f"w{i}" for i in range(15)}
    theirs = LdaModel(corpus, num_topics=3, id2word=id2word, alpha=alpha, random_state=0)
    ours = LDATopics.from_gensim(theirs)
    assert_allclose(ours.topic_word, theirs.get_topics(), rtol=1e-5)
    assert_allclose(ours.alpha, theirs.alpha, rtol=1e-6)


def test_from_ldac_and_mallet():
    model = LDATopics.from_ldac(np.log([[0.25, 0.75], [0.5, 0.5]]), 0.3)
    assert_allclose(model.topic_word, [[0.25, 0.75], [0.5, 0.5]])
    assert model.alpha.tolist() == [0.3, 0.3]
    assert LDATopics.from_ldac([[0.0, -np.inf]], 0.3).topic_word.tolist() == [[1.0, 0.0]]
    one = np.zeros(1, dtype=np.int32)
    state = MalletState(one, one, one, one, ("word",), one, ("NA",), 1, np.array([0.5]), 0.01)
    assert LDATopics.from_mallet(state).topic_word.tolist() == [[1.0]]
    for left_out in ("alpha", "beta"):
        with pytest.raises(ValueError, match="alpha and beta"):
            LDATopics.from_mallet(replace(state, **{left_out: None}))
