"""The fixed-length Poisson Markov random field: a multinomial whose words depend on each other.

    log p(x | θ, Φ, L) = θ·x + ω(L) x·Φx - Σ_s log x_s! - A_L,      Σ_s x_s = L

(Inouye, Ravikumar & Dhillon 2015, eqs. 1 to 3). Φ = 0 is the multinomial; with two words it is
Altham's multiplicative binomial (1978).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp, softmax

from models.checks import check_number

if TYPE_CHECKING:
    from models.arrays import Floats


@dataclass(frozen=True, eq=False)
class FixedLengthPoissonMRF:
    """A distribution of the counts x (V,) of L tokens (Inouye et al. 2015, eq. 1).

    Raises ValueError if shapes disagree, a value is not finite, Φ is not symmetric or has a
    diagonal, or `half_length` is not positive; TypeError if `half_length` is no number.
    """

    node: Floats
    """(V,). In the literature this is θ. A constant added to all of it changes nothing."""
    interactions: sparse.csr_array
    """(V, V), symmetric with a zero diagonal. In the literature this is Φ. Each pair counts twice
    in x·Φx."""
    half_length: float = np.inf
    """Number of tokens at which interactions count half: Φ is multiplied by ω(L) = 1 / (1 + (L /
    half_length)²). In the paper this is c L̄. Infinite: ω = 1."""

    def __post_init__(self) -> None:
        node = np.array(self.node, dtype=np.float64)
        if node.ndim != 1 or not node.size:
            raise ValueError(f"node must be (n_words,), found shape {node.shape}")
        if not np.isfinite(node).all():
            raise ValueError("node must hold finite numbers: it is the logarithm of weights")
        node.setflags(write=False)
        object.__setattr__(self, "node", node)
        object.__setattr__(self, "interactions", checked_interactions(self.interactions, len(node)))
        check_number("half_length", self.half_length)
        if not self.half_length > 0:
            raise ValueError(f"half_length must be positive, found {self.half_length}")

    @property
    def n_words(self) -> int:
        """V."""
        return len(self.node)

    @property
    def n_interactions(self) -> int:
        """Pairs of words that depend on each other."""
        return int(self.interactions.nnz) // 2

    @property
    def word_probability(self) -> Floats:
        """(V,), exp θ over its sum: the multinomial that is left where Φ = 0."""
        return softmax(self.node)

    def weight(self, length: Any) -> Any:
        """ω(L), what Φ is multiplied by for documents of `length` tokens."""
        return 1.0 / (1.0 + (np.asarray(length, dtype=np.float64) / self.half_length) ** 2)

    def log_weight(self, counts: Any) -> Floats:
        """(D,), log p(x) + A_L of each document of `counts` (D, V): all but the partition function.
        Raises ValueError if `counts` has another number of words.
        """
        documents = sparse.csr_array(counts).astype(np.float64)
        if documents.ndim != 2 or documents.shape[1] != self.n_words:
            raise ValueError(f"counts must be (n_docs, {self.n_words}), found {documents.shape}")
        length = np.asarray(documents.sum(axis=1)).ravel()
        pairs = np.asarray((documents @ self.interactions).multiply(documents).sum(axis=1)).ravel()
        arrays = (gammaln(documents.data + 1.0), documents.indices, documents.indptr)
        factorials: Floats = sparse.csr_array(arrays, shape=documents.shape).sum(axis=1)
        found: Floats = documents @ self.node + self.weight(length) * pairs - factorials
        return found

    def token_conditional(self, others: Any) -> Floats:
        """Return the probability of each word (V,) for one token, given counts `others` (V,).
        p(s | others) ∝ exp(θ_s + 2 ω(L) Φ_s·others), L counting all (Sec. 2.1; Sec. 2 lacks the 2).
        """
        rest = np.asarray(others, dtype=np.float64)
        if rest.shape != self.node.shape:
            raise ValueError(f"others must be ({self.n_words},), found shape {rest.shape}")
        weight = self.weight(rest.sum() + 1)
        probability: Floats = softmax(self.node + 2.0 * weight * (self.interactions @ rest))
        return probability

    def normalised(self) -> FixedLengthPoissonMRF:
        """The same distribution with Σ_s exp θ_s = 1."""
        return FixedLengthPoissonMRF(
            self.node - logsumexp(self.node), self.interactions, self.half_length
        )

    def with_half_length(self, half_length: float) -> FixedLengthPoissonMRF:
        """The same θ and Φ, weighted by another ω."""
        return FixedLengthPoissonMRF(self.node, self.interactions, half_length)


def checked_interactions(interactions: Any, n_words: int) -> sparse.csr_array:
    """Φ (V, V) as CSR of its own, sorted, without zeros. Raises ValueError if it is not (V, V),
    finite and symmetric with a zero diagonal, naming the first entry that is at fault.
    """
    found = sparse.csr_array(interactions, dtype=np.float64, copy=True)
    if found.ndim != 2 or found.shape != (n_words, n_words):
        raise ValueError(f"interactions must be ({n_words}, {n_words}), found {found.shape}")
    found.sum_duplicates()
    if not np.isfinite(found.data).all():
        raise ValueError("interactions must hold finite numbers")
    found.eliminate_zeros()
    diagonal = np.flatnonzero(found.diagonal())
    if len(diagonal):
        s = diagonal[0]
        raise ValueError(
            f"interactions must have a zero diagonal, found {found[s, s]:g} at ({s}, {s}): how a "
            "word depends on itself is no part of the model"
        )
    apart = (found - found.T).tocoo()
    apart.eliminate_zeros()
    if apart.nnz:
        s, t = int(apart.row[0]), int(apart.col[0])
        raise ValueError(
            f"interactions must be symmetric, found {found[s, t]:g} at ({s}, {t}) and "
            f"{found[t, s]:g} at ({t}, {s}): take (interactions + interactions.T) / 2"
        )
    return found
