"""Topic proportions of new documents: ours against scikit-learn's, with the same topics.

    python -m benchmarks.transform [--topics 25 100 1000]

The topics are those of one pass of OnlineLDA over the reference counts, alpha 0.1, eta 0.01. Both
then infer the test documents on one thread. Tokens by CPU seconds, the best of `--repeats`; for
comparison, those of the pass that trained. The perplexity is that of the other halves of the test
documents, completed by each library's own proportions of the first.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.reference_counts import reference_counts
from models import LDATopics, OnlineLDA
from models.completion import split_tokens
from models.variational.word_probability import log_word_probability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy import sparse

    Transform = Callable[[sparse.csr_array], NDArray[np.float64]]

ALPHA, ETA = 0.1, 0.01


def sklearn_transform(topics: LDATopics, concentration: NDArray[np.float64]) -> Transform:
    """Its inference with our Dirichlet parameters (K, V), as after a `fit` of its own."""
    model = LatentDirichletAllocation(topics.n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA)
    model.partial_fit(np.eye(1, topics.n_words))  # makes what transform needs
    model.components_ = concentration
    model.exp_dirichlet_component_ = topics.topic_word
    return model.transform  # type: ignore[no-any-return]


def best_rate(transform: Transform, counts: sparse.csr_array, repeats: int) -> float:
    """Millions of tokens a CPU second."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        transform(counts)
        seconds.append(time.process_time() - started)
    return float(counts.sum()) / min(seconds) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    train, test = reference_counts()
    seen, scored = split_tokens(test, np.random.default_rng(0))
    OnlineLDA(3, n_passes=1).fit(train[:100]).transform(test[:10])  # compile
    print("M tokens a CPU second:  training   ours  scikit-learn  ratio   perplexity: ours  theirs")
    for n_topics in arguments.topics:
        started = time.process_time()
        model = OnlineLDA(n_topics, alpha=ALPHA, eta=ETA, n_passes=1, random_state=1).fit(train)
        training = float(train.sum()) / (time.process_time() - started) / 1e6
        topics = model.topics_
        transforms = (topics.transform, sklearn_transform(topics, model.topic_word_dirichlet_))
        ours, theirs = (best_rate(each, test, arguments.repeats) for each in transforms)
        perplexities = [
            np.exp(
                -log_word_probability(scored, each(seen), topics.word_topic).sum() / scored.sum()
            )
            for each in transforms
        ]
        print(
            f"K = {n_topics:4d} {training:21.2f} {ours:7.2f} {theirs:12.3f} {ours / theirs:6.1f}"
            f" {perplexities[0]:18.2f} {perplexities[1]:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
