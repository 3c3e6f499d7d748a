"""How well a stream with a drift is learned: perplexity of the next documents before they are learned.

    python -m benchmarks.drift [--stream simulated | articles] [--topics K] [--batches N]
        [--trainers NAME[:SETTING=VALUE,…] …] [--words growing | first | all]

"simulated" is endless: topics turn into others, their shares rise and fall, and words appear
until batch 50. "articles" are the 25,000 reference articles once, in an order in which subjects
come and go: an article comes the sooner, the more the subjects of its time have to do with it.
Both come 1,000 documents at a time. Columns are words in the order in which they appear.

Each batch is scored by document completion on the words of earlier batches, and then learned by
`partial_fit`. Perplexity is of the batches of each quarter of the stream. With `--words all` all
columns are there from the first call on, with `first` only those of the first call ever are:
other tokens are unknown, and not scored. Seconds are those of `partial_fit`, without the first call, which
compiles. Memory is the process's resident set at the end of each quarter.
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
from models import GibbsLDA, OnlineLDA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

BATCH = 1000
SUBJECTS, TOUR = 20, 3.0
"""Subjects of articles, and the log of the ratio of a subject's most and its mean share of a time."""
LENGTH, PERIOD, WORDS_UNTIL = 150, 100, 50
"""Of the simulated stream: tokens of a document, batches in which a topic turns into another, and
batches in which words appear."""


def simulated(n_topics: int = 50, n_words: int = 8000, seed: int = 0) -> Iterator[sparse.csr_array]:
    """Yield batches without end: topic k is a mixture of two, the share of the second grows from 0
    to 1, and then comes a third. A new one has words that have appeared by then.
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
        rows, columns = [], []
        for k in range(n_topics):
            topic = (1.0 - share[k]) * old[k] + share[k] * new[k]
            doc_of = np.repeat(np.arange(BATCH), by_topic[:, k])
            columns.append(np.searchsorted(topic.cumsum(), rng.random(len(doc_of)), side="right"))
            rows.append(doc_of)
        place = np.concatenate(rows), np.minimum(np.concatenate(columns), n_words - 1)
        ones = np.ones(len(place[0]), dtype=np.int32)
        yield sparse.csr_array((ones, place), shape=(BATCH, n_words))
        t += 1


def articles(seed: int = 0) -> Iterator[sparse.csr_array]:
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
        yield train[chosen]


def by_appearance(batches: Iterable[sparse.csr_array]) -> Iterator[sparse.csr_array]:
    """Number columns in the order in which their words appear, up to the last so far."""
    place, n_seen = np.zeros(0, dtype=np.int64), 0
    for batch in batches:
        if not len(place):
            place = np.full(batch.shape[1], -1)
        words = np.unique(batch.indices)
        new = words[place[words] < 0]
        place[new] = n_seen + np.arange(len(new))
        n_seen += len(new)
        shape = (batch.shape[0], n_seen)
        counts = sparse.csr_array((batch.data, place[batch.indices], batch.indptr), shape=shape)
        counts.sort_indices()
        yield counts


def widened(counts: sparse.csr_array, n_words: int) -> sparse.csr_array:
    """Return counts with columns appended, or left out, at the end."""
    if n_words <= counts.shape[1]:
        return counts[:, :n_words]
    shape = (counts.shape[0], n_words)
    return sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=shape)


def resident() -> float:
    """Return the resident set of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 1e6


def model_of(trainer: str, n_topics: int, seed: int) -> OnlineLDA | GibbsLDA:
    """Return the estimator of NAME[:SETTING=VALUE,…]."""
    name, _, rest = trainer.partition(":")
    settings = {
        key: ast.literal_eval(value)
        for key, _, value in (each.partition("=") for each in rest.split(",") if each)
    }
    kind = {"online": OnlineLDA, "gibbs": GibbsLDA}[name]
    common: dict[str, Any] = {"growing_vocabulary": True, "random_state": seed, "n_jobs": 2}
    return kind(n_topics, **(common | settings))


def measure(trainer: str, arguments: argparse.Namespace) -> None:
    """Print what a trainer makes of the stream."""
    model = model_of(trainer, arguments.topics, arguments.seed)
    source = articles() if arguments.stream == "articles" else simulated()
    n_all = {"articles": 10_337, "simulated": 8000}[arguments.stream]
    quarter = -(-arguments.batches // 4)
    sums, seconds, n_seen, results = np.zeros(3), 0.0, 0, []
    for t, batch in enumerate(islice(by_appearance(source), arguments.batches)):
        if t:
            n_known = n_seen if arguments.words != "first" else model.n_features_in_
            known = widened(batch, n_known)
            score = log_likelihood(
                model, widened(known, model.n_features_in_), "completion", n_samples=1, random_state=t
            )
            scored = int(score.n_tokens.sum())
            sums += float(score.log_likelihood.sum()), scored, 1.0 - known.sum() / batch.sum()
        n_seen = batch.shape[1]
        width = {"all": n_all, "first": model.n_features_in_ if t else n_seen}
        began = time.perf_counter()
        model.partial_fit(widened(batch, width.get(arguments.words, n_seen)))
        seconds += (time.perf_counter() - began) if t else 0.0
        if t and (t % quarter == quarter - 1 or t == arguments.batches - 1):
            n = t % quarter + (t >= quarter)
            unknown = 100 * sums[2] / n
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
    parser.add_argument("--trainers", nargs="+", default=["online", "gibbs:n_iter=10"])
    parser.add_argument("--words", choices=["growing", "first", "all"], default="growing")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.batches = arguments.batches or {"articles": 25, "simulated": 200}[arguments.stream]
    for trainer in arguments.trainers:
        measure(trainer, arguments)


if __name__ == "__main__":
    main()
