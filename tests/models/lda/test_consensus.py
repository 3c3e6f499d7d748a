import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from models import LDATopics, consensus
from models.lda.merging import merge_topics


def some_model(n_topics, seed, n_words=12):
    rng = np.random.default_rng(seed)
    return LDATopics(rng.dirichlet(np.full(n_words, 0.3), n_topics), rng.gamma(1.0, 1.0, n_topics))


def clusters_by_definition(topic_word, weight, n_clusters):
    """Merge the pair of least cost until `n_clusters` are left, each cost from all members."""
    clusters = [[i] for i in range(len(weight))]

    def centre(cluster):
        shares = [weight[i] / sum(weight[j] for j in cluster) for i in cluster]
        return sum(share * np.sqrt(topic_word[i]) for share, i in zip(shares, cluster, strict=True))

    def cost(one, other):
        first, second = (sum(weight[i] for i in each) for each in (one, other))
        squares = ((centre(one) - centre(other)) ** 2).sum()
        return first * second / (first + second) * squares

    while len(clusters) > n_clusters:
        pairs = [(i, j) for j in range(len(clusters)) for i in range(j)]
        i, j = min(pairs, key=lambda pair: cost(clusters[pair[0]], clusters[pair[1]]))
        clusters[i] += clusters.pop(j)
    label = np.empty(len(weight), dtype=int)
    for number, cluster in enumerate(sorted(clusters, key=min)):
        label[cluster] = number
    return label


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 1000))
def test_clusters_are_those_of_the_definition(n_items, n_clusters, seed):
    rng = np.random.default_rng(seed)
    topic_word, weight = rng.dirichlet(np.full(6, 0.3), n_items), rng.gamma(1.0, 9.0, n_items) + 0.1
    wanted = min(n_items, n_clusters)
    found = merge_topics(topic_word, weight, wanted)
    assert_array_equal(found, clusters_by_definition(topic_word, weight, wanted))


@given(st.integers(1, 6), st.integers(0, 1000))
def test_models_with_the_same_topics_in_another_order_have_them_as_their_mean(n_topics, seed):
    rng, model = np.random.default_rng(seed), some_model(n_topics, seed)
    orders = [np.arange(n_topics), rng.permutation(n_topics), rng.permutation(n_topics)]
    models = [LDATopics(model.topic_word[order], model.alpha[order]) for order in orders]
    found = consensus(models, [rng.gamma(2.0, 1.0, n_topics) for _ in models])
    assert_allclose(found.topics.topic_word, model.topic_word, rtol=1e-12)
    assert_allclose(found.topics.alpha, model.alpha, rtol=1e-12)
    for member, order in zip(found.members, orders, strict=True):
        assert_array_equal(member, order)


def test_a_topic_that_one_model_splits_is_one_if_most_models_do_not():
    whole, half, other = np.eye(6)[[0, 1, 2, 3]].mean(axis=0), np.eye(6)[:4], np.eye(6)[5]
    halves = [half[:2].mean(axis=0), half[2:].mean(axis=0)]
    third = 0.9 * other + 0.1 * np.eye(6)[4]
    models = [
        LDATopics([whole, other, third], [1.0, 2.0, 3.0]),
        LDATopics([*halves, 0.5 * other + 0.5 * third], [1.0, 1.0, 5.0]),
        LDATopics([other, third, whole], [2.0, 3.0, 1.0]),
    ]
    found = consensus(models, [[80, 50, 50], [40, 40, 100], [50, 50, 80]], n_topics=2)
    assert_allclose(found.topics.topic_word[0], whole)
    assert_array_equal(found.members[1], [0, 0, 1])
    assert_allclose(found.topics.alpha, [4 / 3, 5.0])


def test_means_are_weighted_by_tokens_and_models_can_be_left_out():
    first, second = LDATopics([[0.7, 0.3]], [1.0]), LDATopics([[0.4, 0.6]], [2.0])
    found = consensus([first, second], [[3.0], [1.0]])
    assert_allclose(found.topics.topic_word, [[0.625, 0.375]])
    assert_allclose(found.topics.alpha, [1.5])
    assert_allclose(found.without(0), second.topic_word)
    assert_allclose(found.without(1), first.topic_word)


def test_a_topic_of_one_model_alone_is_zeros_without_it():
    same, new = [0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]
    models = [LDATopics([same, new], [1, 1]), LDATopics([same, same], [1, 1])]
    found = consensus(models)
    assert_allclose(found.without(0), [same, np.zeros(4)])


def test_topics_without_tokens_change_no_mean():
    model, even = some_model(3, 5), np.full(12, 1 / 12)
    starved = LDATopics([*model.topic_word[:2], even], model.alpha)
    found = consensus([model, starved], [[5.0, 6.0, 7.0], [5.0, 6.0, 0.0]])
    assert_allclose(found.topics.topic_word, model.topic_word, rtol=1e-12)
    plain = consensus([starved, starved], [np.zeros(3), np.zeros(3)])
    assert_allclose(plain.topics.topic_word.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("models", "arguments", "message"),
    [
        ([], {}, "the same words, and at least one"),
        ([some_model(2, 0), some_model(2, 0, n_words=5)], {}, "the same words"),
        ([some_model(2, 0)], {"weights": [[1.0]]}, "a number for each topic"),
        ([some_model(2, 0)], {"weights": [[1.0, 2.0]] * 2}, "a number for each topic"),
        ([some_model(2, 0)], {"weights": [[1.0, -2.0]]}, "none negative"),
        ([some_model(2, 0)], {"weights": [[1.0, np.nan]]}, "finite"),
        ([some_model(2, 0)], {"n_topics": 3}, "from 1 to the 2 topics"),
        ([some_model(2, 0)], {"n_topics": 0}, "from 1 to the 2 topics"),
    ],
)
def test_bad_arguments(models, arguments, message):
    with pytest.raises(ValueError, match=message):
        consensus(models, **arguments)
