"""Trainers of the league: counts (D, V) to a model, with their libraries' usual settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.lda_trainers.separate_fits import topica_corpus
from models import OnlineLDA
from models.gamma_poisson.beta_gamma_pfa import BetaGammaPFA
from models.gamma_poisson.gap import GaP
from models.lda.gibbs_lda import GibbsLDA
from models.lda.topics import LDATopics

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import sparse

    from models.topics import TopicWords

ALPHA, ETA = 0.1, 0.01  # To begin with, where a library wants them
SWEEPS, PASSES = 200, 20


def gibbs_lda(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    return GibbsLDA(n_topics, n_iter=SWEEPS, random_state=seed).fit(counts).topics_


def online_lda(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    return OnlineLDA(n_topics, n_passes=PASSES, random_state=seed).fit(counts).topics_


def beta_gamma_pfa(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    return BetaGammaPFA(n_topics, n_iter=SWEEPS, random_state=seed).fit(counts).topics_


def gap(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    return GaP(n_topics, random_state=seed).fit(counts).topics_


def tomotopy(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    import tomotopy as tp  # noqa: PLC0415 - a peer

    model = tp.LDAModel(k=n_topics, alpha=ALPHA, eta=ETA, seed=seed)
    names = [str(w) for w in range(counts.shape[1])]
    for begin, end in zip(counts.indptr, counts.indptr[1:], strict=False):
        words = np.repeat(counts.indices[begin:end], counts.data[begin:end])
        if len(words):
            model.add_doc([names[w] for w in words])
    model.train(SWEEPS, workers=1)
    topics = LDATopics.from_tomotopy(model)
    full = np.zeros((n_topics, counts.shape[1]))
    full[:, [int(word) for word in model.used_vocabs]] = topics.topic_word
    return LDATopics.from_weights(full + 1e-12, topics.alpha)


def scikit_learn(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    from sklearn.decomposition import LatentDirichletAllocation  # noqa: PLC0415

    model = LatentDirichletAllocation(
        n_topics, learning_method="online", max_iter=PASSES, random_state=seed
    )
    return LDATopics.from_sklearn(model.fit(counts))


def gensim(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    from gensim.matutils import Sparse2Corpus  # noqa: PLC0415
    from gensim.models import LdaModel  # noqa: PLC0415

    words = {w: str(w) for w in range(counts.shape[1])}
    documents = Sparse2Corpus(counts.tocsc(), documents_columns=False)
    model = LdaModel(
        documents, n_topics, words, passes=PASSES, alpha="auto", eta="auto", random_state=seed
    )
    return LDATopics.from_gensim(model)


def topica(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicWords:
    from topica import LDA  # type: ignore[import-not-found]  # noqa: PLC0415 - a peer

    model = LDA(n_topics, seed=seed, num_threads=1)
    model.fit(topica_corpus(counts), iters=SWEEPS, keep_theta_draws=False)
    return LDATopics.from_weights(np.asarray(model.topic_word), np.asarray(model.alpha))


TRAINERS: dict[str, Callable[[sparse.csr_array, int, int], TopicWords]] = {
    "GibbsLDA": gibbs_lda,
    "OnlineLDA": online_lda,
    "BetaGammaPFA": beta_gamma_pfa,
    "GaP": gap,
    "tomotopy": tomotopy,
    "topica": topica,
    "scikit-learn": scikit_learn,
    "gensim": gensim,
}
