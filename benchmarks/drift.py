"""How well a stream with a drift is learned: perplexity of documents before they are learned.

    python -m benchmarks.drift [--stream simulated | articles] [--topics K] [--batches N]
        [--trainers NAME[:SETTING=VALUE,…] …] [--words growing | first | all]

"simulated" is endless: topics turn into others, their shares rise and fall, and words appear
until batch 50. "articles" are the 25,000 reference articles once, in an order in which subjects
come and go: an article comes the sooner, the more the subjects of its time have to do with it.
Both come 1,000 documents at a time. A word has a column once 5 documents of one batch have it.

Each batch is scored by document completion on the words that have columns by then, and then learned
by `partial_fit`. Perplexity is of the batches of each quarter of the stream. With `--words all` the
columns of all words are there from the first call on, but the same words are scored; with `first`
only those of the first call ever are. Other tokens are unknown, and not scored. The trainer "truth"
is the model that each simulated batch is drawn from. Seconds are those of `partial_fit` without the
first call, which compiles. Memory is the process's resident set at the end of each quarter.
"""

from __future__ import annotations

import argparse
import ast
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from models import GibbsLDA, LDATopics, OnlineLDA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

BATCH, MIN_DOCUMENTS = 1000, 5
"""Documents in a call, and those of one call that a word must be in to get a column."""
SUBJECTS, TOUR = 20, 3.0
"""Subjects of articles, and the logarithm of the largest weight of a subject at its time."""
LENGTH, PERIOD, WORDS_UNTIL = 150, 100, 50
"""Of the simulated stream: tokens of a document, batches in which a topic turns into another, and
batches in which words appear."""


