"""Beta-gamma Poisson factor analysis (Zhou, Hannah, Dunson & Carin 2012) by collapsed Gibbs.

    φ_k ~ Dirichlet(eta),   θ_dk ~ Gamma(r_k, scale p_k / (1 - p_k)),   p_k ~ Beta(c ε, c (1 - ε))

Zhou et al. draw scores θ and topics φ, and split each count by them. Here both are integrated out,
so that a token's topic depends on those of all others:

    p(z_t = k | all others) ∝ p_k (n_dk + r_k) (n_kw + eta_w) / (n_k + Σ_v eta_v)

which is the same posterior with less to be drawn, and LDA's sampler but for p_k: counts are split
by the same kernels, dense or sparse, exact or parallel (see `models.gibbs.sweep`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from models.checks import check_number
from models.dirichlet_prior import check_range, prior_vector
from models.gamma_poisson.beta_gamma_state import (
    MIN_PROBABILITY,
    BetaGammaPFAState,
    mean_gamma_poisson,
)
from models.gamma_poisson.count_priors import CountPriors, sample_probability, sample_shape
from models.gibbs.collapsed_gibbs import CollapsedGibbs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy import sparse

    from models.gamma_poisson.topics import GammaPoissonTopics
    from models.gibbs.tokens import Tokens

FIRST_STEPS = 50  # Gibbs steps of r and p before the first sweep
STEPS = 5  # Gibbs steps of r and p after each sweep: they are correlated, and a step costs little


@dataclass(eq=False, repr=False)
class BetaGammaPFA(CollapsedGibbs):
    """Gamma-Poisson factor analysis that learns how many of its topics are active.

    Memory as `GibbsLDA`.

    Parameters
    ----------
    n_topics : int
        K, the most topics that there can be, at most 65,535.
    eta : float, array (V,) or "symmetric"
        Dirichlet prior of a topic's words.
    shape : float or array (K,)
        r of the scores, or its starting value if it is learned.
    learn_shape : bool
        Whether r is drawn too, with prior Gamma(1, 1): the βγΓ-PFA of Zhou et al. Otherwise their
        βΓ-PFA, with which Capdevila et al. 2018 train, with `shape` 1: every document has some of
        each topic.
    concentration : float
        c of the beta process.
    base_mass : float, optional
        ε, between 0 and 1; by default 1 / K, and 1 / 2 for one topic.
    n_iter, sampler, start, burn_in, thinning, random_state, n_jobs
        As of `GibbsLDA`; an "auto" start is "online" here.
    """

    n_topics: int = 20
    _: KW_ONLY
    eta: float | str | ArrayLike = 0.1
    shape: float | ArrayLike = 1.0
    learn_shape: bool = True
    concentration: float = 1.0
    base_mass: float | None = None
    n_iter: int = 200
    sampler: str = "auto"
    start: str = "auto"
    burn_in: int = 0
    thinning: int = 1
    random_state: Any = None
    n_jobs: int | None = None
    state_: BetaGammaPFAState = field(init=False)
    prior_interval = 1
    word_budget = None

    @property
    def topics_(self) -> GammaPoissonTopics:
        """Topics (K, V), r and p (K,) averaged over samples; before the first, the present ones."""
        check_is_fitted(self, "state_")
        return mean_gamma_poisson(self.state_, self._sweeps.word_topic_weight)

    @property
    def n_active_topics_(self) -> int:
        """Topics that have a token at present."""
        check_is_fitted(self, "state_")
        return int((self._sweeps.n_k > 0).sum())

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""
        super().check_settings()
        if isinstance(self.shape, str):
            raise TypeError(f"shape must be a number or {self.n_topics}, found {self.shape!r}")
        prior_vector(self.shape, self.n_topics, "shape")
        if isinstance(self.eta, str) and self.eta != "symmetric":
            raise TypeError(
                'eta must be a number, one for each word, or "symmetric" for 1 / V, '
                f"found {self.eta!r}"
            )
        check_range(eta=self.eta)
        if not isinstance(self.learn_shape, (bool, np.bool_)):
            raise TypeError(f"learn_shape must be True or False, found {self.learn_shape!r}")
        for name, most in (("concentration", np.inf), ("base_mass", 1.0)):
            value = getattr(self, name)
            if name == "base_mass" and value is None:
                continue
            check_number(name, value)
            if not 0 < value < most:
                raise ValueError(f"{name} must be above 0 and below {most:g}, found {value}")

    def _first_state(self, counts: sparse.csr_array, tokens: Tokens) -> BetaGammaPFAState:
        shape = prior_vector(self.shape, self.n_topics, "shape")
        fields = self._first_fields(counts, tokens, shape)
        return BetaGammaPFAState(
            **fields,
            probability=np.full(self.n_topics, 0.5),
            shape_sum=np.zeros(self.n_topics),
            mean_count_sum=np.zeros(self.n_topics),
            weight_sum=0.0,
        )

    def _learn_first_priors(self) -> None:
        self._learn_priors(FIRST_STEPS)

    def _learn_priors(self, n_steps: int = STEPS) -> None:
        state, n_k, n_docs = self.state_, self._sweeps.n_k, len(self._n_tokens)
        mass = 1.0 / max(2, self.n_topics) if self.base_mass is None else self.base_mass
        priors = CountPriors(self.concentration, mass)
        rng = np.random.default_rng([state.seed, 5, state.n_sweeps])
        above = self._sweeps.doc_topic_exceedances() if self.learn_shape else None
        for _ in range(n_steps if self.learn_shape else 1):
            if above is not None:
                state.alpha = sample_shape(
                    above, n_docs, state.alpha, state.probability, priors, rng
                )
            state.probability = np.clip(
                sample_probability(n_k, n_docs, state.alpha, priors, rng),
                MIN_PROBABILITY,
                1.0 - MIN_PROBABILITY,
            )

    def _add_sample(self, weight: float) -> None:
        super()._add_sample(weight)
        self.state_.add_priors(weight, self._sweeps.n_k / max(1, len(self._n_tokens)))
