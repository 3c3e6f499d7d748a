"""Online LDA against scikit-learn and gensim: quality after four passes, and time to their quality.

    python -m benchmarks.online_lda_vs_peers [--topics 25 100] [--seeds 3]

All learn from the same counts with the same priors, step sizes and batches, on two threads or
processes, and all are scored by the same document completion of the same test documents. Only
training is timed. "time to" is when the mean curve over seeds first reaches the peer's
mean perplexity after its four passes.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from gensim.matutils import Sparse2Corpus
from gensim.models import LdaMulticore
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from models import LDATopics, OnlineLDA

if TYPE_CHECKING:
    from collections.abc import Iterable

PASSES, BATCH, ALPHA, ETA, DECAY, OFFSET, JOBS = 4, 1000, 0.1, 0.01, 0.7, 10.0, 2


def perplexity(model: LDATopics, test: sparse.csr_array) -> float:
    return log_likelihood(
        model, test, "completion", n_samples=1, random_state=0, n_jobs=JOBS
    ).perplexity


def sklearn_run(
    train: sparse.csr_array, test: sparse.csr_array, n_topics: int, seed: int
) -> tuple[float, float]:
    model = LatentDirichletAllocation(
        n_topics,
        doc_topic_prior=ALPHA,
        topic_word_prior=ETA,
        learning_method="online",
        learning_decay=DECAY,
        learning_offset=OFFSET,
        batch_size=BATCH,
        max_iter=PASSES,
        total_samples=train.shape[0],
        n_jobs=JOBS,
        random_state=seed,
    )
    started = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - started
    return seconds, perplexity(LDATopics.from_sklearn(model), test)


def gensim_run(
    train: sparse.csr_array, test: sparse.csr_array, n_topics: int, seed: int
) -> tuple[float, float]:
    corpus = Sparse2Corpus(sparse.csr_matrix(train), documents_columns=False)
    words = {w: str(w) for w in range(train.shape[1])}
    started = time.perf_counter()
    model = LdaMulticore(
        corpus,
        n_topics,
        words,
        workers=JOBS,
        chunksize=BATCH,
        passes=PASSES,
        alpha=np.full(n_topics, ALPHA),
        eta=ETA,
        decay=DECAY,
        offset=OFFSET,
        eval_every=None,
        random_state=seed,
    )
    seconds = time.perf_counter() - started
    return seconds, perplexity(LDATopics.from_gensim(model), test)


def our_curve(
    train: sparse.csr_array, test: sparse.csr_array, n_topics: int, seed: int, cap: int
) -> list[tuple[float, float]]:
    """(seconds of training, test perplexity) after every fifth batch."""
    model = OnlineLDA(
        n_topics,
        alpha=ALPHA,
        eta=ETA,
        learning_decay=DECAY,
        learning_offset=OFFSET,
        batch_size=BATCH,
        max_e_iterations=cap,
        n_passes=PASSES,
        random_state=seed,
        n_jobs=JOBS,
    )
    curve, seconds = [], 0.0
    started = time.perf_counter()
    for step in model.iterate(train):
        seconds += time.perf_counter() - started
        if step.n_batches % 5 == 0:
            curve.append((seconds, perplexity(model.topics_, test)))
        started = time.perf_counter()
    return curve


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--caps", type=int, nargs="+", default=[5, 20])
    arguments = parser.parse_args()
    train, test = reference_counts()
    OnlineLDA(2, n_passes=1).fit(train[:100])  # compile
    for n_topics in arguments.topics:
        seeds = range(arguments.seeds)
        peers = {
            "scikit-learn": [sklearn_run(train, test, n_topics, s) for s in seeds],
            "gensim LdaMulticore": [gensim_run(train, test, n_topics, s) for s in seeds],
        }
        ours = {
            cap: np.array([our_curve(train, test, n_topics, s, cap) for s in seeds]).mean(axis=0)
            for cap in arguments.caps
        }
        print(f"\nK = {n_topics}, {PASSES} passes, mean of {arguments.seeds} seeds")
        for cap, curve in ours.items():
            print(f"  OnlineLDA, cap {cap:3d}     {curve[-1, 0]:6.2f} s  {curve[-1, 1]:7.1f}")
        for name, runs in peers.items():
            seconds, quality = mean(r[0] for r in runs), mean(r[1] for r in runs)
            print(f"  {name:22s} {seconds:6.2f} s  {quality:7.1f}", end="")
            for cap, curve in ours.items():
                reached = curve[curve[:, 1] <= quality]
                if len(reached):
                    ratio = seconds / reached[0, 0]
                    print(f"  | cap {cap}: {reached[0, 0]:.2f} s, {ratio:.1f} x faster", end="")
                else:
                    print(f"  | cap {cap}: not reached", end="")
            print(flush=True)


if __name__ == "__main__":
    main()
