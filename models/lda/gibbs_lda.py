"""LDA by collapsed Gibbs sampling (Griffiths & Steyvers 2004); topics average samples, or the
full conditionals of tokens given them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from models.counts import whole_numbers
from models.dirichlet_prior import check_growth, check_priors, check_range, prior_vector
from models.gibbs.collapsed_gibbs import CollapsedGibbs
from models.gibbs.minka import asymmetric_prior, symmetric_prior
from models.gibbs.start import online_start, random_start, topics_given
from models.gibbs.state import GibbsLDAState
from models.gibbs.tokens import Tokens, tokens_of
from models.lda.gibbs_stream import (
    FADING,
    MAX_REMEMBERED,
    MIN_DOCUMENTS,
    MIN_SWEEPS,
    RESTART_GROWTH,
    RESTART_SHARE,
    TokenTopics,
    by_document,
    with_more_words,
)
from models.lda.topics import LDATopics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from models.arrays import Ints, Ints32


class _Stream(NamedTuple):
    """Earlier documents of a stream that are not in the state."""

    state: GibbsLDAState
    """State after the last call; another state means that other data came since."""
    n_started: int
    """Documents at the last start; 0 if not all are remembered, and no start will follow."""
    n_docs: int  # Documents so far, less those that have left the window
    documents: TokenTopics | None
    """Documents before the last call; None if the call had all remembered documents."""
    resampled: Ints | None  # (n,), those of them that the last call resampled, ascending


SURPLUS, SURPLUS_OF_MANY = 2.0, 1.5
"""Topics that an online start learns, divided by K, before it merges them into K: up to 200 topics,
and of more, where the E-step gets no shorter and so the start longer. On 5,000 articles at K = 50
the held-out perplexity after 200 sweeps was 1417.3 without a surplus, 1405.9 with 2 and 1406.5 with
4 (means of five seeds, whose standard deviations were 11.9, 5.1 and 7.0). On 25,000 at K = 1,000
(alpha .02, eta .01) it was 1172.5 without and 1142.7 with 1.5."""
FEW_TOPICS, SURPLUS_UP_TO = 200, 2000
"""Numbers of topics up to which the surplus is the first of these, and up to which there is one:
merging takes 16 bytes and 2·V operations for each pair of topics."""
ANCHORS_FROM, ANCHORS_UP_TO = 1000, 2000
"""Documents from which, and topics up to which, an "auto" start begins at anchor words. Held-out
perplexity was about the same as from the online start with 1,000 and 2,000 articles, and higher
with 500 and for 4,000 topics of 25,000 articles (1047 and 1030)."""
START_ITERATIONS = 20
"""Fixed-point iterations of the first priors, from the topics of an online start."""


@dataclass(eq=False, repr=False)
class GibbsLDA(CollapsedGibbs):
    """LDA by collapsed Gibbs sampling.

    Memory in bytes: 6 for each token, 4·V·K for samples and as much for final topics; with a sparse
    sampler 6·min(n_d, K) for each document and 6·min(n_w, K) for each word, both rounded up to 16
    topics, with a dense one 4·D·K and 4·V·K. An online start takes another 65·V·K for a time, and
    `topics_` 25·V·K.

    Parameters
    ----------
    n_topics : int
        K, at most 65,535.
    alpha : float, array (K,), "symmetric" or "asymmetric"
        Dirichlet prior of a document's topics, or the starting value if it is learned; both
        priors, or their largest entries, from 1e-37 to 1e15.
    eta : float, array (V,) or "symmetric"
        Dirichlet prior of a topic's words; to be learned, it must be one number.
    learn_priors : {"alpha", "eta", "both", "none"}
        Priors to learn by Minka's fixed point: alpha as K numbers, eta as one.
    n_iter : int
        Sweeps over the corpus that `fit` makes.
    sampler : str
        "exact-dense" and "exact-sparse" draw from the posterior itself on one thread;
        "parallel-dense" and "parallel-sparse" approximate it within a part of a sweep (see
        `models.gibbs.sweep`) and use `n_jobs` threads. The cost of a token is K with dense ones;
        with sparse ones its document's number of topics, and its word's for each run of tokens of
        the word. "auto" is exact below 100,000 tokens. It is dense up to 200 topics if documents
        have more than 8 K tokens on average, and up to 50 if they have fewer than 20.
    start : {"auto", "online", "anchors", "random"}
        Topics before the first sweep: from one pass of `OnlineLDA` over 2·K topics (1.5·K beyond
        200, K beyond 2,000), which are then merged into K (see `models.lda.merging`), or uniformly
        random. Of many documents the pass takes a random part, of 25,000, or of 25,000,000 / K if
        that is more, up to 250,000. Tokens draw topics that CVB0 finds in their documents; of more
        than 2,000 topics and at most 16·K documents those that the mean field finds.

        With "anchors" one to three passes with few steps begin at topics of anchor words (see
        `models.lda.anchor_words`), which the documents alone decide, so that models of other seeds
        have nearly the same topics; tokens still differ. Before these passes it takes up to
        32·max(3000, K)² bytes. "auto" is "anchors" for at least 1,000 documents and at most
        2,000 topics, and "online" otherwise. Warm starts of a stream begin at its topics.
    burn_in : int
        Sweeps before the first sample in `topics_`. A sample's weight is the number of sweeps since
        burn-in, so that early samples fade.
    thinning : int
        Sweeps from one sample to the next.
    prior_interval : int
        Sweeps from one update of learned priors to the next.
    topics_from : {"conditionals", "samples"}
        Final topics of `fit`: sums of all tokens' full conditionals given the average of samples
        (see `models.gibbs.conditionals`), or that average itself. `iterate` and `partial_fit`
        give the average, `resume` what its state has; `finish` computes the former, in the time of
        about two sweeps.
    word_budget : int, optional
        Words in the counts of topics. All others, the most frequent of the first data seen, are
        frozen (Aldebakel et al. 2022): their tokens have topics, but n_kw stays 0 and φ_kw at its
        prior.
    growing_vocabulary : bool
        Whether a call of `partial_fit` may have more words than the one before. New words are
        appended: earlier columns keep their order. A new word has no tokens yet and the others'
        eta, so that Σ eta grows. `eta` must not be an array; "symmetric" is by the words of the
        first call. `transform`, `score` and `topics_` have the words of the last call.
    window : int, optional
        Documents that a stream remembers and learns from, those of the last call at least: a
        document that leaves the window is taken out of the counts. For streams with a drift. By
        default 100,000 are remembered, and earlier ones keep their last topics.
    random_state : int, numpy Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`. If None a seed is drawn; see `seed_`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.
    """

    n_topics: int = 20
    _: KW_ONLY
    alpha: float | str | ArrayLike = 0.1
    eta: float | str | ArrayLike = 0.05
    learn_priors: str = "alpha"
    n_iter: int = 200
    sampler: str = "auto"
    start: str = "auto"
    burn_in: int = 0
    thinning: int = 1
    prior_interval: int = 2
    topics_from: str = "conditionals"
    word_budget: int | None = None
    growing_vocabulary: bool = False
    window: int | None = None
    random_state: Any = None
    n_jobs: int | None = None

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Learn from the next documents of a stream, and resample earlier ones with them.

        A call visits `n_iter` times as many documents as are new: the new ones, from topics that
        are probable under the present model, and random earlier ones out of the last 100,000, or of
        the `window`, which are remembered in 6 bytes for each token. When their number has grown by
        a half since the last start, and all are remembered, the call makes a warm start: a pass of
        `OnlineLDA` over all of them from the present topics, and `n_iter` / 2 sweeps. There is none
        if `start` is "random". `burn_in` holds for the first call and for warm starts. `topics_`
        averages the samples since the last start. A repeated document counts as a new one. Priors
        are learned in calls that visit at least 10 documents for each topic. To save a stream,
        pickle the estimator: the state alone has only the documents of the last call. Raises
        ValueError as `fit`, and if `X` has not as many words as earlier calls; with
        `growing_vocabulary`, if it has fewer.
        """
        if not hasattr(self, "state_"):
            for _ in self.iterate(X, y):
                pass
            return self
        self.check_settings()
        last = self.state_
        if len(last.alpha) != self.n_topics:
            raise ValueError(
                f"the model has learned {len(last.alpha)} topics, and n_topics is {self.n_topics}: "
                "set it back, or begin with fit"
            )
        earlier = self._remembered()
        before = dict(self.__dict__)
        try:
            counts = self._check_stream_counts(X, may_grow=self.growing_vocabulary)
            counts = whole_numbers(counts, [last.seed, 6, last.n_batches + 1])
            self._learn_from(earlier, counts)
        except BaseException:  # usually an interrupt: undo the call
            self.__dict__.update(before)
            raise
        return self

    @property
    def _max_remembered(self) -> float:
        """Number of documents beyond which the first are no longer remembered, but count."""
        return MAX_REMEMBERED if self.window is None else np.inf

    def _remembered(self) -> TokenTopics:
        """Return earlier documents with their topics after the last call."""
        state, tokens = self.state_, self._tokens
        present = TokenTopics.of(tokens, state.topic_of, len(self._n_tokens))
        stream: _Stream | None = getattr(self, "_stream", None)
        if stream is None or stream.state is not state:  # `fit`, `iterate` or `resume` came last
            n_started = 0 if len(state.n_wk_before) else present.n_docs
            self._stream = _Stream(state, n_started, present.n_docs, None, None)
            return present
        if stream.documents is None or stream.resampled is None:
            return present
        n_before = len(stream.resampled)
        documents: TokenTopics = stream.documents
        places = documents.positions(stream.resampled)
        documents.topic_of[places] = present.topic_of[: len(places)]
        new = TokenTopics(
            present.start[n_before:] - present.start[n_before],
            present.word_of[len(places) :],
            present.topic_of[len(places) :],
        )
        return documents.followed_by(new, self._max_remembered)

    def _learn_from(self, earlier: TokenTopics, new: sparse.csr_array) -> None:
        """Forget documents that leave the window, and sample topics of new ones (n, V)."""
        last, n_wk = with_more_words(self.state_, self._sweeps.n_wk, new.shape[1])
        stream = self._stream
        if self.window is not None:
            n_forgotten = min(earlier.n_docs, max(0, earlier.n_docs + new.shape[0] - self.window))
            rows = np.arange(n_forgotten)
            n_wk = n_wk - earlier.word_topics(rows, last.frozen, self.n_topics)
            earlier = earlier.after(n_forgotten)
            stream = self._stream = stream._replace(n_docs=stream.n_docs - n_forgotten)
        n_docs = earlier.n_docs + new.shape[0]
        is_due = stream.n_started and n_docs >= RESTART_GROWTH * stream.n_started
        if is_due and n_docs <= self._max_remembered and self.start != "random":
            self._restart(earlier, new, last, n_wk)
        else:
            self._add_documents(earlier, new, last, n_wk)

    def _restart(
        self, earlier: TokenTopics, new: sparse.csr_array, last: GibbsLDAState, n_wk: Ints32
    ) -> None:
        """Sample the topics of earlier documents and new ones (n, V) from a warm start."""
        every = earlier.counts(np.arange(earlier.n_docs), new.shape[1])
        counts = sparse.csr_array(sparse.vstack([every, new], "csr"))
        tokens = tokens_of(counts)
        state = replace(
            last,
            topic_of=online_start(
                counts,
                tokens,
                last.alpha,
                last.eta,
                self.word_budget,
                last.seed,
                self.n_jobs,
                (n_wk, last.frozen),
            ),
            n_wk_before=np.zeros((0, self.n_topics), np.int32),
            topic_word_sum=np.zeros((0, self.n_topics), np.float32),
            inverse_sum=np.zeros(0),
            n_samples=0,
            n_sweeps=0,
            n_batches=last.n_batches + 1,
        )
        self._begin(counts, tokens, state)
        self._learn_first_priors()
        self._sample(max(1, int(RESTART_SHARE * self.n_iter)), int(RESTART_SHARE * self.burn_in))
        n_docs = counts.shape[0]
        self._stream = _Stream(state, n_docs, n_docs, None, None)

    def _add_documents(
        self, earlier: TokenTopics, new: sparse.csr_array, last: GibbsLDAState, n_wk: Ints32
    ) -> None:
        """Sample the topics of new documents (n, V) and of random earlier ones."""
        (n_new, n_words), stream = new.shape, self._stream
        n_batches = last.n_batches + 1
        rng = np.random.default_rng([last.seed, 5, n_batches])
        n_visits = self.n_iter * n_new
        n_chosen = min(earlier.n_docs, max(0, n_visits // MIN_SWEEPS - n_new))
        chosen = np.sort(rng.permutation(earlier.n_docs)[:n_chosen])
        n_sweeps = max(1, round(n_visits / max(1, n_new + n_chosen)))

        counts = sparse.csr_array(sparse.vstack([earlier.counts(chosen, n_words), new], "csr"))
        tokens = tokens_of(counts)
        topics = self._topics_of_new(new, last, n_wk, rng)
        places = earlier.positions(chosen)
        topic_of = np.empty(len(tokens.doc_of), dtype=np.uint16)
        topic_of[by_document(tokens)] = np.concatenate((earlier.topic_of[places], topics))
        average, n_samples = last.topic_word_total, last.n_samples
        state = replace(
            last,
            topic_of=topic_of,
            n_wk_before=n_wk - earlier.word_topics(chosen, last.frozen, self.n_topics),
            topic_word_sum=np.zeros((0, self.n_topics), np.float32),
            inverse_sum=np.zeros(0),
            n_samples=0,
            n_sweeps=0,
            n_batches=n_batches,
        )
        self._begin(counts, tokens, state)
        # From few documents, alpha of topics that they lack would become too small.
        self._sample(n_sweeps, 0, learns_priors=counts.shape[0] >= MIN_DOCUMENTS * self.n_topics)
        n_docs = stream.n_docs + n_new
        if len(average) and n_docs:
            weight = np.float32(1.0 - (stream.n_docs / n_docs) ** FADING)
            fresh = state.topic_word_total / state.topic_word_total.sum(axis=0)
            state.inverse_sum = np.zeros(0)
            state.topic_word_sum = weight * fresh + (np.float32(1.0) - weight) * (
                average / average.sum(axis=0)
            )
            state.n_samples += n_samples
        n_started = stream.n_started if n_docs <= self._max_remembered else 0
        self._stream = _Stream(state, n_started, n_docs, earlier, chosen)

    def _topics_of_new(
        self, new: sparse.csr_array, state: GibbsLDAState, n_wk: Ints32, rng: np.random.Generator
    ) -> NDArray[np.uint16]:
        """Return first topics (n_tokens,) of new documents (n, V), by document and word."""
        tokens = tokens_of(new)
        if self.start == "random":
            return random_start(len(tokens.doc_of), self.n_topics, rng)
        weight = n_wk + state.eta[:, None]
        topic_of = topics_given(
            weight / weight.sum(axis=0),
            new,
            tokens,
            state.alpha,
            int(rng.integers(2**63)),
            self.n_jobs,
        )
        return topic_of[by_document(tokens)]

    def _sample(self, n_iter: int, burn_in: int, *, learns_priors: bool = True) -> None:
        burn_in = min(burn_in, n_iter - 1)
        thinning = min(self.thinning, n_iter - burn_in)
        for _ in self._train(n_iter, burn_in, thinning, learns_priors=learns_priors):
            pass

    def finish(self) -> bool:
        """Compute the final topics when training has ended, as `fit` does after `iterate`.

        With `topics_from="conditionals"` they take the place of the average of samples, until there
        is another sweep. Returns whether `topics_` have changed: not if they are there already, if
        there is no sample, or if a stream has documents that its last call did not visit. Raises
        NotFittedError before the first `fit`, `iterate` or `resume`.
        """
        check_is_fitted(self, "state_")
        state = self.state_
        if (
            self.topics_from == "samples"
            or len(state.expected_n_wk)
            or len(state.n_wk_before)  # topics of documents that are not here
            or not state.n_samples
        ):
            return False
        self._sweeps.expect_word_topics()
        return True

    @property
    def topics_(self) -> LDATopics:
        """Topics of `finish` or averaged over samples, before the first the present ones; alpha."""
        check_is_fitted(self, "state_")
        return LDATopics.from_weights(self._sweeps.word_topic_weight.T, self.state_.alpha)

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        super().check_settings()
        self._check_integers({"window": 1}, ("window",))
        self._check_choice("topics_from", ("conditionals", "samples"))
        self._check_choice("learn_priors", ("alpha", "eta", "both", "none"))
        for name in ("alpha", "eta"):
            if isinstance(setting := getattr(self, name), str) and setting == "learned":
                raise ValueError(f'{name} = "learned": give where to start, and learn_priors')
        check_priors(self.alpha, self.eta, self.n_topics)
        check_range(alpha=self.alpha, eta=self.eta)
        check_growth(self.growing_vocabulary, self.eta)
        is_one_number = isinstance(self.eta, str) or np.ndim(self.eta) == 0
        if self.learn_priors in {"eta", "both"} and not is_one_number:
            raise ValueError("eta must be a number to be learned, found an array")

    def _first_state(self, counts: sparse.csr_array, tokens: Tokens) -> GibbsLDAState:
        alpha = prior_vector(self.alpha, self.n_topics, "alpha")
        return GibbsLDAState(**self._first_fields(counts, tokens, alpha))

    @property
    def _surplus(self) -> float:
        if self.n_topics <= FEW_TOPICS:
            return SURPLUS
        return SURPLUS_OF_MANY if self.n_topics <= SURPLUS_UP_TO else 1.0

    def _start_of(self, n_docs: int) -> str:
        has_many = n_docs >= ANCHORS_FROM and self.n_topics <= ANCHORS_UP_TO
        return "anchors" if self.start == "auto" and has_many else super()._start_of(n_docs)

    def _learn_first_priors(self) -> None:
        if self.start != "random":
            self._learn_priors(START_ITERATIONS)

    def _learn_priors(self, n_iterations: int = 5) -> None:
        state = self.state_
        if self.learn_priors in {"alpha", "both"}:
            state.alpha = asymmetric_prior(
                self._sweeps.doc_topic_exceedances(), self._n_tokens, state.alpha, n_iterations
            )
        if self.learn_priors in {"eta", "both"}:
            n_wk = self._sweeps.n_wk
            if (
                state.frozen.any()
            ):  # their counts are 0 by definition and carry no information on eta
                n_wk = n_wk[~state.frozen]
            eta = symmetric_prior(n_wk, float(state.eta[0]), n_iterations)
            state.eta = np.full_like(state.eta, eta)
