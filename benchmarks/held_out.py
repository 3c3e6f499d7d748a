"""Held-out likelihood of LDA: what each estimator takes, and what it takes at equal error.

    python -m benchmarks.held_out [--documents 10000] [--repeats 10] [--wikipedia 10 100]

First the paper's load (Buntine 2009, Sec. 4.2): documents of 151 tokens on average under 10 topics
over 5,000 words, left-to-right with R = 100 and the mean-field samplers with N = 200, on two
threads; the paper's times are for 10,000 documents on one core of 2.16 GHz.

Then the estimators one against the other on one thread: MALLET's algorithm, which is left-to-right
with particles and one sweep before each token, implemented straight, and ours. Each scores the same
documents several times with other seeds. The squared error that more samples take away is the
variance over seeds; at equal standard error, times are in proportion to time times variance. Part
of that of MALLET's algorithm is from the order of the tokens, which is drawn by the seed; it is not
in the error that it states. What more samples do not take away is the bias, here the mean of log p̂
less its reference: ours with 40 times the particles.

Documents are drawn from the model above; with --wikipedia, real ones are scored under so many
topics learned from others (it needs the reference counts).
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from evaluation.lda.simulate import simulated_documents
from models import GibbsLDA
from pipeline.reproduce.buntine2009.simulated import draw_lengths, draw_topics, zipf_word_prior

if TYPE_CHECKING:
    from scipy import sparse

    from models import LDATopics

PAPER = {
    "left-to-right-sequential": (100, "25.5 min"),
    "mean-field-is-1": (200, "55 s"),
    "mean-field-is-2": (200, "55 s"),
}
COMPARED = (
    ("left-to-right-particle", 100),
    ("left-to-right-sequential", 100),
    ("mean-field-is-1", 200),
)
REFERENCE_PARTICLES = 4000


def simulated(n_topics: int, n_documents: int) -> tuple[LDATopics, sparse.csr_array]:
    """Documents of 151 tokens on average from topics over 5,000 words."""
    rng = np.random.default_rng(1)
    model = draw_topics(n_topics, zipf_word_prior(5000, concentration=500.0), 1.0 / n_topics, rng)
    return model, simulated_documents(model, draw_lengths(n_documents, 151, 3.0, rng), rng)[0]


def wikipedia(n_topics: int, n_documents: int) -> tuple[LDATopics, sparse.csr_array]:
    """Test articles, under topics that 100 sweeps have learned from the training articles."""
    train, test = reference_counts()
    model = GibbsLDA(n_topics, eta=0.1, random_state=1, n_jobs=2).fit(train).topics_
    rows = np.random.default_rng(0).choice(test.shape[0], n_documents, replace=False)
    return model, test[np.sort(rows)]


def paper_load(n_documents: int) -> None:
    model, documents = simulated(10, n_documents)
    print(
        f"{n_documents:,} documents of {documents.sum() / n_documents:.0f} tokens, K = 10, "
        "two threads"
    )
    for method, (n_samples, published) in PAPER.items():
        log_likelihood(model, documents[:4], method, n_samples=n_samples, random_state=0)  # compile
        started = time.perf_counter()
        found = log_likelihood(
            model, documents, method, n_samples=n_samples, random_state=0, n_jobs=2
        )
        seconds = time.perf_counter() - started
        print(
            f"  {method:26s} {n_samples} samples {seconds:7.1f} s   perplexity "
            f"{found.perplexity:.2f}   (paper: {published})",
            flush=True,
        )


def compare(name: str, model: LDATopics, documents: sparse.csr_array, repeats: int) -> None:
    reference = log_likelihood(
        model,
        documents,
        "left-to-right-sequential",
        n_samples=REFERENCE_PARTICLES,
        random_state=99,
        n_jobs=2,
    )
    print(
        f"\n{name}: {documents.shape[0]} documents of {documents.sum() / documents.shape[0]:.0f} "
        f"tokens, K = {model.n_topics}; reference ± {reference.standard_error.mean():.3f} nats each"
    )
    print(
        "  method                      n  CPU ms   variance  stated    bias ± error  ms × variance"
    )
    cost, own_cost = {}, {}
    for method, n_samples in COMPARED:
        values, stated = [], []
        log_likelihood(model, documents[:1], method, n_samples=2, random_state=0)
        started = time.process_time()
        for seed in range(repeats):
            found = log_likelihood(model, documents, method, n_samples=n_samples, random_state=seed)
            values.append(found.log_likelihood)
            stated.append(found.standard_error**2)
        milliseconds = (time.process_time() - started) / repeats / documents.shape[0] * 1e3
        variance = np.var(values, axis=0, ddof=1).mean()
        off = np.mean(values, axis=0) - reference.log_likelihood
        cost[method], own_cost[method] = milliseconds * variance, milliseconds * np.mean(stated)
        print(
            f"  {method:26s}{n_samples:4d} {milliseconds:7.2f} {variance:10.4f} "
            f"{np.mean(stated):7.4f} {off.mean():7.3f} ± {off.std(ddof=1) / len(off) ** 0.5:.3f} "
            f"{cost[method]:10.3f}",
            flush=True,
        )
    ours = cost["left-to-right-sequential"]
    print(
        "  at equal standard error ours takes 1 / "
        f"{cost['left-to-right-particle'] / ours:.0f} of the time of MALLET's algorithm, and "
        f"1 / {own_cost['left-to-right-particle'] / ours:.0f} if that is charged only with the "
        "error that it states"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--compared-documents", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--wikipedia", type=int, nargs="*", default=[])
    arguments = parser.parse_args()
    paper_load(arguments.documents)
    for n_topics in (10, 100):
        compare("simulated", *simulated(n_topics, arguments.compared_documents), arguments.repeats)
    for n_topics in arguments.wikipedia:
        compare("Wikipedia", *wikipedia(n_topics, arguments.compared_documents), arguments.repeats)


if __name__ == "__main__":
    main()
