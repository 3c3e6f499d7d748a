"""Sweeps of collapsed Gibbs sampling over a corpus, exact or parallel.

An exact sampler visits the cells of the grid one after the other, each with current counts. A
parallel one visits P cells at the same time that share neither documents nor words (see
`models.gibbs.tokens`): only the totals n_k lack the changes of the other cells until all P are
done, an approximation of K numbers that change little in that time. (In AD-LDA, Newman, Asuncion,
Smyth & Welling 2009, the words' counts are out of date as well.)
"""

import numpy as np

from models.arrays import Ints
from models.gibbs.dense import LANES, Priors, count_doc_topics, padded, resample_dense
from models.gibbs.minka import Exceedances, exceedances
from models.gibbs.sparse import (
    BLOCK,
    list_doc_topics,
    no_doc_topics,
    resample_sparse,
    sort_doc_topics,
)
from models.gibbs.state import GibbsLDAState
from models.gibbs.tokens import Tokens, count_word_topics
from models.parallel import for_blocks

SORT_BLOCK = 256  # Documents in a task that sorts their topics


class GibbsSweeps:
    """Counts of a state's assignment, and sweeps that change both.

    The state's `topic_of` is resampled in place; `n_sweeps` and `n_documents` increase. `sampler`
    is one of `SAMPLERS`; exact ones use one thread. The number of threads changes no bit.
    """

    def __init__(
        self, tokens: Tokens, state: GibbsLDAState, n_docs: int, sampler: str, n_threads: int
    ) -> None:
        self._tokens, self._state, self._n_docs = tokens, state, n_docs
        self._exact = sampler.startswith("exact")
        self._dense = sampler.endswith("dense")
        self._n_threads = n_threads
        n_words, n_topics = len(state.eta), len(state.alpha)
        self.n_wk = np.zeros((n_words, n_topics), dtype=np.int32)
        """(V, K), tokens of each word and topic, without frozen words."""
        if len(state.n_wk_before):
            self.n_wk += state.n_wk_before
        n_runs = len(tokens.word_of_run)
        count_word_topics(tokens, 0, n_runs, state.topic_of, state.frozen, self.n_wk)
        self.n_k: Ints = self.n_wk.sum(axis=0, dtype=np.int64)  # (K,), tokens of each topic
        if self._dense:
            self._n_dk = np.zeros((n_docs, padded(n_topics, LANES)), dtype=np.int32)
            count_doc_topics(tokens, 0, len(tokens.doc_of), state.topic_of, self._n_dk)
        else:
            n_tokens = np.bincount(tokens.doc_of, minlength=n_docs)
            self._doc_topics = no_doc_topics(n_tokens, n_topics)
            list_doc_topics(tokens, 0, len(tokens.doc_of), state.topic_of, self._doc_topics)

    def sweep(self) -> None:
        """Resample every token once."""
        if not self._dense:
            for_blocks(
                lambda first, last: sort_doc_topics(self._doc_topics, first, last),
                self._n_docs,
                SORT_BLOCK,
                self._n_threads,
            )
        priors = self._priors()
        n_blocks = self._tokens.n_blocks
        for phase in range(n_blocks):
            if self._exact:
                for block in range(n_blocks):
                    self._resample(block, phase, self.n_k, priors)
            else:
                totals = np.tile(self.n_k, (n_blocks, 1))
                for_blocks(
                    lambda block, _: self._resample(block, phase, totals[block], priors),  # noqa: B023
                    n_blocks,
                    1,
                    self._n_threads,
                )
                self.n_k += (totals - self.n_k).sum(axis=0)
        self._state.n_sweeps += 1
        self._state.n_documents += self._n_docs

    def doc_topic_exceedances(self) -> Exceedances:
        """Return the numbers of documents with more than i tokens of each topic."""
        n_topics = len(self._state.alpha)
        if not self._dense:
            topic, n_dk = self._doc_topics.topic, self._doc_topics.n_dk[None, :]
            return exceedances(topic, n_dk, n_topics, self._n_threads)
        n_padded = self._n_dk.shape[1]
        topic = np.arange(n_padded, dtype=np.uint16)
        found = exceedances(topic, self._n_dk, n_padded, self._n_threads)
        return Exceedances(found.start[: n_topics + 1], found.above)

    def _resample(self, block: int, phase: int, n_k: Ints, priors: Priors) -> None:
        state, tokens = self._state, self._tokens
        first, last = tokens.runs(block, (block + phase) % tokens.n_blocks)
        n_tokens = int(tokens.run_start[last] - tokens.run_start[first])
        if not n_tokens:
            return
        rng = np.random.default_rng([state.seed, 1, state.n_batches, state.n_sweeps, block, phase])
        uniforms = rng.random(n_tokens, dtype=np.float32)
        if self._dense:
            resample_dense(
                tokens, first, last, state.topic_of, self.n_wk, n_k, self._n_dk, priors, uniforms
            )
        else:
            resample_sparse(
                tokens,
                first,
                last,
                state.topic_of,
                self.n_wk,
                n_k,
                self._doc_topics,
                priors,
                uniforms,
            )

    def _priors(self) -> Priors:
        n_topics = len(self._state.alpha)
        alpha = np.zeros(padded(n_topics, LANES if self._dense else BLOCK), dtype=np.float32)
        alpha[:n_topics] = self._state.alpha
        eta = self._state.eta
        counted = (~self._state.frozen).astype(np.int32)
        weight = self._state.topic_weight.astype(np.float32)
        return Priors(alpha, eta.astype(np.float32), float(eta.sum()), weight, counted)
