"""A run's model as gensim's `LdaModel`, for code that is written for gensim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.row_blocks import row_blocks
from models.dirichlet_prior import prior_vector
from pipeline.exports.as_lda import lda_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpora import Corpus
    from pipeline.runs.loaded_run import LoadedRun


def gensim_model(run: LoadedRun) -> Any:
    """Return the model as a `gensim.models.LdaModel`, with a `Dictionary` as `id2word`.

    `get_topics()` equals the run's topics up to float32. Inference takes the topics as fixed, as
    ours does: `expElogbeta` is φ itself, not exp E[log φ], which differs for words with few tokens.
    λ is φ times the topic's tokens and prior in the training documents, so that `update` goes on
    with as much weight as gensim's own training would have given it; from then on gensim's
    `expElogbeta` holds. Raises UsageError, in one line, if the model is no LDA.
    """
    lda = lda_of(run, "which is all that gensim's LdaModel can hold")
    from gensim.models import LdaModel  # noqa: PLC0415 - takes long to import

    corpus, settings = run.parts.train, run.settings
    n_words = lda.n_words
    eta = float(prior_vector(_number_or_text(settings.eta), n_words, "eta")[0])
    model = LdaModel(
        num_topics=lda.n_topics,
        id2word=_dictionary(run.model.vocabulary, corpus),
        alpha=np.asarray(lda.alpha, dtype=np.float32),
        eta=eta,
        random_state=(settings.seed or 0) % 2**32,
    )
    prevalence = run.model.prevalence
    share = np.full(lda.n_topics, 1 / lda.n_topics) if prevalence is None else prevalence
    n_tokens = share * corpus.n_tokens + eta * n_words
    model.state.sstats[...] = lda.topic_word * n_tokens[:, None] - eta
    model.state.numdocs = corpus.n_docs
    model.expElogbeta = lda.topic_word.astype(np.float32)
    return model


def _dictionary(vocabulary: Sequence[str], corpus: Corpus) -> Any:
    """Return gensim's dictionary, with the frequencies of the words in the corpus."""
    from gensim.corpora import Dictionary  # noqa: PLC0415 - takes long to import

    in_documents = np.zeros(corpus.n_words, dtype=np.int64)
    tokens = np.zeros(corpus.n_words, dtype=np.int64)
    for _, block in row_blocks(corpus.counts):
        in_documents += np.bincount(block.indices, minlength=corpus.n_words)
        tokens += np.asarray(block.sum(axis=0, dtype=np.int64)).ravel()
    dictionary = Dictionary()
    dictionary.token2id = {word: w for w, word in enumerate(vocabulary)}
    dictionary.dfs = {w: n for w, n in enumerate(in_documents.tolist()) if n}
    dictionary.cfs = {w: n for w, n in enumerate(tokens.tolist()) if n}
    dictionary.num_docs = corpus.n_docs
    dictionary.num_nnz = int(in_documents.sum())
    dictionary.num_pos = int(tokens.sum())
    return dictionary


def _number_or_text(setting: str) -> float | str:
    try:
        return float(setting)
    except ValueError:
        return setting
