"""Observed counts as a list of cells: the observed values of tokens, and numbers of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from models.allocation.model import AllocationModel
    from models.arrays import Ints

MISSING = -1  # Value of an index that was not observed


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Cells of a count tensor with the tokens in each: positive, distinct, in lexicographic order.
    Raises ValueError if a count is negative or no whole number, or a cell is outside of the tensor.
    """

    cells: Ints  #: (n_cells, n_axes), `MISSING` where an axis was not observed.
    counts: Ints  #: (n_cells,), positive.
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        shape = tuple(int(size) for size in self.shape)
        cells = _whole("cells", self.cells)
        if not cells.size:
            cells = cells.reshape(0, len(shape))
        if cells.ndim == 1 and len(shape) == 1:
            cells = cells[:, None]
        if cells.ndim != 2 or cells.shape[1] != len(shape):
            raise ValueError(
                f"cells must be (n_cells, {len(shape)}), a value for each axis of {shape}, "
                f"found {cells.shape}"
            )
        counts = _whole("counts", self.counts).ravel()
        if len(cells) != len(counts):
            raise ValueError(f"{len(cells)} cells must have as many counts, found {len(counts)}")
        if (counts < 0).any():
            raise ValueError(f"counts must not be negative, found {counts.min()}")
        if counts.sum(dtype=np.float64) >= 2.0**63:
            raise ValueError("counts must be of fewer than 2^63 tokens in total")
        for axis, size in enumerate(shape):
            outside = (cells[:, axis] < MISSING) | (cells[:, axis] >= size)
            if outside.any():
                raise ValueError(
                    f"cell {cells[outside][0].tolist()} is outside of the tensor: axis {axis} has "
                    f"values 0 to {size - 1}, or {MISSING} where it was not observed"
                )
        kept, cell_of = np.unique(cells[counts > 0], axis=0, return_inverse=True)
        summed = np.zeros(len(kept), dtype=np.int64)
        np.add.at(summed, cell_of.ravel(), counts[counts > 0])
        for name, value in (("cells", kept), ("counts", summed), ("shape", shape)):
            object.__setattr__(self, name, value)

    @property
    def n_tokens(self) -> int:
        """S₊, all tokens."""
        return int(self.counts.sum())

    @property
    def lacks_indices(self) -> bool:
        """Whether an index of some token was not observed."""
        return bool((self.cells == MISSING).any())

    @classmethod
    def of(cls, X: Any, model: AllocationModel) -> Self:
        """The counts that `X` holds: an array, a sparse matrix or array, or such a list already.
        Raises ValueError if its shape is not that of the model's visible indices, or a value is no
        count.
        """
        if isinstance(X, CellCounts):
            found: Any = X
        elif sparse.issparse(X):
            coordinates: Any = sparse.coo_array(X)  # type: ignore[call-overload]
            cells = np.stack(coordinates.coords, axis=1)
            found = cls(cells, _whole("X", coordinates.data), coordinates.shape)
        else:
            try:
                array = np.asarray(X)
            except ValueError as error:
                raise ValueError(f"X must be an array of counts: {error}") from error
            _check_shape(array.shape, model)
            if array.dtype.kind not in "biuf":
                raise ValueError(f"X must be an array of counts, found one of {array.dtype}")
            whole = _whole("X", array)
            if (whole < 0).any():
                raise ValueError(f"X must not be negative, found {whole.min()}")
            cells = np.argwhere(whole)
            found = cls(cells, whole[tuple(cells.T)], array.shape)
        _check_shape(found.shape, model)
        made: Self = found
        return made

    def dense(self) -> Ints:
        """The tensor as an array of `shape`. Raises ValueError if tokens lack an index."""
        if self.lacks_indices:
            raise ValueError("some tokens were not wholly observed: they have no place in an array")
        X = np.zeros(self.shape, dtype=np.int64)
        X[tuple(self.cells.T)] = self.counts
        return X


def _check_shape(shape: tuple[int, ...], model: AllocationModel) -> None:
    if shape != model.shape:
        raise ValueError(
            f"X must have the shape {model.shape} of the visible indices "
            f"{', '.join(model.visible)}, found {shape}"
        )


def _whole(name: str, values: Any) -> Ints:
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be whole numbers, found {array[~np.isfinite(array)][0]}")
        if (array != np.floor(array)).any():
            raise ValueError(
                f"{name} must be whole numbers, found {array[array != np.floor(array)][0]}: "
                "counts are of tokens"
            )
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be whole numbers, found {array.dtype}")
    if array.dtype.kind in "uf" and (large := np.abs(array) >= 2.0**63).any():
        raise ValueError(f"{name} must be below 2^63, found {array[large][0]}")
    return array.astype(np.int64)
