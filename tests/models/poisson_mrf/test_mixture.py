import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.field_estimator import filled, kmeans_labels
from models.poisson_mrf.mixture import LPMRFMixture
from models.poisson_mrf.topic_matrices import single_topic_scores
from tests.models.poisson_mrf.planted import (
    planted_fields,
    planted_mixture,
    planted_pairs,
    random_counts,
)
from tests.shared_data import shared_file

QUICK = {"penalty": 0.1, "n_samples": 5, "n_temperatures": 5, "random_state": 0}


def mixture(n_topics=2, **settings):
    return LPMRFMixture(n_topics, **{**QUICK, **settings})


def hard_em(counts, labels, n_clusters, smoothing=1e-4):
    """Objectives, labels and topics of a mixture of multinomials, in NumPy, until labels stay.
    Topics are mean counts with `smoothing` added to each; documents go where they are likeliest.
    """
    objectives = []
    while True:
        means = np.array([counts[labels == k].mean(axis=0) + smoothing for k in range(n_clusters)])
        topics = means / means.sum(axis=1, keepdims=True)
        scores = counts @ np.log(topics).T
        objectives.append(scores.max(axis=1).sum())
        found = scores.argmax(axis=1)
        if (found == labels).all():
            return np.array(objectives), labels, topics
        assert np.bincount(found, minlength=n_clusters).all()
        labels = found


@pytest.mark.parametrize("seed", range(4))
def test_with_an_infinite_penalty_it_is_hard_em_of_multinomials(seed):
    counts = random_counts(seed, n_docs=200, n_words=12, rate=1.5)
    model = mixture(4, penalty=np.inf, random_state=seed)
    found = [step.objective for step in model.iterate(counts)]
    start = kmeans_labels(counts, 4, seed)
    objectives, labels, topics = hard_em(counts.toarray(), start, 4)
    assert len(found) > 3
    # Of bags, not of sequences: more by a constant.
    assert_allclose(np.diff(found), np.diff(objectives), rtol=1e-6, atol=1e-8)
    assert (np.diff(found) >= 0).all()
    assert_array_equal(model.state_.assignment, labels)
    assert_allclose(model.topics_.topic_word, topics, rtol=1e-9)
    assert_array_equal(model.topics_.prior, np.bincount(labels))
    scores = single_topic_scores(model.topics_, counts)
    assert_allclose(found[-1], scores.max(axis=1).sum())
    assert model.topics_.edge_topic.size == 0
    assert not model.topics_.log_partition.any()


def test_the_objective_never_falls_within_a_stage_and_is_that_of_the_topics():
    counts, _ = planted_mixture(0, n_docs=120)
    model = mixture(3)
    steps = list(model.iterate(counts))
    for stage in ("mixture", "fields"):
        assert (np.diff([step.objective for step in steps if step.stage == stage]) >= 0).all()
    scores = single_topic_scores(model.topics_, counts)
    assert_allclose(model.state_.objective, scores.max(axis=1).sum())


def test_most_rounds_and_least_gain():
    counts = random_counts(0, n_docs=200, n_words=12, rate=1.5)
    assert mixture(4, penalty=np.inf).fit(counts).n_iter_ > 3
    assert mixture(4, penalty=np.inf, n_iter=3).fit(counts).n_iter_ == 3
    assert mixture(4, penalty=np.inf, tolerance=0.5).fit(counts).n_iter_ == 2


@pytest.mark.parametrize("partition", ["smc", pytest.param("envelope", marks=pytest.mark.slow)])
def test_planted_clusters_and_dependencies_are_found_again(partition):
    counts, label = planted_mixture(1)
    model = mixture(n_samples=20, n_temperatures=20, length_scale=np.inf, partition=partition)
    model.fit(counts)
    found = model.transform(counts).argmax(axis=1)
    cluster_of = [int(np.median(found[label == k])) for k in range(2)]
    assert sorted(cluster_of) == [0, 1]
    assert (np.array(cluster_of)[label] == found).mean() > 0.99
    for k, cluster in enumerate(cluster_of):
        field = model.topics_.fields[cluster]
        attraction, repulsion = planted_pairs(field, k)
        assert attraction == field.interactions.max() > 0.04
        assert repulsion == field.interactions.min() < -0.2
    assert_allclose(model.topics_.component_share[cluster_of], np.bincount(label) / 500, atol=0.01)


