"""Rank-biased overlap against its definition as an infinite sum."""

import random

import pytest

from evaluation.topics.rank_overlap import overlaps, rank_biased_overlap


def by_definition(first, second, p):
    """The sum over depths, with the agreement that Webber et al. assume beyond the lists' ends."""
    shorter, longer = sorted((first, second), key=len)
    s, n = len(shorter), len(longer)

    def common(d):
        return len(set(shorter[: min(d, s)]) & set(longer[: min(d, n)]))

    def agreement(d):
        if d <= s:
            return common(d) / d
        d = min(d, n)
        return (common(d) + common(s) * (d - s) / s) / d  # the shorter goes on as it ended

    return (1 - p) * sum(p ** (d - 1) * agreement(d) for d in range(1, 600))


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_sum_of_the_definition(seed):
    draw = random.Random(seed)
    words = list("abcdefghijkl")
    first, second = (draw.sample(words, draw.randint(1, 10)) for _ in range(2))
    p = draw.choice([0.5, 0.9, 0.95])
    expected = by_definition(first, second, p)
    assert rank_biased_overlap(first, second, p) == pytest.approx(expected, abs=1e-9)
    assert rank_biased_overlap(second, first, p) == pytest.approx(expected, abs=1e-9)


def test_limits():
    assert rank_biased_overlap("abc", "abc") == pytest.approx(1.0)
    assert rank_biased_overlap("abc", "xyz") == 0.0
    assert rank_biased_overlap("", "abc") == 0.0
    assert rank_biased_overlap("abcd", "bacd") > rank_biased_overlap("abcd", "abdx")


@pytest.mark.parametrize(("first", "p", "message"), [("aa", 0.9, "twice"), ("ab", 1.0, "p must")])
def test_refusals(first, p, message):
    with pytest.raises(ValueError, match=message):
        rank_biased_overlap(first, "ab", p)


def test_overlaps_of_two_models():
    found = overlaps(["abc", "xyz"], ["abd", "uvw", "xzy"])
    assert found[1, 1] == 0.0
    assert found[0, 0] == rank_biased_overlap("abc", "abd")
    assert found[1, 2] == rank_biased_overlap("xyz", "xzy")
