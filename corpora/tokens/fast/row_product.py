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
    """Add x @ y to out, in place."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            factor = x[i, k]
            for j in range(y.shape[1]):
                out[i, j] += factor * y[k, j]
