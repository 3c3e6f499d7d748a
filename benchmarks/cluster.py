"""Online VB with its E-steps on workers of a cluster, against one machine.

    python -m benchmarks.cluster [--corpus DIR] [--workers 0 1 2 4] [--topics 25 100]
        [--batch-size 1000 8000 20000] [--staleness 0 3] [--passes 2]

The corpus is that of a run, `runs/NAME/corpus`; by default the 25,000 reference articles. Each line
is the mean time of a pass after the first, in which E-steps that are made in the faster place try
both: `plain` with 1 and 2 threads; `workers` has all E-steps made by so many processes of this
machine, `faster` those that win. The client has one thread then, and `ratio` is to plain with one
thread; with as many threads or workers as cores, compare with plain of 2. `same` says whether
topics have the bits of plain ones of that staleness.

A batch sends the weights of its words, once to each worker, and has statistics of as many words
back: `MB` are both, 8 bytes times words times topics each, without documents and what goes between
workers.

Last, perplexity (completion) of the test documents after as many passes, by staleness.

The numbers mean something only on a machine that is otherwise idle: its load is printed.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reference_counts import reference_counts
from corpora import Corpus, split
from evaluation import log_likelihood
from models import OnlineLDA
from models.lda.e_step import words_of
from pipeline.cluster.connection import cluster_of
from pipeline.training.e_step_on_cluster import ClusterEStep, load_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy import sparse

    from models import LDATopics
    from pipeline.cluster.cluster import Cluster

STALENESS_SHOWN = (0, 1, 3, 7)


@dataclass(frozen=True)
class Case:
    """What is trained."""

    n_topics: int
    batch_size: int
    staleness: int
    passes: int

    def trained(
        self, counts: sparse.csr_array, n_jobs: int, submit: ClusterEStep | None = None
    ) -> tuple[float, LDATopics]:
        """Seconds of a pass after the first, and the topics."""
        model = OnlineLDA(
            self.n_topics,
            alpha=0.1,
            eta=0.1,
            batch_size=self.batch_size,
            n_passes=self.passes,
            staleness=self.staleness,
            random_state=0,
            n_jobs=n_jobs,
        )
        begun = 0.0
        for step in model.iterate(counts, submit_e_step=submit):
            if not begun and step.n_passes >= 1:
                begun = time.perf_counter()
        return (time.perf_counter() - begun) / (self.passes - 1), model.topics_


def training_and_test(corpus: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Counts to learn from, and to score."""
    if not corpus:
        return reference_counts()
    parts = split(Corpus.load(Path(corpus)), 0.0, 0.1)
    return parts.train.counts, parts.test.counts


def megabytes(counts: sparse.csr_array, case: Case) -> float:
    """Weights to a worker and statistics back, for a batch of average documents."""
    rows = np.sort(np.random.default_rng(0).permutation(counts.shape[0])[: case.batch_size])
    return 2 * len(words_of(counts[rows])) * case.n_topics * 8 / 1e6


@contextmanager
def clusters(numbers: list[int]) -> Iterator[dict[int, Cluster]]:
    """One at a time would have to load its software again and again: all, most of them idle."""
    if not numbers:
        yield {}
        return
    with cluster_of(f"local:{numbers[0]}") as cluster, clusters(numbers[1:]) as more:
        assert cluster is not None
        for future in [cluster.submit_to(each, load_kernels) for each in cluster.addresses]:
            future.result()
        yield {numbers[0]: cluster, **more}


def show(case: Case, name: str, seconds: float, plain: float, same: str, sent: str = "") -> None:
    print(
        f"{case.n_topics:6d} {case.batch_size:6d} {case.staleness:9d}  {name:<20s} {seconds:7.2f}"
        f" {seconds / plain:6.2f}  {same:<5s} {sent:>6s}",
        flush=True,
    )


def compare(counts: sparse.csr_array, case: Case, workers: dict[int, Cluster]) -> None:
    """All lines of one case."""
    plain, topics = case.trained(counts, 1)
    show(case, "plain, 1 thread", plain, plain, "")
    seconds, found = case.trained(counts, 2)
    show(case, "plain, 2 threads", seconds, plain, said(found, topics))
    sent = f"{megabytes(counts, case):.0f}"
    for number, cluster in workers.items():
        for place in ("workers", "faster"):
            submit = ClusterEStep(cluster, 1, case.staleness, place)
            seconds, found = case.trained(counts, 1, submit)
            show(case, f"{number} {place}", seconds, plain, said(found, topics), sent)


def said(found: LDATopics, topics: LDATopics) -> str:
    is_same = np.array_equal(found.topic_word, topics.topic_word)
    return "same" if is_same else "OTHER"


def show_perplexities(
    train: sparse.csr_array, test: sparse.csr_array, topics: int, size: int, passes: int
) -> None:
    """How much staleness costs, with equal passes."""
    print(f"\ntest perplexity after {passes} passes, {topics} topics, batches of {size}")
    for staleness in STALENESS_SHOWN:
        _, found = Case(topics, size, staleness, passes).trained(train, 2)
        estimate = log_likelihood(found, test, "completion", random_state=0, n_jobs=2)
        print(f"  staleness {staleness}: {estimate.perplexity:8.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--batch-size", type=int, nargs="+", default=[1000, 8000, 20000])
    parser.add_argument("--staleness", type=int, nargs="+", default=[0, 3])
    parser.add_argument("--passes", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.passes < 2:
        parser.error("--passes must be 2 or more: the first is not timed")
    train, test = training_and_test(arguments.corpus)
    print(
        f"{train.shape[0]:,} documents over {train.shape[1]:,} words, {int(train.sum()):,} tokens; "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    OnlineLDA(2, n_passes=1, alpha=0.1, eta=0.1).fit(train[:200])  # load kernels
    print("topics  batch staleness  how                  seconds  ratio  topics   MB")
    with clusters([each for each in arguments.workers if each]) as workers:
        for n_topics in arguments.topics:
            for size in arguments.batch_size:
                for staleness in arguments.staleness:
                    compare(train, Case(n_topics, size, staleness, arguments.passes), workers)
    show_perplexities(
        train, test, arguments.topics[0], arguments.batch_size[0], max(2, arguments.passes)
    )
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
