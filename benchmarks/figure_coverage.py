"""Coverage of the intervals of `evaluate --measures`: how often 95 % intervals have the truth.

    python -m benchmarks.figure_coverage [--repeats N]

Documents are drawn with replacement from a pool, whose figure is the truth: 3,000 simulated
documents of 20 topics. Accuracy is of fresh documents, and its truth the mean accuracy, on others,
of classifiers of as many training documents. Models of stability are a truth's topics with noise,
and its truth the mean over 400 pairs.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.lda_trainers.table import markdown
from corpora import Corpus
from evaluation.figure import Figure, groups_of
from evaluation.topics.agreement import model_agreement
from evaluation.topics.labels import accuracy, cluster_agreement, label_folds, right_predictions
from evaluation.topics.word_coherence import word_coherence
from models.described.topics import DescribedTopics

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[np.random.Generator], tuple[Figure, float]]

POOL, N_TOPICS, N_WORDS, LENGTH = 3000, 20, 400, 60


class Pool:
    """Simulated documents with the topics of each, a label, and words of two models."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.topics = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
        shares = rng.dirichlet(np.full(N_TOPICS, 0.1), POOL)
        counts = np.array([rng.multinomial(LENGTH, each @ self.topics) for each in shares])
        self.counts = sparse.csr_array(counts.astype(np.int32))
        self.vocabulary = tuple(f"w{w}" for w in range(N_WORDS))
        self.best = shares.argmax(axis=1)
        others = rng.integers(0, 5, POOL)
        self.labels = np.where(rng.random(POOL) < 0.7, self.best % 5, others).astype(str)
        noisy = 0.5 * self.topics + 0.5 * rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
        self.words = [self._top(each) for each in (self.topics, noisy)]

    def coherence(self, rows: np.ndarray, which: int) -> Figure:
        ids = tuple(map(str, range(len(rows))))
        corpus = Corpus(self.counts[rows], self.vocabulary, ids)
        return word_coherence(self.words[which], corpus, groups_of(ids))[0]

    def agreement(self, rows: np.ndarray, name: str) -> Figure:
        group_of = groups_of(list(map(str, range(len(rows)))))
        return cluster_agreement(self.best[rows], self.labels[rows].tolist(), group_of)[name]

    def _top(self, topics: np.ndarray) -> list[list[str]]:
        return [[f"w{w}" for w in np.argsort(-row)[:10]] for row in topics]


def classified(rng: np.random.Generator, n_docs: int, centres: np.ndarray) -> tuple[np.ndarray, ...]:
    """Draw shares of topics, and labels that depend on them."""
    labels = rng.integers(0, len(centres), n_docs)
    shares = np.array([rng.dirichlet(centres[label]) for label in labels])
    return shares, labels.astype(str)


def accuracy_truth(n_docs: int, centres: np.ndarray, repeats: int = 40) -> float:
    """Return the mean accuracy of classifiers trained on four fifths of the documents."""
    rng = np.random.default_rng(1)
    n_train, n_test = n_docs * 4 // 5, 2000
    found = []
    for _ in range(repeats):
        shares, labels = classified(rng, n_train + n_test, centres)
        # Fold 0 is what is predicted, fold 1 what is learned from; the converse is not looked at.
        folds = np.repeat([1, 0], [n_train, n_test])
        right = right_predictions(shares, labels.tolist(), folds)
        found.append(right[folds == 0].mean())
    return float(np.mean(found))


def noisy_models(rng: np.random.Generator, truth: np.ndarray, n: int) -> list[DescribedTopics]:
    vocabulary = [f"w{w}" for w in range(truth.shape[1])]
    return [
        DescribedTopics.from_weights(
            [rng.dirichlet(200 * rng.uniform(0.2, 1.0) * row + 1e-3) for row in truth], vocabulary
        )
        for _ in range(n)
    ]


