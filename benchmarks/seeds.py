"""How much the seed matters to LDA by Gibbs sampling, and what a consensus of chains does.

    python -m benchmarks.seeds [--documents 5000] [--topics 50] [--sweeps 200] [--chains 20]
        [--groups 4 10 20] [--start online]

Chains of `GibbsLDA` with the seeds 1, 2, …, each by itself, and in groups of successive seeds of
which `models.consensus` makes one model. The perplexity is that of document completion of the 2,500
test articles, on the same halves for all. "Matched" is the share of topics that two models with no
chain in common both have, one to one, at a cosine of at least 0.9; the cosine is the mean over all
partners. "Gain" is the perplexity of a group's median member less that of its consensus, with its
standard error over groups; for a single group, over documents, by paired differences.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from benchmarks.lda_trainers.table import markdown
from benchmarks.reference_counts import reference_counts
from evaluation import LikelihoodEstimate, log_likelihood, paired_difference, stability
from evaluation.topics.stability import cosines
from models import GibbsLDA, consensus
from models.gibbs.start import STARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models import LDATopics

MIN_DOCUMENTS = 5


class Chain(NamedTuple):
    """A chain, by itself."""

    topics: LDATopics
    tokens: np.ndarray
    estimate: LikelihoodEstimate


def parts(n_documents: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Training and test counts; of a part of the articles, without the words of few of them."""
    train, test = reference_counts()
    if n_documents >= train.shape[0]:
        return train, test
    train = train[:n_documents]
    kept = np.bincount(train.indices, minlength=train.shape[1]) >= MIN_DOCUMENTS
    return sparse.csr_array(train[:, kept]), sparse.csr_array(test[:, kept])


def matches(models: Sequence[LDATopics]) -> tuple[str, str]:
    """Share of topics that pairs of models both have, and mean cosine of their partners."""
    shares, means = [], []
    for one, other in combinations(models, 2):
        shares.append(stability(one, [other]).share)
        similar = cosines(one.topic_word, other.topic_word)
        means.append(similar[linear_sum_assignment(-similar)].mean())
    if not shares:
        return "", ""
    return f"{np.mean(shares):.1%}", f"{np.mean(means):.3f}"


def gain_of(groups: Sequence[Sequence[Chain]], found: Sequence[LikelihoodEstimate]) -> str:
    """Median member less consensus, and its error."""
    gains, errors = [], []
    for group, estimate in zip(groups, found, strict=True):
        ordered = sorted((chain.estimate for chain in group), key=lambda each: each.perplexity)
        median = ordered[(len(ordered) - 1) // 2]  # of two the better one
        gains.append(median.perplexity - estimate.perplexity)
        difference = paired_difference(median, estimate)
        errors.append(difference.standard_error * estimate.perplexity)
    if len(gains) == 1:
        return f"{gains[0]:.1f} ± {errors[0]:.1f}"
    return f"{np.mean(gains):.1f} ± {np.std(gains, ddof=1) / len(gains) ** 0.5:.1f}"


def row(
    name: str, models: Sequence[LDATopics], found: Sequence[LikelihoodEstimate], gain: str
) -> list[str]:
    values = [each.perplexity for each in found]
    spread = f"{np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return [
        *(name, str(len(models)), f"{np.mean(values):.1f}", spread, f"{np.ptp(values):.1f}"),
        *(gain, *matches(models)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--topics", type=int, default=50, metavar="K")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--groups", type=int, nargs="+", default=[4, 10, 20])
    parser.add_argument("--start", default="online", choices=STARTS)
    arguments = parser.parse_args()
    train, test = parts(arguments.documents)

    def score(topics: LDATopics) -> LikelihoodEstimate:
        return log_likelihood(topics, test, "completion", random_state=0, n_jobs=-1)

    chains = []
    for seed in range(1, arguments.chains + 1):
        started = time.process_time()
        model = GibbsLDA(
            arguments.topics,
            n_iter=arguments.sweeps,
            start=arguments.start,
            random_state=seed,
            n_jobs=-1,
        ).fit(train)
        seconds = time.process_time() - started
        chains.append(Chain(model.topics_, model.topic_tokens_, score(model.topics_)))
        print(f"seed {seed}: {chains[-1].estimate.perplexity:.1f}, {seconds:.1f} CPU s", flush=True)
    head = ["models", "number", "perplexity", "s.d.", "range", "gain", "matched", "cosine"]
    rows = [
        head,
        row("a chain", [each.topics for each in chains], [each.estimate for each in chains], ""),
    ]
    for size in arguments.groups:
        first = range(0, len(chains) - size + 1, size)
        groups = [chains[i : i + size] for i in first]
        if not groups:
            continue
        started = time.process_time()
        models = [
            consensus([c.topics for c in group], [c.tokens for c in group]).topics
            for group in groups
        ]
        seconds = (time.process_time() - started) / len(groups)
        found = [score(each) for each in models]
        name = f"consensus of {size}, {seconds:.1f} CPU s"
        rows.append(row(name, models, found, gain_of(groups, found)))
    print(markdown(rows))


if __name__ == "__main__":
    main()
