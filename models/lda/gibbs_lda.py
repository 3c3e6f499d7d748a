"""LDA by collapsed Gibbs sampling (Griffiths & Steyvers 2004), topics averaged over samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from models.lda.collapsed_gibbs import CollapsedGibbs, whole_numbers
from models.lda.dirichlet_prior import check_priors, prior_vector
from models.lda.gibbs_start import random_start
from models.lda.gibbs_state import GibbsLDAState, mean_topics
from models.lda.gibbs_tokens import Tokens, tokens_of
from models.lda.minka import asymmetric_prior, symmetric_prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy import sparse

    from models.lda.topics import LDATopics

START_ITERATIONS = 20
"""Fixed-point iterations when priors are first learned, from the topics of an online start."""


class GibbsLDA(CollapsedGibbs):
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
        counts, last = whole_numbers(self._check_counts(X, reset=False)), self.state_
        if len(last.alpha) != self.n_topics:
            raise ValueError(
                f"the model has learned {len(last.alpha)} topics, and n_topics is {self.n_topics}: "
                "set it back, or begin with fit"
            )
        tokens, n_batches = tokens_of(counts), last.n_batches + 1
        rng = np.random.default_rng([last.seed, 0, n_batches])
        state = replace(
            last,
            topic_of=random_start(len(tokens.doc_of), self.n_topics, rng),
            n_kw_before=self._sweeps.n_wk,
            topic_word_sum=np.zeros((0, self.n_topics), np.float32),
            n_samples=0,
            n_sweeps=0,
            n_batches=n_batches,
        )
        self._begin(counts, tokens, state)
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
        super().check_settings()
        self._check_choice("learn_priors", ("alpha", "eta", "both", "none"))
        for name in ("alpha", "eta"):
            if isinstance(setting := getattr(self, name), str) and setting == "learned":
                raise ValueError(f'{name} = "learned": give where to start, and learn_priors')
        check_priors(self.alpha, self.eta, self.n_topics)
        is_one_number = isinstance(self.eta, str) or np.ndim(self.eta) == 0
        if self.learn_priors in {"eta", "both"} and not is_one_number:
            raise ValueError("eta must be a number to be learned, found an array")

    def _first_state(self, counts: sparse.csr_array, tokens: Tokens) -> GibbsLDAState:
        alpha = prior_vector(self.alpha, self.n_topics, "alpha")
        return GibbsLDAState(**self._first_fields(counts, tokens, alpha))

    def _learn_first_priors(self) -> None:
        if self.start == "online":
            self._learn_priors(START_ITERATIONS)

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
