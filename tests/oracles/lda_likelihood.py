"""The likelihood of documents under LDA with fixed topics, slow and plain."""

import itertools
import math
from collections import Counter

import numpy as np
from scipy.special import psi


def log_prior_of_counts(topic_counts, alpha):
    """log Z(C + alpha) / Z(alpha), Z(a) = ∏Γ(a_k) / Γ(Σa_k), for one assignment's counts C."""
    total = math.lgamma(sum(alpha)) - math.lgamma(sum(alpha) + sum(topic_counts))
    for c, a in zip(topic_counts, alpha, strict=True):
        total += math.lgamma(a + c) - math.lgamma(a)
    return total


def tokens_of(counts):
    return [w for w, count in enumerate(counts) for _ in range(int(count))]


def log_probability_by_enumeration(counts, topic_word, alpha):
    """log p(tokens in order): every one of the K^L assignments."""
    tokens, n_topics = tokens_of(counts), len(alpha)
    total = 0.0
    for assignment in itertools.product(range(n_topics), repeat=len(tokens)):
        p = math.exp(log_prior_of_counts([assignment.count(k) for k in range(n_topics)], alpha))
        for k, w in zip(assignment, tokens, strict=True):
            p *= topic_word[k][w]
        total += p
    return math.log(total) if total > 0 else -math.inf


def log_probability_by_polynomial(counts, topic_word, alpha):
    """The same: coefficients of ∏_l (Σ_k φ_k,w_l x_k), which say all that p depends on."""
    n_topics = len(alpha)
    coefficients = {(0,) * n_topics: 1.0}
    for w in tokens_of(counts):
        product = Counter()
        for exponent, value in coefficients.items():
            for k in range(n_topics):
                raised = (*exponent[:k], exponent[k] + 1, *exponent[k + 1 :])
                product[raised] += value * topic_word[k][w]
        coefficients = product
    terms = coefficients.items()
    total = sum(value * math.exp(log_prior_of_counts(exponent, alpha)) for exponent, value in terms)
    return math.log(total) if total > 0 else -math.inf


def log_probability_of_completion(seen, scored, topic_word, alpha, n_iterations=500):
    """Σ log Σ_k θ̂_k φ_kw over the scored tokens, θ̂ the mean of q(θ) given the seen ones (V,)."""
    n_topics = len(alpha)
    gamma = np.array([a + sum(seen) / n_topics for a in alpha])
    for _ in range(n_iterations):
        theta, updated = np.exp(psi(gamma) - psi(gamma.sum())), np.array(alpha, dtype=float)
        for w in tokens_of(seen):
            joint = np.array([theta[k] * topic_word[k][w] for k in range(n_topics)])
            updated += joint / joint.sum()
        gamma = updated
    mean, topics = gamma / gamma.sum(), range(n_topics)
    each = (sum(mean[k] * topic_word[k][w] for k in topics) for w in tokens_of(scored))
    return sum(math.log(p) for p in each)
