import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from evaluation.lda.particles import Groups, copy_particle, new_particles, use_prior, visit_groups


def groups_of(sizes, weight, prior):
    size = np.array(sizes, dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    weight = np.array(weight, dtype=float)
    groups = Groups(
        size, start, weight, np.zeros((len(size), size.max() + 1)), np.empty_like(weight)
    )
    for u in range(len(size)):
        use_prior(groups, u, prior)
    return groups


def count_topics(particles, r, topics):
    """Count tokens of these topics in a particle that has none."""
    for at, k in enumerate(dict.fromkeys(int(k) for k in topics)):
        particles.topic[r, at], particles.place[r, k] = k, at
        particles.tally[r, at] = np.count_nonzero(np.asarray(topics) == k)
        particles.n_listed[r] = at + 1


def counts_of(particles, r, n_topics):
    counts = np.zeros(n_topics)
    for i in range(particles.n_listed[r]):
        counts[particles.topic[r, i]] = particles.tally[r, i]
    return counts


def assert_consistent(particles, r, n_tokens, n_topics):
    """The list, the places in it and the topics of the tokens tell the same."""
    expected = np.bincount(particles.topic_of[r, :n_tokens], minlength=n_topics)
    assert (counts_of(particles, r, n_topics) == expected).all()
    listed = particles.topic[r, : particles.n_listed[r]]
    assert sorted(listed) == np.flatnonzero(expected).tolist()
    for k in range(n_topics):
        at = particles.place[r, k]
        assert at == -1 if expected[k] == 0 else listed[at] == k


def urn(counts, prior, topics):
    """The probability of a sequence of topics under the urn that holds counts + prior."""
    balls, p = counts + prior, 1.0
    for k in topics:
        p *= balls[k] / balls.sum()
        balls = balls + np.eye(len(prior))[k]
    return p


def joint(size, weight, counts, prior):
    """Of each sequence of topics of a group: p(topics, words | counts)."""
    return {
        topics: urn(counts, prior, topics) * math.prod(weight[k] for k in topics)
        for topics in itertools.product(range(len(prior)), repeat=size)
    }


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 5), st.integers(0, 2**31))
def test_the_weight_of_a_group_is_the_sum_over_its_topics(n_topics, size, n_before, seed):
    rng = np.random.default_rng(seed)
    prior = rng.gamma(0.5, 1.0, n_topics) + 0.01
    weight = rng.random(n_topics) * (rng.random(n_topics) < 0.7)
    weight[rng.integers(n_topics)] = 1.0
    groups = groups_of([size], [weight], prior)
    particles, counts = new_particles(1, n_topics, n_before + size), np.zeros(n_topics)
    before = rng.integers(n_topics, size=n_before)
    count_topics(particles, 0, before)
    counts += np.bincount(before, minlength=n_topics)
    product = np.array([2.0])
    visit_groups(groups, 0, 1, particles, prior, False, product, rng)
    total = prior.sum() + n_before
    orders = math.prod((i + 1) / (total + i) for i in range(size))
    expected = sum(joint(size, weight, counts, prior).values())
    assert product[0] / 2.0 * orders == pytest.approx(expected, rel=1e-12)
    drawn = particles.topic_of[0, :size]
    assert (weight[drawn] > 0).all()
    assert (
        counts_of(particles, 0, n_topics) == counts + np.bincount(drawn, minlength=n_topics)
    ).all()


def drawn_and_expected(prior_used, n=30_000):
    """How often the topics of a group of three come in each way, after two other tokens."""
    prior, weight = np.array([[0.3, 0.2, 0.5], [1.0, 0.4, 0.1]])
    counts = np.array([0, 1, 1])
    groups, particles = groups_of([3], [weight], prior_used(prior)), new_particles(n, 3, 5)
    for r in range(n):
        count_topics(particles, r, (1, 2))
    rng = np.random.default_rng(0)
    visit_groups(groups, 0, 1, particles, prior_used(prior), False, np.ones(n), rng)
    found = np.zeros((4, 4, 4))
    for topics in particles.topic_of[:, :3]:
        found[tuple(np.bincount(topics, minlength=3))] += 1
    expected = np.zeros_like(found)
    for topics, p in joint(3, weight, counts, prior).items():
        expected[tuple(np.bincount(topics, minlength=3))] += p
    possible = expected > 0
    assert found[~possible].sum() == 0
    return found[possible], expected[possible] / expected.sum() * n


def test_the_topics_of_a_group_have_the_distribution_of_the_enumeration():
    assert chisquare(*drawn_and_expected(lambda prior: prior)).pvalue > 1e-3
    assert chisquare(*drawn_and_expected(lambda prior: prior * 1.1)).pvalue < 1e-6  # the control


def test_a_sweep_leaves_the_posterior_as_it_is():
    prior, weight = np.array([0.2, 0.7]), np.array([[1.0, 0.3], [0.2, 1.0], [1.0, 1.0]])
    sizes, n = [2, 1, 1], 20_000
    of_token = [0, 0, 1, 2]
    joint_of = {
        topics: urn(np.zeros(2), prior, topics)
        * math.prod(weight[u, k] for u, k in zip(of_token, topics, strict=True))
        for topics in itertools.product(range(2), repeat=4)
    }
    total = sum(joint_of.values())
    p, states = np.array(list(joint_of.values())) / total, np.array(list(joint_of))

    def after_sweeps(used):
        groups, particles = groups_of(sizes, weight, used), new_particles(n, 2, 4)
        rng = np.random.default_rng(1)
        for r, state in enumerate(states[rng.choice(len(p), size=n, p=p)]):
            particles.topic_of[r] = state
            count_topics(particles, r, state)
        product = np.ones(n)
        for _ in range(3):
            visit_groups(groups, 0, 3, particles, used, True, product, rng)
        assert (product == 1.0).all()
        for r in range(0, n, 1000):
            assert_consistent(particles, r, 4, 2)
        found = np.bincount(particles.topic_of @ (2 ** np.arange(4)[::-1]), minlength=16)
        # A group's tokens are exchangeable: which of the two has which topic is not drawn.
        same = np.array([min(c, c ^ 12) if 4 <= c < 12 else c for c in range(16)])
        groups_found = np.bincount(same, found, minlength=16)
        groups_expected = np.bincount(same, p, minlength=16)
        keep = groups_expected > 0
        return chisquare(groups_found[keep], groups_expected[keep] * n).pvalue

    assert after_sweeps(prior) > 1e-3
    assert after_sweeps(prior * 1.2) < 1e-6


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 99))
def test_the_list_of_topics_follows_the_tokens(n_topics, sizes, seed):
    rng = np.random.default_rng(seed)
    prior, weight = np.full(n_topics, 0.3), rng.random((len(sizes), n_topics)) + 0.01
    groups, n_tokens = groups_of(sizes, weight, prior), sum(sizes)
    particles, product = new_particles(3, n_topics, n_tokens), np.ones(3)
    for u in range(len(sizes)):
        visit_groups(groups, u, u + 1, particles, prior, False, product, rng)
        for r in range(3):
            assert_consistent(particles, r, groups.start[u + 1], n_topics)
    for _ in range(3):
        visit_groups(groups, 0, len(sizes), particles, prior, True, product, rng)
        for r in range(3):
            assert_consistent(particles, r, n_tokens, n_topics)
    copy_particle(particles, 0, 1)
    assert_consistent(particles, 1, n_tokens, n_topics)
    assert (particles.topic_of[0] == particles.topic_of[1]).all()
