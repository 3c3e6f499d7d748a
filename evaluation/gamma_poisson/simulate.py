"""Documents drawn from a Gamma-Poisson model, of lengths of its own, with their tokens' topics."""

import numpy as np
from scipy import sparse

from evaluation.arrays import Ints32, Rng
from evaluation.lda.simulate import counts_of_tokens
from models import GammaPoissonTopics


def simulated_documents(
    topics: GammaPoissonTopics, n_docs: int, rng: Rng
) -> tuple[sparse.csr_array, Ints32]:
    """Counts (D, V), and the topic (n_tokens,) of each token, in the order of the rows of counts.

    Given its words, a document's part of the topics is an exact draw from their posterior. Some
    documents may be empty.

    Raises ValueError if a document of the model has a million tokens or more on average.
    """
    expected = topics.topic_word.sum(axis=1)  # Φ
    mean = float((topics.shape / topics.rate) @ expected)
    if not mean < MAX_TOKENS:
        raise ValueError(f"documents of this model have {mean:.3g} tokens: too many to simulate")
    scores = rng.gamma(topics.shape, 1.0 / topics.rate, (n_docs, topics.n_topics))
    n_dk = rng.poisson(scores * expected)
    topic_of = np.repeat(np.tile(np.arange(topics.n_topics), n_docs), n_dk.ravel()).astype(np.int32)
    word_of = np.empty(len(topic_of), dtype=np.int32)
    for k in np.unique(topic_of):
        tokens = np.flatnonzero(topic_of == k)
        share = topics.topic_word[k] / expected[k]
        word_of[tokens] = rng.choice(topics.n_words, size=len(tokens), p=share)
    return counts_of_tokens(n_dk.sum(axis=1), word_of, topic_of, topics.n_words)


MAX_TOKENS = 1e6
