"""The likelihood of counts under Gamma-Poisson factor analysis, slow and plain.

θ_k ~ Gamma(r_k, scale p_k / (1 - p_k)), y_w ~ Poisson(Σ_k θ_k φ_kw). Equations are those of
Capdevila et al. 2018.
"""

import itertools
import math

import numpy as np
from scipy import integrate, stats
from scipy.special import gammaln, roots_genlaguerre


def partitions_of(n, n_parts):
    """All ways (n_parts,) to write n as an ordered sum of whole numbers."""
    if n_parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in partitions_of(n - first, n_parts - 1):
            yield (first, *rest)


def documents_of_length(n, n_words):
    return list(partitions_of(n, n_words))


def log_negative_binomial(x, r, p):
    """NB(x; r, p) = Γ(x + r) / (x! Γ(r)) p^x (1 - p)^r."""
    if x and not p:
        return -math.inf
    in_p = x * math.log(p) if x else 0.0
    return math.lgamma(x + r) - math.lgamma(x + 1) - math.lgamma(r) + in_p + r * math.log1p(-p)


def log_negative_multinomial(x, r, q):
    """NM(x; r, q) = Γ(r + Σx) / (Γ(r) ∏x_w!) ∏ q_w^x_w (1 - Σq)^r."""
    total = math.lgamma(r + sum(x)) - math.lgamma(r) + r * math.log1p(-sum(q))
    for count, share in zip(x, q, strict=True):
        if count:
            total += count * math.log(share) if share else -math.inf
            total -= math.lgamma(count + 1)
    return total


def log_probability_by_partitions(counts, topic_word, shape, probability):
    """Eqs. 7 and 8: the sum over all topic counts of all words."""
    n_topics = len(shape)
    q = [
        [p * weight / (1 - p + p * sum(row)) for weight in row]
        for p, row in zip(probability, topic_word, strict=True)
    ]
    logs = []
    for partition in itertools.product(*(list(partitions_of(int(y), n_topics)) for y in counts)):
        x = list(zip(*partition, strict=True))  # (K, W)
        logs.append(sum(log_negative_multinomial(x[k], shape[k], q[k]) for k in range(n_topics)))
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in logs))


def log_probability_by_quadrature(counts, topic_word, shape, probability):
    """Eq. 6. In u = θ (Φ + (1 - p) / p) all but a polynomial is u^(r - 1) exp(-u).

    Generalised Gauss-Laguerre quadrature with n nodes is exact for degrees up to 2 n - 1.
    """
    counts, topic_word = np.asarray(counts), np.asarray(topic_word, dtype=float)
    n_nodes, nodes, weights, log_norm = int(counts.sum()) // 2 + 1, [], [], 0.0
    for phi, r, p in zip(topic_word, shape, probability, strict=True):
        rate = (1 - p) / p
        u, weight = roots_genlaguerre(n_nodes, r - 1)
        nodes.append(u / (rate + phi.sum()))
        weights.append(weight / weight.sum())
        log_norm += r * math.log(rate / (rate + phi.sum()))
    theta = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    weight = np.stack(np.meshgrid(*weights, indexing="ij"), axis=-1).reshape(theta.shape)
    terms = weight.prod(axis=1) * np.prod((theta @ topic_word) ** counts, axis=1)
    return math.log(terms.sum()) + log_norm - gammaln(counts + 1).sum()


def log_probability_by_integration(counts, phi, r, p):
    """The same for one topic (V,), as it is written: an adaptive integral of eqs. 1 and 3."""
    prior = stats.gamma(r, scale=p / (1 - p))

    def density(theta):
        return prior.pdf(theta) * np.prod(stats.poisson.pmf(counts, theta * np.asarray(phi)))

    middle = prior.mean() + 1.0
    parts = [(0, middle), (middle, 10 * middle), (10 * middle, math.inf)]
    return math.log(sum(integrate.quad(density, *part, epsrel=1e-11)[0] for part in parts))


def log_probability_of_one_topic(counts, phi, r, p):
    """A negative binomial number of tokens, spread over words as the topic (V,) says."""
    phi = np.asarray(phi, dtype=float)
    stays, n = (1 - p) / (1 - p + p * phi.sum()), int(np.sum(counts))
    length = stats.nbinom.logpmf(n, r, stays)
    return float(length + stats.multinomial.logpmf(counts, n, phi / phi.sum()))


def length_probabilities(largest, topic_word, shape, probability):
    """(largest + 1,) of a document's number of tokens: each topic's, convolved."""
    result = np.ones(1)
    for phi, r, p in zip(topic_word, shape, probability, strict=True):
        stays = (1 - p) / (1 - p + p * np.sum(phi))
        each = stats.nbinom.pmf(np.arange(largest + 1), r, stays)
        result = np.convolve(result, each)[: largest + 1]
    return result


def conditional_by_partitions(y, shape, success):
    """Eq. 17 with eq. 19: NB(x_k; shape_k, success_k), over all x with Σ_k x_k = y."""
    return math.fsum(
        math.exp(sum(map(log_negative_binomial, x, shape, success)))
        for x in partitions_of(y, len(shape))
    )


def simulated_documents(topic_word, shape, probability, n_docs, rng):
    scale = np.asarray(probability) / (1 - np.asarray(probability))
    return rng.poisson(rng.gamma(shape, scale, (n_docs, len(shape))) @ np.asarray(topic_word))
