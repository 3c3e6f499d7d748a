"""Probability of one word's count given the topic counts of other words: exact, or sampled.

Given the topic counts X of words w' < w, topic k has NB(a_k, ρ_k) tokens of word w, a_k = r_k +
X_k, independently of other topics (Capdevila et al. 2018, eqs. 17 and 19), where in the units of
`by_document` ρ_k = q_kw / b_k and b_k = 1 - Q_k + Σ_w'≤w q_kw'. So

    p(y_w | x_<w) = ∏_k (1 - ρ_k)^a_k · c_y,   c_y = [z^y] ∏_k (1 - ρ_k z)^-a_k

The paper sums over binom(y + K - 1, K - 1) partitions. The recursion of `length` takes O(K y + y²):

    n c_n = Σ_{j=1}^n s_j c_{n-j},   s_j = Σ_k a_k ρ_k^j

A negative binomial variate is a Poisson number of clusters with logarithmic sizes (Quenouille
1949). The cluster of a token picked from n has size j with probability s_j c_{n-j} / (n c_n), and
topic k in proportion to a_k ρ_k^j. Cluster by cluster, this draws x_w given y_w and x_<w, exactly.
All ρ are divided by the largest: c_y gets the factor ρ_max^-y.
"""

import math

import numpy as np

from evaluation.arrays import Floats, Rng
from evaluation.gamma_poisson.topic_counts import spread
from evaluation.monte_carlo.token_sweep import pick
from models.kernel import kernel

LARGEST = 1e250  # threshold above which coefficients are scaled down
SMALLEST = 1e-100  # threshold below which coefficients are recomputed
FEW = 8  # number of factors up to which a product is faster than two logarithms of Γ


@kernel
def log_coefficient(
    n: int, shape: Floats, success: Floats, power: Floats, sums: Floats, coefficients: Floats
) -> float:
    """Return log c_n, c_n = [z^n] ∏_k (1 - success_k z)^-shape_k.

    `shape` and `success` (K,) are a and ρ over its largest, `power` (K,) is scratch. Sets `sums`
    (n + 1 or more,) to s_j for 1 <= j <= n, and `coefficients` to c_j for j <= n times a common
    factor, in place; coefficients far below c_n underflow to 0.
    """
    for k in range(len(shape)):
        power[k] = shape[k]
    coefficients[0], log_scale = 1.0, 0.0
    for i in range(1, n + 1):
        total = 0.0
        for k in range(len(shape)):
            power[k] *= success[k]
        for k in range(len(shape)):
            total += power[k]
        sums[i] = total
        total = 0.0
        for j in range(1, i + 1):
            total += sums[j] * coefficients[i - j]
        coefficients[i] = total / i
        if coefficients[i] > LARGEST:
            for j in range(i + 1):
                coefficients[j] /= LARGEST
            log_scale += math.log(LARGEST)
    return math.log(coefficients[n]) + log_scale


@kernel
def add_topic_counts(
    n: int,
    shape: Floats,
    success: Floats,
    sums: Floats,
    coefficients: Floats,
    room: tuple[Floats, Floats],
    rng: Rng,
) -> None:
    """Draw the topic counts of a word's n tokens and add them to `shape` (K,), in place.

    `sums` and `coefficients` are the results of `log_coefficient` for the same n, shape and
    success, and are mutated; `room` is two scratch arrays (K,).
    """
    added, p = room
    added[:] = 0.0
    while n > 0:
        if coefficients[n] < SMALLEST:  # recomputed with a scale that fits this n
            log_coefficient(n, shape, success, p, sums, coefficients)
        rest, size = rng.random() * n * coefficients[n], n
        for j in range(1, n + 1):
            value = sums[j] * coefficients[n - j]
            if value > 0.0:
                size = j
                if rest < value:
                    break
                rest -= value
        total = 0.0
        for k in range(len(p)):
            p[k] = shape[k] * success[k] ** size
        for k in range(len(p)):
            total += p[k]
        added[pick(p, rng.random() * total)] += size
        n -= size
    for k in range(len(shape)):
        shape[k] += added[k]


@kernel
def log_proposal_mean(
    n: int,
    shape: Floats,
    success: Floats,
    kept: Floats,
    n_proposals: int,
    room: tuple[Floats, Floats],
    rng: Rng,
) -> float:
    """Return the log of an unbiased estimate of c_n by `n_proposals` draws of x (eqs. 20 and 21).

    x ~ Multinomial(n, π), π_k in proportion to the expected score given x_<w times q_kw. That is
    a_k ρ_k / (1 - ρ_k) =: T π_k, so that with Γ(a + x) / Γ(a) = a (a + 1) … (a + x - 1) the weight
    of x is T^n / n! ∏_k ∏_{i < x_k} (1 + i / a_k) (1 - ρ_k).

    `kept` (K,) is 1 - ρ; the other arguments are as above.
    """
    counts, p = room
    total = 0.0
    for k in range(len(p)):
        p[k] = shape[k] * success[k] / kept[k]
    for k in range(len(p)):
        total += p[k]
    largest, scaled_sum = -np.inf, 0.0
    for _ in range(n_proposals):
        counts[:] = 0.0
        spread(p, total, n, counts, rng)
        log_weight, product = 0.0, 1.0
        for k in range(len(p)):
            x = counts[k]
            if x == 0.0:
                continue
            if x <= FEW:
                for i in range(int(x)):
                    product *= (1.0 + i / shape[k]) * kept[k]
                    if not 1e-100 < product < 1e100:
                        log_weight += math.log(product)
                        product = 1.0
            else:
                log_weight += x * math.log(kept[k] / shape[k])
                log_weight += math.lgamma(shape[k] + x) - math.lgamma(shape[k])
        log_weight += math.log(product)
        if log_weight > largest:
            scaled_sum *= math.exp(largest - log_weight)
            largest = log_weight
        scaled_sum += math.exp(log_weight - largest)
    mean = math.log(scaled_sum / n_proposals) + largest
    return mean + n * math.log(total) - math.lgamma(n + 1.0)