def coverage(draw: Draw, repeats: int) -> tuple[float, float, float]:
    """Return the share of intervals with the truth, the mean error of the estimates in their true
    standard deviations (bias), and the ratio of stated to true standard errors.
    """
    hits, values, errors, truth = [], [], [], 0.0
    for seed in range(repeats):
        figure, truth = draw(np.random.default_rng(1000 + seed))
        low, high = figure.interval()
        hits.append(low <= truth <= high)
        values.append(figure.value)
        errors.append(figure.standard_error)
    spread = float(np.std(values, ddof=1))
    bias = (float(np.mean(values)) - truth) / spread
    return float(np.mean(hits)), bias, float(np.sqrt(np.mean(np.square(errors)))) / spread


def cases() -> dict[str, Draw]:
    pool = Pool()
    everything = np.arange(POOL)
    found: dict[str, Draw] = {}

    def sample(rng: np.random.Generator, n_docs: int) -> np.ndarray:
        return rng.integers(0, POOL, n_docs)

    for n_docs in (300, 2000):
        true_coherence = [pool.coherence(everything, which).value for which in (0, 1)]

        def coherence(
            rng: np.random.Generator, n: int = n_docs, truth: list[float] = true_coherence
        ) -> tuple[Figure, float]:
            return pool.coherence(sample(rng, n), 0), truth[0]

        def difference(
            rng: np.random.Generator, n: int = n_docs, truth: list[float] = true_coherence
        ) -> tuple[Figure, float]:
            rows = sample(rng, n)
            gap = pool.coherence(rows, 0).minus(pool.coherence(rows, 1))
            return Figure(gap.value, gap.standard_error, gap.degrees), truth[0] - truth[1]

        found[f"c_npmi, {n_docs} documents"] = coherence
        found[f"difference of c_npmi, {n_docs} documents"] = difference
        for name in ("purity", "nmi", "ari", "homogeneity"):
            true = pool.agreement(everything, name).value

            def agreement(
                rng: np.random.Generator, n: int = n_docs, name: str = name, true: float = true
            ) -> tuple[Figure, float]:
                return pool.agreement(sample(rng, n), name), true

            found[f"{name}, {n_docs} documents"] = agreement
    centres = np.random.default_rng(3).uniform(0.05, 0.6, (4, 10))
    for n_docs in (200, 1000):
        true = accuracy_truth(n_docs, centres)

        def right(
            rng: np.random.Generator, n: int = n_docs, true: float = true
        ) -> tuple[Figure, float]:
            shares, labels = classified(rng, n, centres)
            ids = list(map(str, range(n)))
            folds = label_folds(labels.tolist(), ids)
            return accuracy(shares, labels.tolist(), folds, groups_of(ids)), true

        found[f"accuracy, {n_docs} documents"] = right
    topics = np.random.default_rng(4).dirichlet(np.full(60, 0.1), 5)
    for name in ("cosine", "rank_biased_overlap", "share"):
        rng = np.random.default_rng(5)
        pairs = [model_agreement(noisy_models(rng, topics, 2)) for _ in range(400)]
        true = float(np.mean([getattr(each, name).value for each in pairs]))
        for n in (3, 5, 10):

            def stability(
                rng: np.random.Generator, n: int = n, name: str = name, true: float = true
            ) -> tuple[Figure, float]:
                return getattr(model_agreement(noisy_models(rng, topics, n)), name), true

            found[f"{name}, {n} models"] = stability
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.figure_coverage")
    parser.add_argument("--repeats", type=int, default=300)
    arguments = parser.parse_args()
    rows = []
    for name, draw in cases().items():
        share, bias, ratio = coverage(draw, arguments.repeats)
        error = float(np.sqrt(share * (1 - share) / arguments.repeats))
        rows.append([name, f"{share:.3f} ± {error:.3f}", f"{bias:+.2f}", f"{ratio:.2f}"])
        print(*rows[-1], sep="  ", flush=True)
    header = ["figure", "coverage of 95 %", "bias in standard deviations", "stated / true error"]
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
