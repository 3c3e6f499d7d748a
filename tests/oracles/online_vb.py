"""Online variational Bayes for LDA in plain loops over a dense λ (Hoffman, Blei & Bach 2010)."""

import math

import numpy as np
from scipy.special import gammaln, psi


def expected_log(dirichlet):
    """E[log p_i] of one Dirichlet (n,)."""
    norm = psi(sum(dirichlet))
    return np.array([psi(x) - norm for x in dirichlet])


def infer_document(counts, topic_word_weight, alpha, gamma, max_iterations, tolerance):
    """The fixed point of γ (K,) for one dense document (V,); weights are (K, V)."""
    words, gamma = [w for w in range(len(counts)) if counts[w] > 0], np.array(gamma, dtype=float)
    for _ in range(max_iterations):
        theta, updated = np.exp(expected_log(gamma)), np.array(alpha, dtype=float)
        for w in words:
            norm = sum(theta[k] * topic_word_weight[k][w] for k in range(len(alpha)))
            for k in range(len(alpha)):
                updated[k] += counts[w] * theta[k] * topic_word_weight[k][w] / norm
        change, gamma = np.mean(np.abs(updated - gamma)), updated
        if change < tolerance:
            break
    return gamma


def expected_counts(documents, topic_word_weight, gamma):
    """Σ_d n_dw φ_dwk (K, V), the sufficient statistics."""
    n_topics, n_words = len(topic_word_weight), len(topic_word_weight[0])
    total = np.zeros((n_topics, n_words))
    for d, counts in enumerate(documents):
        theta = np.exp(expected_log(gamma[d]))
        for w in range(n_words):
            if counts[w] > 0:
                joint = [theta[k] * topic_word_weight[k][w] for k in range(n_topics)]
                for k in range(n_topics):
                    total[k, w] += counts[w] * joint[k] / sum(joint)
    return total


def mean(dirichlet):
    """E[p_i] of one Dirichlet (n,)."""
    return np.array([x / sum(dirichlet) for x in dirichlet])


def online_step(
    documents,
    topic_word_dirichlet,
    alpha,
    eta,
    *,
    step_size,
    total_documents,
    frozen=(),
    expectation="log",
    **e_step,
):
    """λ (K, V) after one batch, and γ (S, K) of its documents, each from an even start."""
    is_mean = expectation == "mean"
    rows = [mean(row) if is_mean else np.exp(expected_log(row)) for row in topic_word_dirichlet]
    weight = np.array(rows)
    gamma = [
        infer_document(counts, weight, alpha, alpha + sum(counts) / len(alpha), **e_step)
        for counts in documents
    ]
    gained, updated = expected_counts(documents, weight, gamma), np.empty_like(topic_word_dirichlet)
    for k in range(updated.shape[0]):
        for w in range(updated.shape[1]):
            target = eta[w] + total_documents / len(documents) * gained[k, w]
            updated[k, w] = (1 - step_size) * topic_word_dirichlet[k, w] + step_size * target
            if w in frozen:
                updated[k, w] = eta[w]
    return updated, np.array(gamma)


def negative_divergence(prior, posterior):
    """E_q[log p] - E_q[log q] of Dirichlets p and q (n,)."""
    total = gammaln(sum(prior)) - gammaln(sum(posterior))
    for a, b, elog in zip(prior, posterior, expected_log(posterior), strict=True):
        total += gammaln(b) - gammaln(a) + (a - b) * elog
    return float(total)


def document_bound(counts, elog_topic_word, alpha, gamma):
    """The bound of one document (V,), by log-sum-exp; `elog_topic_word` is (K, V)."""
    elog_theta, total = expected_log(gamma), negative_divergence(alpha, gamma)
    for w, count in enumerate(counts):
        if count > 0:
            terms = [elog_theta[k] + elog_topic_word[k][w] for k in range(len(alpha))]
            largest = max(terms)
            total += count * (largest + math.log(sum(math.exp(t - largest) for t in terms)))
    return total
