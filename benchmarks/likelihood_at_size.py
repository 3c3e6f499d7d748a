"""Held-out likelihood of documents of 1,000 tokens under 1,000 topics: the time at equal error.

    python -m benchmarks.likelihood_at_size --model FILE [--documents 50] [--repeats 3]
    python -m benchmarks.likelihood_at_size --model FILE --only long       # to 0.1 nats
    python -m benchmarks.likelihood_at_size --model FILE --only certificate
    python -m benchmarks.likelihood_at_size --model FILE --only steps

The model is learned from the reference counts by 60 sweeps of GibbsLDA (alpha 0.02, eta 0.01), and
stored in FILE, from which the next run reads it. Documents are test articles in random order, one
after another, cut into 1,000 tokens; the last article of a document is sampled.

Estimators score the same documents several times with other seeds, on one thread. At equal standard
error, times are in proportion to time times variance over seeds, the column "nats² s". It is a fair
price only where the variance is small: of estimates with a variance of some nats², the mean is too
low too (the column "mean"), and more samples take away less than in proportion.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from benchmarks.reference_counts import reference_counts
from evaluation import certify
from evaluation.document_blocks import DocumentBlock
from evaluation.lda.annealed import annealed
from evaluation.lda.annealing_from_mean import (
    ListedDocument,
    annealing_from_mean,
    listed_document,
    log_from_infinity,
    log_step,
    path_for,
    start_at_mean,
    sweep_listed,
)
from evaluation.lda.left_to_right_sequential import left_to_right_sequential
from models import GibbsLDA, LDATopics, SavedModel, load_model, save_model
from models.kernel import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluation.arrays import Floats, Rng
    from evaluation.estimate import LikelihoodEstimate

N_TOPICS = 1000
N_TOKENS = 1000
SIZES: tuple[tuple[str, Callable[..., LikelihoodEstimate], dict[str, int]], ...] = (
    ("left-to-right-sequential", left_to_right_sequential, {"n_samples": 100}),
    ("left-to-right-sequential", left_to_right_sequential, {"n_samples": 1000}),
    ("annealed-importance-sampling", annealed, {"n_samples": 10, "n_temperatures": 1000}),
    ("annealing-from-mean", annealing_from_mean, {"n_samples": 10, "n_temperatures": 1000}),
    ("annealing-from-mean", annealing_from_mean, {"n_samples": 10, "n_temperatures": 4000}),
)
N_STEPS, N_CHAINS = 1000, 40
LONG = ("annealing-from-mean", annealing_from_mean, {"n_samples": 32, "n_temperatures": 8000})


def learned(path: Path) -> LDATopics:
    """Return the model in the file, or learn it and write it there."""
    if not path.exists():
        train, _ = reference_counts()
        settings = {"alpha": 0.02, "eta": 0.01, "learn_priors": "none", "n_iter": 60}
        model = GibbsLDA(N_TOPICS, random_state=1, n_jobs=1, **settings).fit(train)
        save_model(path, SavedModel(model.topics_, tuple(map(str, range(train.shape[1])))))
    topics = load_model(path).topics
    assert isinstance(topics, LDATopics)
    return topics


def long_documents(n_documents: int, n_tokens: int = N_TOKENS) -> sparse.csr_array:
    """Return counts of documents of so many tokens each, test articles one after another."""
    _, test = reference_counts()
    rng, result = np.random.default_rng(0), []
    order: list[int] = []
    for _ in range(n_documents):
        n_w, room = np.zeros(test.shape[1], dtype=np.int64), n_tokens
        while room:
            order = order or rng.permutation(test.shape[0]).tolist()
            article = test[[order.pop(0)]]
            tokens = np.repeat(article.indices, article.data)
            tokens = rng.choice(tokens, min(room, len(tokens)), replace=False)
            n_w += np.bincount(tokens, minlength=len(n_w))
            room -= len(tokens)
        result.append(n_w)
    return sparse.csr_array(np.array(result))


def priced(
    name: str,
    score: Callable[..., LikelihoodEstimate],
    size: dict[str, int],
    model: LDATopics,
    documents: sparse.csr_array,
    n_repeats: int,
) -> None:
    """Print the time, the variance and the mean of an estimator of so many samples."""
    score(model, DocumentBlock(documents[:1]), **dict.fromkeys(size, 2))  # compile
    values, stated = [], []
    started = time.process_time()
    for seed in range(n_repeats):
        found = score(model, DocumentBlock(documents), seed=seed, **size)
        values.append(found.log_likelihood)
        stated.append((found.standard_error**2).mean())
    seconds = (time.process_time() - started) / n_repeats / documents.shape[0]
    of_document = np.var(values, axis=0, ddof=1)
    variance = of_document.mean()
    shown = " × ".join(f"{number:,}" for number in size.values())
    print(
        f"{name:29} {shown:>10} {seconds:8.2f} {variance:9.4f} {np.median(of_document):9.4f} "
        f"{np.mean(stated):9.4f} {np.mean(values):10.2f} {variance * seconds:9.3f}",
        flush=True,
    )


@kernel
def step_logs(document: ListedDocument, path: Floats, n_chains: int, rng: Rng) -> Floats:
    """Return what each step adds to the log-weights of chains, (n_chains, T)."""
    alpha, mean = document.alpha, document.mean
    logs = np.empty((n_chains, len(path)))
    for i in range(n_chains):
        chain, log_start = start_at_mean(document, rng)
        logs[i, 0] = log_start + log_from_infinity(chain.n, alpha, mean, path[0])
        for s in range(len(path) - 1):
            for k in range(len(alpha)):
                chain.total[k] = chain.n[k] + alpha[k] + path[s] * mean[k]
            sweep_listed(document, 1.0 + path[s], chain, rng)
            logs[i, s + 1] = log_step(chain.n, alpha, mean, path[s], path[s + 1])
    return logs


def print_steps(model: LDATopics, documents: sparse.csr_array) -> None:
    """Print variances of a chain and of its steps, and seconds of a chain, by document."""
    print(f"{'chain':>8} {'sum of its steps':>17} {'seconds':>8}")
    for i in range(documents.shape[0]):
        counts = documents[[i]]
        document, _ = listed_document(model, counts.indices, counts.data)
        path = path_for(N_STEPS, N_TOKENS, model.alpha)
        step_logs(document, path[:2], 1, np.random.default_rng(0))  # compile
        started = time.process_time()
        logs = step_logs(document, path, N_CHAINS, np.random.default_rng(i))
        seconds = (time.process_time() - started) / N_CHAINS
        of_steps = logs.var(axis=0, ddof=1).sum()
        print(f"{logs.sum(axis=1).var(ddof=1):8.2f} {of_steps:17.2f} {seconds:8.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, metavar="FILE")
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--only", choices=("sizes", "long", "certificate", "steps"), default="sizes"
    )
    arguments = parser.parse_args()
    model = learned(arguments.model)
    documents = long_documents(arguments.documents)
    print(
        f"{arguments.documents} documents of {N_TOKENS:,} tokens, {model.n_topics:,} topics, "
        f"{arguments.repeats} seeds; CPU seconds and nats² a document"
    )
    if arguments.only == "certificate":
        found = certify(
            model,
            np.full(arguments.documents, N_TOKENS),
            "annealing-from-mean",
            n_documents=arguments.documents,
            n_samples=20,
            n_chains=4,
            n_temperatures=6000,
            random_state=0,
            n_jobs=1,
        )
        print(found)
        return
    if arguments.only == "steps":
        print_steps(model, documents)
        return
    print(
        f"{'estimator':29} {'size':>10} {'seconds':>8} {'variance':>9} {'median':>9} "
        f"{'stated':>9} {'mean':>10} {'nats² s':>9}"
    )
    for each in SIZES if arguments.only == "sizes" else (LONG,):
        priced(*each, model, documents, arguments.repeats)


if __name__ == "__main__":
    main()
