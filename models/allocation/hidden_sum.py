"""The probability of a token's visible indices, the hidden ones summed over, for each particle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.kernel import kernel

if TYPE_CHECKING:
    from models.allocation.particle_state import Particles
    from models.allocation.program import Steps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def weigh(steps: Steps, particles: Particles, cell: int, slot: Ints) -> None:
    """Sum over the hidden indices of a token, for each particle: into `particles.increment`.

    Leaves products and messages of all cliques in `particles.products`.
    """
    n_particles = len(particles.weights)
    particles.increment[:] = 1.0
    pattern = steps.pattern_of[cell]
    first = steps.clique_start[pattern]
    for q in range(first, steps.clique_start[pattern + 1]):
        at = steps.product_at[q]
        n_values = steps.n_separator[q] * steps.n_rest[q]
        for p in range(n_particles):
            for c in range(n_values):
                particles.products[p, at + c] = 1.0
        for e in range(steps.factor_start[q], steps.factor_start[q + 1]):
            f = steps.factor[e]
            if steps.first_use[f] < f:
                _multiply_by_later_use(steps, particles, cell, slot, e, at, n_values)
            elif steps.power[f] == 1:
                _multiply(steps, particles, cell, e, at, n_values)
            else:
                _multiply_power(steps, particles, cell, e, at, n_values)
        for child in range(first, q):
            if steps.parent[child] == q:
                _multiply_by_message(steps, particles.products, child, at, n_values)
        _send_message(steps, particles, q)


@kernel
def _multiply_by_message(
    steps: Steps, products: Floats, child: int, at: int, n_values: int
) -> None:
    message_at = steps.message_at[child]
    map_at = steps.parent_map_at[child]
    for p in range(len(products)):
        for c in range(n_values):
            products[p, at + c] *= products[p, message_at + steps.maps[map_at + c]]


@kernel
def _send_message(steps: Steps, particles: Particles, q: int) -> None:
    """Sum out what the parent does not share; a root's sum is the weight."""
    at = steps.product_at[q]
    n_rest = steps.n_rest[q]
    is_root = steps.parent[q] < 0
    for p in range(len(particles.weights)):
        for s in range(steps.n_separator[q]):
            total = 0.0
            for r in range(n_rest):
                total += particles.products[p, at + s * n_rest + r]
            particles.products[p, steps.message_at[q] + s] = total
        if is_root:
            particles.increment[p] *= particles.products[p, steps.message_at[q]]


@kernel
def _multiply(
    steps: Steps, particles: Particles, cell: int, e: int, at: int, n_values: int
) -> None:
    """Multiply a clique's products by α + S of a table."""
    f = steps.factor[e]
    n_columns = steps.n_columns[f]
    row = steps.row_of[cell, f]
    offset = steps.offset_of[cell, f]
    gathered = particles.gathered[f]
    maps = steps.maps[steps.map_at[e] : steps.map_at[e] + n_values]
    alpha = steps.alpha[steps.alpha_at[row] :]
    if steps.alpha_step[row] == 0 and steps.is_straight[e]:
        for p in range(len(particles.weights)):
            products = particles.products[p, at : at + n_values]
            counts = gathered[p * n_columns + offset : p * n_columns + offset + n_values]
            for c in range(n_values):
                products[c] *= alpha[0] + counts[c]
    else:
        for p in range(len(particles.weights)):
            start = p * n_columns + offset
            for c in range(n_values):
                h = offset + maps[c]
                particles.products[p, at + c] *= (
                    alpha[h * steps.alpha_step[row]] + gathered[start + maps[c]]
                )


@kernel
def _multiply_power(
    steps: Steps, particles: Particles, cell: int, e: int, at: int, n_values: int
) -> None:
    """Multiply a clique's products by a power of α + S of a table, mostly a negative one."""
    f = steps.factor[e]
    n_columns = steps.n_columns[f]
    row = steps.row_of[cell, f]
    offset = steps.offset_of[cell, f]
    gathered = particles.gathered[f]
    maps = steps.maps[steps.map_at[e] : steps.map_at[e] + n_values]
    alpha = steps.alpha[steps.alpha_at[row] :]
    power = abs(steps.power[f])
    reciprocal = particles.reciprocal[:n_values]
    for p in range(len(particles.weights)):
        products = particles.products[p, at : at + n_values]
        start = p * n_columns + offset
        for c in range(n_values):
            h = offset + maps[c]
            reciprocal[c] = alpha[h * steps.alpha_step[row]] + gathered[start + maps[c]]
        if steps.power[f] < 0:
            for c in range(n_values):
                reciprocal[c] = 1.0 / reciprocal[c]
        for _ in range(power):
            for c in range(n_values):
                products[c] *= reciprocal[c]


@kernel
def _multiply_by_later_use(
    steps: Steps, particles: Particles, cell: int, slot: Ints, e: int, at: int, n_values: int
) -> None:
    """A table that is tied sees what its earlier uses by the same token have counted (app. E)."""
    f = steps.factor[e]
    n_columns = steps.n_columns[f]
    row = steps.row_of[cell, f]
    offset = steps.offset_of[cell, f]
    gathered = particles.gathered[slot[f]]
    for p in range(len(particles.weights)):
        for c in range(n_values):
            h = offset + steps.maps[steps.map_at[e] + c]
            value = steps.alpha[steps.alpha_at[row] + h * steps.alpha_step[row]]
            value += gathered[p * n_columns + h]
            for g in range(steps.first_use[f], f):
                earlier = steps.map_at[e - (f - g)] + c
                if slot[g] == slot[f] and steps.offset_of[cell, g] + steps.maps[earlier] == h:
                    value += 1.0
            if steps.power[f] > 0:
                particles.products[p, at + c] *= value
            else:
                particles.products[p, at + c] /= value
