"""What several libraries call the perplexity of one and the same model on the same documents.

    python -m benchmarks.library_perplexities [--topics 25]

The topics are learned once, by OnlineLDA from the reference counts, and put into scikit-learn's and
gensim's models as they are, so that only the way of scoring differs. Scored are 2,500, 250 and 25
test articles, which have nearly the same perplexity. tomotopy cannot be given topics: it learns its
own, and what it prints is of the documents that it learned from.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
import tomotopy
from gensim.matutils import Sparse2Corpus
from gensim.models import LdaModel
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from models import LDATopics, OnlineLDA

if TYPE_CHECKING:
    from scipy import sparse

ALPHA, ETA = 0.1, 0.01
SIZES = (2500, 250, 25)
METHODS = (
    "left-to-right-sequential",
    "mean-field-is-1",
    "completion",
    "variational-bound",
    "harmonic-mean",
)


def sklearn_model(model: OnlineLDA) -> Any:
    """scikit-learn's LDA with the same posterior of topics."""
    n_topics, n_words = model.topic_word_dirichlet_.shape
    result = LatentDirichletAllocation(
        n_topics, doc_topic_prior=ALPHA, topic_word_prior=ETA, total_samples=25_000
    )
    result.partial_fit(np.eye(1, n_words))  # makes what scoring needs
    result.components_ = model.topic_word_dirichlet_
    elog = np.log(model.topics_.topic_word)
    result.exp_dirichlet_component_ = np.exp(elog)
    return result


def gensim_model(model: OnlineLDA) -> Any:
    """Gensim's LDA with the same posterior of topics."""
    n_topics, n_words = model.topic_word_dirichlet_.shape
    result = LdaModel(
        id2word={w: str(w) for w in range(n_words)},
        num_topics=n_topics,
        alpha=[ALPHA] * n_topics,
        eta=ETA,
        random_state=1,
        dtype=np.float64,
    )
    result.state.sstats = model.topic_word_dirichlet_ - ETA
    result.sync_state()
    return result


def row(name: str, values: list[float]) -> None:
    texts = [f"{value:14,.1f}" if value < 1e9 else f"{value:14.1e}" for value in values]
    print(f"{name:52s}" + "".join(texts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, default=25)
    arguments = parser.parse_args()
    train, test = reference_counts()
    shuffled = test[np.random.default_rng(0).permutation(test.shape[0])]
    parts = [shuffled[:size] for size in SIZES]
    model = OnlineLDA(
        arguments.topics, alpha=ALPHA, eta=ETA, n_passes=4, random_state=1, n_jobs=2
    ).fit(train)
    print(f"{'one model, K = ' + str(arguments.topics):52s}" + "".join(f"{n:14,d}" for n in SIZES))
    for method in METHODS:
        row(
            f"wikitopics, {method}",
            [
                log_likelihood(model, part, method, random_state=0, n_jobs=2).perplexity
                for part in parts
            ],
        )
    theirs = sklearn_model(model)
    row("scikit-learn, perplexity(X)", [theirs.perplexity(part) for part in parts])
    theirs = gensim_model(model)
    bounds = [
        theirs.log_perplexity(list(Sparse2Corpus(part, documents_columns=False))) for part in parts
    ]
    row("gensim, 2 ** -log_perplexity(chunk), as it logs", [2.0**-bound for bound in bounds])
    row("gensim, exp(-log_perplexity(chunk))", [float(np.exp(-bound)) for bound in bounds])
    tomotopy_rows(train, parts, arguments.topics)


def tomotopy_rows(train: sparse.csr_array, parts: list[sparse.csr_array], n_topics: int) -> None:
    """Of a model of its own."""
    model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=ETA, seed=1)
    for first, last in zip(train.indptr, train.indptr[1:], strict=False):
        words = np.repeat(train.indices[first:last], train.data[first:last])
        model.add_doc([str(w) for w in words])
    model.train(100, workers=2)
    topic_word = np.zeros((n_topics, train.shape[1]))
    columns = [int(word) for word in model.used_vocabs]
    topic_word[:, columns] = [model.get_topic_word_dist(k) for k in range(n_topics)]
    topics = LDATopics.from_weights(topic_word, np.array(model.alpha))
    print("\ntomotopy's own model")
    row("tomotopy, model.perplexity (of training documents)", [model.perplexity])
    row(
        "wikitopics, left-to-right-sequential",
        [
            log_likelihood(
                topics, part, METHODS[0], smoothing=1e-9, random_state=0, n_jobs=2
            ).perplexity
            for part in parts
        ],
    )


if __name__ == "__main__":
    main()
