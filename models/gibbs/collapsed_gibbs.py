"""Base class of the estimators of all families that are fitted by collapsed Gibbs sampling."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from corpora.row_blocks import tokens_of_documents
from models.arrays import Floats, Ints
from models.counts import frozen_words, whole_numbers
from models.dirichlet_prior import prior_vector
from models.estimator import CompletingEstimator
from models.gibbs.start import STARTS, online_start, random_start
from models.gibbs.state import SAMPLERS, GibbsLDAState, GibbsLDAStep, check_state
from models.gibbs.sweep import GibbsSweeps
from models.gibbs.tokens import Tokens, tokens_of
from models.parallel import effective_n_jobs
from models.seed import seed_from

MAX_TOPICS = 65_535
LONG, DENSE_OF_LONG = 8, 200
SHORT, DENSE_OF_SHORT = 20, 50
"""With documents of more than `LONG` tokens for each topic, or of fewer than `SHORT` tokens, on
average, "auto" takes a dense sampler up to so many topics."""
PARALLEL_FROM = 100_000  # Minimal number of tokens for which "auto" takes a parallel sampler


class CollapsedGibbs(CompletingEstimator):
    """Base of estimators whose state is a topic for each token."""

    eta: Any
    word_budget: int | None
    n_iter: int
    sampler: str
    start: str
    burn_in: int
    thinning: int
    prior_interval: int
    random_state: Any
    state_: GibbsLDAState

    @property
    def _surplus(self) -> float:
        """Topics that an online start learns before it merges them, divided by K."""
        return 1.0

    def _start_of(self, n_docs: int) -> str:
        """Return the start for so many documents: what "auto" stands for, or the one named."""
        del n_docs
        return "online" if self.start == "auto" else self.start

    def iterate(
        self, X: Any, y: object = None, state: GibbsLDAState | None = None
    ) -> Iterator[GibbsLDAStep]:
        """Train as `fit` does, yielding after each sweep; `topics_` and `state_` are then current.
        Training continues from `state`, of an earlier run on the same data with the same settings,
        to the same bits as an uninterrupted run. The state changes in place. `finish` then makes
        the final topics of `fit`.
        """
        del y
        self.resume(X, state)
        yield from self._train(self.n_iter, self.burn_in, self.thinning)

    def resume(self, X: Any, state: GibbsLDAState | None) -> Self:
        """Become fitted by taking over the state of an earlier run on the same data `X`.

        None stands for the state before the first sweep. Raises ValueError as `fit`, and if the
        state is of other data or another number of topics.
        """
        self.check_settings()
        counts = whole_numbers(self._check_counts(X, reset=True))
        return self._resume_on(counts, tokens_of(counts), state)

    def _resume_on(
        self, counts: sparse.csr_array, tokens: Tokens, state: GibbsLDAState | None
    ) -> Self:
        """Resume on whole-number counts (D, V), whose tokens may be those of other chains too."""
        if state is not None:
            check_state(state, tokens, counts.shape[1], self.n_topics)
            self._begin(counts, tokens, state)
        else:
            self._begin(counts, tokens, self._first_state(counts, tokens))
            self._learn_first_priors()
        return self

    @property
    def topic_tokens_(self) -> Ints:
        """(K,), tokens of each topic in the present assignment, without frozen words."""
        check_is_fitted(self, "state_")
        return self._sweeps.n_k

    @property
    def is_ready(self) -> bool:
        """Whether there is a sample: topics of a single assignment vary too much."""
        return super().is_ready and self.state_.n_samples > 0

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        lowest = {"n_topics": 1, "n_iter": 1, "thinning": 1, "prior_interval": 1}
        self._check_integers(lowest | {"burn_in": 0, "word_budget": 0}, ("word_budget",))
        if self.n_topics > MAX_TOPICS:
            raise ValueError(f"n_topics must be at most {MAX_TOPICS}, found {self.n_topics}")
        choices = {"sampler": ("auto", *SAMPLERS), "start": STARTS}
        for name, allowed in choices.items():
            self._check_choice(name, allowed)
        effective_n_jobs(self.n_jobs)

    def _check_choice(self, name: str, allowed: tuple[str, ...]) -> None:
        if getattr(self, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, found {getattr(self, name)!r}")

    def _first_state(self, counts: sparse.csr_array, tokens: Tokens) -> GibbsLDAState:
        """Return the state before the first sweep over documents `counts` (D, V)."""
        raise NotImplementedError

    def _first_fields(
        self, counts: sparse.csr_array, tokens: Tokens, alpha: Floats
    ) -> dict[str, Any]:
        """Return the fields that every first state has; `alpha` (K,) is the document prior."""
        eta = prior_vector(self.eta, counts.shape[1], "eta")
        seed, none = seed_from(self.random_state), (0, self.n_topics)
        return {
            "topic_of": self._first_topics(counts, tokens, alpha, eta, seed),
            "n_wk_before": np.zeros(none, np.int32),
            "topic_word_sum": np.zeros(none, np.float32),
            "n_samples": 0,
            "alpha": alpha.copy(),
            "eta": eta.copy(),
            "frozen": frozen_words(counts, self.word_budget),
            "n_sweeps": 0,
            "n_documents": 0,
            "n_batches": 0,
            "seed": seed,
        }

    def _learn_priors(self) -> None:
        """Re-estimate the priors from the current counts."""
        raise NotImplementedError

    def _learn_first_priors(self) -> None:
        """Re-estimate the priors from the counts of the first state."""
        raise NotImplementedError

    def _begin(self, counts: sparse.csr_array, tokens: Tokens, state: GibbsLDAState) -> None:
        """Continue from `state` on the documents `counts` (D, V)."""
        self.state_ = state
        sampler = self.sampler
        if sampler == "auto":
            sampler = auto_sampler(self.n_topics, len(tokens.doc_of), counts.shape[0])
        n_threads = effective_n_jobs(self.n_jobs)
        self._n_tokens: Ints = tokens_of_documents(counts)
        self._tokens = tokens
        self._sweeps = GibbsSweeps(tokens, state, counts.shape[0], sampler, n_threads)

    def _first_topics(
        self, counts: sparse.csr_array, tokens: Tokens, alpha: Floats, eta: Floats, seed: int
    ) -> NDArray[np.uint16]:
        """Return the topics (n_tokens,) before the first sweep."""
        start = self._start_of(counts.shape[0])
        if start != "random" and len(tokens.doc_of):
            return online_start(
                counts,
                tokens,
                alpha,
                eta,
                self.word_budget,
                seed,
                self.n_jobs,
                surplus=self._surplus,
                is_anchored=start == "anchors",
            )
        rng = np.random.default_rng([seed, 0, 0])
        return random_start(len(tokens.doc_of), self.n_topics, rng)

    def _train(
        self, n_iter: int, burn_in: int, thinning: int, *, learns_priors: bool = True
    ) -> Iterator[GibbsLDAStep]:
        state, sweeps = self.state_, self._sweeps
        while state.n_sweeps < n_iter:
            sweeps.sweep()
            if learns_priors and state.n_sweeps % self.prior_interval == 0:
                self._learn_priors()
            age = state.n_sweeps - burn_in
            if age > 0 and age % thinning == 0:
                self._add_sample(age)
            yield GibbsLDAStep(
                n_sweeps=state.n_sweeps,
                n_documents=state.n_documents,
                n_passes=float(state.n_sweeps),
                n_samples=state.n_samples,
            )

    def _add_sample(self, weight: float) -> None:
        self._sweeps.add_sample(weight)


def auto_sampler(n_topics: int, n_tokens: int, n_docs: int) -> str:
    """Return the sampler that "auto" stands for."""
    long = n_tokens > LONG * n_topics * n_docs and n_topics <= DENSE_OF_LONG
    short = n_tokens < SHORT * n_docs and n_topics <= DENSE_OF_SHORT
    kind = "dense" if long or short else "sparse"
    return f"{'parallel' if n_tokens >= PARALLEL_FROM else 'exact'}-{kind}"
