"""Order of the values of an array, for kernels: numba's own functions take seconds to compile."""

import numpy as np

from models.arrays import Floats, Ints
from models.kernel import kernel


@kernel
def stable_order(value: Floats) -> Ints:
    """Return indices (N,) that sort `value` (N,), equal ones in their order: a merge sort."""
    n = len(value)
    order, merged, width = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), 1
    for i in range(n):
        order[i] = i
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            left, right = first, middle
            for i in range(first, last):
                if left < middle and (right == last or value[order[left]] <= value[order[right]]):
                    merged[i] = order[left]
                    left += 1
                else:
                    merged[i] = order[right]
                    right += 1
        order, merged = merged, order
        width *= 2
    return order


@kernel
def select_smallest(value: Floats, n_below: int) -> float:
    """Return the value that comes after `n_below` others in order, of `value` (N,) without NaN.
    Reorders `value` in place: Hoare's quickselect.
    """
    first, last = 0, len(value) - 1
    while first < last:
        pivot = value[(first + last) // 2]
        left, right = first, last
        while left <= right:
            while value[left] < pivot:
                left += 1
            while value[right] > pivot:
                right -= 1
            if left <= right:
                value[left], value[right] = value[right], value[left]
                left += 1
                right -= 1
        if n_below <= right:
            last = right
        elif n_below >= left:
            first = left
        else:
            break
    return float(value[n_below])
