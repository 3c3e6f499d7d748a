"""Check that every observed cell has a positive probability."""

import numpy as np

from models.allocation.inference_plan import InferencePlan
from models.allocation.particles.hidden_sum import weigh
from models.allocation.particles.state import new_particles


class UnreachableCellError(ValueError):
    """A cell with tokens has probability 0 under the model: its prior holds zeros."""


def check_reachable(plan: InferencePlan) -> None:
    """Raise UnreachableCellError if all hidden values of a cell have pseudo-count 0."""
    prior = plan.model.prior
    if prior is None or all(array.all() for array in prior.values()):
        return
    possible = np.ones(len(plan.observed.cells), dtype=bool)
    for table in plan.constant:
        if table.power > 0:
            alpha = np.broadcast_to(table.alpha, (table.n_rows, 1))[:, 0]
            possible &= (alpha[table.row_of] > 0).all(axis=0)
    if plan.n_factors:
        particle = new_particles(plan, 1)
        slot = np.arange(plan.n_factors)
        for cell in range(len(possible)):
            weigh(plan.arrays, particle, cell, slot)
            possible[cell] &= particle.increment[0] > 0
    if not possible.all():
        cell = plan.observed.cells[np.flatnonzero(~possible)[0]].tolist()
        named = ", ".join(
            f"{name} = {value}"
            for name, value in zip(plan.model.visible, cell, strict=True)
            if value >= 0
        )
        raise UnreachableCellError(
            f"there are tokens at {named}, which no values of the hidden indices reach: the prior "
            "is 0 there; give it a positive pseudo-count, or leave these tokens out"
        )
