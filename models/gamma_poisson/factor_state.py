"""State of factorisations of counts, and the report of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.arrays import Floats


@dataclass
class KLNMFState:
    """All that a run needs to go on: with it and the same data, the next sweep has the same bits.
    Arrays are replaced by a sweep, never written to.
    """

    doc_topic: Floats
    """(D, K), not negative. In the literature this is Θ or W."""
    word_topic: Floats
    """(V, K), not negative, by word so that a word's topics lie together: φ or H, transposed."""
    objective: float
    """Objective of these factors."""
    gain: float
    """Gain of the last sweep; infinite before the first."""
    relaxation: float
    """The exponent that the next sweep tries."""
    n_sweeps: int
    n_documents: int
    """Documents visited, counted once a sweep."""
    seed: int
    """Fixes the start."""


@dataclass
class GaPState(KLNMFState):
    """The same for a factorisation with a Gamma prior; each topic's weights sum to 1."""

    rate: Floats
    """(K,), positive. In the literature this is 1 / b, or b where it is no scale."""


@dataclass(frozen=True)
class FactorStep:
    """Report of one sweep."""

    n_sweeps: int
    n_documents: int
    n_passes: float
    objective: float
    """Objective after this sweep."""
    relaxation: float
    """The exponent of the next sweep's updates."""
