"""Gamma-Poisson factor analysis: seconds of a Gibbs sweep, completion beside LDA's, exact values.

    python -m benchmarks.gamma_poisson [--topics 25 100] [--sweeps 200] [--threads 2]

`BetaGammaPFA` and `GibbsLDA` learn from the same 25,000 articles with as many sweeps; the median
sweep is what an iteration takes, r, p or alpha and the sample that is added up included. Then both
are scored on 2,500 articles by the same completion: perplexity, and what the first costs more in
nats a word, paired over documents. At the end exact likelihoods of documents of words drawn evenly.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood, paired_difference
from models import BetaGammaPFA, GammaPoissonTopics, GibbsLDA

if TYPE_CHECKING:
    from scipy import sparse

    from evaluation import LikelihoodEstimate

EXACT = ((5, 100), (3, 500))
"""Topics and tokens."""


def trained(
    model: BetaGammaPFA | GibbsLDA, train: sparse.csr_array
) -> tuple[BetaGammaPFA | GibbsLDA, float, float]:
    """The model, the median seconds of a sweep and those of the whole training."""
    started = last = time.perf_counter()
    seconds = []
    for _ in model.iterate(train):
        now = time.perf_counter()
        seconds.append(now - last)
        last = now
    return model, float(np.median(seconds[1:])), last - started


def compare(n_topics: int, n_sweeps: int, n_threads: int, seed: int) -> None:
    train, test = reference_counts()
    common = {"n_iter": n_sweeps, "random_state": seed, "n_jobs": n_threads}
    models = {
        "LDA, GibbsLDA": GibbsLDA(n_topics, eta=0.1, **common),
        "r learned": BetaGammaPFA(n_topics, **common),
        "r = 1": BetaGammaPFA(n_topics, learn_shape=False, **common),
    }
    scores: dict[str, LikelihoodEstimate] = {}
    for name, untrained in models.items():
        model, sweep, whole = trained(untrained, train)
        scores[name] = log_likelihood(
            model.topics_, test, "completion", random_state=0, n_jobs=n_threads
        )
        difference = paired_difference(scores[name], scores["LDA, GibbsLDA"])
        active = f"{model.n_active_topics_:6d}" if isinstance(model, BetaGammaPFA) else "     –"
        print(
            f"{n_topics:6d}  {name:14s} {sweep:8.3f} {whole:9.1f} {active}"
            f" {scores[name].perplexity:10.1f} {difference.nats_per_word:+10.4f}"
            f" ± {difference.standard_error:.4f}",
            flush=True,
        )


def exact_seconds(n_topics: int, n_tokens: int) -> float:
    rng = np.random.default_rng(n_topics)
    model = GammaPoissonTopics(
        rng.dirichlet(np.full(1000, 0.3), n_topics) * rng.gamma(3, 1, (n_topics, 1)) + 1e-9,
        rng.uniform(0.2, 1.5, n_topics),
        rng.uniform(0.2, 0.9, n_topics),
    )
    document = rng.multinomial(n_tokens, np.full(1000, 1e-3))[None]
    log_likelihood(model, document[:, ::-1], "exact")
    started = time.perf_counter()
    log_likelihood(model, document, "exact")
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="*", default=[25, 100])
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.topics:
        print(
            "topics  model          s, sweep   s, all active perplexity  against LDA, nats a word"
        )
    for n_topics in arguments.topics:
        compare(n_topics, arguments.sweeps, arguments.threads, arguments.seed)
    for n_topics, n_tokens in EXACT:
        seconds = exact_seconds(n_topics, n_tokens)
        print(f"exact, {n_topics} topics, {n_tokens} tokens: {seconds:.3f} s a document")


if __name__ == "__main__":
    main()
