"""Probability of a token's visible indices, summed over the hidden ones, for each particle."""

from models.allocation.inference_plan import PlanArrays
from models.allocation.particles.state import Particles
from models.arrays import Ints
from models.kernel import kernel


@kernel
def weigh(plan: PlanArrays, particles: Particles, cell: int, slot: Ints) -> None:
    """Sum over the hidden indices of a token into `particles.increment`, for each particle.
    Leaves products and messages of all cliques in `particles.products`.
    """
    n_particles = len(particles.weights)
    products = particles.products
    particles.increment[:] = 1.0
    pattern = plan.pattern_of[cell]
    first = plan.clique_start[pattern]
    for q in range(first, plan.clique_start[pattern + 1]):
        n_values = plan.n_separator[q] * plan.n_rest[q]
        at = plan.product_at[q] * n_particles
        products[at : at + n_particles * n_values] = 1.0
        for e in range(plan.factor_start[q], plan.factor_start[q + 1]):
            f = plan.factor[e]
            if plan.first_use[f] < f:
                _multiply_by_later_use(plan, particles, cell, slot, e, at, n_values)
            elif (
                plan.is_straight[e]
                and n_values == plan.n_columns[f]
                and plan.alpha_step[plan.row_of[cell, f]] == 0
            ):
                _multiply_flat(plan, particles, cell, e, at, n_particles * n_values)
            else:
                _multiply(plan, particles, cell, e, at, n_values)
        for child in range(first, q):
            if plan.parent[child] == q:
                _multiply_by_message(plan, particles, child, at, n_values)
        _send_message(plan, particles, q)


@kernel
def _multiply_by_message(
    plan: PlanArrays, particles: Particles, child: int, at: int, n_values: int
) -> None:
    products = particles.products
    n_particles = len(particles.weights)
    n_separator = plan.n_separator[child]
    message_at = plan.message_at[child] * n_particles
    map_at = plan.parent_map_at[child]
    for p in range(n_particles):
        for c in range(n_values):
            s = plan.maps[map_at + c]
            products[at + p * n_values + c] *= products[message_at + p * n_separator + s]


@kernel
def _send_message(plan: PlanArrays, particles: Particles, q: int) -> None:
    """Sum out the indices that the parent does not share; a root's sum is the weight."""
    n_particles = len(particles.weights)
    n_rest = plan.n_rest[q]
    n_sums = n_particles * plan.n_separator[q]
    at = plan.product_at[q] * n_particles
    message_at = plan.message_at[q] * n_particles
    products = particles.products[at : at + n_sums * n_rest].reshape((n_sums, n_rest))
    message = particles.products[message_at : message_at + n_sums]
    for i in range(n_sums):
        total = 0.0
        for r in range(n_rest):
            total += products[i, r]
        message[i] = total
    if plan.parent[q] < 0:
        for p in range(n_particles):
            particles.increment[p] *= message[p]


@kernel
def _multiply_flat(
    plan: PlanArrays, particles: Particles, cell: int, e: int, at: int, length: int
) -> None:
    """Multiply a clique's products by a power of α + S, where combination c reads column c."""
    f = plan.factor[e]
    products = particles.products[at : at + length]
    counts = particles.gathered[f, :length]
    alpha = plan.alpha[plan.alpha_at[plan.row_of[cell, f]]]
    power = plan.power[f]
    if power == 1:
        for i in range(length):
            products[i] *= alpha + counts[i]
    elif power == -1:
        for i in range(length):
            products[i] /= alpha + counts[i]
    else:
        factor = particles.spare_products[:length]
        for i in range(length):
            factor[i] = alpha + counts[i]
        if power < 0:
            for i in range(length):
                factor[i] = 1.0 / factor[i]
        for _ in range(abs(power)):
            for i in range(length):
                products[i] *= factor[i]


@kernel
def _multiply(
    plan: PlanArrays, particles: Particles, cell: int, e: int, at: int, n_values: int
) -> None:
    """Multiply a clique's products by a power of α + S of a table."""
    f = plan.factor[e]
    n_columns = plan.n_columns[f]
    row = plan.row_of[cell, f]
    offset = plan.offset_of[cell, f]
    alpha_at, alpha_step = plan.alpha_at[row], plan.alpha_step[row]
    map_at = plan.map_at[e]
    power = plan.power[f]
    for p in range(len(particles.weights)):
        for c in range(n_values):
            h = offset + plan.maps[map_at + c]
            value = plan.alpha[alpha_at + h * alpha_step]
            value += particles.gathered[f, p * n_columns + h]
            if power < 0:
                value = 1.0 / value
            product = value
            for _ in range(abs(power) - 1):
                product *= value
            particles.products[at + p * n_values + c] *= product


@kernel
def _multiply_by_later_use(
    plan: PlanArrays, particles: Particles, cell: int, slot: Ints, e: int, at: int, n_values: int
) -> None:
    """A table that is tied sees what its earlier uses by the same token have counted (app. E)."""
    f = plan.factor[e]
    n_columns = plan.n_columns[f]
    row = plan.row_of[cell, f]
    offset = plan.offset_of[cell, f]
    for p in range(len(particles.weights)):
        for c in range(n_values):
            h = offset + plan.maps[plan.map_at[e] + c]
            value = plan.alpha[plan.alpha_at[row] + h * plan.alpha_step[row]]
            value += particles.gathered[slot[f], p * n_columns + h]
            for g in range(plan.first_use[f], f):
                earlier = plan.map_at[e - (f - g)] + c
                if slot[g] == slot[f] and plan.offset_of[cell, g] + plan.maps[earlier] == h:
                    value += 1.0
            if plan.power[f] > 0:
                particles.products[at + p * n_values + c] *= value
            else:
                particles.products[at + p * n_values + c] /= value
