"""Models of some families on disk; what all keep to is in `test_contract`."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models import (
    GammaPoissonTopics,
    LDATopics,
    ModelFormatError,
    SavedModel,
    load_model,
    save_model,
)
from models.families import arrays_of, topics_of_arrays
from models.saved import read_arrays, write_arrays
from tests.small_models import TOPICS, model_of

WORDS = tuple("abcdef")
POISSON_MRF = ("poisson-mrf-mixture", "poisson-mrf")


@pytest.mark.parametrize("family", POISSON_MRF)
def test_no_bit_of_a_poisson_mrf_changes_however_its_rows_were_rounded(family):
    """Rows are divided by their sums; most rows of a quotient do not sum to 1 to the bit."""
    rounded = 0
    for seed in range(30):
        model = model_of(TOPICS[family], seed=seed)
        again = topics_of_arrays(family, arrays_of(model))
        for name, array in arrays_of(model).items():
            assert_array_equal(getattr(again, name), array)
        assert not any(array.flags.writeable for array in arrays_of(again).values())
        rounded += (model.topic_word.sum(axis=1) != 1.0).any()
    assert rounded > 5


def test_what_estimators_of_lda_take_cannot_be_written_to():
    tilted = model_of(GammaPoissonTopics).tilted
    for each in (tilted, pickle.loads(pickle.dumps(tilted))):
        arrays = (each.topic_word, each.word_topic, each.alpha)
        assert not any(array.flags.writeable for array in arrays)
        assert all(array.flags.c_contiguous for array in arrays)


def test_proportions_are_of_tokens_not_of_scores():
    """Topics that share no word, one of which brings five times as many tokens a score."""
    topic_word = np.array([[0.4, 0.6, 0.0, 0.0], [0.0, 0.0, 2.0, 3.0]])
    model = GammaPoissonTopics(topic_word, [0.1, 0.1], [0.999, 0.999])
    assert_allclose(model.proportions([[10, 20, 5, 5]]), [[0.75, 0.25]], atol=0.01)
    assert_allclose(model.transform([[10, 20, 5, 5]]), [[30.1, 2.02]], rtol=0.01)


def test_a_model_without_a_family_is_lda(tmp_path):
    path = tmp_path / "model.npz"
    save_model(path, SavedModel(model_of(LDATopics), WORDS))
    header, arrays = read_arrays(path, "wikitopics model")
    del header["family"]
    write_arrays(path, "wikitopics model", header, arrays)
    assert isinstance(load_model(path).topics, LDATopics)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"family": "hdp"}, "models of family 'hdp' are not known, only lda, gamma-poisson, poiss"),
        ({"family": "lda"}, "not a usable model: 'alpha'"),
        ({"family": "poisson-mrf"}, "not a usable model: 'edge_topic'"),
    ],
)
def test_a_family_that_it_is_not_of(tmp_path, changed, message):
    path = tmp_path / "model.npz"
    save_model(path, SavedModel(model_of(GammaPoissonTopics), WORDS))
    header, arrays = read_arrays(path, "wikitopics model")
    write_arrays(path, "wikitopics model", header | changed, arrays)
    with pytest.raises(ModelFormatError, match=message):
        load_model(path)
