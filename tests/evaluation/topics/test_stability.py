import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from evaluation import stability
from models import LDATopics, consensus

ROOT = np.sqrt(0.5)


def model(*topics):
    return LDATopics(topics, np.ones(len(topics)))


A, B, C = np.eye(4)[:3]
AB = (A + B) / 2  # cosine √½ with both


def test_figures_of_topics_by_hand():
    found = stability(model(A, B, C), [model(C, A, B), model(AB, AB, C), model(C, B, AB)])
    assert_array_equal(found.is_found, [[1, 1, 1], [0, 0, 1], [0, 1, 1]])
    assert_array_equal(found.n_found, [1, 2, 3])
    assert_allclose(found.best_cosine, [[1, 1, 1], [ROOT, ROOT, 1], [ROOT, 1, 1]])
    assert_allclose(found.cosine, [(1 + 2 * ROOT) / 3, (2 + ROOT) / 3, 1])
    spread = np.std([1, ROOT, ROOT], ddof=1) / np.sqrt(3)
    assert_allclose(found.standard_error, [spread, spread, 0], atol=1e-9)
    assert found.share == pytest.approx(6 / 9)
    assert found.share_standard_error == pytest.approx(np.std([1, 1 / 3, 2 / 3], ddof=1) / 3**0.5)


def test_partners_are_one_to_one():
    """Two equal topics are not found again by one topic, though the best cosine of both is 1."""
    found = stability(model(A, A), [model(A, C)])
    assert found.n_found.sum() == 1
    assert_allclose(found.best_cosine, [[1, 1]])
    assert np.isnan(found.standard_error).all()
    assert np.isnan(found.share_standard_error)


def test_models_with_fewer_topics_and_other_thresholds():
    found = stability(model(A, B), [model(AB)], threshold=0.7)
    assert found.n_found.sum() == 1
    assert stability(model(A, B), [model(AB)], threshold=0.71).n_found.sum() == 0


def test_a_mean_is_compared_with_each_model_without_its_own_part():
    """The mean of two topics of cosine 0.83 is similar to both, as they are not to each other."""
    other = 0.6 * A + 0.4 * B
    mean = consensus([model(A, C), model(other, C)])
    assert stability(mean.topics, mean.models).n_found.tolist() == [2, 2]
    found = stability(mean.topics, mean.models, without=mean.without)
    assert found.n_found.tolist() == [0, 2]
    assert_allclose(found.best_cosine, [[0.6 / np.sqrt(0.52), 1]] * 2, rtol=1e-8)


def test_bad_arguments():
    with pytest.raises(ValueError, match="models must be at least 1, found 0"):
        stability(model(A), [])
    mean = consensus([model(A)])
    with pytest.raises(ValueError, match="models must be at least 2, found 1"):
        stability(mean.topics, mean.models, without=mean.without)
    with pytest.raises(ValueError, match="of the 4 words of topics, found 2"):
        stability(model(A), [LDATopics([[0.5, 0.5]], [1.0])])
