"""Models of every family on disk, and that they answer to the same names."""

from __future__ import annotations

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
from models.families import arrays_of, family_of, topics_kinds, topics_of_arrays
from models.poisson_mrf.topics import PoissonMRFMixture, PoissonMRFTopicModel
from models.saved import read_arrays, write_arrays

WORDS = ("a", "b", "c", "d", "e")


POISSON_MRF = {"poisson-mrf-mixture": PoissonMRFMixture, "poisson-mrf": PoissonMRFTopicModel}


def model_of(family, seed=3):
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(5, 0.4), 3)
    if family == "lda":
        return LDATopics(topic_word, rng.gamma(1, 1, 3) + 0.1)
    if family in POISSON_MRF:
        pairs = [(k, s, t) for k in (0, 2) for s in range(5) for t in range(s)]
        chosen = np.array(pairs)[rng.permutation(len(pairs))[:7]]
        return POISSON_MRF[family](
            topic_word + 1e-9,
            chosen[:, 0],
            chosen[:, :0:-1],
            rng.normal(size=7),
            [4.0, np.inf, 2.5],
            np.cumsum(rng.normal(size=(3, 6)), axis=1),
            rng.gamma(1, 1, 3) + 0.1,
        )
    return GammaPoissonTopics(
        topic_word * [[1.0], [2.5], [0.2]], rng.gamma(1, 1, 3) + 0.1, rng.uniform(0.1, 0.9, 3)
    )


EVERY_FAMILY = pytest.mark.parametrize("family", topics_kinds())


@EVERY_FAMILY
def test_saved_and_loaded_to_the_bit(family, tmp_path):
    model = model_of(family)
    save_model(tmp_path / "model.npz", SavedModel(model, WORDS))
    loaded = load_model(tmp_path / "model.npz")
    assert (family_of(loaded.topics), loaded.header["family"]) == (family, family)
    for name, array in arrays_of(model).items():
        assert_array_equal(getattr(loaded.topics, name), array)
    save_model(tmp_path / "again.npz", loaded)
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


@pytest.mark.parametrize("family", POISSON_MRF)
def test_no_bit_of_a_poisson_mrf_changes_however_its_rows_were_rounded(family):
    """Rows are divided by their sums; most rows of a quotient do not sum to 1 to the bit."""
    rounded = 0
    for seed in range(30):
        model = model_of(family, seed)
        again = topics_of_arrays(family, arrays_of(model))
        for name, array in arrays_of(model).items():
            assert_array_equal(getattr(again, name), array)
        assert not any(array.flags.writeable for array in arrays_of(again).values())
        rounded += (model.topic_word.sum(axis=1) != 1.0).any()
    assert rounded > 5


@pytest.mark.parametrize("family", POISSON_MRF)
def test_edges_in_any_order_are_the_same_model(family, tmp_path):
    arrays = arrays_of(model_of(family))
    order = np.random.default_rng(0).permutation(7)
    shuffled = {n: a[order] if n.startswith("edge_") else a for n, a in arrays.items()}
    for name, each in (("one", arrays), ("other", shuffled)):
        save_model(tmp_path / name, SavedModel(topics_of_arrays(family, each), WORDS))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("family", POISSON_MRF)
def test_weights_that_do_not_sum_to_1_are_divided_by_their_sums(family):
    model = model_of(family)
    arrays = arrays_of(model) | {"topic_word": 3.0 * model.topic_word}
    assert_allclose(topics_of_arrays(family, arrays).topic_word, model.topic_word, rtol=1e-15)


DAMAGED = {
    "edge_topic": (np.full(7, 3), "a topic or a word that there is not"),
    "edge_words": (np.full((7, 2), 4), "the first word of an edge must be below the second"),
    "edge_weight": (np.full(7, np.nan), "edge_weight must hold finite numbers"),
    "half_length": (np.zeros(3), "half_length must be positive"),
    "log_partition": (np.zeros((2, 6)), "log_partition must be finite, "),
    "prior": (np.zeros(3), "prior must be positive"),
    "topic_word": (np.eye(3, 5), "topic_word must be positive"),
}


