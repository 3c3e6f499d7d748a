"""LDA by several chains of Gibbs sampling from independent seeds; topics are their consensus."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from models.checks import check_whole
from models.counts import whole_numbers
from models.estimator import CompletingEstimator
from models.gibbs.tokens import tokens_of
from models.lda.consensus import Consensus, consensus
from models.lda.gibbs_chains_state import GibbsChainsState, seed_of_chain
from models.lda.gibbs_lda import GibbsLDA
from models.parallel import effective_n_jobs, for_blocks
from models.seed import seed_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from models.gibbs.state import GibbsLDAStep
    from models.lda.topics import LDATopics


@dataclass(eq=False, repr=False)
class GibbsLDAChains(CompletingEstimator):
    """LDA by chains of collapsed Gibbs sampling; `topics_` is their consensus.

    One chain ends at one of many sets of topics of about the same probability, by its seed.
    `models.lda.consensus` merges the topics of all chains into K, which differ less from one seed
    to another (docs/benchmarks.md, "Seeds"). Time and memory are those of `chains` times
    `GibbsLDA`; chains run at the same time, one a thread, or one after the other with all threads
    if there are more threads than chains.

    Parameters
    ----------
    n_topics : int
        K, of each chain and of the consensus.
    chains : int
        N.
    alpha, eta, learn_priors, n_iter, sampler, start, burn_in, thinning, prior_interval
    topics_from, word_budget
        Settings of each chain, as those of `GibbsLDA`. An "auto" start is "online" here: from
        "anchors" chains begin alike, and that they agree says less.
    random_state : int, numpy Generator or RandomState, optional
        Fixes the result to the bit, whatever `n_jobs`. The first chain has this seed, and the same
        bits as `GibbsLDA` with it and the same start; the others have seeds derived from it.
    n_jobs : int, optional
        Threads; None is 1, -1 every core.
    """

    n_topics: int = 20
    _: KW_ONLY
    chains: int = 4
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
    random_state: Any = None
    n_jobs: int | None = None

    def iterate(
        self, X: Any, y: object = None, state: GibbsChainsState | None = None
    ) -> Iterator[GibbsLDAStep]:
        """Train as `fit` does, yielding after each sweep of all chains; `topics_` and `state_` are
        then current. Training continues from `state`, of an earlier run on the same data with the
        same settings, to the same bits as an uninterrupted run. The state changes in place.
        """
        del y
        self.resume(X, state)
        trainings = [
            chain._train(self.n_iter, self.burn_in, self.thinning)  # noqa: SLF001 - our chains
            for chain in self._chains
        ]
        steps: list[Any] = [None] * self.chains

        def sweep(first: int, last: int) -> None:
            for n in range(first, last):
                steps[n] = next(trainings[n])

        while self.state_.n_sweeps < self.n_iter:
            for_blocks(sweep, self.chains, 1, self._n_at_once)
            self._update(self.state_.seed)
            yield steps[0]

    def resume(self, X: Any, state: GibbsChainsState | None) -> Self:
        """Become fitted by taking over the state of an earlier run on the same data `X`.

        None stands for the state before the first sweep. Raises ValueError as `fit`, and if the
        state is of other data or another number of topics or chains.
        """
        self.check_settings()
        counts = whole_numbers(self._check_counts(X, reset=True))
        tokens = tokens_of(counts)
        if state is not None and len(state.topic_of) != self.chains:
            raise ValueError(
                f"the state is of {len(state.topic_of)} chains, and chains is {self.chains}"
            )
        states = [None] * self.chains if state is None else state.chains()
        seed = seed_from(self.random_state) if state is None else state.seed
        begun = [self._chain(seed_of_chain(seed, n)) for n in range(self.chains)]

        def begin(first: int, last: int) -> None:
            for n in range(first, last):
                begun[n]._resume_on(counts, tokens, states[n])  # noqa: SLF001 - our chains

        for_blocks(begin, self.chains, 1, self._n_at_once)
        self._chains = begun
        self._update(seed)
        return self

    def finish(self) -> bool:
        """Compute the final topics of each chain when training has ended, as `fit` does after
        `iterate`, see `GibbsLDA.finish`. Returns whether `topics_` have changed.
        """
        check_is_fitted(self, "state_")
        has_changed = [False] * self.chains

        def end(first: int, last: int) -> None:
            for n in range(first, last):
                has_changed[n] = self._chains[n].finish()

        for_blocks(end, self.chains, 1, self._n_at_once)
        self._update(self.state_.seed)
        return any(has_changed)

    def _update(self, seed: int) -> None:
        self.state_ = GibbsChainsState.of([chain.state_ for chain in self._chains], seed)

    @property
    def _n_at_once(self) -> int:
        """Chains that run at the same time."""
        n_threads = effective_n_jobs(self.n_jobs)
        return n_threads if n_threads <= self.chains else 1

    def _chain(self, seed: int) -> GibbsLDA:
        settings = {k: v for k, v in self.get_params(deep=False).items() if k != "chains"}
        settings["start"] = "online" if self.start == "auto" else self.start
        n_jobs = 1 if self._n_at_once > 1 else self.n_jobs
        return GibbsLDA(**(settings | {"random_state": seed, "n_jobs": n_jobs}))

    @property
    def is_ready(self) -> bool:
        """Whether there is a sample: topics of a single assignment vary too much."""
        return super().is_ready and self.state_.n_samples > 0

    @property
    def consensus_(self) -> Consensus:
        """Consensus of the chains' topics, weighted by tokens; computed at each call."""
        check_is_fitted(self, "state_")
        return consensus(
            [chain.topics_ for chain in self._chains],
            [chain.topic_tokens_ for chain in self._chains],
        )

    @property
    def topics_(self) -> LDATopics:
        """Topics (K, V) of the consensus, and alpha (K,); computed at each call."""
        return self.consensus_.topics

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        check_whole("chains", self.chains, 1)
        self._chain(0).check_settings()
