"""State of factorisations of counts, and the report of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.arrays import Floats


@dataclass
class KLNMFState:
    """A run's state, from which it continues to the same bits. Arrays are replaced, not changed."""

    doc_topic: Floats  #: (D, K), not negative. In the literature this is Θ or W.
    word_topic: Floats
    """(V, K), not negative: φ or H, transposed, so that a word's topics are adjacent."""
    objective: float
    gain: float  #: Gain of the last sweep; infinite before the first.
    relaxation: float  #: Exponent that the next sweep tries.
    n_sweeps: int
    n_documents: int  #: Documents visited, counted once a sweep.
    seed: int


@dataclass
class GaPState(KLNMFState):
    """State of a factorisation with a Gamma prior; each topic's weights sum to 1."""

    rate: Floats  #: (K,), positive. In the literature this is 1 / b, or b where it is no scale.


@dataclass(frozen=True)
class FactorStep:
    """Report of one sweep."""

    n_sweeps: int
    n_documents: int
    n_passes: float
    objective: float
    relaxation: float  # Exponent of the next sweep's updates
