"""Resampling of particles: numbers of children, and the slots that they occupy.

All schemes are unbiased: particle p is expected to have P w_p / Σw children (Douc, Cappé & Moulines
2005). Survivors keep their slots; only slots of particles without children are overwritten.
"""

import numpy as np

from models.arrays import Floats, Ints32
from models.kernel import kernel

SYSTEMATIC, STRATIFIED, RESIDUAL, MULTINOMIAL = range(4)
SCHEMES = {
    "systematic": SYSTEMATIC,
    "stratified": STRATIFIED,
    "residual": RESIDUAL,
    "multinomial": MULTINOMIAL,
}


@kernel
def draw_children(
    weights: Floats, scheme: int, rng: np.random.Generator, children: Ints32, rest: Floats
) -> None:
    """Draw the number of children of each particle into `children`; they sum to P.
    `weights` (P,) are not negative and not all 0; `rest` (P,) is scratch.
    """
    n_particles = len(weights)
    total = 0.0
    for p in range(n_particles):
        total += weights[p]
    for p in range(n_particles):
        children[p] = 0
    shares, n_left = weights, n_particles
    if scheme == RESIDUAL:
        shares, scheme = rest, MULTINOMIAL
        total_rest = 0.0
        for p in range(n_particles):
            expected = n_particles * (weights[p] / total)
            children[p] = np.int32(np.floor(expected))
            rest[p] = expected - children[p]
        for p in range(n_particles):
            total_rest += rest[p]
            n_left -= children[p]
        total = total_rest
    if n_left > 0:
        _draw_points(shares, total, n_left, scheme, rng, children)


@kernel
def _draw_points(
    weights: Floats,
    total: float,
    n_points: int,
    scheme: int,
    rng: np.random.Generator,
    children: Ints32,
) -> None:
    """Place increasing points on the cumulated weights; count those that fall on each particle."""
    last = len(weights) - 1
    while weights[last] <= 0.0 and last > 0:
        last -= 1  # rounding must not give a child to a particle of weight 0
    p = 0
    up_to = weights[0]
    shift = rng.random()
    log_above = 0.0
    for n in range(n_points):
        if scheme == SYSTEMATIC:
            point = (n + shift) / n_points
        elif scheme == STRATIFIED:
            point = (n + rng.random()) / n_points
        else:  # order statistics of uniform variates, in turn
            log_above += np.log(1.0 - rng.random()) / (n_points - n)
            point = -np.expm1(log_above)
        while up_to <= point * total and p < last:
            p += 1
            up_to += weights[p]
        children[p] += 1


@kernel
def assign_slots(children: Ints32, ancestor: Ints32) -> bool:
    """Fill `ancestor` with the parent of each slot; return whether any had several children."""
    n_particles = len(children)
    free = 0
    moved = False
    for p in range(n_particles):
        if children[p] > 0:
            ancestor[p] = p
            for _ in range(children[p] - 1):
                while children[free] > 0:
                    free += 1
                ancestor[free] = p
                free += 1
                moved = True
    return moved
