"""The fixed-length Poisson MRF, slow and plain: nothing but `math`.

`node` is θ (V,), `interactions` is Φ (V, V), both as lists or arrays; equations are those of
Inouye et al. 2015.
"""

import itertools
import math


def bags(n_words, length):
    if n_words == 1:
        yield (length,)
        return
    for first in range(length + 1):
        for rest in bags(n_words - 1, length - first):
            yield (first, *rest)


def weight(length, half_length=math.inf):
    """ω(L) = 1 - LogLogisticCDF(L) of scale c L̄ and shape 2 (Sec. 2.1)."""
    if not length or math.isinf(half_length):
        return 1.0
    return 1.0 - 1.0 / (1.0 + (length / half_length) ** -2)


def log_bag_weight(node, interactions, counts, half_length=math.inf):
    """θ·x + ω x·Φx - Σ log x_s!, all but A_L (eq. 1)."""
    words = range(len(counts))
    pairs = math.fsum(interactions[s][t] * counts[s] * counts[t] for s in words for t in words)
    alone = [node[s] * counts[s] - math.log(math.factorial(counts[s])) for s in words]
    return math.fsum([*alone, weight(sum(counts), half_length) * pairs])


def log_sum(logs):
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in logs))


def log_partition(node, interactions, length, half_length=math.inf):
    """A_L (eq. 3)."""
    every = bags(len(node), length)
    return log_sum([log_bag_weight(node, interactions, x, half_length) for x in every])


def sequences(node, interactions, length, half_length=math.inf):
    """{w_1..w_L: probability}: a bag is that of L! / Π x_s! sequences, all as probable."""
    logs = {}
    for tokens in itertools.product(range(len(node)), repeat=length):
        counts = [tokens.count(s) for s in range(len(node))]
        orders = math.factorial(length) / math.prod(math.factorial(x) for x in counts)
        logs[tokens] = log_bag_weight(node, interactions, counts, half_length) - math.log(orders)
    total = log_sum(list(logs.values()))
    return {tokens: math.exp(value - total) for tokens, value in logs.items()}


def altham_log_constant(length, probability, log_theta):
    """Log Σ_x C(n, x) p^x (1-p)^(n-x) θ^(x(n-x)) (Altham 1978, the multiplicative binomial)."""
    p, n, terms = probability, length, []
    for x in range(n + 1):
        ways = math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
        terms.append(ways + x * math.log(p) + (n - x) * math.log1p(-p) + x * (n - x) * log_theta)
    return log_sum(terms)


def annealed_log_weight(node, interactions, length, temperatures, rng, *, skip_first=False):
    """One chain (Sec. 2.1); `skip_first` leaves the step from γ = 0 out, as it must not be.

    The log-weight is of A_L + log L! - L logsumexp θ; ω = 1.
    """
    words = range(len(node))
    tokens = [_draw([math.exp(value) for value in node], rng) for _ in range(length)]
    log_weight = 0.0
    for t in range(1, len(temperatures)):
        counts = [tokens.count(s) for s in words]
        pairs = math.fsum(interactions[s][u] * counts[s] * counts[u] for s in words for u in words)
        if t > 1 or not skip_first:
            log_weight += (temperatures[t] - temperatures[t - 1]) * pairs
        for i in range(length):
            counts[tokens[i]] -= 1
            fields = [
                node[s] + 2 * temperatures[t] * sum(interactions[s][u] * counts[u] for u in words)
                for s in words
            ]
            tokens[i] = _draw([math.exp(field) for field in fields], rng)
            counts[tokens[i]] += 1
    return log_weight


def _draw(weights, rng):
    left = rng.random() * sum(weights)
    for s, value in enumerate(weights):
        left -= value
        if left < 0:
            return s
    return len(weights) - 1
