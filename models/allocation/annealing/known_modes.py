"""Modes that are known of another model of the graph, such as one with fewer hidden values.

An allocation that uses C values of an index is one of every model that has C or more. So a mode of
one model is an allocation of another, and may be near a mode of it.
"""

from typing import Any

import numpy as np

from models.allocation.cell_counts import CellCounts
from models.allocation.exchangeable import exchangeable_classes
from models.allocation.inference_plan import InferencePlan
from models.allocation.joint_values import values_of
from models.arrays import Ints32


def known_values(plan: InferencePlan, modes: Any) -> list[Ints32]:
    """Return the joint values (n_tokens,) of each of these modes, over modes and all indices, that
    uses no more values than the model of `plan` has. There are none where tokens lack indices, as
    an allocation does not say which they lacked.

    Raises TypeError if the modes are no CellCounts; ValueError if they have another number of
    indices, more or fewer values of one that is visible or not exchangeable, or other counts, or
    lack an index of some token.
    """
    if not isinstance(modes, CellCounts):
        kind = type(modes).__name__
        raise TypeError(f"known_modes must be the modes of an estimate, CellCounts, found {kind}")
    model = plan.model
    ones = ((name,) for name in model.hidden if model.cardinalities[name] == 1)
    classes = (*exchangeable_classes(model), *ones)
    named = {name for names in classes for name in names}
    sizes = tuple(model.cardinalities[name] for name in model.indices)
    places = {name: place for place, name in enumerate(model.indices)}
    of_modes = modes.shape[1:]
    if len(of_modes) != len(sizes) or any(
        of_modes[place] != sizes[place] for name, place in places.items() if name not in named
    ):
        raise ValueError(
            f"known_modes must be over modes and the indices {', '.join(model.indices)}, of shape "
            f"{sizes} but for exchangeable ones, found {of_modes}"
        )
    if modes.lacks_indices:
        raise ValueError("known_modes must say all indices of each token, found -1 for one")
    if plan.observed.lacks_indices:
        return []
    values = []
    for mode in range(modes.shape[0]):
        is_here = modes.cells[:, 0] == mode
        cells = modes.cells[is_here, 1:]
        for names in classes:
            axes = [places[name] for name in names]
            used, labels = np.unique(cells[:, axes], return_inverse=True)
            if len(used) > sizes[axes[0]]:
                break
            cells[:, axes] = labels.reshape(len(cells), len(axes))
        else:
            allocation = CellCounts(cells, modes.counts[is_here], sizes)
            values.append(values_of(plan, allocation, "known_modes"))
    return values
