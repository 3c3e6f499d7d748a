"""LDA by collapsed Gibbs sampling (Griffiths & Steyvers 2004), topics averaged over samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from models.kernel import kernel
from models.lda.dirichlet_prior import prior_vector
from models.lda.estimator import LDAEstimator
from models.lda.gibbs_start import online_start, random_start
from models.lda.gibbs_state import GibbsLDAState, GibbsLDAStep, check_state, mean_topics
from models.lda.gibbs_sweep import SAMPLERS, GibbsSweeps
from models.lda.gibbs_tokens import Tokens, tokens_of
from models.lda.minka import asymmetric_prior, symmetric_prior
from models.parallel import effective_n_jobs, for_blocks
from models.seed import seed_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from models.lda.topics import LDATopics

Floats = NDArray[np.float64]

MOST_TOPICS = 65_535
DENSE_UP_TO = 200
"""Most topics for which "auto" takes a dense sampler."""
PARALLEL_FROM = 100_000
"""Fewest tokens for which "auto" takes a parallel sampler."""
START_ITERATIONS = 20
"""Fixed-point iterations when priors are first learned, from the topics of an online start."""
WORD_BLOCK = 512
"""Words a task when a sample is added up."""


class GibbsLDA(LDAEstimator):
    """LDA by collapsed Gibbs sampling.

    Memory, in bytes: 6 a token; with a sparse sampler 6 for each topic that a document can have,
    the fewer of its tokens and K, with a dense one 4·D·K; 8·V·K for counts and samples. While they
    last, an online start takes 35·V·K and `topics_` 25·V·K.

    Parameters
    ----------
    n_topics : int
        K, at most 65,535.
    alpha : float, array (K,), "symmetric" or "asymmetric"
        Dirichlet prior of a document's topics, or where learning it starts from.
    eta : float, array (V,) or "symmetric"
        Dirichlet prior of a topic's words; to be learned, it must be one number.
    learn_priors : {"alpha", "eta", "both", "none"}
        Which of them to learn by Minka's fixed point: alpha as K numbers, eta as one.
    n_iter : int
        Sweeps over the corpus that `fit` makes.
    sampler : str
        "exact-dense" and "exact-sparse" draw from the posterior itself, one token after another on
        one thread; "parallel-dense" and "parallel-sparse" approximate it within a part of a sweep
        (see `models.lda.gibbs_sweep`) and use `n_jobs` threads. Dense ones cost K a token, sparse
        ones as many topics as its document has, K / 64, and K for each run of one word's tokens.
        "auto" is exact below 100,000 tokens and dense up
        to 200 topics.
    start : {"online", "random"}
        What the first sweep goes on from: one pass of `OnlineLDA`, or topics drawn evenly.
    burn_in : int
        Sweeps before the first sample that `topics_` averages. Early samples fade even without: a
        sample weighs as much as the number of sweeps since burn-in.
    thinning : int
        Sweeps from one sample to the next.
    prior_interval : int
        Sweeps from one time that priors are learned to the next.
    word_budget : int, optional
        Words that topics count. All others, the most frequent of the first data seen, are frozen
        (Aldebakel et al. 2022): their tokens have topics, but n_kw stays 0 and φ_kw at its prior.
    random_state : int, numpy Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`. If None a seed is drawn; see `seed_`.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.

    Attributes
    ----------
    topics_ : LDATopics
        Topics (K, V) averaged over the samples, and alpha (K,). Before the first sample, those of
        the present assignment.
    state_ : GibbsLDAState
        What training continues from.
    seed_ : int
        The seed in use.
    """

    state_: GibbsLDAState

    def __init__(
        self,
        n_topics: int = 20,
        *,
        alpha: float | str | ArrayLike = 0.1,
        eta: float | str | ArrayLike = 0.1,
        learn_priors: str = "alpha",
        n_iter: int = 200,
        sampler: str = "auto",
        start: str = "online",
        burn_in: int = 0,
        thinning: int = 1,
        prior_interval: int = 2,
        word_budget: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.learn_priors = learn_priors
        self.n_iter = n_iter
        self.sampler = sampler
        self.start = start
        self.burn_in = burn_in
        self.thinning = thinning
        self.prior_interval = prior_interval
        self.word_budget = word_budget
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn topics from counts `X` (D, V), CSR or dense, by `n_iter` sweeps.

        Counts are whole numbers. Of a fraction, the part after the point is taken as the
        probability that there is one more.

        Raises
        ------
        ValueError
            If a setting is out of its range, or `X` holds a negative count, NaN or infinity.
        """
        for _ in self.iterate(X, y):
            pass
        return self

    def iterate(
        self, X: Any, y: object = None, state: GibbsLDAState | None = None
    ) -> Iterator[GibbsLDAStep]:
        """Train as `fit` does, yielding after each sweep; `topics_` and `state_` are then current.

        `state`, of an earlier run on the same data with the same settings, is where training goes
        on, to the same bits as if it had not been interrupted. It is trained further in place.
        """
        del y
        self.resume(X, state)
        yield from self._train()

    def resume(self, X: Any, state: GibbsLDAState | None) -> Self:
        """Become fitted by taking over the state of an earlier run on the same data `X`.

        None is the state before the first sweep.

        Raises
        ------
        ValueError
            As `fit`, and if the state is of other data or another number of topics.
        """
        self.check_settings()
        counts = _whole_numbers(self._check_counts(X, reset=True))
        n_words = counts.shape[1]
        alpha = prior_vector(self.alpha, self.n_topics, "alpha")
        eta = prior_vector(self.eta, n_words, "eta")
        seed = seed_from(self.random_state) if state is None else state.seed
        self._visit(counts, state, alpha, eta, seed)
        return self

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Take the next documents of a stream: `n_iter` sweeps over them.

        The topics of earlier documents stay as they are, and count for those of the new ones
        (Canini, Shi & Griffiths 2009, without rejuvenation). `topics_` averages over the samples of
        the last call.

        Raises
        ------
        ValueError
            As `fit`, and if `X` has not as many words as the first call's.
        """
        if not hasattr(self, "state_"):
            return self.fit(X, y)
        self.check_settings()
        counts, last = _whole_numbers(self._check_counts(X, reset=False)), self.state_
        if len(last.alpha) != self.n_topics:
            raise ValueError(
                f"the model has learned {len(last.alpha)} topics, and n_topics is {self.n_topics}: "
                "set it back, or begin with fit"
            )
        before = self._sweeps.n_wk
        self._visit(counts, None, last.alpha, last.eta, last.seed, last, before)
        for _ in self._train():
            pass
        return self

    @property
    def topics_(self) -> LDATopics:
        """Topics averaged over samples, and the prior as learned so far; made anew at each call."""
        check_is_fitted(self, "state_")
        return mean_topics(self.state_, self._sweeps.n_wk)

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        lowest = {"n_topics": 1, "n_iter": 1, "thinning": 1, "prior_interval": 1}
        self._check_integers(lowest | {"burn_in": 0, "word_budget": 0}, ("word_budget",))
        if self.n_topics > MOST_TOPICS:
            raise ValueError(f"n_topics must be at most {MOST_TOPICS}, found {self.n_topics}")
        choices = {
            "sampler": ("auto", *SAMPLERS),
            "start": ("online", "random"),
            "learn_priors": ("alpha", "eta", "both", "none"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, found {getattr(self, name)!r}")
        for name in ("alpha", "eta"):
            if isinstance(setting := getattr(self, name), str) and setting == "learned":
                raise ValueError(f'{name} = "learned": give where to start, and learn_priors')
        self._check_priors_and_jobs()
        is_one_number = isinstance(self.eta, str) or np.ndim(self.eta) == 0
        if self.learn_priors in {"eta", "both"} and not is_one_number:
            raise ValueError("eta must be a number to be learned, found an array")

    def _visit(
        self,
        counts: sparse.csr_array,
        state: GibbsLDAState | None,
        alpha: Floats,
        eta: Floats,
        seed: int,
        last: GibbsLDAState | None = None,
        n_kw_before: NDArray[np.int32] | None = None,
    ) -> None:
        """Turn to the documents `counts`, from `state` or from the start that is set."""
        tokens = tokens_of(counts)
        is_start = state is None
        if state is not None:
            check_state(state, tokens, counts.shape[1], self.n_topics)
        else:
            none = (0, self.n_topics)
            state = GibbsLDAState(
                topic_of=self._first_topics(counts, tokens, alpha, eta, seed, last),
                frozen=self._frozen_words(counts) if last is None else last.frozen,
                n_kw_before=np.zeros(none, np.int32) if n_kw_before is None else n_kw_before,
                topic_word_sum=np.zeros(none, np.float32),
                n_samples=0,
                alpha=alpha.copy(),
                eta=eta.copy(),
                n_sweeps=0,
                n_documents=0 if last is None else last.n_documents,
                n_batches=0 if last is None else last.n_batches + 1,
                seed=seed,
            )
        self.state_ = state
        sampler = self.sampler
        if sampler == "auto":
            sampler = auto_sampler(self.n_topics, len(tokens.doc_of))
        n_threads = effective_n_jobs(self.n_jobs)
        self._n_tokens: NDArray[np.int64] = counts.sum(axis=1, dtype=np.int64)
        self._sweeps = GibbsSweeps(tokens, state, counts.shape[0], sampler, n_threads)
        if is_start and last is None and self.start == "online":
            self._learn_priors(START_ITERATIONS)

    def _first_topics(
        self,
        counts: sparse.csr_array,
        tokens: Tokens,
        alpha: Floats,
        eta: Floats,
        seed: int,
        last: GibbsLDAState | None,
    ) -> NDArray[np.uint16]:
        if last is None and self.start == "online" and len(tokens.doc_of):
            return online_start(counts, tokens, alpha, eta, self.word_budget, seed, self.n_jobs)
        n_batches = 0 if last is None else last.n_batches + 1
        rng = np.random.default_rng([seed, 0, n_batches])
        return random_start(len(tokens.doc_of), self.n_topics, rng)

    def _train(self) -> Iterator[GibbsLDAStep]:
        state, sweeps = self.state_, self._sweeps
        while state.n_sweeps < self.n_iter:
            sweeps.sweep()
            if state.n_sweeps % self.prior_interval == 0:
                self._learn_priors()
            age = state.n_sweeps - self.burn_in
            if age > 0 and age % self.thinning == 0:
                self._add_sample(age)
            yield GibbsLDAStep(
                n_sweeps=state.n_sweeps,
                n_documents=state.n_documents,
                n_passes=float(state.n_sweeps),
                n_samples=state.n_samples,
            )

    def _learn_priors(self, n_iterations: int = 5) -> None:
        state = self.state_
        if self.learn_priors in {"alpha", "both"}:
            state.alpha = asymmetric_prior(
                self._sweeps.doc_topic_exceedances(), self._n_tokens, state.alpha, n_iterations
            )
        if self.learn_priors in {"eta", "both"}:
            n_wk = self._sweeps.n_wk
            if state.frozen.any():  # their counts are 0 by decree and say nothing of eta
                n_wk = n_wk[~state.frozen]
            eta = symmetric_prior(n_wk, float(state.eta[0]), n_iterations)
            state.eta = np.full_like(state.eta, eta)

    def _add_sample(self, weight: float) -> None:
        state, n_wk = self.state_, self._sweeps.n_wk
        if not state.n_samples:
            state.topic_word_sum = np.zeros(n_wk.shape, dtype=np.float32)
        inverse = (weight / (self._sweeps.n_k + state.eta.sum())).astype(np.float32)
        eta = state.eta.astype(np.float32)
        for_blocks(
            lambda first, last: add_topic_words(
                n_wk[first:last], eta[first:last], inverse, state.topic_word_sum[first:last]
            ),
            len(n_wk),
            WORD_BLOCK,
            effective_n_jobs(self.n_jobs),
        )
        state.n_samples += 1


def auto_sampler(n_topics: int, n_tokens: int) -> str:
    """The sampler that "auto" stands for."""
    kind = "dense" if n_topics <= DENSE_UP_TO else "sparse"
    return f"{'parallel' if n_tokens >= PARALLEL_FROM else 'exact'}-{kind}"


@kernel
def add_topic_words(
    n_wk: NDArray[np.int32],
    eta: NDArray[np.float32],
    inverse: NDArray[np.float32],
    total: NDArray[np.float32],
) -> None:
    """Add the posterior mean topics of one assignment, (n_wk + eta) · inverse, to `total` (n, K).

    Equivalent to `total += (n_wk + eta[:, None]) * inverse`, in place.
    """
    for w in range(n_wk.shape[0]):
        for k in range(n_wk.shape[1]):
            total[w, k] += (np.float32(n_wk[w, k]) + eta[w]) * inverse[k]


def _whole_numbers(counts: sparse.csr_array) -> sparse.csr_array:
    """Counts (D, V) as int32; fractions are rounded up with the probability of their remainder."""
    data = counts.data
    if data.dtype.kind == "f" and (data != (whole := np.floor(data))).any():
        data = whole + (np.random.default_rng(0).random(len(data)) < data - whole)
    if len(data) and data.max() > np.iinfo(np.int32).max:
        raise ValueError(f"a count of {data.max():g} is more than a corpus can hold")
    arrays = (data.astype(np.int32), counts.indices, counts.indptr)
    return sparse.csr_array(arrays, shape=counts.shape)
