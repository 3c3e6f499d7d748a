"""Topic proportions of new documents: ours against scikit-learn's, with the same topics.

    python -m benchmarks.transform [--topics 25 100 1000]

The topics are those of one pass of OnlineLDA over the reference counts, alpha 0.1, eta 0.01, and
those of GibbsLDA after `--sweeps`. Test documents are inferred on one thread, by variational
inference and by CVB0. Rates are tokens a CPU second, the best of `--repeats`; for comparison, those
of the pass that trained and of the next sweeps of GibbsLDA, by the sampler that "auto" stands for:
one before the others in each repeat, so that all see the same load of the machine. The
perplexity is that of the other halves of the test documents, completed by each one's proportions of
the first. The error is the distance of proportions of `--judged` documents from their mean over
many sweeps of Gibbs sampling with the topics fixed: the sum of absolute differences over topics.
That of two such chains tells how exact the mean is.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.reference_counts import reference_counts
from models import GibbsLDA, LDATopics, OnlineLDA
from models.completion import split_tokens
from models.kernel import kernel
from models.lda.topics import INFERENCES
from models.variational.word_probability import log_word_probability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy import sparse

    Transform = Callable[[sparse.csr_array], NDArray[np.float64]]

ALPHA, ETA = 0.1, 0.01
SWEEPS = 2000  # of documents whose topics are fixed


def sklearn_transform(topics: LDATopics, concentration: NDArray[np.float64]) -> Transform:
    """Its inference with our Dirichlet parameters (K, V), as after a `fit` of its own."""
    model = LatentDirichletAllocation(topics.n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA)
    model.partial_fit(np.eye(1, topics.n_words))  # makes what transform needs
    model.components_ = concentration
    model.exp_dirichlet_component_ = topics.topic_word
    return model.transform  # type: ignore[no-any-return]


def best_seconds(
    sweep: Callable[[], object], others: list[Callable[[], object]], repeats: int
) -> NDArray[np.float64]:
    """CPU seconds of the fastest of each, in turn so that all see the same load of the machine."""
    runs = [sweep, *others]
    seconds = np.empty((repeats, len(runs)))
    for i in range(repeats):
        for j, run in enumerate(runs):
            started = time.process_time()
            run()
            seconds[i, j] = time.process_time() - started
    best: NDArray[np.float64] = seconds.min(axis=0)
    return best


def gibbs(
    n_topics: int, train: sparse.csr_array, n_sweeps: int, n_more: int
) -> tuple[Callable[[], object], LDATopics]:
    """A call that makes the next of `n_more` sweeps, and the topics after `n_sweeps`."""
    model = GibbsLDA(n_topics, n_iter=n_sweeps + n_more, random_state=1, n_jobs=1)
    sweeps = model.iterate(train)
    for _ in range(n_sweeps):
        next(sweeps)
    return partial(next, sweeps), model.topics_


def completed(
    topics: LDATopics, transform: Transform, halves: tuple[sparse.csr_array, ...]
) -> float:
    """Perplexity of the second halves."""
    seen, scored = halves
    log_p = log_word_probability(scored, transform(seen), topics.word_topic).sum()
    return float(np.exp(-log_p / scored.sum()))


@kernel
def _sample(
    words: NDArray[np.int64],
    topic_word: NDArray[np.float64],
    alpha: NDArray[np.float64],
    draws: NDArray[np.float64],
    n: NDArray[np.float64],
    mean: NDArray[np.float64],
) -> None:
    """Add proportions (K,) after each of the sweeps over tokens `words` (N,) to `mean`.
    `draws` (S, N) are uniform; `n` (K,) is changed, zeros before.
    """
    n_topics, topic = alpha.shape[0], np.zeros(words.shape[0], dtype=np.int64)
    cumulated = np.empty(n_topics)
    for sweep in range(draws.shape[0]):
        for i in range(words.shape[0]):
            if sweep > 0:
                n[topic[i]] -= 1.0
            total = 0.0
            for k in range(n_topics):
                total += (n[k] + alpha[k]) * topic_word[k, words[i]]
                cumulated[k] = total
            topic[i] = np.searchsorted(cumulated, draws[sweep, i] * total)
            n[topic[i]] += 1.0
        if sweep >= draws.shape[0] // 4:
            mean += (n + alpha) / (n + alpha).sum()


def sampled(topics: LDATopics, counts: sparse.csr_array, seed: int) -> NDArray[np.float64]:
    """Mean proportions (D, K) over the last three quarters of `SWEEPS` of Gibbs sampling."""
    rng, means = np.random.default_rng(seed), np.zeros((counts.shape[0], topics.n_topics))
    for d in range(counts.shape[0]):
        row = counts[d : d + 1]
        words = np.repeat(row.indices, row.data.astype(int)).astype(np.int64)
        draws = rng.random((SWEEPS, len(words)))
        _sample(words, topics.topic_word, topics.alpha, draws, np.zeros(topics.n_topics), means[d])
    return means / means.sum(axis=1, keepdims=True)


def errors(topics: LDATopics, counts: sparse.csr_array) -> str:
    """Mean distances from exact proportions, of both inferences and of two chains."""
    chains = sampled(topics, counts, 0), sampled(topics, counts, 1)
    exact = (chains[0] + chains[1]) / 2.0
    found = [topics.transform(counts, inference=each) for each in INFERENCES]
    pairs = [*((each, exact) for each in found), chains]
    return " ".join(f"{np.abs(a - b).sum(axis=1).mean():.3f}" for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=20, help="of GibbsLDA before the timed ones")
    parser.add_argument("--judged", type=int, default=30, help="documents")
    arguments = parser.parse_args()
    if arguments.sweeps < 1:
        parser.error("--sweeps: at least 1, as GibbsLDA has no topics before its first sweep")
    train, test = reference_counts()
    halves = split_tokens(test, np.random.default_rng(0))
    few, judged = OnlineLDA(3, n_passes=1).fit(train[:100]).topics_, test[: arguments.judged]
    for inference in INFERENCES:
        few.transform(test[:10], inference=inference)  # compile
    for n_topics in arguments.topics:
        started = time.process_time()
        model = OnlineLDA(n_topics, alpha=ALPHA, eta=ETA, n_passes=1, random_state=1).fit(train)
        training = float(train.sum()) / (time.process_time() - started) / 1e6
        theirs: Transform = sklearn_transform(model.topics_, model.topic_word_dirichlet_)
        sweep, of_gibbs = gibbs(n_topics, train, arguments.sweeps, arguments.repeats)
        runs = {("scikit-learn", "variational"): (model.topics_, theirs)}
        for name, topics in (("OnlineLDA", model.topics_), ("GibbsLDA", of_gibbs)):
            for inference in INFERENCES:
                ours = partial(topics.transform, inference=inference, n_jobs=1)
                runs[name, inference] = topics, ours
        best = best_seconds(
            sweep, [partial(run, test) for _, run in runs.values()], arguments.repeats
        )
        of_sweep = float(train.sum()) / best[0] / 1e6
        rates = float(test.sum()) / best[1:] / 1e6
        print(
            f"K = {n_topics}: training {training:.2f} M tokens a CPU second, a sweep {of_sweep:.2f}"
        )
        for ((name, inference), (topics, run)), rate in zip(runs.items(), rates, strict=True):
            print(
                f"  {name:12} {inference:11} {rate:8.3f}, {rate / of_sweep:.2f} of a sweep,"
                f" perplexity {completed(topics, run, halves):.2f}",
                flush=True,
            )
        for name, topics in (("OnlineLDA", model.topics_), ("GibbsLDA", of_gibbs)):
            print(f"  {name:12} errors of these, and between chains: {errors(topics, judged)}")


if __name__ == "__main__":
    main()
