"""The probability of a topic matrix and all of its moves, slow and plain.

Of the topics only what they were made of is used: topic_word, edge_topic, edge_words, edge_weight,
half_length and log_partition. A topic matrix is Z (V, K).
"""

import itertools
import math


def log_probability(topics, Z):
    """Σ_k log p(z_k | θ^k, Φ^k, m_k), by eq. 1 of Inouye et al. 2015 for each k."""
    return math.fsum(
        log_probability_of_field(topics, k, [int(row[k]) for row in Z])
        for k in range(len(topics.topic_word))
    )


def log_probability_of_field(topics, k, z):
    """θ·z + ω z·Φz - Σ log z! - A, of counts z (V,) in topic k."""
    length = sum(z)
    total = [-log_partition(topics, k, length)]
    for s, n in enumerate(z):
        total += [n * math.log(topics.topic_word[k, s]), -math.lgamma(n + 1)]
    weight = 1 / (1 + (length / topics.half_length[k]) ** 2)
    for topic, (s, t), phi in zip(
        topics.edge_topic, topics.edge_words, topics.edge_weight, strict=True
    ):
        if topic == k:  # which is in Φ twice
            total.append(2 * weight * phi * z[s] * z[t])
    return math.fsum(total)


def log_partition(topics, k, length):
    """A^k(L); beyond the table A + log L! grows as ω(L) L²."""
    table = topics.log_partition[k]
    known = len(table) - 1
    if length <= known:
        return table[length] - math.lgamma(length + 1)

    def growth(n):
        return n**2 / (1 + (n / topics.half_length[k]) ** 2)

    return table[known] * growth(length) / growth(known) - math.lgamma(length + 1)


def moves(Z):
    """All topic matrices that differ from Z in one word's tokens in two topics."""
    n_topics = len(Z[0])
    for r, row in enumerate(Z):
        for l, q in itertools.permutations(range(n_topics), 2):  # noqa: E741
            for a in range(1, int(row[q]) + 1):
                moved = [list(map(int, each)) for each in Z]
                moved[r][l] += a
                moved[r][q] -= a
                yield moved


def greatest_gain(topics, Z):
    """What the best of all moves adds to the log-probability; -inf if there is no move."""
    before = log_probability(topics, Z)
    return max((log_probability(topics, moved) - before for moved in moves(Z)), default=-math.inf)


def all_matrices(x, n_topics):
    rows = [
        [row for row in itertools.product(range(int(n) + 1), repeat=n_topics) if sum(row) == n]
        for n in x
    ]
    return itertools.product(*rows)
