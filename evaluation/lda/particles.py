"""Particles of left-to-right SMC: each is the topics of a document's words so far.

A particle lists only its counts C_k > 0, so that a word costs as many steps as the particle has
topics, not K. A group, tokens of one word, is one step: with a_k = C_k + prior_k,

    p(w c times | C) = c! h_c / ∏_{i<c} (A + i),    Σ_c h_c x^c = ∏_k (1 - φ_kw x)^(-a_k),

where A = Σ a_k. The power sums s_m = Σ_k a_k φ_kw^m give the series: c h_c = Σ_{m<=c} s_m h_{c-m}.
The terms of that sum also tell how to draw topics: with probability s_m h_{c-m} / (c h_c) a token
shares its topic with m - 1 others, topic k with probability a_k φ_kw^m / s_m, and the other c - m
tokens are drawn in the same way, independently of these.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Floats, Ints, Ints32, Rng
from models.kernel import kernel


class Groups(NamedTuple):
    """A document's words in the order in which particles take them."""

    size: Ints  # (U,), number of tokens of each group
    start: Ints  # (U + 1,), positions of its tokens in a row of `topic_of`
    weight: Floats  # (U, K), φ_kw divided by the maximum of a row
    power: Floats  # (U, largest size + 1), Σ_k prior_k weight_k^m at m >= 1, for the current prior
    cumulative: Floats  # (U, K), cumulative sums of prior_k weight_k


class Particles(NamedTuple):
    """N particles; S = min(K, number of tokens) is the maximal number of topics of one."""

    n_listed: Ints32  # (N,), number of topics with a token
    topic: Ints32  # (N, S), these topics
    tally: Floats  # (N, S), their numbers of tokens
    place: Ints32  # (N, K), position of a topic in the list; -1 if it has no token
    topic_of: Ints32  # (N, number of tokens)


def groups_of(size: Ints, weight: Floats) -> Groups:
    """Return groups of `size` (U,) tokens with `weight` (U, K), other fields not yet filled."""
    start = np.concatenate([[0], np.cumsum(size)])
    power = np.zeros((len(size), size.max(initial=0) + 1))
    return Groups(size, start, weight, power, np.empty_like(weight))


@kernel
def new_particles(n_particles: int, n_topics: int, n_tokens: int) -> Particles:
    """Return particles without tokens."""
    size = min(n_topics, n_tokens)
    return Particles(
        np.zeros(n_particles, dtype=np.int32),
        np.empty((n_particles, size), dtype=np.int32),
        np.empty((n_particles, size)),
        np.full((n_particles, n_topics), -1, dtype=np.int32),
        np.empty((n_particles, n_tokens), dtype=np.int32),
    )


@kernel
def copy_particle(particles: Particles, source: int, target: int) -> None:
    """Copy particle `source` to `target`, in place."""
    for i in range(particles.n_listed[target]):
        particles.place[target, particles.topic[target, i]] = -1
    particles.n_listed[target] = particles.n_listed[source]
    for i in range(particles.n_listed[source]):
        k = particles.topic[source, i]
        particles.topic[target, i] = k
        particles.tally[target, i] = particles.tally[source, i]
        particles.place[target, k] = i
    for i in range(particles.topic_of.shape[1]):
        particles.topic_of[target, i] = particles.topic_of[source, i]


@kernel
def use_prior(groups: Groups, u: int, prior: Floats) -> None:
    """Fill the fields of `groups` that depend on the prior (K,), for group u, in place."""
    weight, power, cumulative = groups.weight[u], groups.power[u], groups.cumulative[u]
    total = 0.0
    for k in range(len(prior)):
        total += prior[k] * weight[k]
        cumulative[k] = total
    power[1] = total
    for m in range(2, groups.size[u] + 1):
        power[m] = 0.0
    if groups.size[u] > 1:
        for k in range(len(prior)):
            term = prior[k] * weight[k]
            for m in range(2, groups.size[u] + 1):
                term *= weight[k]
                power[m] += term


