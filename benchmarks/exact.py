"""The exact log-likelihood of a document: milliseconds and memory, by topics and tokens.

    python -m benchmarks.exact [--topics 4 4 10] [--tokens 14 100 25]

Documents of words drawn evenly, under topics drawn from Dirichlet(0.3) over 1,000 words, alpha 0.1:
every topic has every word. Time is that of `exact` on one thread for all documents, over their
number, without compilation: the best of `--repeats`. "Estimated" is what it refuses by. Memory is
the most that the process has held so far, so the largest case comes last.
"""

from __future__ import annotations

import argparse
import math
import resource
import time

import numpy as np
from scipy import sparse

from evaluation.document_blocks import DocumentBlock
from evaluation.exact_cost import ExactCostError
from evaluation.lda.exact import exact
from models import LDATopics

N_WORDS = 1000
MAX_UPDATES = 2e7
"""Of a case's documents together: so many documents are taken, 1,000 at most."""


def topics_of(n_topics: int) -> LDATopics:
    rng = np.random.default_rng(n_topics)
    topic_word = rng.dirichlet(np.full(N_WORDS, 0.3), n_topics) + 1e-9
    return LDATopics.from_weights(topic_word, 0.1)


def documents_of(n_docs: int, n_tokens: int) -> sparse.csr_array:
    rng = np.random.default_rng(n_tokens)
    return sparse.csr_array(rng.multinomial(n_tokens, np.full(N_WORDS, 1 / N_WORDS), size=n_docs))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def estimated_seconds(topics: LDATopics, document: sparse.csr_array) -> float:
    try:
        exact(topics, DocumentBlock(document), max_memory=1)
    except ExactCostError as error:
        return error.seconds
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[4, 4, 10])
    parser.add_argument("--tokens", type=int, nargs="+", default=[14, 100, 25])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    exact(topics_of(3), DocumentBlock(documents_of(2, 5)))  # compile
    print(f"memory before: {peak_megabytes():,.0f} MB")
    print("topics  tokens  documents   ms a document   estimated, ms   peak memory, MB", flush=True)
    for n_topics, n_tokens in zip(arguments.topics, arguments.tokens, strict=True):
        updates = math.comb(n_tokens + n_topics, n_topics)
        n_docs = int(min(1000, max(1, MAX_UPDATES // updates)))
        topics, documents = topics_of(n_topics), documents_of(n_docs, n_tokens)
        seconds = []
        for _ in range(arguments.repeats):
            started = time.perf_counter()
            exact(topics, DocumentBlock(documents))
            seconds.append(time.perf_counter() - started)
        estimate = estimated_seconds(topics, documents[[0]])
        print(
            f"{n_topics:6d} {n_tokens:7d} {n_docs:10d} {1e3 * min(seconds) / n_docs:15.3f}"
            f" {1e3 * estimate:15.3f} {peak_megabytes():17,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
