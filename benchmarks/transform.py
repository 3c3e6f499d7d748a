"""Topic proportions of new documents: ours against scikit-learn's, with the same topics.

    python -m benchmarks.transform [--topics 25 100 1000]

The topics are those of one pass of OnlineLDA over the reference counts, alpha 0.1, eta 0.01. Both
then infer the test documents on one thread. Tokens by CPU seconds, the best of `--repeats`; for
comparison, those of the pass that trained, and those of one sweep of GibbsLDA over the training
documents after `--sweeps` others, dense up to 200 topics and sparse beyond. The perplexity is that
of the other halves of the test documents, completed by each library's own proportions of the first;
and by ours with the topics of GibbsLDA.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.reference_counts import reference_counts
from models import GibbsLDA, LDATopics, OnlineLDA
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


def gibbs(
    n_topics: int, train: sparse.csr_array, n_sweeps: int, repeats: int
) -> tuple[float, LDATopics]:
    """Millions of tokens a CPU second of the fastest sweep after `n_sweeps`, and the topics."""
    sampler = f"parallel-{'dense' if n_topics <= 200 else 'sparse'}"
    model = GibbsLDA(n_topics, n_iter=n_sweeps + repeats, sampler=sampler, random_state=1)
    times = [time.process_time()]
    for _ in model.iterate(train):
        times.append(time.process_time())  # noqa: PERF401 - a sweep ends here
    return float(train.sum()) / min(np.diff(times)[n_sweeps:]) / 1e6, model.topics_


def completed(
    topics: LDATopics, transform: Transform, halves: tuple[sparse.csr_array, ...]
) -> float:
    """Perplexity of the second halves."""
    seen, scored = halves
    log_p = log_word_probability(scored, transform(seen), topics.word_topic).sum()
    return float(np.exp(-log_p / scored.sum()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=20, help="of GibbsLDA before the timed ones")
    arguments = parser.parse_args()
    train, test = reference_counts()
    halves = split_tokens(test, np.random.default_rng(0))
    OnlineLDA(3, n_passes=1).fit(train[:100]).transform(test[:10])  # compile
    print("M tokens a CPU second:  training  sweep   ours (of Gibbs)  scikit-learn")
    for n_topics in arguments.topics:
        started = time.process_time()
        model = OnlineLDA(n_topics, alpha=ALPHA, eta=ETA, n_passes=1, random_state=1).fit(train)
        training = float(train.sum()) / (time.process_time() - started) / 1e6
        topics = model.topics_
        transforms = (topics.transform, sklearn_transform(topics, model.topic_word_dirichlet_))
        ours, theirs = (best_rate(each, test, arguments.repeats) for each in transforms)
        sweep, sampled = gibbs(n_topics, train, arguments.sweeps, arguments.repeats)
        of_sampled = best_rate(sampled.transform, test, arguments.repeats)
        perplexities = [completed(topics, each, halves) for each in transforms]
        print(
            f"K = {n_topics:4d} {training:21.2f} {sweep:6.2f} {ours:6.2f} ({of_sampled:5.2f})"
            f" {theirs:9.3f}; ours / sweep {ours / sweep:.2f} ({of_sampled / sweep:.2f}), / theirs"
            f" {ours / theirs:.1f}; perplexity {perplexities[0]:.2f}"
            f" ({completed(sampled, sampled.transform, halves):.2f}), theirs {perplexities[1]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
