"""Hidden indices whose values have no names of their own: permuted, they are as probable."""

import numpy as np

from models.allocation.model import AllocationModel


def exchangeable_classes(model: AllocationModel) -> tuple[tuple[str, ...], ...]:
    """Return the hidden indices whose values can be permuted without a change of probability.

    Indices on the same axis of a table that they share are permuted together. None is in a class
    if the prior differs between their values, or a visible index is on the same axis.
    """
    class_of = {name: {name} for name in model.indices}
    fixed: set[str] = set(model.visible)
    for group in model.table_groups():
        families = [model.family(name) for name in group]
        alpha = None if model.prior is None else model.pseudo_counts(group[0])
        for axis, names in enumerate(zip(*families, strict=True)):
            together = set().union(*(class_of[name] for name in names))
            class_of.update(dict.fromkeys(together, together))
            if alpha is not None and (np.diff(alpha, axis=axis) != 0).any():
                fixed |= set(names)
    found = {
        tuple(name for name in model.indices if name in class_of[each])
        for each in model.hidden
        if not class_of[each] & fixed and model.cardinalities[each] > 1
    }
    return tuple(sorted(found))
