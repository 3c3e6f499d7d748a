"""Probabilities of many complete allocations, under models with other priors and sizes.

Models of one graph have tables over the same indices. So the counts of allocations over these are
summed once, for all models.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from models.allocation.model import AllocationModel
from models.allocation.rising_factorial import log_rising_factorials
from models.allocation.sequence import log_total_probability
from models.allocation.tables import marginals_of
from models.arrays import Floats, Ints

Uses = tuple[tuple[str, ...], ...]
Sums = tuple[Ints, list[Ints], Ints]


@dataclass(frozen=True, eq=False)
class Allocations:
    """Tokens of complete allocations, by the values of all indices."""

    of: Ints  # (n,), number of the allocation
    columns: Mapping[str, Ints]  # (n,) of each index
    counts: Ints  # (n,), tokens
    n_allocations: int
    _sums: dict[Uses, Sums] = field(default_factory=dict, init=False, repr=False)

    def sums(self, uses: Uses) -> Sums:
        """Return each entry of a table that has tokens: its allocation, values and number of
        tokens. A table that is used several times counts a token at each use.
        """
        if uses not in self._sums:
            of = np.tile(self.of, len(uses))
            axes = [
                np.concatenate([self.columns[name] for name in each])
                for each in zip(*uses, strict=True)
            ]
            entry = of
            for axis in axes:  # numbered anew each time, so that they stay small
                entries = entry * (axis.max(initial=0) + 1) + axis
                _, entry = np.unique(entries, return_inverse=True)
            _, first, entry = np.unique(entry, return_index=True, return_inverse=True)
            numbers = np.bincount(entry, np.tile(self.counts, len(uses))).astype(np.int64)
            self._sums[uses] = of[first], [axis[first] for axis in axes], numbers
        return self._sums[uses]

    def log_probabilities(self, model: AllocationModel) -> Floats:
        """Return log π(S) of each (eq. 3.11), but for the number of orders of its tokens, which is
        the same under all models: (n_allocations,). Meaningless where the model lacks a value.
        """
        n_tokens = np.bincount(self.of, self.counts, self.n_allocations).astype(np.int64)
        totals = {n: log_total_probability(model, int(n)) for n in np.unique(n_tokens)}
        logs = np.array([totals[n] for n in n_tokens], dtype=np.float64)
        for marginal in marginals_of(model):
            of, values, numbers = self.sums(marginal.uses)
            if isinstance(marginal.alpha, np.ndarray):
                alpha = marginal.alpha[
                    tuple(
                        np.minimum(*each)
                        for each in zip(values, np.array(marginal.sizes) - 1, strict=True)
                    )
                ]
                if marginal.power < 0:
                    alpha = np.where(alpha == 0, 1.0, alpha)  # numerators are 0 too: so is it all
            else:
                alpha = np.full(len(of), marginal.alpha)
            terms = np.zeros(len(of))
            log_rising_factorials(np.ascontiguousarray(alpha), numbers, terms)
            logs += marginal.power * np.bincount(of, terms, self.n_allocations)
        return logs