@kernel
def visit_groups(  # noqa: C901, PLR0912, PLR0915
    groups: Groups,
    first: int,
    last: int,
    particles: Particles,
    prior: Floats,
    again: bool,
    weight: Floats,
    rng: Rng,
) -> None:
    """Draw the topics of the groups `first <= u < last` in each particle, in place.

    If `again`, existing topics are resampled, a group's tokens being left out of the counts: a
    Gibbs sweep. Otherwise topics are drawn for the first time, and `weight` (N,) is multiplied by
    h_c of each group. One long function: calls of shorter ones took two thirds of the time.
    """
    n_listed, topic, tally, place, topic_of = particles
    word_topic, cumulative = groups.weight, groups.cumulative
    n_topics = cumulative.shape[1]
    power, series = np.empty(groups.power.shape[1]), np.empty(groups.power.shape[1])
    term = np.empty(topic.shape[1])
    for r in range(len(weight)):
        for u in range(first, last):
            size, start = groups.size[u], groups.start[u]
            n_here = n_listed[r] + 0  # an int64
            if again:
                for i in range(start, start + size):
                    k = topic_of[r, i]
                    at = place[r, k]
                    tally[r, at] -= 1.0
                    if tally[r, at] == 0.0:  # the last of the list takes its place
                        n_here -= 1
                        topic[r, at], tally[r, at] = topic[r, n_here], tally[r, n_here]
                        place[r, topic[r, at]] = at
                        place[r, k] = -1
            listed = 0.0
            for i in range(n_here):
                term[i] = tally[r, i] * word_topic[u, topic[r, i]]
            for i in range(n_here):
                listed += term[i]
            power[1] = groups.power[u, 1] + listed
            series[size] = power[1]
            if size > 1:
                fill_series(
                    u, r, n_here, topic, term, word_topic, groups.power, size, power, series
                )
            if not again:
                weight[r] *= series[size]
            at, left = start, size
            while left > 0:
                m = 1 if left == 1 else draw_share(left, power, series, rng)
                rest = rng.random() * power[m]
                k = -1
                if m > 1:
                    k = topic_of_many(u, r, n_here, topic, term, word_topic, prior, m, rest)
                elif rest < listed:
                    for i in range(n_here):
                        rest -= term[i]
                        if rest < 0.0:
                            k = topic[r, i]
                            break
                else:
                    rest -= listed
                if k < 0:  # by bisection, the first whose cumulative sum of the prior is above
                    k, high = 0, n_topics
                    while k < high:
                        middle = (k + high) // 2
                        if cumulative[u, middle] > rest:
                            high = middle
                        else:
                            k = middle + 1
                    k = min(k, n_topics - 1)
                    while word_topic[u, k] == 0.0:  # rounding left a rest: the last possible topic
                        k -= 1
                for i in range(at, at + m):
                    topic_of[r, i] = k
                at += m
                left -= m
            # All are drawn given the counts without the group.
            for i in range(start, start + size):
                k = topic_of[r, i]
                at = place[r, k]
                if at < 0:
                    topic[r, n_here], tally[r, n_here], place[r, k] = k, 1.0, n_here
                    n_here += 1
                else:
                    tally[r, at] += 1.0
            n_listed[r] = n_here


@kernel
def fill_series(
    u: int,
    r: int,
    n_here: int,
    topic: Ints32,
    term: Floats,
    weight: Floats,
    prior_power: Floats,
    size: int,
    power: Floats,
    series: Floats,
) -> None:
    """Fill s_2..s_c and h_0..h_c of a group of c = `size` tokens; `term` is C_k weight_k."""
    for m in range(2, size + 1):
        power[m] = prior_power[u, m]
    for i in range(n_here):
        x, value = weight[u, topic[r, i]], term[i]
        for m in range(2, size + 1):
            value *= x
            power[m] += value
    series[0] = 1.0
    for c in range(1, size + 1):
        total = 0.0
        for m in range(1, c + 1):
            total += power[m] * series[c - m]
        series[c] = total / c


@kernel
def draw_share(left: int, power: Floats, series: Floats, rng: Rng) -> int:
    """Draw how many of the tokens `left` share the topic of the first of them."""
    rest = rng.random() * series[left] * left
    m = 1
    while m < left:
        rest -= power[m] * series[left - m]
        if rest < 0.0:
            break
        m += 1
    return m


@kernel
def whole_power(x: float, m: int) -> float:
    """Return x^m by m multiplications: for small m, far faster than `pow`."""
    result = 1.0
    for _ in range(m):
        result *= x
    return result


@kernel
def topic_of_many(
    u: int,
    r: int,
    n_here: int,
    topic: Ints32,
    term: Floats,
    weight: Floats,
    prior: Floats,
    m: int,
    rest: float,
) -> int:
    """Return the topic where the cumulative sum of (C_k + prior_k) weight_k^m exceeds `rest`."""
    for i in range(n_here):
        rest -= term[i] * whole_power(weight[u, topic[r, i]], m - 1)
        if rest < 0.0:
            return int(topic[r, i])
    last = 0  # the last possible topic gets a rest left by rounding
    for k in range(len(prior)):
        if weight[u, k] > 0.0:
            last = k
            rest -= prior[k] * whole_power(weight[u, k], m)
            if rest < 0.0:
                return k
    return last
