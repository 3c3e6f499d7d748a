"""Online variational Bayes for LDA with a capped E-step (Hoffman, Blei & Bach 2010).

The cap and the frozen words are those of Aldebakel et al. 2022: a document's fixed point need not
converge while the topics are still crude, and the most frequent words need no parameters.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.special import psi
from sklearn.utils.validation import check_is_fitted

from corpora.row_blocks import taken_rows, total_of
from models.checks import check_number
from models.counts import frozen_words
from models.dirichlet_prior import check_growth, check_priors, prior_vector
from models.estimator import CompletingEstimator
from models.family import Schedule
from models.lda.bound import document_bound, topic_bound
from models.lda.e_step import BatchStatistics, EStep, SubmitEStep, expected_counts, words_of
from models.lda.m_step import update_alpha, update_eta, update_topics, word_means, word_weights
from models.lda.online_lda_state import OnlineLDAState, OnlineLDAStep
from models.parallel import effective_n_jobs
from models.seed import seed_from
from models.variational.inference import infer_doc_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike
    from scipy import sparse

    from models.arrays import Bools, Floats
    from models.lda.topics import LDATopics

MIN_TOKENS_PER_WORD = 20.0
"""Minimal number of tokens in D documents, by default, for each topic and word of the vocabulary.
exp E[log φ_kw] of a λ_kw near 0 is far below its mean, so with fewer tokens topics hardly leave
their random start: K = 100 on 1,000 articles had a perplexity of 2500, and 1850 with this minimum
(see docs/benchmarks.md)."""
MIN_STREAM_BATCH, MAX_BATCH = 50, 1000
DOCUMENTS_PER_TOPIC = 2
"""Minimal number of documents for each topic in a stream's batch, up to `MAX_BATCH`: few documents
cannot separate many topics in the first steps."""
STREAM_BATCHES = 40
"""Ratio of the documents seen of a stream to those of a batch, within the limits of a batch."""
_BETWEEN_STANDSTILLS = 16
"""Batches between two moments without a batch in flight, divided by the staleness plus one."""


class _Begun(NamedTuple):
    """A batch whose E-step is in flight."""

    number: int
    weight: Floats  # (n, K), weights of its words
    result: Callable[[], BatchStatistics]


@dataclass(eq=False, repr=False)
class OnlineLDA(CompletingEstimator):
    """LDA by online variational Bayes.

    It differs from the paper in one point: each visit of a document starts its fixed point from
    fresh, strong noise (see `noisy_start`), which makes better topics.

    Parameters
    ----------
    n_topics : int
        K.
    alpha : float, array (K,), "symmetric", "asymmetric" or "learned"
        Dirichlet prior of a document's topics. "learned" takes a Newton step after each batch.
    eta : float, array (V,), "symmetric" or "learned"
        Dirichlet prior of a topic's words. "learned" is one number for all words; it costs a pass
        over all K·V parameters after each batch.
    batch_size : int, optional
        S, documents in a step. By default 1,000, or a twentieth of a corpus of fewer than 20,000
        documents (but at least 100), so that a pass over any corpus has many steps. `fit` splits a
        pass into batches of equal size, at most this. For a stream (`partial_fit`) the default is a
        fortieth of the documents seen, but at least 50 and two for each topic, and at most 1,000.
        With a small eta, such as 0.01, use 1,000: topics can then hardly learn words that were not
        in their first batches.
    max_e_iterations : int
        The cap: maximal number of iterations of a document's fixed point.
    e_tolerance : float
        The fixed point has converged when γ changes by less than this, on average over topics.
    learning_decay, learning_offset : float
        κ and τ0 of the step size ρ_t = (τ0 + 1 + t)^-κ. Convergence needs κ in (0.5, 1]; smaller
        values are allowed because Aldebakel et al. used 0.05. A batch of a stream with f·S
        documents, f < 1, is a part of a step: its step size is 1 - (1 - ρ_t)^f, and t grows by f.
    expectation : {"log", "mean"}
        Topics in the E-step: exp E[log φ] of variational Bayes, or E[φ] as in stochastic collapsed
        inference of zero order (SCVB0, Foulds et al. 2013). "mean" learns new words and changed
        topics sooner: for streams.
    n_passes : int
        Passes over the corpus that `fit` makes.
    total_documents : int, optional
        D, the documents that a batch represents in λ ← (1-ρ) λ + ρ (eta + D/S · expected counts).
        By default those of the corpus, or those seen of a stream, but at least as many as have 20
        tokens for each topic and word of the vocabulary, at the mean length of the documents: with
        fewer, topics stay near their random start. The weight of eta falls as D grows. The
        published algorithm takes the size of the corpus.
    word_budget : int, optional
        Words with parameters. All others, the most frequent of the first data seen, are frozen:
        they keep λ = eta after every step, while data and likelihood are unchanged.
    growing_vocabulary : bool
        Whether a call of `partial_fit` may have more words than the one before. New words are
        appended: earlier columns keep their order. A new word starts at λ = eta, so that Σ eta
        grows; until the first full batch it starts as all words do. `eta` must not be an array;
        "symmetric" and "learned" are by the words of the first call. `transform`, `score` and
        `topics_` have the words of the last call. A learned state takes 8·K bytes a word.
    window : int, optional
        Mean age, in documents, of what a stream has learned, at most: a batch of S documents has a
        step size of at least 1 - exp(-S / window), and D is at most `window`, or the documents with
        20 tokens for each topic and word. For streams with a drift; `fit` does without. By default
        step sizes fall to zero.
    staleness : int
        Number of earlier batches, at most, that the topics in a batch's E-step lack, in `fit`. With
        0 they lack none. With s > 0 the E-steps of s + 1 batches can run at the same time (see
        `iterate`). The number is always s, except at the start of training and where no batch is in
        flight, so that the result depends on nothing else.
    random_state : int, numpy Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`. If None a seed is drawn; see `seed_`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.
    """

    n_topics: int = 20
    _: KW_ONLY
    alpha: float | str | ArrayLike = 0.1
    eta: float | str | ArrayLike = 0.5
    batch_size: int | None = None
    max_e_iterations: int = 20
    e_tolerance: float = 1e-3
    learning_decay: float = 0.7
    learning_offset: float = 10.0
    expectation: str = "log"
    n_passes: int = 5
    total_documents: int | None = None
    word_budget: int | None = None
    growing_vocabulary: bool = False
    window: int | None = None
    staleness: int = 0
    random_state: Any = None
    n_jobs: int | None = None
    state_: OnlineLDAState = field(init=False)

    def iterate(
        self,
        X: Any,
        y: object = None,
        state: OnlineLDAState | None = None,
        submit_e_step: SubmitEStep | None = None,
        *,
        expect: SubmitEStep | None = None,
    ) -> Iterator[OnlineLDAStep]:
        """Train as `fit` does, yielding after each batch; `topics_` and `state_` are then current.

        With a staleness s it yields when no batch is in flight: after 16 (s + 1) batches, and at
        the end of a pass.

        Parameters
        ----------
        X
            Counts (D, V).
        state
            State of an earlier run on the same data with the same settings, which training
            continues in place, to the same bits as an uninterrupted run. After `partial_fit` on a
            stream it may be the stream's: `n_passes` over `X` then follow.
        submit_e_step
            Function that begins the E-step of a batch elsewhere and returns a function that waits
            for the result; see `models.lda.e_step`. By default E-steps run in this process.
        expect
            Former name of `submit_e_step`.
        """
        del y
        if expect is not None:
            warnings.warn("expect is now submit_e_step", DeprecationWarning, stacklevel=2)
            submit_e_step = expect
        self.check_settings()
        counts = self._check_counts(X, reset=True)
        n_docs = counts.shape[0]
        batches_per_pass = -(-n_docs // self._batch_size(n_docs))
        # Equal sizes: a short last batch would give its few documents the weight of a full one.
        first = np.arange(batches_per_pass + 1) * n_docs // batches_per_pass
        self._start(counts, state)
        order, order_pass = np.arange(0), -1
        n_streamed = self.state_.n_streamed
        n_tokens, now = total_of(counts), self.state_
        stands_for = self._total_documents(n_docs, n_tokens)
        if n_docs > now.n_stream_documents:
            now.n_stream_documents, now.n_stream_tokens = n_docs, n_tokens
        now.is_started = True
        together = _BETWEEN_STANDSTILLS * (self.staleness + 1) if self.staleness else 1
        while (done := self.state_.n_batches - n_streamed) < self.n_passes * batches_per_pass:
            n_passes, batch = divmod(done, batches_per_pass)
            if n_passes != order_pass:
                order = np.random.default_rng([self.state_.seed, 1, n_passes]).permutation(n_docs)
                order_pass = n_passes
            end = min(batch + together, batches_per_pass)
            # Sorted, so that a memory-mapped corpus is read forward.
            batches = (
                taken_rows(counts, np.sort(order[first[b] : first[b + 1]]))
                for b in range(batch, end)
            )
            iterations, step_size = self._window(
                batches, stands_for, submit_e_step or self._submit_here
            )
            yield OnlineLDAStep(
                n_batches=self.state_.n_batches,
                n_documents=self.state_.n_documents,
                n_passes=n_passes + float(first[end] / n_docs),
                mean_iterations=iterations / int(first[end] - first[batch]),
                step_size=step_size,
            )

    def _window(
        self,
        batches: Iterable[sparse.csr_array],
        total_documents: float,
        submit_e_step: SubmitEStep,
    ) -> tuple[int, float]:
        """Train on batches; return iterations of their E-steps and the last ρ.
        At any time `staleness` E-steps are in flight besides the awaited one, and M-steps follow
        the order of the batches: so the age of the topics in an E-step depends on neither place nor
        duration of E-steps.
        """
        in_flight: deque[_Begun] = deque()
        iterations, step_size = 0, 0.0
        number = self.state_.n_batches
        for counts in batches:
            in_flight.append(self._begin(counts, number, submit_e_step))
            number += 1
            if len(in_flight) > self.staleness:
                statistics, step_size = self._end(in_flight.popleft(), total_documents)
                iterations += statistics.iterations
        while in_flight:
            statistics, step_size = self._end(in_flight.popleft(), total_documents)
            iterations += statistics.iterations
        return iterations, step_size

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Learn from the next documents of a stream, once and in order.

        The result depends little on how the stream is cut into calls: more documents than
        `batch_size` are split into batches, and fewer make a part of a step. Before the first full
        batch, all E-steps use the topics at the start: otherwise a few documents would determine
        the topics. Raises ValueError as `fit`, and if `X` has not as many words as earlier calls;
        with `growing_vocabulary`, if it has fewer.
        """
        del y
        self.check_settings()
        if hasattr(self, "state_"):
            self._check_state(self.state_, len(self.state_.eta))
            counts = self._check_stream_counts(X, may_grow=self.growing_vocabulary)
            if self.growing_vocabulary:
                self._append_words(counts.shape[1] - len(self.state_.eta))
            self._check_state(self.state_, counts.shape[1])
        else:
            counts = self._check_counts(X, reset=True)
            self._start(counts, None)
        state, first = self.state_, 0
        while first < counts.shape[0]:
            size = self._stream_batch_size()
            n_batches = -(-(counts.shape[0] - first) // size)
            batch = counts[first : first + -(-(counts.shape[0] - first) // n_batches)]
            first += batch.shape[0]
            n_docs, n_tokens = state.n_stream_documents + batch.shape[0], total_of(batch)
            if state.n_stream_tokens or not state.n_stream_documents:
                n_tokens += state.n_stream_tokens
            else:  # assume the mean length of these
                n_tokens *= n_docs / batch.shape[0]
            is_at_start = state.n_streamed > 0 and not state.is_started
            by = self._topics_at_start() if is_at_start else state
            begun = self._begin(batch, state.n_batches, self._submit_here, by)
            window = np.inf if self.window is None else self.window
            stands_for = self._total_documents(n_docs, n_tokens, window)
            least = -float(np.expm1(-batch.shape[0] / window))
            self._end(begun, stands_for, batch.shape[0] / size, least)
            state.n_stream_documents, state.n_stream_tokens = n_docs, n_tokens
            state.is_started |= n_docs >= size
            state.n_streamed += 1
        if state.is_started:
            self._first: OnlineLDAState | None = None
        return self

    def resume(self, X: Any, state: OnlineLDAState | None) -> Self:
        """Become fitted by taking over the state of an earlier run on the same data `X`.
        None stands for the state before the first step: `partial_fit` then starts as `fit` on `X`
        would, with the most frequent words of `X` frozen.
        """
        self.check_settings()
        self._start(self._check_counts(X, reset=True), state)
        return self

    def variational_bound(self, X: Any) -> float:
        """Return the variational bound on log p of `X` (D, V) with topics unknown, in nats.
        E_q[log p(X, θ, z, φ)] - E_q[log q(θ, z, φ)], the sum of the bounds of documents and topics
        (Hoffman, Blei & Bach 2010, eq. 4). It is for the training documents: of others, see
        `score` and `evaluation.log_likelihood`.
        """
        check_is_fitted(self, "state_")
        counts, state = self._check_counts(X, reset=False), self.state_
        word_topic = state.topic_word_dirichlet.T
        elog = psi(word_topic) - psi(word_topic.sum(axis=0))
        largest = elog.max(axis=1)  # factored out, as all exp(E[log φ_kw]) of a word may underflow
        weight = np.exp(elog - largest[:, None])
        dirichlet = infer_doc_topic(
            counts,
            weight,
            state.alpha,
            max_iterations=self.max_e_iterations,
            tolerance=self.e_tolerance,
            n_jobs=self.n_jobs,
        )
        documents = document_bound(counts, weight, state.alpha, dirichlet, self.n_jobs)
        words = (counts @ largest).sum()
        return float(documents.sum() + words + topic_bound(word_topic.T, state.eta))

    @property
    def schedule(self) -> Schedule:
        """Length of training with these settings, without early stopping."""
        return Schedule(max_passes=self.n_passes)

    @property
    def topics_(self) -> LDATopics:
        """Posterior mean topics (K, V) and alpha (K,); computed at each call."""
        check_is_fitted(self, "state_")
        return self.state_.topics()

    @property
    def topic_word_dirichlet_(self) -> Floats:
        """λ (K, V). In the literature also `lambda`; scikit-learn calls it `components_`."""
        check_is_fitted(self, "state_")
        return self.state_.topic_word_dirichlet

    def documents_stood_for(self, counts: sparse.csr_array) -> float:
        """Return the D of `fit` on counts (D, V)."""
        return self._total_documents(counts.shape[0], total_of(counts))

    def _batch_size(self, n_docs: int) -> int:
        if self.batch_size is not None:
            return self.batch_size
        return min(MAX_BATCH, max(100, n_docs // 20))

    def _stream_batch_size(self) -> int:
        if self.batch_size is not None:
            return self.batch_size
        least = max(MIN_STREAM_BATCH, DOCUMENTS_PER_TOPIC * self.n_topics)
        return min(MAX_BATCH, max(least, self.state_.n_stream_documents // STREAM_BATCHES))

    def _total_documents(self, n_docs: int, n_tokens: float, most: float = np.inf) -> float:
        """Return D, given numbers of documents and of their tokens, of which `most` count."""
        if self.total_documents is not None:
            return self.total_documents
        if not n_tokens:
            return min(n_docs, most)
        wanted = MIN_TOKENS_PER_WORD * self.n_topics * len(self.state_.eta)
        return max(min(n_docs, most), wanted * n_docs / n_tokens)

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        optional = ("batch_size", "total_documents", "word_budget", "window")
        at_least_zero = ("word_budget", "staleness")
        at_least_one = ("n_topics", "max_e_iterations", "n_passes", *optional[:2], "window")
        self._check_integers(
            dict.fromkeys(at_least_one, 1) | dict.fromkeys(at_least_zero, 0), optional
        )
        for name in ("e_tolerance", "learning_decay", "learning_offset"):
            value = getattr(self, name)
            check_number(name, value)
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be finite and not negative, found {value}")
        if self.expectation not in ("log", "mean"):
            raise ValueError(f'expectation must be "log" or "mean", found {self.expectation!r}')
        check_priors(self.alpha, self.eta, self.n_topics)
        check_growth(self.growing_vocabulary, self.eta)
        effective_n_jobs(self.n_jobs)

    def _start(self, counts: sparse.csr_array, state: OnlineLDAState | None) -> None:
        n_words = counts.shape[1]
        self._first = None
        if state is not None:
            self._check_state(state, n_words)
            self.state_ = state
            return
        frozen = frozen_words(counts, self.word_budget)
        self.state_ = self._first_state(frozen, seed_from(self.random_state))

    def _first_state(self, frozen: Bools, seed: int) -> OnlineLDAState:
        """Return the state before the first step: topics drawn by the seed."""
        n_words = len(frozen)
        eta = prior_vector(self.eta, n_words, "eta")
        excess = self._start_of_words(n_words, seed) - eta[:, None]
        return OnlineLDAState(
            excess=excess,
            scale=1.0,
            excess_sum=excess.sum(axis=0),
            alpha=prior_vector(self.alpha, self.n_topics, "alpha"),
            eta=eta,
            frozen=frozen,
            n_batches=0,
            n_documents=0,
            seed=seed,
            is_started=False,
        )

    def _start_of_words(self, n_words: int, seed: int) -> Floats:
        """Return the λ (V, K) of the first state: Gamma(100, 0.01) draws, as in Hoffman's
        onlineldavb. A word's draws do not depend on the number of words.
        """
        rng = np.random.default_rng([seed, 0])
        return rng.gamma(100.0, 0.01, size=(n_words, self.n_topics))

    def _check_state(self, state: OnlineLDAState, n_words: int) -> None:
        if state.excess.shape != (n_words, self.n_topics):
            raise ValueError(
                f"the state is of {state.excess.shape[1]} topics over {state.excess.shape[0]} "
                f"words, the model has n_topics = {self.n_topics} and the data {n_words} words"
            )

    def _append_words(self, n_new: int) -> None:
        """Append words to the state: at the prior once topics have left their start, until then at
        the values that they would have had if they had been there from the first call on.
        """
        if n_new <= 0:
            return
        state, n_words = self.state_, len(self.state_.eta)
        excess = np.zeros((n_new, self.n_topics))
        if not state.is_started:
            start = self._start_of_words(n_words + n_new, state.seed)
            excess = start[n_words:] - state.eta[-1]
        state.append_words(excess)

    def _topics_at_start(self) -> OnlineLDAState:
        """Return the first state again, cached while it is needed."""
        first: OnlineLDAState | None = getattr(self, "_first", None)
        n_words = len(self.state_.eta)
        if first is None or first.seed != self.state_.seed or len(first.eta) != n_words:
            self._first = first = self._first_state(self.state_.frozen, self.state_.seed)
        return first

    def _begin(
        self,
        counts: sparse.csr_array,
        number: int,
        submit_e_step: SubmitEStep,
        by: OnlineLDAState | None = None,
    ) -> _Begun:
        """Begin the E-step of a batch (S, V) under the present λ, or that of the state `by`."""
        words, state = words_of(counts), by or self.state_
        if self.expectation == "mean":
            weight = word_means(state, words)
        else:
            weight = word_weights(state, words, effective_n_jobs(self.n_jobs))
        step = EStep(
            words=words,
            weight=weight,
            alpha=state.alpha,
            max_iterations=self.max_e_iterations,
            tolerance=self.e_tolerance,
            seed=(state.seed, 2, number),
            learns_alpha=self._learns("alpha"),
        )
        return _Begun(number, step.weight, submit_e_step(counts, step))

    def _end(
        self, begun: _Begun, total_documents: float, share: float = 1.0, least: float = 0.0
    ) -> tuple[BatchStatistics, float]:
        """Wait for the E-step of a batch and make its M-step; return its statistics and ρ.
        `share` is the part of a whole step that the batch is, `least` the minimum of ρ.
        """
        state, statistics = self.state_, begun.result()
        step_size = float((self.learning_offset + 1.0 + state.time) ** -self.learning_decay)
        if share != 1.0:
            step_size = 1.0 - (1.0 - step_size) ** share
        step_size = max(step_size, least)
        n_threads = effective_n_jobs(self.n_jobs)
        update_topics(state, statistics, begun.weight, step_size, total_documents, n_threads)
        if self._learns("alpha"):
            update_alpha(state, statistics, step_size)
        if self._learns("eta"):
            update_eta(state, step_size)
        state.n_batches += 1
        state.time += share
        state.n_documents += statistics.n_documents
        return statistics, step_size

    def _submit_here(self, counts: sparse.csr_array, step: EStep) -> Callable[[], BatchStatistics]:
        """Run the E-step in this process; return a function that returns its result."""
        statistics = expected_counts(counts, step, self.n_jobs)
        return lambda: statistics

    def _learns(self, name: str) -> bool:
        prior = getattr(self, name)
        return isinstance(prior, str) and prior == "learned"
