"""What LDA's trainers have in common beyond other estimators: Dirichlet priors, frozen words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from models.estimator import TopicEstimator
from models.lda.dirichlet_prior import prior_vector
from models.parallel import effective_n_jobs

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from models.lda.topics import LDATopics


class LDAEstimator(TopicEstimator):
    """Base of estimators with priors and a word budget."""

    alpha: Any
    eta: Any
    word_budget: int | None

    @property
    def topics_(self) -> LDATopics:
        """What was learned."""
        raise NotImplementedError

    def _frozen_words(self, counts: sparse.csr_array) -> NDArray[np.bool_]:
        """(V,), the words of counts (D, V) beyond `word_budget`: the most frequent ones."""
        n_words = counts.shape[1]
        frozen = np.zeros(n_words, dtype=np.bool_)
        if self.word_budget is not None:
            frequency = np.asarray(counts.sum(axis=0)).ravel()
            by_frequency = np.argsort(-frequency, kind="stable")
            frozen[by_frequency[: max(0, n_words - self.word_budget)]] = True
        return frozen

    def _check_priors_and_jobs(self) -> None:
        """Raise, naming the setting, if `alpha`, `eta` or `n_jobs` cannot be used."""
        effective_n_jobs(self.n_jobs)
        prior_vector(self.alpha, self.n_topics, "alpha")
        if isinstance(self.eta, str) and self.eta == "asymmetric":
            raise ValueError('eta = "asymmetric" would prefer the first words of the vocabulary')
        if isinstance(self.eta, str) or np.ndim(self.eta) == 0:
            prior_vector(self.eta, 1, "eta")
