"""Counts over the axes of each index's own table, and conditional probability tables made of them.

Where tables cancel, some are not among those that mean field needs; in the end they are counted
once, from the same probabilities of hidden values.
"""

from collections.abc import Mapping

import numpy as np

from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.inference_plan import InferencePlan
from models.allocation.mean_field.belief_propagation import Reading
from models.allocation.mean_field.coordinate_ascent import Epoch, MeanField, expected_counts
from models.allocation.model import AllocationModel
from models.allocation.tables import mixed_radix
from models.arrays import Floats

MAX_TABLE_MEMORY = 2**30  # Maximum bytes of all tables of a model


def check_tables(model: AllocationModel) -> None:
    """Raise TableMemoryError if the model's tables take more than `MAX_TABLE_MEMORY` bytes."""
    sizes = {
        name: 8.0 * float(np.prod(model.table_shape(name), dtype=np.float64))
        for name in model.indices
    }
    if sum(sizes.values()) > MAX_TABLE_MEMORY:
        largest = max(sizes, key=lambda name: sizes[name])
        raise TableMemoryError(
            f"the tables of all indices need {sum(sizes.values()) / 2**20:,.0f} MiB, that of "
            f"{largest!r} with {model.table_shape(largest)} entries alone "
            f"{sizes[largest] / 2**20:,.0f}, more than {MAX_TABLE_MEMORY / 2**20:,.0f} MiB: give "
            "the indices fewer values or parents; log_marginal needs no whole tables"
        )


def counts_of_epoch(field: MeanField, epoch: Epoch, n_threads: int = 1) -> dict[str, Floats]:
    """S or E S over the family of each index, in the shape of its table."""
    model = field.plan.model
    if epoch.allocated.chosen is not None:
        return counts_of_allocation(model, field.mode_of(epoch.allocated))
    at, n_entries = _table_starts(model)
    reading = _reading_of_families(field.plan, at)
    counts, _, _ = expected_counts(field, reading, epoch.log_factor, n_entries, n_threads)
    return {
        name: counts[start:][: int(np.prod(model.table_shape(name)))].reshape(
            model.table_shape(name)
        )
        for name, start in at.items()
    }


def counts_of_allocation(model: AllocationModel, allocation: CellCounts) -> dict[str, Floats]:
    """S over the family of each index; `allocation` has a value of each of `model.indices`."""
    of = dict(zip(model.indices, allocation.cells.T, strict=True))
    counted = {}
    for name in model.indices:
        shape = model.table_shape(name)
        entry = np.ravel_multi_index([of[each] for each in model.family(name)], shape)
        n_entries = int(np.prod(shape))
        counts = np.zeros(n_entries)
        np.add.at(counts, entry, allocation.counts)
        counted[name] = counts.reshape(shape)
    return counted


def tables_of_counts(model: AllocationModel, counts: Mapping[str, Floats]) -> dict[str, Floats]:
    """(α + S) / Σ(α + S) of each index: the mean of θ, and its mode in the softmax basis.
    Tied tables are made of the counts of all that share them. A row whose pseudo-counts are all 0
    can have no tokens and is even.
    """
    tables = {}
    for group in model.table_groups():
        table = model.pseudo_counts(group[0]).copy()
        for name in group:
            table += counts[name]
        total = table.sum(axis=-1, keepdims=True)
        table = np.where(total > 0, table, 1.0)
        table /= table.sum(axis=-1, keepdims=True)
        tables.update(dict.fromkeys(group, table))
    return {name: tables[name] for name in model.indices}


def _table_starts(model: AllocationModel) -> tuple[dict[str, int], int]:
    at, n_entries = {}, 0
    for name in model.indices:
        at[name] = n_entries
        n_entries += int(np.prod(model.table_shape(name)))
    return at, n_entries


def _reading_of_families(plan: InferencePlan, at: Mapping[str, int]) -> Reading:
    """Address each family's counts in a clique that contains its unknown indices."""
    model, observed = plan.model, plan.observed
    families = {name: model.family(name) for name in model.indices}
    stride = {
        name: dict(zip(family, mixed_radix(model.table_shape(name))[0], strict=True))
        for name, family in families.items()
    }
    address = np.zeros((len(observed.counts), len(families)), dtype=np.int64)
    for f, (name, family) in enumerate(families.items()):
        address[:, f] = at[name]
        for each in family:
            if each in model.visible:
                values = observed.cells[:, model.visible.index(each)]
                address[:, f] += stride[name][each] * np.maximum(values, 0)
    factors: list[int] = []
    factor_start = [0]
    map_at: list[int] = []
    maps = [np.zeros(0, dtype=np.int64)]
    length = 0
    for pattern, unknown in enumerate(plan.unknown):
        first, last = plan.arrays.clique_start[pattern : pattern + 2]
        cliques = plan.cliques[first:last]
        homes = {
            name: next(
                n for n, clique in enumerate(cliques) if set(family) & {*unknown} <= {*clique}
            )
            for name, family in families.items()
        }
        for n, clique in enumerate(cliques):
            sizes = tuple(model.cardinalities[each] for each in clique)
            n_combinations = int(np.prod(sizes, dtype=np.int64))
            of_clique = np.unravel_index(np.arange(n_combinations), sizes or (1,))
            for f, name in enumerate(families):
                if homes[name] == n:
                    entry = np.zeros(n_combinations, dtype=np.int64)
                    for each, value in zip(clique, of_clique, strict=False):
                        entry += stride[name].get(each, 0) * value
                    factors.append(f)
                    map_at.append(length)
                    maps.append(entry)
                    length += n_combinations
            factor_start.append(len(factors))
    return Reading(
        factor_start=np.array(factor_start, dtype=np.int64),
        factor=np.array(factors, dtype=np.int64),
        map_at=np.array(map_at, dtype=np.int64),
        is_straight=np.zeros(len(factors), dtype=np.bool_),
        maps=np.concatenate(maps).astype(np.int32),
        address=address,
    )
