"""Coverage of the intervals of `evaluate --measures`: how often 95 % intervals have the truth.

    python -m benchmarks.figure_coverage [--repeats N] [--only NAME …]

Documents are drawn with replacement from a pool, whose figure is the truth: 3,000 simulated
documents of 20 topics. Accuracy is of fresh documents, and its truth the mean accuracy, on others,
of classifiers of as many training documents. Topics of diversity and exclusivity are drawn, and the
truth is the mean over 2,000 draws of as many. Models of stability are a truth's topics with noise,
and its truth the mean over 400 pairs, or over 400 others of one model.
"""

from __future__ import annotations

import argparse
import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.lda_trainers.table import markdown
from corpora import Corpus
from evaluation.figure import Figure, figure_of, groups_of, mean_figure, mean_over_seeds
from evaluation.topics.agreement import model_agreement
from evaluation.topics.labels import (
    CLUSTER_MEASURES,
    accuracy,
    cluster_agreement,
    label_folds,
    right_predictions,
    table_agreement,
)
from evaluation.topics.quality import exclusivity
from evaluation.topics.word_coherence import word_coherence
from evaluation.topics.word_diversity import word_diversity
from models.described.topics import DescribedTopics
from models.topics import TopicWords
from pipeline.scoring.measures import STABILITY

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
        noisy = 0.8 * self.topics + 0.2 * rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
        self.words = [self._top(each) for each in (self.topics, noisy)]
        self.n_tokens = 1 + rng.geometric(1 / LENGTH, POOL)
        self.loss = self.n_tokens * rng.normal(7, 1 / np.sqrt(self.n_tokens) + 0.3)

    def coherence(self, rows: np.ndarray, which: int, n_words: int) -> Figure:
        """Return the coherence of a model's words in some documents."""
        ids = tuple(map(str, range(len(rows))))
        corpus = Corpus(self.counts[rows], self.vocabulary, ids)
        found = word_coherence(self.words[which], corpus, groups_of(ids), n_words=n_words)
        return found.figure

    def agreement(self, rows: np.ndarray, name: str) -> Figure:
        """Return the agreement of topics and labels of some documents."""
        group_of = groups_of(list(map(str, range(len(rows)))))
        return cluster_agreement(self.best[rows], self.labels[rows].tolist(), group_of)[name]

    def agreement_truth(self, name: str) -> float:
        """Return the agreement of infinitely many documents like those of the pool."""
        n_kl = np.zeros((N_TOPICS, 5), dtype=np.int64)
        np.add.at(n_kl, (self.best, np.unique(self.labels, return_inverse=True)[1]), 1000)
        return table_agreement(n_kl)[name]

    def nats(self, rows: np.ndarray, offsets: np.ndarray) -> Figure:
        """Return nats a word in some documents, a mean over models with these offsets."""
        n, group_of = self.n_tokens[rows], groups_of(list(map(str, range(len(rows)))))
        losses = [self.loss[rows] + n * offset for offset in offsets]
        return mean_over_seeds(
            [figure_of(lambda kept, x=x: x[kept].sum() / n[kept].sum(), group_of) for x in losses]
        )

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


def coverage(draw: Draw, repeats: int) -> list[float]:
    """Return the share of figures with an interval; those of intervals with the truth, and with the
    mean of all estimates, of which the bias is not part; the bias in true standard deviations; and
    stated over true errors.
    """
    drawn = [draw(np.random.default_rng(1000 + seed)) for seed in range(repeats)]
    figures, truth = [figure for figure, _ in drawn], drawn[0][1]
    values = np.array([each.value for each in figures])
    spread, middle = float(values.std(ddof=1)), float(values.mean())
    stated = [each for each in figures if np.isfinite(each.standard_error)]
    found = [len(stated) / repeats, np.nan, np.nan, (middle - truth) / spread, np.nan]
    if stated:
        low, high = np.array([each.interval() for each in stated]).T
        found[1:3] = [float(((low <= x) & (x <= high)).mean()) for x in (truth, middle)]
        found[4] = float(np.sqrt(np.mean([each.standard_error**2 for each in stated]))) / spread
    return found


