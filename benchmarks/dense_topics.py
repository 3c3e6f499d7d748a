"""What topics from full conditionals gain over the average of samples, in equal time.

    python -m benchmarks.dense_topics [--topics 25 100 1000] [--sweeps 20 60] [--seeds 1 2]
        [--chains 1] [--articles 25000]

A chain of `GibbsLDA` with eta 0.01 over 25,000 articles, or the consensus of several. After each
number of sweeps `finish` computes its topics; the samples then get as many more sweeps as take its
CPU seconds. Both are scored by document completion of the 2,500 test articles, on the same halves.
"Gain" is in nats a word, with its standard error over documents, by paired differences.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.lda_trainers.table import markdown
from benchmarks.reference_counts import reference_counts
from evaluation import LikelihoodEstimate, log_likelihood, paired_difference
from models import GibbsLDA, GibbsLDAChains

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy import sparse

    from models import LDATopics

ETA, ALPHA, ALPHA_SUM = 0.01, 0.1, 20.0


class Dense(NamedTuple):
    """Topics from conditionals, which samples of as many seconds are compared with."""

    n_sweeps: int
    seconds: float  # CPU seconds of training and of the final topics
    own_seconds: float  # CPU seconds of the final topics
    estimate: LikelihoodEstimate

    def row(self, n_sweeps: int, samples: LikelihoodEstimate) -> list[str]:
        """Return the end of a row, for samples of `n_sweeps`."""
        gain = paired_difference(samples, self.estimate)
        return [
            f"{self.n_sweeps} ({n_sweeps})",
            f"{self.seconds:.1f}",
            f"{self.own_seconds:.1f}",
            f"{samples.perplexity:.1f}",
            f"{self.estimate.perplexity:.1f}",
            f"{gain.nats_per_word:.4f} ± {gain.standard_error:.4f}",
        ]


def score(topics: LDATopics, test: sparse.csr_array) -> LikelihoodEstimate:
    """Log-likelihood of the second halves of test documents."""
    return log_likelihood(topics, test, "completion", n_samples=1, random_state=0)


def rows_of(
    n_topics: int,
    seed: int,
    n_chains: int,
    sweeps: Sequence[int],
    train: sparse.csr_array,
    test: sparse.csr_array,
) -> Iterator[list[str]]:
    """Yield a row of the table for each number of sweeps of a chain."""
    settings: dict[str, Any] = {
        "alpha": min(ALPHA, ALPHA_SUM / n_topics),
        "eta": ETA,
        "random_state": seed,
    }
    kind = partial(GibbsLDAChains, chains=n_chains) if n_chains > 1 else GibbsLDA
    kind(n_topics, **settings, n_iter=2).fit(train[:300])  # compile
    model, due = kind(n_topics, **settings, n_iter=10 * max(sweeps)), sorted(sweeps)
    dense: Dense | None = None
    seconds, started = 0.0, time.process_time()
    for step in model.iterate(train):
        seconds += time.process_time() - started
        if dense is not None and seconds >= dense.seconds:
            row = dense.row(step.n_sweeps, score(model.topics_, test))
            yield [f"{n_topics:,}", str(seed), *row]
            dense = None
        if dense is None and not due:
            return
        if dense is None and step.n_sweeps >= due[0]:
            del due[0]
            started = time.process_time()
            model.finish()
            took = time.process_time() - started
            dense = Dense(step.n_sweeps, seconds + took, took, score(model.topics_, test))
        started = time.process_time()


def main() -> None:
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser("python -m benchmarks.dense_topics", description=description)
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100, 1000], metavar="K")
    parser.add_argument("--sweeps", type=int, nargs="+", default=[20, 60], metavar="N")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], metavar="SEED")
    parser.add_argument("--chains", type=int, default=1, metavar="N")
    parser.add_argument("--articles", type=int, default=25_000, metavar="N")
    arguments = parser.parse_args()
    train, test = reference_counts()
    train = train[: arguments.articles]
    rows = []
    for n_topics, seed in product(arguments.topics, arguments.seeds):
        for row in rows_of(n_topics, seed, arguments.chains, arguments.sweeps, train, test):
            print(*row, sep=", ", flush=True)
            rows.append(row)
    head = ["K", "seed", "sweeps (of samples)", "CPU s", "of these final", "samples"]
    print(markdown([[*head, "conditionals", "gain, nats a word"], *rows]))


if __name__ == "__main__":
    main()
