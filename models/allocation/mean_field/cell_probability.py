"""The probability of visible cells under given conditional probability tables."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.mean_field.coordinate_ascent import MeanField, expected_counts
from models.allocation.mean_field.start import entries_of, log_factors_of
from models.allocation.model import AllocationModel
from models.arrays import Floats, Ints

MAX_CELLS = 2**27  # Largest dense array of probabilities
MAX_AXES = 32  # Maximum number of indices of a graph whose tables are multiplied as arrays
CELLS_AT_ONCE = 1 << 16


def dense_probability(model: AllocationModel, tables: Mapping[str, Floats]) -> Floats:
    """p(visible indices), of the model's shape: the tables' product, hidden indices summed over.
    Raises TableMemoryError if it would have more than `MAX_CELLS` cells.
    """
    n_cells = float(np.prod(model.shape, dtype=np.float64))
    if n_cells > MAX_CELLS:
        raise TableMemoryError(
            f"a tensor of shape {model.shape} has {n_cells:.3g} cells, more than {MAX_CELLS:,}: "
            "name those that are wanted in `cells`"
        )
    if len(model.indices) > MAX_AXES:
        shape = model.shape
        cells = np.stack(np.unravel_index(np.arange(int(n_cells)), shape), axis=1)
        return probability_of_cells(model, tables, cells).reshape(shape)
    operands: list[Any] = []
    for name in model.indices:
        operands += [tables[name], [model.indices.index(each) for each in model.family(name)]]
    wanted = [model.indices.index(name) for name in model.visible]
    probability: Floats = np.einsum(*operands, wanted, optimize="greedy")
    return probability


def probability_of_cells(
    model: AllocationModel, tables: Mapping[str, Floats], cells: Ints, n_threads: int = 1
) -> Floats:
    """Probability of each cell (n, n_visible), summed over hidden and unobserved (-1) indices."""
    distinct, number = np.unique(cells, axis=0, return_inverse=True)
    log_probability = np.zeros(len(distinct))
    flat = replace(model, prior=None)
    for start in range(0, len(distinct), CELLS_AT_ONCE):
        part = distinct[start : start + CELLS_AT_ONCE]
        each = CellCounts(part, np.ones(len(part), dtype=np.int64), model.shape)
        field = MeanField.of(flat, each, "vb")
        log_factor = log_factors_of(field.plan, tables)
        _, log_sums, _ = expected_counts(
            field, field.reading, log_factor, field.plan.n_state, n_threads
        )
        log_probability[start : start + CELLS_AT_ONCE] = log_sums + _of_constants(
            field, tables, part
        )
    return np.exp(log_probability)[number.ravel()]


def _of_constants(field: MeanField, tables: Mapping[str, Floats], cells: Ints) -> Floats:
    """Return the log-probability by tables whose indices are all known."""
    model = field.plan.model
    log_probability = np.zeros(len(cells))
    for name in model.indices:
        group = next(group for group in model.table_groups() if name in group)
        if entries_of(field.plan, group) is None:
            at = tuple(cells[:, model.visible.index(each)] for each in model.family(name))
            with np.errstate(divide="ignore"):
                log_probability += np.log(tables[name][at])
    return log_probability


def checked_cells(model: AllocationModel, cells: object) -> Ints:
    """Cells (n, n_visible) as whole numbers within the tensor, or -1.
    Raises ValueError if they are of another shape, or outside of the tensor.
    """
    array = np.asarray(cells)
    if array.ndim != 2 or array.shape[1] != len(model.visible) or array.dtype.kind not in "iu":
        raise ValueError(
            f"cells must be whole numbers (n, {len(model.visible)}), the values of "
            f"{', '.join(model.visible)}, found an array of {array.dtype} {array.shape}"
        )
    if (array < MISSING).any() or (array >= np.array(model.shape)).any():
        raise ValueError(f"cells must be within the shape {model.shape}, or -1 for any value")
    return array.astype(np.int64)