def of_documents(pool: Pool, n_docs: int) -> dict[str, Draw]:
    """Return draws of figures of documents of the pool."""
    everything = np.arange(POOL)

    def sample(rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, POOL, n_docs)

    def coherence(n_words: int) -> Draw:
        true = pool.coherence(everything, 0, n_words).value
        return lambda rng: (pool.coherence(sample(rng), 0, n_words), true)

    def difference(n_words: int) -> Draw:
        coherences = [pool.coherence(everything, which, n_words).value for which in (0, 1)]

        def draw(rng: np.random.Generator) -> tuple[Figure, float]:
            rows = sample(rng)
            gap = pool.coherence(rows, 0, n_words).minus(pool.coherence(rows, 1, n_words))
            figure = Figure(gap.value, gap.standard_error, int(gap.degrees))
            return figure, coherences[0] - coherences[1]

        return draw

    def agreement(name: str) -> Draw:
        true = pool.agreement_truth(name)
        return lambda rng: (pool.agreement(sample(rng), name), true)

    def nats(n_seeds: int) -> Draw:
        true = float(pool.loss.sum() / pool.n_tokens.sum())
        spread = 0.0 if n_seeds == 1 else 0.03
        return lambda rng: (pool.nats(sample(rng), rng.normal(0, spread, n_seeds)), true)

    names = {"nats a word": nats(1), "nats a word of 3 seeds": nats(3)}
    names |= {f"c_npmi of {n} words": coherence(n) for n in (10, 3)}
    names |= {f"difference of c_npmi of {n} words": difference(n) for n in (10, 3)}
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


def of_topics(name: str, n_topics: int) -> Draw:
    """Return draws of a figure over topics, some of whose words are frequent in all."""
    weights = 0.1 * 400 / np.arange(1, N_WORDS + 1) ** 0.7 / 20

    def one(rng: np.random.Generator) -> Figure:
        topics = rng.dirichlet(weights, n_topics)
        if name == "exclusivity":
            return mean_figure(exclusivity(TopicWords(topics)))
        return word_diversity([[str(w) for w in np.argsort(-row)[:25]] for row in topics])

    rng = np.random.default_rng(6)
    true = float(np.mean([one(rng).value for _ in range(2000)]))
    return lambda rng: (one(rng), true)


def of_models(name: str, n_models: int) -> Draw:
    """Return draws of the agreement of models that are one truth with noise."""
    topics = np.random.default_rng(4).dirichlet(np.full(60, 0.1), 5)
    rng = np.random.default_rng(5)
    pairs = [model_agreement(noisy_models(rng, topics, 2)) for _ in range(400)]
    true = float(np.mean([getattr(each, name).value for each in pairs]))
    return lambda rng: (
        getattr(model_agreement(noisy_models(rng, topics, n_models)), name),
        true,
    )


def of_one_model(name: str, n_others: int) -> Draw:
    """Return draws of the agreement of one model with others."""
    topics = np.random.default_rng(4).dirichlet(np.full(60, 0.1), 5)
    rng = np.random.default_rng(5)
    first = noisy_models(rng, topics, 1)
    pairs = [model_agreement(first + noisy_models(rng, topics, 1)) for _ in range(400)]
    true = float(np.mean([each.of_model(0, name).value for each in pairs]))
    return lambda rng: (
        model_agreement(first + noisy_models(rng, topics, n_others)).of_model(0, name),
        true,
    )


def cases() -> dict[str, Callable[[], Draw]]:
    """Return what makes the draws, by name."""
    pool = Pool()
    found = {}
    for n_docs in (300, POOL):
        found |= {name: lambda d=draw: d for name, draw in of_documents(pool, n_docs).items()}
    found |= {f"accuracy, {n} documents": partial(of_accuracy, n) for n in (200, 1000)}
    for name, n in itertools.product(("diversity", "exclusivity"), (20, 100)):
        found[f"{name}, {n} topics"] = partial(of_topics, name, n)
    for name, shown in STABILITY.items():
        found |= {f"{shown}, {n} models": partial(of_models, name, n) for n in (3, 5, 10)}
        found |= {
            f"{shown}, one model and {n} others": partial(of_one_model, name, n) for n in (3, 9)
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.figure_coverage")
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--only", nargs="+", default=[""], help="figures whose names begin so")
    arguments = parser.parse_args()
    rows = []
    for name, make in cases().items():
        if not name.startswith(tuple(arguments.only)):
            continue
        stated, share, of_mean, bias, ratio = coverage(make(), arguments.repeats)
        cells = f"{stated:.3f} {share:.3f} {of_mean:.3f} {bias:+.2f} {ratio:.2f}".split()
        rows.append([name, *(each.replace("nan", "–") for each in cells)])
        print(*rows[-1], sep="  ", flush=True)
    header = [
        "figure",
        "stated",
        "truth",
        "mean of estimates",
        "bias / deviation",
        "stated / true error",
    ]
    print(f"\n{arguments.repeats} repeats; 95 % intervals that are stated, and have the")
    print(markdown([header, *rows]))


if __name__ == "__main__":
    main()
