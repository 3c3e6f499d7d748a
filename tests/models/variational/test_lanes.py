"""Vectors of blocks of topics: compiled, they give what plain Python does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from models.kernel import kernel
from models.lanes import LANES
from models.variational.lanes import AT_ONCE, add_word, fill_word, update_words

seeds = st.integers(0, 1000)


@kernel
def compiled_update(group, counts, weight, expected, prior, seen, total, joint):
    return update_words(group, counts, weight, expected, prior, seen, total, joint)


@kernel
def compiled_add(word, topic, share, count, prior, total):
    add_word(word, topic, share, count, prior, total)


@kernel
def compiled_fill(word, topic, share, rest, column, weight, first, n_blocks):
    fill_word(word, topic, share, rest, column, weight, first, n_blocks)


def groups(seed, n_blocks):
    """Arguments of `update_words` for one of three groups; weights have a block more."""
    rng, size = np.random.default_rng(seed), n_blocks * LANES
    counts = rng.integers(1, 6, (3, AT_ONCE)).astype(np.float32)
    shapes = (3, (size + LANES) * AT_ONCE), (3, size * AT_ONCE)
    weight, expected = (rng.gamma(0.3, size=shape).astype(np.float32) for shape in shapes)
    prior, seen, total = (rng.gamma(1.0, size=size).astype(np.float32) for _ in range(3))
    joint = np.zeros(size * AT_ONCE, np.float32)
    return int(rng.integers(3)), counts, weight, expected, prior, seen, total, joint


def copied(arguments):
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


@given(seed=seeds, n_blocks=st.integers(1, 5))
def test_update_is_that_of_plain_python(seed, n_blocks):
    given_groups = groups(seed, n_blocks)
    plain, compiled = copied(given_groups), copied(given_groups)
    assert compiled_update(*compiled) == update_words(*plain) is True
    assert_allclose(compiled[3], plain[3], rtol=2e-5)
    assert_allclose(compiled[6], plain[6], rtol=2e-5, atol=2e-5)
    others = np.delete(np.arange(3), given_groups[0])
    assert np.array_equal(compiled[3][others], given_groups[3][others])
    for unchanged in (1, 2, 4, 5):
        assert np.array_equal(compiled[unchanged], given_groups[unchanged])


@pytest.mark.parametrize("update", [compiled_update, update_words], ids=["compiled", "plain"])
def test_update_of_a_word_leaves_its_own_part_out(update):
    """By the formula, for one word of two tokens and two topics."""
    counts, r = np.zeros((1, AT_ONCE), np.float32), np.zeros((1, 1, AT_ONCE, LANES), np.float32)
    counts[0, 0], r[0, 0, 0, :2] = 2.0, (1.5, 0.5)
    phi = np.ones_like(r)
    phi[0, 0, 0, :2] = 0.2, 0.6
    prior, total = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
    prior[:2], total[:2] = 0.1, (4.5, 1.5)
    p = np.array([4.5 - 0.75 + 0.1, 1.5 - 0.25 + 0.1]) * [0.2, 0.6]
    expected, joint = 2.0 * p / p.sum(), np.zeros(AT_ONCE * LANES, np.float32)
    weights, responsibilities = phi.reshape(1, -1), r.reshape(1, -1)
    assert update(0, counts, weights, responsibilities, prior, total, total, joint)
    assert_allclose(r[0, 0, 0, :2], expected, rtol=1e-6)
    assert_allclose(total[:2], [3.0 + expected[0], 1.0 + expected[1]], rtol=1e-6)
    assert not r[0, 0, 1:].any()
    assert not total[2:].any()


@pytest.mark.parametrize("update", [compiled_update, update_words], ids=["compiled", "plain"])
@given(seed=seeds)
def test_tokens_of_a_single_word_are_what_it_holds_to_the_bit(update, seed):
    """So that nothing but the prior is left of N without it."""
    _, counts, weight, expected, prior, _, total, joint = groups(seed, 2)
    counts[0, 1:], expected[0], total[:] = 0.0, 0.0, 0.0
    for _ in range(3):
        update(0, counts, weight, expected, prior, total, total, joint)
        held = expected[0].reshape(2, AT_ONCE, LANES)
        assert np.array_equal(total, held[:, 0].ravel())
        assert not held[:, 1:].any()


@pytest.mark.parametrize("update", [compiled_update, update_words], ids=["compiled", "plain"])
def test_word_that_no_topic_has_gives_its_tokens_back(update):
    arguments = groups(3, 2)
    group, counts, weight, expected, _, _, total, _ = arguments
    by_word = expected[group].reshape(2, AT_ONCE, LANES)
    weight[group, : 2 * LANES * AT_ONCE].reshape(2, AT_ONCE, LANES)[:, 1] = 0.0
    n_others = total.sum() - by_word.sum()
    assert not update(*arguments)
    assert not by_word[:, 1].any()
    assert_allclose(by_word.sum(axis=(0, 2))[[0, 2, 3]], counts[group, [0, 2, 3]], 1e-5)
    assert_allclose(total.sum(), n_others + by_word.sum(), rtol=1e-5)


def lists(rng, n_topics, n_listed):
    """Lists of four words: topics, shares."""
    topic = np.array([rng.permutation(n_topics)[:n_listed] for _ in range(4)], dtype=np.uint16)
    return topic, rng.gamma(0.3, size=topic.shape).astype(np.float32)


@given(seed=seeds, n_topics=st.integers(LANES, 99), word=st.integers(0, 3))
def test_first_tokens_of_a_word_are_those_of_plain_python(seed, n_topics, word):
    rng = np.random.default_rng(seed)
    topic, share = lists(rng, n_topics, LANES)
    prior, n = (rng.gamma(1.0, size=n_topics).astype(np.float32) for _ in range(2))
    found, expected = n.copy(), n.copy()
    compiled_add(word, topic, share, np.float32(3.0), prior, found)
    add_word(word, topic, share, np.float32(3.0), prior, expected)
    assert_allclose(found, expected, rtol=2e-6)
    assert_allclose((found - n).sum(), 3.0, rtol=1e-4)
    others = np.delete(np.arange(n_topics), topic[word])
    assert np.array_equal(found[others], n[others])


@pytest.mark.parametrize("add", [compiled_add, add_word], ids=["compiled", "plain"])
def test_word_without_shares_has_no_first_tokens(add):
    n, topic = np.ones(LANES, np.float32), np.arange(LANES, dtype=np.uint16)[None]
    add(0, topic, np.zeros((1, LANES), np.float32), np.float32(2.0), n.copy(), n)
    assert (n == 1.0).all()


@given(
    seed=seeds,
    n_blocks=st.integers(1, 4),
    first=st.integers(0, 64),
    n_listed=st.sampled_from([LANES, 3 * LANES]),
)
def test_weights_of_a_word_are_those_of_plain_python(seed, n_blocks, first, n_listed):
    rng, n_topics, rest = np.random.default_rng(seed), 70, np.float32(0.25)
    weight = np.full((n_blocks + 1) * AT_ONCE * LANES + 64, -1.0, np.float32)
    topic, share = lists(rng, n_topics, n_listed)
    kept, lanes = rng.permutation(n_topics)[: n_blocks * LANES], np.arange(n_blocks * LANES)
    column = np.full(n_topics, n_blocks * AT_ONCE * LANES, np.uint32)
    column[kept] = lanes // LANES * LANES * AT_ONCE + lanes % LANES
    found, expected = weight.copy(), weight.copy()
    compiled_fill(2, topic, share, rest, column, found, first, n_blocks)
    fill_word(2, topic, share, rest, column, expected, first, n_blocks)
    unread = first + n_blocks * AT_ONCE * LANES  # for topics that do not stay
    found[unread] = expected[unread]
    assert np.array_equal(found, expected)
    of_topic = np.full(n_topics, rest)
    of_topic[topic[2]] = share[2]
    assert np.array_equal(found[first + column[kept]], of_topic[kept])
    assert (found == -1.0).sum() >= len(found) - n_blocks * LANES - 1