@pytest.mark.slow
def test_no_dependencies_are_found_where_there_are_none():
    none = [Field(f.node, sparse.csr_array((16, 16))) for f in planted_fields()]
    counts, _ = planted_mixture(1, fields=none)
    for field in mixture(length_scale=np.inf).fit(counts).topics_.fields:
        for k in range(2):
            assert np.abs(planted_pairs(field, k)).max() < 0.04


@pytest.mark.slow
def test_fields_are_more_probable_than_multinomials():
    train, test = planted_mixture(1)[0], planted_mixture(2, n_docs=200)[0]
    settings = {"length_scale": np.inf, "n_samples": 20, "n_temperatures": 20}
    models = (mixture(penalty=penalty, **settings).fit(train) for penalty in (0.1, np.inf))
    field, plain = (np.logaddexp.reduce(m.topics_.log_joint(test), axis=1) for m in models)
    gain = field - plain
    assert gain.mean() > 4.0 * gain.std() / np.sqrt(200)


def test_emptied_clusters():
    labels, rng = np.zeros(30, dtype=np.int64), np.random.default_rng(0)
    scores = rng.normal(size=(30, 2))
    found = filled(labels, scores)
    assert_array_equal(np.flatnonzero(found == 1), np.sort(np.argsort(-scores[:, 1])[:10]))
    assert not labels.any()
    assert_array_equal(filled(found, scores), found)
    scores = np.random.default_rng(0).normal(size=(6, 5))
    assert np.bincount(filled(np.array([4, 4, 4, 4, 4, 2]), scores), minlength=5).all()
    assert (np.bincount(filled(np.zeros(5, dtype=np.int64), scores[:5]), minlength=5) == 1).all()
    counts = np.tile([[3, 0, 1], [0, 2, 2]], (15, 1))
    with pytest.warns(UserWarning, match="distinct clusters"):
        model = mixture(4).fit(counts)
    assert np.bincount(model.state_.assignment, minlength=4).all()
    assert np.isfinite(model.topics_.log_partition).all()


@pytest.mark.parametrize("longest", [1, 2, 3])
@pytest.mark.parametrize("partition", ["smc", "envelope"])
def test_short_documents(longest, partition):
    rng = np.random.default_rng(0)
    counts = rng.multinomial(rng.integers(1, longest + 1, 60), np.full(5, 0.2))
    model = mixture(2, partition=partition, penalty=0.01).fit(counts)
    assert model.topics_.edge_topic.size
    assert model.topics_.log_partition.shape == (2, max(longest, 2) + 1)
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)
    assert np.isfinite(model.transform(9 * counts)).all()  # beyond the table


def test_one_word():
    assert_array_equal(mixture(2).fit(np.arange(1, 9)[:, None]).topics_.topic_word, [[1.0], [1.0]])


def test_there_are_no_topics_before_the_first_round():
    model = mixture().resume(random_counts(), None)
    with pytest.raises(NotFittedError, match="no round yet"):
        model.transform(random_counts())


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, 0.0) for name in ("penalty", "length_scale", "smoothing")] + [("smoothing", np.inf)],
)
def test_a_bad_setting_is_named(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        mixture(**{name: value}).fit(random_counts())


@pytest.mark.parametrize("bad", [1e12, 1e300])
def test_more_tokens_than_a_document_can_have(bad):
    counts = random_counts().toarray().astype(float)
    counts[3, 4] = bad
    with pytest.raises(ValueError, match="must not have more than 2147483647 tokens"):
        mixture().fit(counts)


def classic3():
    """The published split: training and test documents."""
    counts = sparse.csr_array(sparse.load_npz(shared_file("classic3/bow_3890x1000.npz")))
    order = np.argsort(np.random.RandomState(1).rand(3890))  # as published
    return counts[order[389:]], counts[order[:389]]


def perplexity(scores, counts):
    return np.exp(-scores.max(axis=1).sum() / counts.sum())


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_topics", "of_test", "of_train"), [(1, 47.3477, 46.3678), (3, 30.2664, 29.5734)]
)
def test_multinomials_on_classic3(n_topics, of_test, of_train):
    train, test = classic3()
    topics = LPMRFMixture(n_topics, penalty=np.inf, random_state=0).fit(train).topics_
    found = [perplexity(single_topic_scores(topics, part), part) for part in (test, train)]
    assert_allclose(found, [of_test, of_train], rtol=0, atol=1e-3)
