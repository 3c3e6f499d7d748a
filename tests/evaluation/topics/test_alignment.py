from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import align_topics, cross_distances
from models import GammaPoissonTopics, LDATopics

WORDS = tuple(f"word{w:02}" for w in range(30))


def some_model(n_topics, seed):
    rng = np.random.default_rng(seed)
    return LDATopics(rng.dirichlet(np.full(len(WORDS), 0.2), n_topics), np.ones(n_topics))


@given(st.integers(1, 6), st.integers(0, 1000))
def test_a_model_that_was_shuffled_is_found_again(n_topics, seed):
    rng, model = np.random.default_rng(seed), some_model(n_topics, seed)
    topics, words = rng.permutation(n_topics), rng.permutation(len(WORDS))
    other = LDATopics(model.topic_word[topics][:, words], model.alpha)
    found = align_topics(model, WORDS, other, [WORDS[w] for w in words])
    assert {pair.first: topics[pair.second] for pair in found.pairs} == {
        k: k for k in range(n_topics)
    }
    assert found.mean_distance == pytest.approx(0, abs=1e-7)
    assert found.only_first == found.only_second == ()
    assert found.n_common_words == len(WORDS)
    pair = found.pairs[0]
    positive = np.count_nonzero(model.topic_word[pair.first])
    top = model.top_words(20)[pair.first][:positive]
    assert pair.shared_words == tuple(WORDS[w] for w in top)


@pytest.mark.parametrize(("n_first", "n_second"), [(3, 5), (5, 3), (4, 4)])
def test_the_smallest_sum_of_distances(n_first, n_second):
    first, second = some_model(n_first, 1), some_model(n_second, 2)
    found = align_topics(first, WORDS, second, WORDS)
    between, n = cross_distances(first.topic_word, second.topic_word), min(n_first, n_second)
    best = min(
        sum(between[k, j] for k, j in zip(rows, columns, strict=True))
        for rows in permutations(range(n_first), n)
        for columns in permutations(range(n_second), n)
        if list(rows) == sorted(rows)
    )
    assert n * found.mean_distance == pytest.approx(best)
    distances = [pair.distance for pair in found.pairs]
    assert distances == sorted(distances)
    firsts, seconds = ({p.first for p in found.pairs}, {p.second for p in found.pairs})
    assert firsts | set(found.only_first) == set(range(n_first))
    assert seconds | set(found.only_second) == set(range(n_second))
    assert (len(found.only_first), len(found.only_second)) == (n_first - n, n_second - n)


def test_common_words():
    # Given one of the common words b and c, both topics are (3/4, 1/4) and (0, 1).
    first = LDATopics([[0.6, 0.3, 0.1], [0.5, 0.0, 0.5]], [1, 1])
    second = GammaPoissonTopics([[0.0, 2.0, 5.0], [3.0, 1.0, 0.0]], [1, 1], [0.5, 0.5])
    found = align_topics(first, ("a", "b", "c"), second, ("b", "c", "d"), n_top=2)
    assert [(p.first, p.second) for p in found.pairs] == [(0, 1), (1, 0)]
    assert (found.mean_distance, found.n_common_words) == (pytest.approx(0, abs=1e-7), 2)
    # Of each the two most probable over its own words: a b and b c; a c and d c.
    assert [p.shared_words for p in found.pairs] == [("b",), ("c",)]
    first, second = LDATopics([[1.0, 0.0], [0.0, 1.0]], [1, 1]), LDATopics([[1.0, 0.0]], [1])
    found = align_topics(first, ("a", "b"), second, ("b", "c"))
    assert [(p.first, p.second, p.distance) for p in found.pairs] == [(1, 0, 0.0)]
    only = align_topics(LDATopics([[1.0, 0.0]], [1]), ("a", "b"), second, ("b", "c"))
    assert [(p.distance, p.shared_words) for p in only.pairs] == [(1.0, ())]


def test_what_is_refused():
    model = some_model(2, 0)
    with pytest.raises(ValueError, match="no word in common"):
        align_topics(model, WORDS, model, [word.upper() for word in WORDS])
    with pytest.raises(ValueError, match="first_vocabulary must have the 30 words of first"):
        align_topics(model, WORDS[1:], model, WORDS)
    with pytest.raises(ValueError, match="second_vocabulary must have the 30 words of second"):
        align_topics(model, WORDS, model, WORDS[1:])
    with pytest.raises(ValueError, match="n_top must be at least 1"):
        align_topics(model, WORDS, model, WORDS, n_top=0)
