"""Differences of two models on real documents: annealing between them, or two estimates.

    python -m benchmarks.annealing_between [--topics 50] [--documents 50] [--articles 25000]

Both kinds of difference score the same test articles several times with other seeds, on one thread:
annealing between the models, and left-to-right-sequential with 100 particles under each. At equal
standard error, times are in proportion to time times variance over seeds, which is given as the
last column: how many times less annealing takes. What more samples do not take away is the bias,
here the mean over documents of a difference less its reference, which is the difference of two runs
of left-to-right-sequential with 40 times the particles; its own standard error is beside it.

Pairs of models, from near to far: other priors of the same topics (alpha 1.5 times as large), the
model 20 sweeps later, one topic more, another seed, twice as many topics. It needs the reference
counts. The articles to train with are the first of them.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reference_counts import reference_counts
from evaluation import cross_distances, log_likelihood, log_likelihood_difference
from models import GibbsLDA, LDATopics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scipy import sparse

    from evaluation.arrays import Floats

N_REPEATS = 6
REFERENCE_PARTICLES = 4000
SEQUENTIAL = "left-to-right-sequential"


def model_pairs(
    train: sparse.csr_array, n_topics: int
) -> Iterator[tuple[str, LDATopics, LDATopics]]:
    """Yield pairs of models with their description, from near to far."""

    def learned(seed: int, k: int = n_topics, n_iter: int = 100) -> LDATopics:
        return GibbsLDA(k, eta=0.1, n_iter=n_iter, random_state=seed, n_jobs=1).fit(train).topics_

    first = learned(1)
    yield "alpha × 1.5", LDATopics(first.topic_word, 1.5 * first.alpha), first
    yield "20 sweeps more", learned(1, n_iter=120), first
    other = learned(2)
    strange = int(cross_distances(other.topic_word, first.topic_word).min(axis=1).argmax())
    more = np.vstack([first.topic_word, other.topic_word[strange]])
    yield ("one topic more", LDATopics(more, np.append(first.alpha, other.alpha[strange])), first)
    yield "another seed", other, first
    yield f"{2 * n_topics} topics", learned(1, k=2 * n_topics), first


def repeated(score: Callable[[int], Floats]) -> tuple[Floats, float]:
    """Return scores (R, D) by seed, and the CPU milliseconds of a document."""
    score(0)  # compile
    started = time.process_time()
    found = np.array([score(seed) for seed in range(1, N_REPEATS + 1)])
    return found, 1e3 * (time.process_time() - started) / found.size


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--articles", type=int, default=25_000)
    arguments = parser.parse_args()
    train, test = reference_counts()
    rows = np.random.default_rng(0).choice(test.shape[0], arguments.documents, replace=False)
    documents = test[np.sort(rows)]
    print(
        f"{arguments.documents} articles of {documents.sum() / arguments.documents:.0f} tokens, "
        f"K = {arguments.topics}; nats² and milliseconds a document"
    )
    print(
        f"{'models':15} {'temperatures':>12} {'variance':>9} {'ms':>6} {'ess':>5} "
        f"{'bias':>15} {'sequential: variance':>21} {'ms':>6} {'gain':>7}"
    )
    for name, a, b in model_pairs(train[: arguments.articles], arguments.topics):
        compare(name, a, b, documents)


def compare(name: str, a: LDATopics, b: LDATopics, documents: sparse.csr_array) -> None:
    """Print a line for each number of temperatures."""

    def by_two(seed: int, n_samples: int = 100) -> Floats:
        one, two = (
            log_likelihood(each, documents, SEQUENTIAL, n_samples=n_samples, random_state=s)
            for each, s in ((a, 2 * seed), (b, 2 * seed + 1))
        )
        return one.log_likelihood - two.log_likelihood

    sequential, sequential_ms = repeated(by_two)
    sequential_variance = sequential.var(axis=0, ddof=1).mean()
    reference = by_two(1000, REFERENCE_PARTICLES)
    for n_temperatures in (10, 100, 400):
        sizes = []

        def by_annealing(seed: int, n: int = n_temperatures, sizes: list[float] = sizes) -> Floats:
            found = log_likelihood_difference(a, b, documents, n_temperatures=n, random_state=seed)
            sizes.append(float(found.effective_sample_size.mean()))
            return found.difference

        values, ms = repeated(by_annealing)
        variance = values.var(axis=0, ddof=1).mean()
        off = values.mean(axis=0) - reference
        error = off.std(ddof=1) / np.sqrt(len(off))
        gain = sequential_variance * sequential_ms / (variance * ms)
        print(
            f"{name:15} {n_temperatures:12} {variance:9.4f} {ms:6.1f} {np.mean(sizes):5.1f} "
            f"{off.mean():+7.3f} ± {error:5.3f} {sequential_variance:21.3f} {sequential_ms:6.1f} "
            f"{gain:7.2g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
