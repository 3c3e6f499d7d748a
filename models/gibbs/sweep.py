"""Sweeps of collapsed Gibbs sampling over a corpus, exact or parallel.

An exact sampler visits the cells of the grid one after the other, each with current counts. A
parallel one visits P cells at the same time that share neither documents nor words (see
`models.gibbs.tokens`): only the totals n_k lack the changes of the other cells until all P are
done, an approximation of K numbers that change little in that time. (In AD-LDA, Newman, Asuncion,
Smyth & Welling 2009, the words' counts are out of date as well.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.arrays import Ints, Ints32
from models.gibbs.conditionals import DocumentTopics, SampledTopics, expect_word_topics
from models.gibbs.dense import (
    Priors,
    add_topic_words,
    count_doc_topics,
    padded,
    resample_dense,
)
from models.gibbs.minka import Exceedances, exceedances
from models.gibbs.sparse import resample_sparse
from models.gibbs.state import GibbsLDAState
from models.gibbs.tokens import Tokens, count_word_topics
from models.gibbs.topic_lists import (
    add_listed_topics,
    empty_lists,
    list_doc_topics,
    sort_lists,
    topics_of_words,
)
from models.lanes import LANES
from models.parallel import for_blocks

ITEM_BLOCK = 256  # Documents or words in a task
WORD_BLOCK = 512  # Words in a task when a sample is added to the sum


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
        topic_of, n_topics, n_tokens = state.topic_of, len(state.alpha), len(tokens.doc_of)
        if self._dense:
            self._n_wk = np.zeros((len(state.eta), n_topics), dtype=np.int32)
            if len(state.n_wk_before):
                self._n_wk += state.n_wk_before
            n_runs = len(tokens.word_of_run)
            count_word_topics(tokens, 0, n_runs, topic_of, state.frozen, self._n_wk)
            self._n_dk = np.zeros((n_docs, padded(n_topics, LANES)), dtype=np.int32)
            count_doc_topics(tokens, 0, n_tokens, topic_of, self._n_dk)
            self._doc_topics = empty_lists(np.zeros(0, np.int64), n_topics)
            self.n_k: Ints = self._n_wk.sum(axis=0, dtype=np.int64)
            """(K,), tokens of each topic, without frozen words."""
        else:
            self._n_dk = np.zeros((0, n_topics), dtype=np.int32)
            self._doc_topics = empty_lists(np.bincount(tokens.doc_of, minlength=n_docs), n_topics)
            list_doc_topics(tokens, 0, n_tokens, topic_of, self._doc_topics)
            self._word_topics = topics_of_words(
                tokens, topic_of, state.frozen, state.n_wk_before, n_topics
            )
            listed = self._word_topics
            n_k = np.bincount(listed.topic, listed.n_tokens, n_topics + 1)
            self.n_k = n_k[:n_topics].astype(np.int64)

    @property
    def n_wk(self) -> Ints32:
        """(V, K), tokens of each word and topic, without frozen words; from lists at each call."""
        if self._dense:
            return self._n_wk
        n_wk = np.zeros((len(self._state.eta), len(self._state.alpha)), dtype=np.int32)
        one = np.ones(len(self._state.alpha), dtype=np.int32)
        for_blocks(
            lambda first, last: add_listed_topics(self._word_topics, first, last, one, n_wk),
            len(n_wk),
            ITEM_BLOCK,
            self._n_threads,
        )
        return n_wk

    @property
    def word_topic_weight(self) -> NDArray[Any]:
        """(V, K), weights of words in topics: expected tokens if there are any, or else by samples;
        before the first, by the assignment.
        """
        state = self._state
        if len(state.expected_n_wk):
            return state.expected_n_wk + state.eta[:, None]
        return state.topic_word_total if state.n_samples else self.n_wk + state.eta[:, None]

    def sweep(self) -> None:
        """Resample every token once."""
        self._state.expected_n_wk = np.zeros((0, len(self._state.alpha)), dtype=np.float32)
        self._sort_documents()
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

    def add_sample(self, weight: float) -> None:
        """Add the posterior mean topics of the assignment, times `weight`, to the state's sum."""
        state = self._state
        shape = len(state.eta), len(state.alpha)
        if not state.n_samples:
            state.topic_word_sum = np.zeros(shape, dtype=np.float32)
            state.inverse_sum = np.zeros(0)
        exact_inverse = weight / (self.n_k + state.eta.sum())
        inverse, total = exact_inverse.astype(np.float32), state.topic_word_sum
        if self._dense:
            eta, n_wk = state.eta.astype(np.float32), self._n_wk

            def add(first: int, last: int) -> None:
                add_topic_words(n_wk[first:last], eta[first:last], inverse, total[first:last])

        else:
            if not len(state.inverse_sum):
                state.inverse_sum = np.zeros(shape[1])
            state.inverse_sum += exact_inverse

            def add(first: int, last: int) -> None:
                add_listed_topics(self._word_topics, first, last, inverse, total)

        for_blocks(add, shape[0], WORD_BLOCK, self._n_threads)
        state.n_samples += 1

    def _sort_documents(self) -> None:
        """Put the topics of documents, if these are lists, in an order that counts alone decide."""
        for_blocks(
            lambda first, last: sort_lists(self._doc_topics, first, last),
            0 if self._dense else self._n_docs,
            ITEM_BLOCK,
            self._n_threads,
        )

    def expect_word_topics(self) -> None:
        """Sum the full conditionals of all tokens, given the samples so far, in the state."""
        self._sort_documents()
        state = self._state
        weight, inverse = state.topic_word_sum, state.inverse_sum
        inverse = inverse if len(inverse) else np.zeros(len(state.alpha))
        total = self.n_k + state.eta.sum()
        mass = weight.sum(axis=0, dtype=np.float64) + inverse * state.eta.sum()
        runs = self._tokens
        n_w = np.bincount(runs.word_of_run, np.diff(runs.run_start), len(state.eta))
        of_documents = DocumentTopics(self._n_dk, self._doc_topics)
        topics = SampledTopics(
            weight,
            inverse.astype(np.float32),
            (total / mass).astype(np.float32),
            total.astype(np.float32),
            state.alpha.astype(np.float32),
            state.eta.astype(np.float32),
            n_w.astype(np.float32),
            state.frozen,
        )
        expected = np.zeros(weight.shape, dtype=np.float32)
        for_blocks(
            lambda word_range, _: expect_word_topics(
                self._tokens, word_range, state.topic_of, of_documents, topics, expected
            ),
            self._tokens.n_blocks,
            1,
            self._n_threads,
        )
        state.expected_n_wk = expected

    def doc_topic_exceedances(self) -> Exceedances:
        """Return the numbers of documents with more than i tokens of each topic."""
        n_topics = len(self._state.alpha)
        if self._dense:
            n_rows = self._n_dk.shape[1]
            topic, counts = np.arange(n_rows, dtype=np.uint16), self._n_dk
        else:
            n_rows = n_topics + 1  # empty places are of topic K
            topic, counts = self._doc_topics.topic, self._doc_topics.n_tokens[None, :]
        found = exceedances(topic, counts, n_rows, self._n_threads)
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
                tokens, first, last, state.topic_of, self._n_wk, n_k, self._n_dk, priors, uniforms
            )
        else:
            resample_sparse(
                tokens,
                first,
                last,
                state.topic_of,
                self._word_topics,
                n_k,
                self._doc_topics,
                priors,
                uniforms,
            )

    def _priors(self) -> Priors:
        n_topics = len(self._state.alpha)
        alpha = np.zeros(padded(n_topics, LANES), dtype=np.float32)
        alpha[:n_topics] = self._state.alpha
        eta = self._state.eta
        counted = (~self._state.frozen).astype(np.int32)
        weight = self._state.topic_weight.astype(np.float32)
        return Priors(alpha, eta.astype(np.float32), float(eta.sum()), weight, counted)
