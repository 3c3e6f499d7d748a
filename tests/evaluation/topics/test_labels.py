"""Agreement of topics with labels."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from evaluation.figure import groups_of
from evaluation.topics.labels import (
    accuracy,
    best_topics,
    cluster_agreement,
    label_folds,
    right_predictions,
    table_agreement,
)


def some_documents(n_docs=60, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["earth", "sea", "sky"], n_docs)
    number = np.unique(labels, return_inverse=True)[1]
    topics = np.where(rng.random(n_docs) < 0.7, number, rng.integers(0, 5, n_docs))
    return topics, labels.tolist()


def test_purity_counts_the_most_frequent_label_of_each_topic():
    topics, labels = some_documents()
    by_topic = {}
    for k, label in zip(topics.tolist(), labels, strict=True):
        by_topic.setdefault(k, Counter())[label] += 1
    expected = sum(max(each.values()) for each in by_topic.values()) / len(labels)
    found = cluster_agreement(topics, labels, groups_of(list(map(str, range(60)))))
    assert found["purity"].value == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(12))
def test_agreement_of_a_table_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    n_docs = int(rng.integers(1, 40))
    topics, labels = (rng.integers(0, rng.integers(1, 6), n_docs) for _ in range(2))
    n_kl = np.zeros((6, 6), dtype=np.int64)
    np.add.at(n_kl, (topics, labels), 1)
    found = table_agreement(n_kl)
    assert found["nmi"] == pytest.approx(
        metrics.normalized_mutual_info_score(labels, topics), abs=1e-9
    )
    assert found["ari"] == pytest.approx(metrics.adjusted_rand_score(labels, topics), abs=1e-9)
    assert found["homogeneity"] == pytest.approx(
        metrics.homogeneity_score(labels, topics), abs=1e-9
    )


def test_figures_are_scikit_learns_and_replicates_leave_documents_out():
    topics, labels = some_documents()
    group_of = groups_of(list(map(str, range(60))), 6)
    found = cluster_agreement(topics, labels, group_of)
    kept = group_of != 2
    some = np.array(labels)[kept]
    counted = metrics.normalized_mutual_info_score(labels, topics)
    assert found["nmi"].value + found["nmi"].bias == pytest.approx(counted)
    rest = metrics.adjusted_rand_score(some, topics[kept])
    assert found["ari"].replicates[2] == pytest.approx(rest)
    assert len(found["purity"].replicates) == 6


def test_replicates_of_information_are_without_their_bias_too():
    topics, labels = some_documents(1200)
    names = np.array(labels)
    group_of = groups_of(list(map(str, range(1200))), 6)

    def without(*groups):
        kept = ~np.isin(group_of, groups)
        return metrics.homogeneity_score(names[kept], topics[kept])

    found = cluster_agreement(topics, labels, group_of)["homogeneity"]
    rest = [without(2, b) for b in range(6) if b != 2]
    assert found.value == pytest.approx(6 * without() - 5 * np.mean([without(b) for b in range(6)]))
    assert found.replicates[2] == pytest.approx(5 * without(2) - 4 * np.mean(rest))


@pytest.mark.parametrize(
    ("n_labels", "n_topics", "share", "why"),
    [(5, 20, 0.7, "a bias of about"), (2, 4, 0.95, "some groups of them decide it")],
)
def test_information_in_too_few_documents_has_no_error_but_the_reason(
    n_labels, n_topics, share, why
):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_labels, 200)
    likely = labels + n_labels * rng.integers(0, n_topics // n_labels, 200)
    topics = np.where(rng.random(200) < share, likely, rng.integers(0, n_topics, 200))
    found = cluster_agreement(topics, labels.astype(str).tolist(), np.arange(200) % 50)["nmi"]
    assert found.is_known
    assert np.isnan(found.standard_error)
    assert why in found.reason


def test_two_groups_of_documents_are_too_few_for_the_bias():
    topics, labels = some_documents()
    found = cluster_agreement(topics, labels, np.arange(60) % 2)["nmi"]
    assert found.value == pytest.approx(metrics.normalized_mutual_info_score(labels, topics))
    assert found.reason == "there are too few documents"


def test_one_label_but_for_one_document():
    rng, labels = np.random.default_rng(0), ["b", *["a"] * 499]
    for _ in range(20):
        found = cluster_agreement(rng.integers(0, 30, 500), labels, rng.permutation(500) % 50)
        assert all(np.isfinite(each.value) for each in found.values())


def test_no_documents_have_no_agreement():
    nothing = np.zeros(0, dtype=np.int64)
    found = cluster_agreement(nothing, [], nothing)
    assert all(np.isnan(each.value) for each in found.values())


def test_information_that_no_document_changes_has_no_error():
    labels = [str(d % 3) for d in range(120)]
    found = cluster_agreement(np.arange(120) % 3, labels, np.arange(120) % 50)["homogeneity"]
    assert (found.value, found.bias) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-9))
    assert found.reason == "it is the same without any of the documents, which is no certainty"


def test_information_about_independent_labels_is_nothing():
    rng = np.random.default_rng(3)
    draws = [
        cluster_agreement(
            rng.integers(0, 10, 200), rng.choice(list("abc"), 200).tolist(), np.arange(200) % 20
        )["nmi"]
        for _ in range(20)
    ]
    values = np.array([each.value for each in draws])
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(20)
    counted = np.array([each.value + each.bias for each in draws])
    assert counted.mean() > 4 * counted.std() / np.sqrt(20)


def test_documents_without_a_share_are_in_no_topic():
    assert best_topics(np.array([[0.1, 0.9], [0.0, 0.0], [0.6, 0.4]])).tolist() == [1, 2, 0]


def test_folds_keep_articles_together_and_leave_rare_labels_out():
    articles = [f"a{d // 2}" for d in range(80)]
    labels = [("x", "y")[d // 2 % 2] for d in range(76)] + ["rare"] * 4
    repeats = label_folds(labels, articles)
    for folds in repeats:
        assert all(folds[2 * a] == folds[2 * a + 1] for a in range(40))
        assert (folds[76:] == -1).all()
        assert set(folds[:76].tolist()) == set(range(5))
    assert len(np.unique(repeats, axis=0)) == 5
    with pytest.raises(ValueError, match="fewer than two labels"):
        label_folds(["x"] * 40 + ["rare"], list(map(str, range(41))))


def test_accuracy_is_of_documents_that_the_classifier_has_not_seen():
    rng = np.random.default_rng(1)
    labels = rng.choice(["x", "y"], 200).tolist()
    ids = list(map(str, range(200)))
    folds, group_of = label_folds(labels, ids), groups_of(ids)
    telling = np.array([[1.0, 0.0] if label == "x" else [0.0, 1.0] for label in labels])
    assert accuracy(telling, labels, folds, group_of).value == 1.0
    guessed = accuracy(rng.random((200, 50)), labels, folds, group_of)
    assert abs(guessed.value - 0.5) < 4 * guessed.error  # would be near 1 on what it learned from
    assert guessed.error == pytest.approx(0.035, abs=0.015)  # √(¼ / 200)


def test_accuracy_of_few_documents_is_a_mean_with_the_error_of_one_validation():
    rng = np.random.default_rng(3)
    labels = rng.choice(["x", "y", "z"], 90)
    features, ids = rng.random((90, 8)), list(map(str, range(90)))
    features[:, 0] += labels == "x"
    folds, group_of = label_folds(labels.tolist(), ids), groups_of(ids, 9)
    one, all_five = (
        accuracy(features, labels.tolist(), each, group_of) for each in (folds[:1], folds)
    )
    right = [right_predictions(features, labels.tolist(), each) for each in folds]
    assert one.value == right[0].mean()
    assert all_five.value == pytest.approx(np.mean(right))
    squares = [
        8 / 9 * sum((np.mean(each[group_of != b]) - each.mean()) ** 2 for b in range(9))
        for each in right
    ]
    assert all_five.error == pytest.approx(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize(("n_docs", "n_repeats"), [(200, 5), (1500, 4), (4999, 2), (5000, 1)])
def test_many_documents_are_validated_once(n_docs, n_repeats):
    labels = [str(d % 3) for d in range(n_docs)]
    assert label_folds(labels, list(map(str, range(n_docs)))).shape == (n_repeats, n_docs)


def test_accuracy_on_words_does_without_documents_of_no_fold():
    rng = np.random.default_rng(2)
    labels = ["x"] * 30 + ["y"] * 30 + ["rare"]
    counts = np.zeros((61, 4), dtype=np.int64)
    counts[:30, 0], counts[30:, 1] = 3, 3
    counts[:, 2:] = rng.poisson(1.0, (61, 2))
    folds = label_folds(labels, list(map(str, range(61))))
    right = right_predictions(counts, labels, folds[0], are_words=True)
    assert right[:60].all()
    assert not right[60]


def test_documents_must_be_the_same():
    with pytest.raises(ValueError, match="same documents"):
        cluster_agreement(np.zeros(3, dtype=int), ["a", "b"], np.zeros(3, dtype=int))


def test_intervals_of_a_high_purity_cover_the_truth():
    rng, truth, hits, by_student = np.random.default_rng(0), 0.96, [], []
    labels = [str(d % 2) for d in range(120)]
    group_of = groups_of(list(map(str, range(120))))
    for _ in range(200):
        is_right = rng.random(120) < truth
        topic_of = np.where(is_right, np.arange(120) % 2, 1 - np.arange(120) % 2)
        found = cluster_agreement(topic_of, labels, group_of)["purity"]
        low, high = found.interval()
        hits.append(low <= truth <= high)
        low, high = replace(found, trials=0.0).interval()
        by_student.append(low <= truth <= high)
    assert np.mean(by_student) < 0.92
    assert 0.93 <= np.mean(hits) <= 0.98
