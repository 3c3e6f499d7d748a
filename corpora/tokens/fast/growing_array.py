"""Array that grows at its end without copying all of it each time."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class GrowingArray:
    """Rows of numbers, of shape (n, *row_shape); an append copies what is there only when its
    memory is full, which then doubles.
    """

    def __init__(self, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> None:
        self._memory: NDArray[Any] = np.zeros((0, *row_shape), dtype=dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def rows(self) -> NDArray[Any]:
        """(n, *row_shape) the rows, a view that the next append may leave behind."""
        return self._memory[: self._length]

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows (m, *row_shape)."""
        length = self._length + len(rows)
        if length > len(self._memory):
            capacity = max(length, 2 * len(self._memory))
            memory = np.empty((capacity, *self._memory.shape[1:]), dtype=self._memory.dtype)
            memory[: self._length] = self.rows
            self._memory = memory
        self._memory[self._length : length] = rows
        self._length = length

    def keep(self, indices: NDArray[np.int64]) -> None:
        """Keep the rows with these indices, in their order, and no others."""
        self._memory, self._length = self.rows[indices], len(indices)
