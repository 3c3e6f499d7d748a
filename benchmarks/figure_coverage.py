"""Coverage of the intervals of `evaluate --measures`: how often 95 % intervals have the truth.

    python -m benchmarks.figure_coverage [--repeats N] [--only NAME …]

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
from evaluation.topics.labels import (
    CLUSTER_MEASURES,
    accuracy,
    cluster_agreement,
    label_folds,
    right_predictions,
)
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
        """Return the coherence of a model's words in some documents."""
        ids = tuple(map(str, range(len(rows))))
        corpus = Corpus(self.counts[rows], self.vocabulary, ids)
        return word_coherence(self.words[which], corpus, groups_of(ids)).jackknifed

    def agreement(self, rows: np.ndarray, name: str) -> Figure:
        """Return the agreement of topics and labels of some documents."""
        group_of = groups_of(list(map(str, range(len(rows)))))
        return cluster_agreement(self.best[rows], self.labels[rows].tolist(), group_of)[name]

    def _top(self, topics: np.ndarray) -> list[list[str]]:
        return [[f"w{w}" for w in np.argsort(-row)[:10]] for row in topics]


def classified(
    rng: np.random.Generator, n_docs: int, centres: np.ndarray
) -> tuple[np.ndarray, ...]:
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


def coverage(draw: Draw, repeats: int) -> tuple[float, float, float, float]:
    """Return the shares of intervals with the truth, and with the mean of all estimates, of which
    the bias is not part; the bias in true standard deviations; and stated over true errors.
    """
    drawn = [draw(np.random.default_rng(1000 + seed)) for seed in range(repeats)]
    figures, truth = [figure for figure, _ in drawn], drawn[0][1]
    values = np.array([each.value for each in figures])
    bounds = np.array([each.interval() for each in figures])
    errors = np.array([each.standard_error for each in figures])
    spread, middle = float(values.std(ddof=1)), float(values.mean())
    hits = [float(((bounds[:, 0] <= x) & (x <= bounds[:, 1])).mean()) for x in (truth, middle)]
    ratio = float(np.sqrt(np.mean(errors**2))) / spread
    return hits[0], hits[1], (middle - truth) / spread, ratio


def of_documents(pool: Pool, n_docs: int) -> dict[str, Draw]:
    """Return draws of figures of documents of the pool."""
    everything = np.arange(POOL)
    coherences = [pool.coherence(everything, which).value for which in (0, 1)]

    def sample(rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, POOL, n_docs)

    def coherence(rng: np.random.Generator) -> tuple[Figure, float]:
        return pool.coherence(sample(rng), 0), coherences[0]

    def difference(rng: np.random.Generator) -> tuple[Figure, float]:
        rows = sample(rng)
        gap = pool.coherence(rows, 0).minus(pool.coherence(rows, 1))
        figure = Figure(gap.value, gap.standard_error, gap.degrees)
        return figure, coherences[0] - coherences[1]

    def agreement(name: str) -> Draw:
        figure = pool.agreement(everything, name)
        true = figure.value + figure.bias  # the pool is all there is: nothing is to be corrected
        return lambda rng: (pool.agreement(sample(rng), name), true)

    names = {"c_npmi": coherence, "difference of c_npmi": difference}
    names |= {name: agreement(name) for name in CLUSTER_MEASURES}
    return {f"{name}, {n_docs} documents": draw for name, draw in names.items()}


def of_accuracy(n_docs: int) -> Draw:
    """Return draws of the accuracy in fresh documents."""
    centres = np.random.default_rng(3).uniform(0.05, 0.6, (4, 10))
    true = accuracy_truth(n_docs, centres)

    def draw(rng: np.random.Generator) -> tuple[Figure, float]:
        shares, labels = classified(rng, n_docs, centres)
        ids = list(map(str, range(n_docs)))
        folds = label_folds(labels.tolist(), ids)
        return accuracy(shares, labels.tolist(), folds, groups_of(ids)), true

    return draw


def of_models(name: str, n_models: int) -> Draw:
    """Return draws of the agreement of models that are one truth with noise."""
    topics = np.random.default_rng(4).dirichlet(np.full(60, 0.1), 5)
    rng = np.random.default_rng(5)
    pairs = [model_agreement(noisy_models(rng, topics, 2)) for _ in range(400)]
    true = float(np.mean([getattr(each, name).value for each in pairs]))
    return lambda rng: (getattr(model_agreement(noisy_models(rng, topics, n_models)), name), true)


def cases() -> dict[str, Draw]:
    pool = Pool()
    found = of_documents(pool, 300) | of_documents(pool, POOL)
    found |= {f"accuracy, {n} documents": of_accuracy(n) for n in (200, 1000)}
    for name in ("cosine", "rank_biased_overlap", "share"):
        found |= {f"{name}, {n} models": of_models(name, n) for n in (3, 5, 10)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.figure_coverage")
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--only", nargs="+", default=[""], help="figures whose names begin so")
    arguments = parser.parse_args()
    rows = []
    for name, draw in cases().items():
        if not name.startswith(tuple(arguments.only)):
            continue
        share, of_mean, bias, ratio = coverage(draw, arguments.repeats)
        rows.append([name, f"{share:.3f}", f"{of_mean:.3f}", f"{bias:+.2f}", f"{ratio:.2f}"])
        print(*rows[-1], sep="  ", flush=True)
    header = ["figure", "truth", "mean of estimates", "bias / deviation", "stated / true error"]
    print(f"\n{arguments.repeats} repeats; 95 % intervals that have the")
    print(markdown([header, *rows]))


if __name__ == "__main__":
    main()
