"""Coverage of the intervals of `evaluate --measures`: how often 95 % intervals have the truth.

    python -m benchmarks.figure_coverage [--repeats N] [--only NAME …]

Documents are drawn with replacement from a pool, whose figure is the truth: 3,000 simulated
documents of 20 topics. Accuracy is of fresh documents, and its truth the mean accuracy, on others,
of classifiers of as many training documents. Topics of diversity and exclusivity are drawn, and the
truth is the mean over 500 draws of as many. Models of stability are a truth's topics with noise,
and its truth the mean over 2,000 pairs, or over 2,000 others of one model.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.lda_trainers.table import markdown
from corpora import Corpus
from evaluation.figure import Figure, figure_of, groups_of, mean_over_seeds
from evaluation.topics.agreement import model_agreement
from evaluation.topics.labels import (
    accuracy,
    cluster_agreement,
    label_folds,
    right_predictions,
    table_agreement,
)
from evaluation.topics.quality import exclusivity_figure
from evaluation.topics.word_coherence import word_coherence
from evaluation.topics.word_diversity import word_diversity
from models.described.topics import DescribedTopics
from models.topics import TopicWords
from pipeline.scoring.measures import STABILITY

if TYPE_CHECKING:
    from collections.abc import Callable

    Figures = dict[str, Figure]
    Case = tuple[Callable[[np.random.Generator], Figures], dict[str, float]]

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

    def agreement(self, rows: np.ndarray) -> Figures:
        """Return the agreement of topics and labels of some documents."""
        group_of = groups_of(list(map(str, range(len(rows)))))
        return cluster_agreement(self.best[rows], self.labels[rows].tolist(), group_of)

    def agreement_truth(self) -> dict[str, float]:
        """Return the agreement of infinitely many documents like those of the pool."""
        n_kl = np.zeros((N_TOPICS, 5), dtype=np.int64)
        np.add.at(n_kl, (self.best, np.unique(self.labels, return_inverse=True)[1]), 1000)
        return table_agreement(n_kl)

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


def coverage(figures: list[Figure], truth: float) -> list[float]:
    """Return the share of figures with an interval; those of intervals with the truth, and with the
    mean of all estimates, of which the bias is not part; the bias in true standard deviations; and
    stated over true errors.
    """
    values = np.array([each.value for each in figures])
    spread, middle = float(values.std(ddof=1)), float(values.mean())
    stated = [each for each in figures if np.isfinite(each.standard_error)]
    found = [len(stated) / len(figures), np.nan, np.nan, (middle - truth) / spread, np.nan]
    if stated:
        low, high = np.array([each.interval() for each in stated]).T
        found[1:3] = [float(((low <= x) & (x <= high)).mean()) for x in (truth, middle)]
        found[4] = float(np.sqrt(np.mean([each.standard_error**2 for each in stated]))) / spread
    return found


def of_likelihood(pool: Pool, n_docs: int) -> Case:
    """Return draws of nats a word, of one model and of three whose seeds differ."""
    true = float(pool.loss.sum() / pool.n_tokens.sum())

    def draw(rng: np.random.Generator) -> Figures:
        rows = rng.integers(0, POOL, n_docs)
        offsets = {"nats a word": np.zeros(1), "nats a word of 3 seeds": rng.normal(0, 0.03, 3)}
        return {name: pool.nats(rows, each) for name, each in offsets.items()}

    return draw, {"nats a word": true, "nats a word of 3 seeds": true}


def of_coherence(pool: Pool, n_docs: int) -> Case:
    """Return draws of the coherence of 10 and of 3 words, and the difference of two models."""

    def figures(rows: np.ndarray) -> Figures:
        first, second = (pool.coherence(rows, which, 3) for which in (0, 1))
        gap = first.minus(second)
        return {
            "c_npmi of 10 words": pool.coherence(rows, 0, 10),
            "c_npmi of 3 words": first,
            "difference of c_npmi": Figure(gap.value, gap.standard_error, int(gap.degrees)),
        }

    true = {name: figure.value for name, figure in figures(np.arange(POOL)).items()}
    return lambda rng: figures(rng.integers(0, POOL, n_docs)), true


def of_labels(pool: Pool, n_docs: int) -> Case:
    """Return draws of the agreement of topics and labels."""
    return lambda rng: pool.agreement(rng.integers(0, POOL, n_docs)), pool.agreement_truth()


def of_accuracy(n_docs: int) -> Case:
    """Return draws of the accuracy in fresh documents."""
    centres = np.random.default_rng(3).uniform(0.05, 0.6, (4, 10))
    true = accuracy_truth(n_docs, centres)

    def draw(rng: np.random.Generator) -> Figures:
        shares, labels = classified(rng, n_docs, centres)
        ids = list(map(str, range(n_docs)))
        folds = label_folds(labels.tolist(), ids)
        return {"accuracy": accuracy(shares, labels.tolist(), folds, groups_of(ids))}

    return draw, {"accuracy": true}


def of_topics(n_topics: int) -> Case:
    """Return draws of figures over topics, which have frequent words in common."""
    weights = 2 / np.arange(1, 3001) ** 0.7

    def draw(rng: np.random.Generator) -> Figures:
        topics = rng.dirichlet(weights, n_topics)
        words = [[str(w) for w in np.argsort(-row)[:25]] for row in topics]
        return {
            "diversity": word_diversity(words),
            "exclusivity": exclusivity_figure(TopicWords(topics)),
        }

    return draw, mean_of(draw, 500)


def of_models(n_models: int, n_topics: int, *, of_one: bool = False) -> Case:
    """Return draws of the agreement of models that are one truth with noise; or of one model, the
    same in all draws, with others.
    """
    topics = np.random.default_rng(4).dirichlet(np.full(60, 0.1), n_topics)
    first = noisy_models(np.random.default_rng(5), topics, 1) if of_one else []

    def draw(rng: np.random.Generator, n: int = n_models) -> Figures:
        found = model_agreement(first + noisy_models(rng, topics, n - len(first)))
        return {
            shown: found.of_model(0, name) if of_one else getattr(found, name)
            for name, shown in STABILITY.items()
        }

    return draw, mean_of(partial(draw, n=2), 2000)


def mean_of(draw: Callable[[np.random.Generator], Figures], repeats: int) -> dict[str, float]:
    """Return the mean values of draws."""
    rng = np.random.default_rng(6)
    drawn = [draw(rng) for _ in range(repeats)]
    return {name: float(np.mean([each[name].value for each in drawn])) for name in drawn[0]}


def cases() -> dict[str, Callable[[], Case]]:
    """Return what makes the draws of some figures, by what they are of."""
    pool, found = Pool(), {}
    for n in (300, POOL):
        found[f"likelihood, {n} documents"] = partial(of_likelihood, pool, n)
        found[f"coherence, {n} documents"] = partial(of_coherence, pool, n)
        found[f"labels, {n} documents"] = partial(of_labels, pool, n)
    found |= {f"accuracy, {n} documents": partial(of_accuracy, n) for n in (200, 1000)}
    found |= {f"topics, {n} topics": partial(of_topics, n) for n in (10, 20, 100)}
    for n, k in ((3, 5), (4, 5), (5, 5), (10, 5), (5, 10), (10, 10)):
        found[f"stability, {n} models of {k} topics"] = partial(of_models, n, k)
    for n, k in ((4, 5), (10, 5), (10, 10)):
        name = f"stability, one model of {k} topics and {n - 1} others"
        found[name] = partial(of_models, n, k, of_one=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.figure_coverage")
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--only", nargs="+", default=[""], help="cases whose names begin so")
    arguments = parser.parse_args()
    rows = []
    for name, make in cases().items():
        if not name.startswith(tuple(arguments.only)):
            continue
        draw, true = make()
        drawn = [draw(np.random.default_rng(1000 + seed)) for seed in range(arguments.repeats)]
        for figure, truth in true.items():
            found = coverage([each[figure] for each in drawn], truth)
            cells = "{:.3f} {:.3f} {:.3f} {:+.2f} {:.2f}".format(*found).split()
            shown = f"{figure}, {name.partition(', ')[2]}"
            rows.append([shown, *(each.replace("nan", "–") for each in cells)])
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
