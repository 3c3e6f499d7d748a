"""What all trainers have in common, and what one run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, replace

ETA, BATCH, DECAY, OFFSET = 0.01, 1000, 0.7, 10.0
PRIOR_INTERVAL = 10
"""Sweeps between two estimates of the priors, of samplers that learn them."""


@dataclass(frozen=True)
class Settings:
    """Of one run."""

    n_topics: int
    seed: int
    documents: int
    """How many to train on."""
    alpha: float
    """To begin with."""
    passes: int
    """Of a variational trainer; 0 for the others."""
    seconds: float
    """Of a sampler; 0 for the others."""
    fixed_priors: bool
    start: str
    """Of `GibbsLDA`; "" for the others."""
    threads: int = 2
    """Or processes, of a trainer that can have several."""

    def used_by(self, *, samples: bool, has_start: bool) -> Settings:
        """The settings without those that a trainer has no use for, to tell runs apart."""
        return replace(
            self,
            passes=0 if samples else self.passes,
            seconds=self.seconds if samples else 0.0,
            start=self.start if has_start else "",
        )
