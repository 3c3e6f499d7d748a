"""The likelihood of documents under models of Poisson MRFs, slow and plain."""

import itertools
import math


def log_weight_of_topics(tokens, assignment, model, t=1.0):
    """log f_t of one assignment: ∏ φ ∏_k ∏_{i<m_k} (alpha_k + t i) exp(t [ω Q - Ã]).

    `model` has the names topic_word (K, V), phi (K, V, V), half_length (K,), table (K, L + 1) and
    alpha (K,).
    """
    total = 0.0
    for k in range(len(model["alpha"])):
        of_topic = [w for w, topic in zip(tokens, assignment, strict=True) if topic == k]
        m = len(of_topic)
        total += sum(math.log(model["topic_word"][k][w]) for w in of_topic)
        total += sum(math.log(model["alpha"][k] + t * i) for i in range(m))
        pairs = sum(model["phi"][k][v][w] for v, w in itertools.permutations(of_topic, 2))
        omega = 1.0 / (1.0 + (m / model["half_length"][k]) ** 2)
        total += t * (omega * pairs - model["table"][k][m])
    return total


def assignments(tokens, model):
    return list(itertools.product(range(len(model["alpha"])), repeat=len(tokens)))


def log_probability_by_enumeration(tokens, model):
    """log p(tokens in order): every one of the K^L assignments."""
    every = assignments(tokens, model)
    total = sum(math.exp(log_weight_of_topics(tokens, each, model)) for each in every)
    alpha_sum = sum(model["alpha"])
    return math.log(total) - sum(math.log(alpha_sum + i) for i in range(len(tokens)))


def log_probability_of_field(tokens, model, k):
    """log p(tokens in order) under field k alone."""
    total = sum(math.log(model["topic_word"][k][w]) for w in tokens)
    omega = 1.0 / (1.0 + (len(tokens) / model["half_length"][k]) ** 2)
    for v, w in itertools.permutations(tokens, 2):
        total += omega * model["phi"][k][v][w]
    return total - model["table"][k][len(tokens)]


def log_probability_of_mixture(tokens, model):
    """log Σ_k π_k p_k, π in proportion to what is alpha in a topic model."""
    total = sum(
        share / sum(model["alpha"]) * math.exp(log_probability_of_field(tokens, model, k))
        for k, share in enumerate(model["alpha"])
    )
    return math.log(total)


def log_partitions(model, longest):
    """(K, longest + 1), A_L + log L!: logarithm of the sum over all sequences of L words."""
    n_words, found = len(model["topic_word"][0]), []
    for k in range(len(model["alpha"])):
        free, of_length = {**model, "table": {k: [0.0] * (longest + 1)}}, []
        for length in range(longest + 1):
            every = itertools.product(range(n_words), repeat=length)
            total = sum(math.exp(log_probability_of_field(tokens, free, k)) for tokens in every)
            of_length.append(math.log(total))
        found.append(of_length)
    return found


def random_model(rng, n_topics=3, n_words=5, longest=8, scale=0.4, density=0.5, low=-1.0, high=1.0):
    """Arrays of a model, Φ of signs from `low` to `high`; the first field has ω = 1."""
    shape = (n_topics, n_words, n_words)
    phi = rng.uniform(low, high, shape) * scale * (rng.random(shape) < density)
    phi *= [[i < j for j in range(n_words)] for i in range(n_words)]
    half_length = rng.uniform(2.0, 9.0, n_topics)
    half_length[0] = math.inf
    return {
        "topic_word": rng.dirichlet([1.0] * n_words, n_topics),
        "phi": phi + phi.transpose(0, 2, 1),
        "half_length": half_length,
        "table": rng.normal(0.0, 0.5, (n_topics, longest + 1)),
        "alpha": rng.uniform(0.1, 1.0, n_topics),
    }
