"""Products of matrices of which no row depends on the others, nor on its place among them.

In a product by BLAS the bits of a row depend on where it is: some kernels sum the last rows of a
matrix, or every second six, in another order. Here each row is summed in the order of its columns.
"""

from typing import Any

import numpy as np
from numba import njit
from thinc.api import NumpyOps

from corpora.kernel_cache import cached


class RowProductOps(NumpyOps):  # type: ignore[misc]  # thinc has no types for its compiled classes
    """thinc's operations by NumPy, with products whose rows do not depend on their place."""

    def gemm(
        self, x: Any, y: Any, out: Any = None, *, trans1: bool = False, trans2: bool = False
    ) -> Any:
        """Product of x and y, of their transposes where asked for."""
        left = np.ascontiguousarray(x.T if trans1 else x)
        right = np.ascontiguousarray(y.T if trans2 else y)
        product = np.zeros((len(left), right.shape[1]), dtype=left.dtype)
        add_product(left, right, product)
        if out is None:
            return product
        out[:] = product
        return out


@cached
@njit
def add_product(x: Any, y: Any, out: Any) -> None:
    """Add x @ y to out, in place.

    Two rows and four columns of x go together, so that rows of y and of `out` are read and written
    less often; what is summed, and in which order, stays.
    """
    n_rows, n_columns = x.shape
    rows_in_twos, columns_in_fours = n_rows // 2 * 2, n_columns // 4 * 4
    for i in range(0, rows_in_twos, 2):
        for k in range(0, columns_in_fours, 4):
            a0, a1, a2, a3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            b0, b1, b2, b3 = x[i + 1, k], x[i + 1, k + 1], x[i + 1, k + 2], x[i + 1, k + 3]
            for j in range(y.shape[1]):
                y0, y1, y2, y3 = y[k, j], y[k + 1, j], y[k + 2, j], y[k + 3, j]
                out[i, j] = (((out[i, j] + a0 * y0) + a1 * y1) + a2 * y2) + a3 * y3
                out[i + 1, j] = (((out[i + 1, j] + b0 * y0) + b1 * y1) + b2 * y2) + b3 * y3
    for i in range(n_rows):
        for k in range(columns_in_fours if i < rows_in_twos else 0, n_columns):
            factor = x[i, k]
            for j in range(y.shape[1]):
                out[i, j] += factor * y[k, j]
