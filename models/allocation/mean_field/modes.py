"""The most probable allocation of each cell's tokens when the tables are given.

The x tokens of a cell are multinomial over the joint values h of its unknown indices, with
probabilities Φ_h. The mode maximises Σ_h s_h log Φ_h - log Γ(s_h + 1) with Σ s_h = x. A further
token at h gains log Φ_h - log(s_h + 1), which falls with s_h, so the greedy algorithm is exact (Fox
1966). It is D'Hondt's method of apportionment, by which each h has at least ⌊x Φ_h⌋: the algorithm
starts from these.
"""

import numpy as np

from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel

ROUNDING_MARGIN = 1.0 - 1e-12  # Factor of x Φ_h: rounding never gives a value more than its ⌊x Φ_h⌋


@kernel
def sink(heap: Ints, size: int, place: int, gain: Floats) -> None:
    """Move an entry down a heap whose top has the largest gain; ties go to the lowest number."""
    held = heap[place]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size:
            one, other = heap[below], heap[below + 1]
            if gain[other] > gain[one] or (gain[other] == gain[one] and other < one):
                below += 1
        one = heap[below]
        if gain[held] > gain[one] or (gain[held] == gain[one] and held < one):
            break
        heap[place] = one
        place = below
    heap[place] = held


@kernel
def multinomial_mode(
    probability: Floats, n_tokens: int, tokens: Ints, heap: Ints, gain: Floats
) -> None:
    """Fill `tokens` with the mode of the multinomial of `n_tokens`; the other arrays are scratch.
    `probability` sums to 1; all arrays are of its length.
    """
    n_values = probability.shape[0]
    left = n_tokens
    for h in range(n_values):
        tokens[h] = int(n_tokens * probability[h] * ROUNDING_MARGIN)
        left -= tokens[h]
        gain[h] = probability[h] / (tokens[h] + 1)
        heap[h] = h
    if left > 0:
        for place in range(n_values // 2 - 1, -1, -1):
            sink(heap, n_values, place, gain)
    while left > 0:
        h = heap[0]
        tokens[h] += 1
        left -= 1
        gain[h] = probability[h] / (tokens[h] + 1)
        sink(heap, n_values, 0, gain)


@kernel
def modes(
    columns: Ints32,
    columns_at: Ints,
    n_values_of: Ints,
    pattern_of: Ints,
    address: Ints,
    log_factor: Floats,
    counts: Ints,
    chosen_at: Ints,
    start: int,
    stop: int,
    chosen: Ints,
    numbers: Ints,
    expected: Floats,
) -> bool:
    """Allocate the tokens of cells `start` to `stop`, adding them to `expected`. From `chosen_at`
    of the cell on, `chosen` receives the joint values that have tokens and `numbers` their counts,
    0 in unused room. Returns False if a cell is impossible; that cell is skipped.
    """
    n_factors = address.shape[1]
    largest = n_values_of.max()
    phi, gain = np.empty(largest), np.empty(largest)
    tokens, heap = np.empty(largest, dtype=np.int64), np.empty(largest, dtype=np.int64)
    is_possible = True
    for cell in range(start, stop):
        pattern = pattern_of[cell]
        n_values, at = n_values_of[pattern], columns_at[pattern]
        phi[:n_values] = 0.0
        for f in range(n_factors):
            for h in range(n_values):
                phi[h] += log_factor[address[cell, f] + columns[at + f * n_values + h]]
        top = phi[:n_values].max()
        if top == -np.inf:
            is_possible = False
            continue
        for h in range(n_values):
            phi[h] = np.exp(phi[h] - top)
        total = phi[:n_values].sum()
        for h in range(n_values):
            phi[h] /= total
        multinomial_mode(phi[:n_values], counts[cell], tokens, heap, gain)
        place = chosen_at[cell]
        for h in range(n_values):
            if tokens[h] > 0:
                chosen[place], numbers[place] = h, tokens[h]
                place += 1
                for f in range(n_factors):
                    expected[address[cell, f] + columns[at + f * n_values + h]] += tokens[h]
        numbers[place : chosen_at[cell + 1]] = 0
    return is_possible
