"""Documents drawn from known fields, whose words depend on each other strongly."""

import numpy as np
from scipy import sparse

from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field

ATTRACTION, REPULSION = 0.15, -0.7  # Φ of a topic's first two words, and of its next two


def random_counts(seed=0, n_docs=40, n_words=8, rate=0.8):
    """Counts of which each document has a token."""
    counts = np.random.default_rng(seed).poisson(rate, size=(n_docs, n_words)).astype(np.int32)
    counts[:, 0] += counts.sum(axis=1) == 0
    return sparse.csr_array(counts)


def planted_fields(n_topics=2, words_each=8):
    """Fields (K of them) that prefer words of their own, two of which attract each other and two
    repel.
    """
    n_words, fields = n_topics * words_each, []
    for k in range(n_topics):
        node, first = np.full(n_words, np.log(0.02)), k * words_each
        node[first : first + words_each] = 0.0
        upper = np.zeros((n_words, n_words))
        upper[first, first + 1] = ATTRACTION
        upper[first + 2, first + 3] = REPULSION
        fields.append(Field(node, upper + upper.T))
    return fields


def draws(field, length, n_docs, rng, n_sweeps=20):
    """Counts (D, V) of documents of `length` tokens, by Gibbs sweeps over their tokens.
    P(w_l = s | rest) ∝ exp(θ_s + 2 Φ_s·x_-l) (Inouye et al. 2015, Sec. 2.1), by the largest of
    logarithms with Gumbel noise; from tokens that do not depend on each other.
    """
    n_words, phi = len(field.node), field.interactions.toarray()
    tokens = rng.choice(n_words, size=(n_docs, length), p=field.word_probability)
    counts = np.zeros((n_docs, n_words), dtype=np.int64)
    np.add.at(counts, (np.arange(n_docs)[:, None], tokens), 1)
    every = np.arange(n_docs)
    for place in np.tile(np.arange(length), n_sweeps):
        counts[every, tokens[:, place]] -= 1
        logits = field.node + 2.0 * field.weight(length) * counts @ phi
        tokens[:, place] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        counts[every, tokens[:, place]] += 1
    return counts


def planted_mixture(seed, n_docs=500, mean_length=15, fields=None):
    """Counts (D, V) of documents of one field each, and which (D,)."""
    rng, fields = np.random.default_rng(seed), fields or planted_fields()
    label = rng.integers(len(fields), size=n_docs)
    lengths = np.zeros((n_docs, len(fields)), dtype=np.int64)
    lengths[np.arange(n_docs), label] = 1 + rng.poisson(mean_length - 1, size=n_docs)
    return _documents(fields, lengths, rng), label


def planted_topic_model(seed, n_docs=500, mean_length=24, alpha=0.2, fields=None):
    """Counts (D, V) of documents whose tokens are shared out among fields, and shares (D, K)."""
    rng, fields = np.random.default_rng(seed), fields or planted_fields()
    shares = rng.dirichlet(np.full(len(fields), alpha), size=n_docs)
    n_tokens = 1 + rng.poisson(mean_length - 1, size=n_docs)
    lengths = np.array([rng.multinomial(n, p) for n, p in zip(n_tokens, shares, strict=True)])
    return _documents(fields, lengths, rng), lengths / n_tokens[:, None]


def _documents(fields, lengths, rng):
    """Documents with `lengths` (D, K) tokens of each field."""
    counts = np.zeros((len(lengths), fields[0].n_words), dtype=np.int64)
    for k, field in enumerate(fields):
        for m in np.unique(lengths[:, k]):
            chosen = lengths[:, k] == m
            counts[chosen] += draws(field, int(m), int(chosen.sum()), rng)
    return sparse.csr_array(counts)


def planted_pairs(field, k, words_each=8):
    """Φ of the two words of topic k that attract each other, and of the two that repel."""
    first, phi = k * words_each, field.interactions
    return float(phi[first, first + 1]), float(phi[first + 2, first + 3])
