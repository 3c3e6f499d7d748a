"""Topics of all training tokens, as collapsed Gibbs sampling left them: MALLET's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corpora.formats.mallet_state import MalletState
from models.gibbs.state import GibbsLDAState, check_state
from models.gibbs.tokens import tokens_of
from models.saved import ModelFormatError
from pipeline.errors import UsageError
from pipeline.exports.as_lda import lda_of
from pipeline.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pipeline.runs.loaded_run import LoadedRun


def mallet_state(run: LoadedRun) -> MalletState:
    """Return the topic of each training token after the last sweep, with alpha and eta.

    This is the run's last sample. The run's model is another: the average of samples that was best
    by validation. Sources are the ids of documents, type indices the columns of the vocabulary;
    tokens of a document are in the order of the vocabulary, as bags of words have no order.

    Raises UsageError, with the reason, if the run has no topics of tokens, or if they say more than
    a state can; ModelFormatError if the checkpoint is damaged or of another corpus.
    """
    state = _sampled(run)
    corpus = run.parts.train
    tokens = tokens_of(corpus.counts)
    try:
        check_state(state, tokens, corpus.n_words, run.model.topics.n_topics)
    except ValueError as error:
        raise ModelFormatError(f"{run.directory.checkpoint_path}: {error}") from error
    order = np.lexsort((tokens.word_of, tokens.doc_of))
    doc_of, word_of = tokens.doc_of[order], tokens.word_of[order]
    used, index_of = np.unique(word_of, return_inverse=True)
    n_tokens = np.bincount(doc_of, minlength=corpus.n_docs)
    starts = np.cumsum(n_tokens) - n_tokens
    position = np.arange(len(doc_of)) - np.repeat(starts, n_tokens)
    return MalletState(
        doc_of=doc_of,
        position_of=position.astype(np.int32),
        word_of=index_of.astype(np.int32),
        topic_of=state.topic_of[order].astype(np.int32),
        vocabulary=tuple(corpus.vocabulary[w] for w in used),
        type_indices=used.astype(np.int32),
        sources=tuple(corpus.doc_ids),
        n_topics=run.model.topics.n_topics,
        alpha=state.alpha,
        beta=float(state.eta[0]),
    )


def _sampled(run: LoadedRun) -> GibbsLDAState:
    """Return the state of the sampler, or raise UsageError if MALLET's state cannot say it."""
    lda_of(run, "and MALLET's state is of LDA alone")
    path = run.directory.checkpoint_path
    if not path.exists():
        raise UsageError(f"{run.name} has no checkpoint any more, which held the topics of tokens")
    state: Any = Checkpoint.load(path, run.corpus.content_hash).state
    if not isinstance(state, GibbsLDAState):
        raise UsageError(
            f"{run.name} has no topics of tokens: --model {run.settings.model} gives a token "
            "proportions of topics; train with --model gibbs for a state"
        )
    if state.frozen.any():
        raise UsageError(
            f"{run.name} has a word budget: the tokens of its {int(state.frozen.sum()):,} most "
            "frequent words are in no topic's counts, which a state cannot say"
        )
    if len(state.n_wk_before) or (state.eta != state.eta[0]).any():
        raise UsageError(
            f"{run.name} has counts of earlier documents, or a prior for each word, which a state "
            "cannot say"
        )
    return state
