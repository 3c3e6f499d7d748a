"""State of several chains of Gibbs sampling on the same documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from models.gibbs.state import GibbsLDAState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from models.arrays import Bools, Floats

OWN = ("topic_of", "topic_word_sum", "inverse_sum", "expected_n_wk", "alpha", "eta")
"""Fields of `GibbsLDAState` that differ between chains."""


@dataclass
class GibbsChainsState:
    """State of N chains: with it and the same data, the next sweep has the same bits.

    Fields with an axis of chains are lists of the chains' own arrays, or one array from a file.
    """

    topic_of: Sequence[NDArray[np.uint16]]  #: (N, n_tokens), as in `GibbsLDAState`.
    topic_word_sum: Sequence[NDArray[np.float32]]  #: (N, V, K), or (N, 0, K) before a sample.
    inverse_sum: Sequence[Floats]  #: (N, K) or (N, 0), as in `GibbsLDAState`.
    n_samples: int  #: Samples in the sum of each chain.
    alpha: Sequence[Floats]  #: (N, K).
    eta: Sequence[Floats]  #: (N, V).
    frozen: Bools  #: (V,), words that are in no topic's counts.
    n_sweeps: int  #: Sweeps of each chain.
    n_documents: int  #: Documents visited by each chain, counted once a sweep.
    seed: int
    expected_n_wk: Sequence[NDArray[np.float32]] = field(default=(), kw_only=True)
    """(N, V, K), or (N, 0, K) before training has been finished, as in `GibbsLDAState`."""

    def __post_init__(self) -> None:
        if not len(self.expected_n_wk):  # a file of a former version
            nothing = np.zeros((0, len(self.alpha[0])), dtype=np.float32)
            self.expected_n_wk = [nothing] * len(self.alpha)

    @classmethod
    def of(cls, chains: Sequence[GibbsLDAState], seed: int) -> GibbsChainsState:
        """Return the state of chains that have made equally many sweeps, without copies."""
        first = chains[0]
        return cls(
            **{name: [getattr(chain, name) for chain in chains] for name in OWN},
            n_samples=first.n_samples,
            frozen=first.frozen,
            n_sweeps=first.n_sweeps,
            n_documents=first.n_documents,
            seed=seed,
        )

    def chains(self) -> list[GibbsLDAState]:
        """Return the states of the chains, which share the arrays."""
        none = np.zeros((0, len(self.alpha[0])), dtype=np.int32)
        return [
            GibbsLDAState(
                **{name: getattr(self, name)[n] for name in OWN},
                n_wk_before=none,
                n_samples=self.n_samples,
                frozen=self.frozen,
                n_sweeps=self.n_sweeps,
                n_documents=self.n_documents,
                n_batches=0,
                seed=seed_of_chain(self.seed, n),
            )
            for n in range(len(self.topic_of))
        ]


def seed_of_chain(seed: int, number: int) -> int:
    """Return the seed of a chain: the first has that of all."""
    if not number:
        return seed
    return int(np.random.SeedSequence([seed, 7, number]).generate_state(1, np.uint64)[0] >> 1)
