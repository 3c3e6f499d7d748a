"""Base class of trainers as scikit-learn estimators: settings, counts, a state."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from models.checks import check_whole
from models.completion import score_per_word
from models.counts import canonical_counts, whole_numbers
from models.family import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.arrays import Floats
    from models.topics import TopicWords


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of estimators with a number of topics and threads that learn a `state_`."""

    n_topics: int
    n_iter: Any
    n_jobs: int | None
    state_: Any  #: State that training continues from.
    n_features_in_: int  #: Words of the last call that learned.
    feature_names_in_: Any  #: Names of the columns, (n_features_in_,), if they had any.

    @property
    def seed_(self) -> int:
        """The seed in use: `random_state`, or the one that was drawn."""
        check_is_fitted(self, "state_")
        return int(self.state_.seed)

    @property
    def _n_features_out(self) -> int:
        return self.n_topics

    @property
    def topics_(self) -> TopicWords:
        """Learned topics."""
        raise NotImplementedError

    @property
    def schedule(self) -> Schedule:
        """Length of training with these settings, without early stopping."""
        return Schedule(max_passes=self.n_iter)

    @property
    def is_ready(self) -> bool:
        """Whether the topics of the present state may be validated."""
        check_is_fitted(self, "state_")
        return True

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn topics from counts `X` (D, V), CSR or dense; see `models.counts` for fractions.

        Raises ValueError or TypeError if a setting is out of its range; ValueError if `X` holds a
        negative count, NaN or infinity, fewer documents with a token than a topic each needs, or
        numbers too large or too small to train with.
        """
        for _ in self.iterate(X, y):
            pass
        self.finish()
        return self

    def finish(self) -> bool:
        """Compute the final topics when training has ended, as `fit` does after `iterate`.

        Returns whether `topics_` have changed. Raises NotFittedError before the first `fit`,
        `iterate` or `resume`.
        """
        check_is_fitted(self, "state_")
        return False

    def resume(self, X: Any, state: Any) -> Self:
        """Become fitted by taking over the state of an earlier run on the same data `X`.

        None is the state before training. Raises ValueError as `fit`, and if the state is of other
        data or settings.
        """
        self._begin(X, state)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the topics (D, K) of documents: the mean of the variational q(θ).

        LDA gives proportions, whose rows sum to 1; Gamma-Poisson models give scores, which sum to
        lengths. Raises NotFittedError before the first `fit`, `partial_fit` or `resume`, and
        ValueError if `X` holds a value that is no count, or has not the words of the first call.
        """
        check_is_fitted(self, "state_")
        return self.topics_.transform(self._check_counts(X, reset=False), n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _check_integers(self, lowest: Mapping[str, int], optional: tuple[str, ...]) -> None:
        """Raise, naming the setting, if one is no whole number or below its minimum."""
        for name, least in lowest.items():
            value = getattr(self, name)
            if value is not None or name not in optional:
                check_whole(name, value, least)

    def _check_counts(self, X: Any, *, reset: bool) -> sparse.csr_array:
        """Return `X` (D, V) as sorted CSR without duplicates; memory-mapped whole numbers stay on
        disk.
        Raises ValueError if `X` holds a negative count, NaN or infinity, or words of no earlier
        call.
        """
        return _checked(self, X, reset=reset)

    def _check_stream_counts(self, X: Any, *, may_grow: bool) -> sparse.csr_array:
        """Return `X` as `_check_counts`; with `may_grow` it may have more columns than before.
        Columns are then appended to those of earlier calls: `n_features_in_` and, of a data frame,
        `feature_names_in_` become those of `X`. Raises ValueError as `_check_counts`, and if names
        of earlier columns have changed.
        """
        if not may_grow:
            return self._check_counts(X, reset=False)
        wider = copy.copy(self)
        counts = _checked(wider, X, reset=True)
        n_words = len(self.state_.eta)
        if counts.shape[1] <= n_words:
            return self._check_counts(X, reset=False)
        if hasattr(self, "feature_names_in_"):
            names = getattr(wider, "feature_names_in_", None)
            if names is None or list(names[:n_words]) != list(self.feature_names_in_):
                raise ValueError(
                    f"X has {counts.shape[1]} features, of which the first {n_words} must have the "
                    "names of earlier calls, in their order: append new words at the end"
                )
            self.feature_names_in_ = names
        self.n_features_in_ = counts.shape[1]
        return counts


class CompletingEstimator(TopicEstimator):
    """Base of estimators whose topics predict half of a document from the other half."""

    def score(self, X: Any, y: object = None) -> float:
        """Return log p of a word of documents `X` (D, V), by document completion, in nats.

        The words of a random half of each document are predicted from the other half, four times;
        higher is better, and exp(-score) is their perplexity. With held-out documents it compares
        numbers of topics and trainers: it is what `GridSearchCV` needs. The same documents are
        always halved in the same way, and the score is that of `evaluation.log_likelihood` by
        "completion" with `random_state=0`. A word that no topic has gets a millionth of the even
        distribution; a fraction of a count is rounded as `models.counts` says. Raises
        NotFittedError before the first `fit`, and ValueError as `transform`, or if no document has
        a token.
        """
        del y
        check_is_fitted(self, "state_")
        counts = whole_numbers(self._check_counts(X, reset=False), None)
        return score_per_word(self.topics_, counts, self.n_jobs)


def _checked(estimator: TopicEstimator, X: Any, *, reset: bool) -> sparse.csr_array:
    """Return `X` as `TopicEstimator._check_counts` says, of the columns of `estimator`."""
    counts = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.int32, np.int64, np.float32],  # the first is for all others
    )
    return canonical_counts(sparse.csr_array(counts), type(estimator).__name__)