def simulated(
    n_topics: int = 50, n_words: int = 8000, seed: int = 0
) -> Iterator[tuple[sparse.csr_array, LDATopics | None]]:
    """Yield batches without end, and the model of each. Topic k is a mixture of two, the share of
    the second grows from 0 to 1, and then comes a third. A new one has words that there are then.
    """
    rng = np.random.default_rng(seed)
    zipf = 1.0 / (10.0 + rng.permutation(n_words))

    def drawn(n_known: int) -> NDArray[Any]:
        weight = rng.gamma(0.1, size=n_words) * zipf * (np.arange(n_words) < n_known)
        return np.asarray(weight / weight.sum())

    old, new = ([drawn(n_words // 2) for _ in range(n_topics)] for _ in range(2))
    phase = np.arange(n_topics) / n_topics
    t = 0
    while True:
        n_known = int(n_words * min(1.0, 0.5 + 0.5 * t / WORDS_UNTIL))
        share = (phase + t / PERIOD) % 1.0
        if t:
            for k in np.flatnonzero(share < 1.0 / PERIOD):
                old[k], new[k] = new[k], drawn(n_known)
        activity = np.exp(np.sin(2 * np.pi * (2.0 * t / PERIOD + 7 * phase)))
        alpha = 5.0 * activity / activity.sum()
        proportions = rng.dirichlet(alpha, size=BATCH)
        by_topic = np.array([rng.multinomial(rng.poisson(LENGTH), p) for p in proportions])
        topics = np.array([(1.0 - a) * x + a * y for a, x, y in zip(share, old, new, strict=True)])
        rows, columns = [], []
        for k, topic in enumerate(topics):
            doc_of = np.repeat(np.arange(BATCH), by_topic[:, k])
            columns.append(np.searchsorted(topic.cumsum(), rng.random(len(doc_of)), side="right"))
            rows.append(doc_of)
        place = np.concatenate(rows), np.minimum(np.concatenate(columns), n_words - 1)
        ones = np.ones(len(place[0]), dtype=np.int32)
        counts = sparse.csr_array((ones, place), shape=(BATCH, n_words))
        yield counts, LDATopics.from_weights(topics, alpha)
        t += 1


def articles(seed: int = 0) -> Iterator[tuple[sparse.csr_array, LDATopics | None]]:
    """Yield the reference articles in the order of a tour of subjects."""
    train, test = reference_counts()
    subjects = OnlineLDA(SUBJECTS, random_state=0, n_jobs=2).fit(test)
    shares = subjects.transform(train)
    rng = np.random.default_rng(seed)
    left = np.ones(len(shares), dtype=bool)
    n_batches = len(shares) // BATCH
    for t in range(n_batches):
        phase = np.arange(SUBJECTS) / SUBJECTS - t / n_batches
        weight = left * (shares @ np.exp(TOUR * np.cos(2 * np.pi * phase)))
        chosen = rng.choice(len(shares), BATCH, replace=False, p=weight / weight.sum())
        left[chosen] = False
        yield train[chosen], None


def by_appearance(
    batches: Iterable[tuple[sparse.csr_array, LDATopics | None]],
) -> Iterator[tuple[sparse.csr_array, int, LDATopics | None]]:
    """Yield batches, the number of words that have a column by then, and the model of the batch.
    Words are numbered as they get columns; those that have none follow.
    """
    order, n_known = np.zeros(0, dtype=np.int64), 0
    for batch, truth in batches:
        if not len(order):
            order = np.arange(batch.shape[1])
        n_docs = np.bincount(batch.indices, minlength=batch.shape[1])[order[n_known:]]
        order[n_known:] = order[n_known:][np.argsort(n_docs < MIN_DOCUMENTS, kind="stable")]
        n_known += int((n_docs >= MIN_DOCUMENTS).sum())
        yield batch[:, order], n_known, truth and truth.with_words(order)


def only(counts: sparse.csr_array, n_words: int) -> sparse.csr_array:
    """Return counts without the tokens of later columns."""
    kept = counts.copy()
    kept.data[kept.indices >= n_words] = 0
    kept.eliminate_zeros()
    return kept


def resident() -> float:
    """Return the resident set of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 1e6


def model_of(trainer: str, n_topics: int, seed: int) -> OnlineLDA | GibbsLDA:
    """Return the estimator of NAME[:SETTING=VALUE,…]."""
    name, _, rest = trainer.partition(":")
    settings = {
        key: value if value.isalpha() else ast.literal_eval(value)
        for key, _, value in (each.partition("=") for each in rest.split(",") if each)
    }
    kind = {"online": OnlineLDA, "gibbs": GibbsLDA}[name]
    common: dict[str, Any] = {"growing_vocabulary": True, "random_state": seed, "n_jobs": 2}
    return kind(n_topics, **(common | settings))


def measure(trainer: str, arguments: argparse.Namespace) -> None:
    """Print what a trainer makes of the stream."""
    model = None if trainer == "truth" else model_of(trainer, arguments.topics, arguments.seed)
    source = articles() if arguments.stream == "articles" else simulated()
    quarter = -(-arguments.batches // 4)
    sums, seconds, n_known, n_first, results = np.zeros(3), 0.0, 0, 0, []
    batches = islice(by_appearance(source), arguments.batches)
    for t, (batch, n_columns, truth) in enumerate(batches):
        if t:
            scored = only(batch, n_first if arguments.words == "first" else n_known)
            topics = model.topics_ if model else truth
            if topics is None:
                raise SystemExit("articles are drawn from no model: leave truth out")
            n_words = min(n_known, topics.n_words)
            of_known = LDATopics.from_weights(topics.topic_word[:, :n_words], topics.alpha)
            score = log_likelihood(
                of_known, scored[:, :n_words], "completion", n_samples=1, random_state=t, n_jobs=2
            )
            n_tokens = float(score.n_tokens.sum())
            sums += float(score.log_likelihood.sum()), n_tokens, 1.0 - scored.sum() / batch.sum()
        n_known, n_first = n_columns, n_first or n_columns
        began = time.perf_counter()
        width = {"growing": n_known, "first": n_first, "all": batch.shape[1]}[arguments.words]
        if model:
            model.partial_fit(batch[:, :width])
        seconds += (time.perf_counter() - began) if t else 0.0
        if t % quarter == quarter - 1 or t == arguments.batches - 1:
            unknown = 100 * sums[2] / (t % quarter + (t >= quarter))
            results.append((np.exp(-sums[0] / sums[1]), unknown, resident()))
            sums[:] = 0.0
    milliseconds = 1e3 * seconds / (BATCH * (arguments.batches - 1))
    print(
        f"{trainer}, words {arguments.words}: perplexity "
        + ", ".join(f"{each[0]:.1f}" for each in results)
        + "; unknown % "
        + ", ".join(f"{each[1]:.2f}" for each in results)
        + f"; {milliseconds:.3f} ms a document; MB "
        + ", ".join(f"{each[2]:.0f}" for each in results),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stream", choices=["simulated", "articles"], default="simulated")
    parser.add_argument("--topics", type=int, default=50, metavar="K")
    parser.add_argument("--batches", type=int, metavar="N", help="default: 25 or 200")
    parser.add_argument("--trainers", nargs="+", default=["truth", "online"])
    parser.add_argument("--words", choices=["growing", "first", "all"], default="growing")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.batches = arguments.batches or {"articles": 25, "simulated": 200}[arguments.stream]
    for trainer in arguments.trainers:
        measure(trainer, arguments)


if __name__ == "__main__":
    main()
