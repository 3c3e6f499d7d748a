"""State of collapsed Gibbs sampling, and its report of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.arrays import Bools, Floats, Ints32
    from models.gibbs.tokens import Tokens

SAMPLERS = ("exact-dense", "exact-sparse", "parallel-dense", "parallel-sparse")


@dataclass
class GibbsLDAState:
    """State of a run: with it and the same data, the next sweep has the same bits."""

    topic_of: NDArray[np.uint16]
    """(n_tokens,), the topic of each token, in the order of `tokens_of(counts)`. In the literature
    this is z. In a stream these are the tokens of the last call: first those of earlier documents
    that were resampled, then those of new documents."""
    n_wk_before: Ints32
    """(V, K), counts of earlier documents of a stream that are not among the present ones; (0, K)
    if there are none."""
    topic_word_sum: NDArray[np.float32]
    """(V, K), weighted sum over samples of (n_kw + eta_w) / (n_k + Σ eta), of sparse samplers of
    n_kw / (n_k + Σ eta); (0, K) before the first."""
    n_samples: int  #: Samples in that sum.
    alpha: Floats  #: (K,).
    eta: Floats  #: (V,).
    frozen: Bools  #: (V,), words that are in no topic's counts.
    n_sweeps: int  #: Sweeps over the present documents.
    n_documents: int  #: Documents visited, counted once a sweep.
    n_batches: int  #: Batches that `partial_fit` took before the present documents.
    seed: int
    inverse_sum: Floats = field(default_factory=lambda: np.zeros(0), kw_only=True)
    """(K,), weighted sum over samples of 1 / (n_k + Σ eta) if `topic_word_sum` lacks the prior's
    part, which is eta_w times it; (0,) otherwise."""
    expected_n_wk: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros((0, 0), np.float32), kw_only=True
    )
    """(V, K), expected tokens of each word and topic, by the full conditionals of all tokens, if
    training has been finished by them after the last sweep; (0, K) otherwise."""

    @property
    def topic_word_total(self) -> NDArray[np.float32]:
        """(V, K), weighted sum over samples of (n_kw + eta_w) / (n_k + Σ eta)."""
        if not len(self.inverse_sum):
            return self.topic_word_sum
        total = np.multiply.outer(self.eta.astype(np.float32), self.inverse_sum.astype(np.float32))
        total += self.topic_word_sum
        return total

    @property
    def topic_weight(self) -> Floats:
        """(K,), factors of the topics' probabilities besides counts and priors: 1 in LDA."""
        return np.ones(len(self.alpha))


@dataclass(frozen=True)
class GibbsLDAStep:
    """Report of a sweep."""

    n_sweeps: int
    n_documents: int  #: Documents visited so far, counted once a sweep.
    n_passes: float  #: Sweeps, by the name in `OnlineLDAStep`.
    n_samples: int  #: Samples that `topics_` averages.


def check_state(state: GibbsLDAState, tokens: Tokens, n_words: int, n_topics: int) -> None:
    """Raise ValueError if `state` is of other data or another number of topics."""
    found = (len(state.topic_of), len(state.eta), len(state.alpha))
    if found != (len(tokens.doc_of), n_words, n_topics):
        raise ValueError(
            f"the state is of {found[0]} tokens, {found[1]} words and {found[2]} topics, the data "
            f"have {len(tokens.doc_of)} tokens and {n_words} words, and n_topics = {n_topics}"
        )
    if len(state.topic_of) and int(state.topic_of.max()) >= n_topics:
        raise ValueError(f"the state assigns topic {state.topic_of.max()}, of {n_topics} topics")
