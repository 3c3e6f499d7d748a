import itertools

import numpy as np
import pytest

from evaluation.lda.topic_pairs import _edge_cover, topic_pairs
from models import LDATopics
from tests.evaluation.lda.small_topics import model_of


def least_cost(cost):
    """Least total cost of pairs that leave no row and no column out, by all sets of pairs."""
    pairs = list(itertools.product(*map(range, cost.shape)))
    covers = (
        chosen
        for size in range(1, sum(cost.shape))
        for chosen in itertools.combinations(pairs, size)
        if {r for r, _ in chosen} == set(range(cost.shape[0]))
        and {c for _, c in chosen} == set(range(cost.shape[1]))
    )
    return min(sum(cost[pair] for pair in chosen) for chosen in covers)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 3), (3, 3), (3, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_the_cover_has_the_least_cost(shape, seed):
    cost = np.random.default_rng(seed).random(shape) ** 3
    rows, columns = _edge_cover(cost)
    assert set(rows) == set(range(shape[0]))
    assert set(columns) == set(range(shape[1]))
    assert cost[rows, columns].sum() == pytest.approx(least_cost(cost))


@pytest.mark.parametrize(("k1", "k2"), [(1, 4), (4, 1), (5, 3), (6, 6)])
def test_priors_of_copies_sum_to_those_of_the_topics(k1, k2):
    first, second = model_of(0, k1), model_of(1, k2)
    pairs = topic_pairs(first, second)
    assert (pairs.first_prior > 0).all()
    assert (pairs.second_prior > 0).all()
    assert np.bincount(pairs.first, pairs.first_prior) == pytest.approx(first.alpha)
    assert np.bincount(pairs.second, pairs.second_prior) == pytest.approx(second.alpha)


def test_topics_in_another_order_find_themselves():
    model, order = model_of(0, 7, 9), np.random.default_rng(1).permutation(7)
    pairs = topic_pairs(model, LDATopics(model.topic_word[order], model.alpha[order]))
    assert np.array_equal(order[pairs.second], pairs.first)