@pytest.mark.parametrize("family", POISSON_MRF)
@pytest.mark.parametrize("name", DAMAGED)
def test_arrays_of_no_poisson_mrf(family, name, tmp_path):
    path = tmp_path / "model.npz"
    save_model(path, SavedModel(model_of(family), WORDS))
    header, arrays = read_arrays(path, "wikitopics model")
    wrong, message = DAMAGED[name]
    for changed in (arrays | {name: wrong}, {n: a for n, a in arrays.items() if n != name}):
        write_arrays(path, "wikitopics model", header, changed)
        with pytest.raises(ModelFormatError, match=message if name in changed else name):
            load_model(path)


@EVERY_FAMILY
def test_taken_apart_and_put_together(family):
    arrays = arrays_of(model_of(family), "best_")
    again = topics_of_arrays(family, {**arrays, "other": np.ones(2)}, "best_")
    for name, array in arrays.items():
        assert_array_equal(getattr(again, name.removeprefix("best_")), array)
    with pytest.raises(KeyError):
        topics_of_arrays(family, arrays)


@EVERY_FAMILY
def test_pickled_it_is_the_same_and_no_larger_for_what_was_asked_of_it(family):
    model = model_of(family)
    size = len(pickle.dumps(model))
    assert model.word_topic.shape == (5, 3)
    model.transform(np.eye(5, dtype=int))
    pickled = pickle.dumps(model)
    assert len(pickled) == size
    again = pickle.loads(pickled)
    assert type(again) is type(model)
    for name, array in arrays_of(model).items():
        found = getattr(again, name)
        assert found.tobytes() == array.tobytes()
        assert (found.dtype, found.flags.writeable) == (array.dtype, False)
        assert not array.flags.writeable


def test_what_estimators_of_lda_take_cannot_be_written_to():
    """Nor when it is pickled: kernels are compiled once for each kind of array."""
    tilted = model_of("gamma-poisson").tilted
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
    """As versions wrote it that knew no other."""
    path = tmp_path / "model.npz"
    save_model(path, SavedModel(model_of("lda"), WORDS))
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
    save_model(path, SavedModel(model_of("gamma-poisson"), WORDS))
    header, arrays = read_arrays(path, "wikitopics model")
    write_arrays(path, "wikitopics model", header | changed, arrays)
    with pytest.raises(ModelFormatError, match=message):
        load_model(path)


@EVERY_FAMILY
def test_what_all_families_answer_to(family):
    model = model_of(family)
    assert (model.n_topics, model.n_words) == (3, 5)
    assert model.word_share.sum() == pytest.approx(1.0)
    assert_array_equal(model.word_topic, model.topic_word.T)
    assert_array_equal(model.top_words(2)[:, 0], model.topic_word.argmax(axis=1))
    order = np.array([4, 0, 3, 1, 2])
    again = model.with_words(order).with_words(np.argsort(order))
    for name, array in arrays_of(model).items():
        assert_allclose(getattr(again, name), array, rtol=1e-14)


@pytest.mark.parametrize("family", ["lda", "gamma-poisson"])
def test_what_families_answer_to_whose_words_do_not_depend(family):
    model = model_of(family)
    counts = np.random.default_rng(0).poisson(2.0, size=(6, 5))
    counts[2] = 0
    shares = model.proportions(counts)
    assert_allclose(shares.sum(axis=1), 1.0)
    order = np.array([4, 0, 3, 1, 2])
    assert_allclose(model.with_words(order).proportions(counts[:, order]), shares, rtol=1e-9)
    smoothed = model.smoothed(0.25)
    assert_allclose(smoothed.topic_word.sum(axis=1), model.topic_word.sum(axis=1))
    assert (smoothed.topic_word > 0).all()
    with pytest.raises(ValueError, match="smoothing must be from 0 to below 1"):
        model.smoothed(1.0)
    with pytest.raises(ValueError, match=r"counts must be \(n_docs, 5\)"):
        model.proportions(counts[:, :4])


@pytest.mark.parametrize("family", POISSON_MRF)
def test_a_poisson_mrf_keeps_its_words_and_is_not_smoothed(family):
    model = model_of(family)
    with pytest.raises(ValueError, match="keeps all of its 5 words"):
        model.with_words(np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="not smoothed"):
        model.smoothed(0.25)
