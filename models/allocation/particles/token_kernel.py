"""Sequential importance sampling over tokens, for all particles at the same time.

Cemgil et al. 2019, algorithms 1 and 3, with two changes that keep them unbiased and lower their
variance or cost. The weight of a token does not depend on the values drawn for its hidden indices
(eq. 4.11), so particles are resampled before they draw: children of one parent differ at once.
Tokens are exchangeable, so all particles process them in one order, fixed in advance.
"""

import numpy as np

from models.allocation.inference_plan import PlanArrays
from models.allocation.particles.genealogy import add_event, ancestors
from models.allocation.particles.hidden_sum import weigh
from models.allocation.particles.resampling import assign_slots, draw_children
from models.allocation.particles.state import Particles, Record
from models.arrays import Ints, Ints32
from models.kernel import kernel


@kernel
def take_tokens(
    plan: PlanArrays,
    particles: Particles,
    record: Record,
    order: Ints32,
    n_tokens: int,
    resample_below: float,
    scheme: int,
    n_moves: int,
    rng: np.random.Generator,
) -> None:
    """Process the next `n_tokens` of `order` (T,), the cell of each token.

    Particles are resampled if the effective sample size is below the share `resample_below` of
    their number: 1 is always, 0 never. After each token, `n_moves` of the processed tokens are
    rejuvenated. Changes `particles` and `record` in place. Stops after a token that is impossible
    for all particles: its increment is minus infinity.
    """
    slot = np.zeros(len(plan.table_of), dtype=np.int64)
    n_table_rows = len(plan.alpha_at)
    keep_history = len(particles.stamp) > n_table_rows
    n_events = particles.tree.shape[0] // 2
    for token in range(particles.clock[0], particles.clock[0] + n_tokens):
        if particles.clock[1] == n_events:
            bring_up_to_date(particles)
        for visit in range(1 + n_moves):
            is_taken_in = visit == 0
            visited = token if is_taken_in else int(rng.integers(0, token + 1))
            cell = int(order[visited])
            history = n_table_rows + visited if keep_history else -1
            _gather_rows(plan, particles, cell, slot)
            if not is_taken_in:
                _take_out(plan, particles, cell, history, slot)
            weigh(plan, particles, cell, slot)
            if is_taken_in:
                particles.clock[0] = token + 1
                if not _settle(particles, record, token, resample_below, scheme, rng):
                    return
            _write_rows(plan, particles, cell, slot)
            _draw(plan, particles, cell, history, rng)


@kernel
def _take_out(plan: PlanArrays, particles: Particles, cell: int, history: int, slot: Ints) -> None:
    """Remove an earlier token from the gathered counts, so that its hidden values are redrawn given
    all others: a Gibbs step, which leaves the posterior invariant (resample-move: Gilks & Berzuini
    2001).
    """
    drawn = particles.gathered[len(slot)]
    _gather(particles, history, drawn)
    n_cliques = particles.row_columns[history]
    pattern = plan.pattern_of[cell]
    first = plan.clique_start[pattern]
    for q in range(first, plan.clique_start[pattern + 1]):
        for e in range(plan.factor_start[q], plan.factor_start[q + 1]):
            f = plan.factor[e]
            gathered = particles.gathered[slot[f]]
            for p in range(len(particles.weights)):
                combination = drawn[p * n_cliques + q - first]
                h = plan.offset_of[cell, f] + plan.maps[plan.map_at[e] + combination]
                gathered[p * plan.n_columns[f] + h] -= 1
    for p in range(len(particles.weights)):
        particles.ancestor[p] = p


@kernel
def _settle(
    particles: Particles,
    record: Record,
    token: int,
    resample_below: float,
    scheme: int,
    rng: np.random.Generator,
) -> bool:
    """Record the weights of a token and resample if needed; return False if all are 0."""
    n_particles = len(particles.weights)
    total = 0.0
    squares = 0.0
    for p in range(n_particles):
        particles.weights[p] *= particles.increment[p]
    for p in range(n_particles):
        total += particles.weights[p]
        squares += particles.weights[p] ** 2
    record.log_increment[token] = np.log(total / n_particles)
    if not total > 0.0:
        return False
    effective = total * total / squares
    record.effective_sample_size[token] = effective
    moved = False
    if effective < resample_below * n_particles or resample_below >= 1.0:
        moved = _resample(particles, scheme, rng)
    else:
        for p in range(n_particles):
            particles.weights[p] *= n_particles / total
    if not moved:
        for p in range(n_particles):
            particles.ancestor[p] = p
    if record.count_ancestors[token]:
        record.n_ancestors[token] = _n_distinct(particles.founder, particles.children)
    return True


@kernel
def _gather_rows(plan: PlanArrays, particles: Particles, cell: int, slot: Ints) -> None:
    """Gather the current rows of a token's factors; uses of one row share a `slot`."""
    for f in range(len(slot)):
        row = plan.row_of[cell, f]
        slot[f] = f
        for g in range(plan.first_use[f], f):
            if plan.row_of[cell, g] == row and slot[f] == f:
                slot[f] = slot[g]
        if slot[f] == f:
            _gather(particles, row, particles.gathered[f])


@kernel
def _gather(particles: Particles, row: int, gathered: Ints32) -> None:
    """Copy a row's current counts, of each particle, into `gathered`."""
    n_columns = particles.row_columns[row]
    n_values = len(particles.weights) * n_columns
    at, since = particles.row_at[row], particles.stamp[row]
    counts = particles.counts[at : at + n_values]
    if since < 0:
        for i in range(n_values):
            gathered[i] = 0
    elif since == particles.clock[1]:
        for i in range(n_values):
            gathered[i] = counts[i]
    else:
        n_events = particles.tree.shape[0] // 2
        ancestors(particles.tree, n_events, since, particles.clock[1], particles.found)
        copy_rows(counts, particles.found, n_columns, gathered)


@kernel
def copy_rows(source: Ints32, number: Ints32, n_columns: int, into: Ints32) -> None:
    """Equivalent to `into[p] = source[number[p]]` for each row p; both arrays are flat."""
    n_rows = len(number)
    rows = source[: n_rows * n_columns].reshape((n_rows, n_columns))
    rows_into = into[: n_rows * n_columns].reshape((n_rows, n_columns))
    for p in range(n_rows):
        row = number[p]
        for h in range(n_columns):
            rows_into[p, h] = rows[row, h]


@kernel
def bring_up_to_date(particles: Particles) -> None:
    """Write all rows with their current counts, and restart the genealogy."""
    for row in range(len(particles.stamp)):
        if particles.stamp[row] >= 0:
            if particles.stamp[row] < particles.clock[1]:
                _gather(particles, row, particles.gathered[0])
                at = particles.row_at[row]
                for i in range(len(particles.weights) * particles.row_columns[row]):
                    particles.counts[at + i] = particles.gathered[0, i]
            particles.stamp[row] = 0
    particles.clock[1] = 0


@kernel
def _resample(particles: Particles, scheme: int, rng: np.random.Generator) -> bool:
    """Replace particles by children of those with large weights; return whether any moved."""
    n_particles = len(particles.weights)
    draw_children(particles.weights, scheme, rng, particles.children, particles.spare)
    for p in range(n_particles):
        particles.weights[p] = 1.0
    moved = assign_slots(particles.children, particles.ancestor)
    if moved:
        event = particles.clock[1]
        n_events = particles.tree.shape[0] // 2
        for p in range(n_particles):
            particles.tree[event, p] = particles.ancestor[p]
            particles.children[p] = particles.founder[particles.ancestor[p]]
        for p in range(n_particles):
            particles.founder[p] = particles.children[p]
        add_event(particles.tree, n_events, event)
        particles.clock[1] = event + 1
    return moved


@kernel
def _n_distinct(founder: Ints32, seen: Ints32) -> int:
    for p in range(len(seen)):
        seen[p] = 0
    n = 0
    for p in range(len(founder)):
        if seen[founder[p]] == 0:
            seen[founder[p]] = 1
            n += 1
    return n


@kernel
def _write_rows(plan: PlanArrays, particles: Particles, cell: int, slot: Ints) -> None:
    """Write the token's rows as of the last resampling, without the token's own counts."""
    for f in range(len(slot)):
        if slot[f] == f:
            row = plan.row_of[cell, f]
            n_columns, at = particles.row_columns[row], particles.row_at[row]
            counts = particles.counts[at : at + len(particles.weights) * n_columns]
            copy_rows(particles.gathered[f], particles.ancestor, n_columns, counts)
            particles.stamp[row] = particles.clock[1]


@kernel
def _draw(
    plan: PlanArrays, particles: Particles, cell: int, history: int, rng: np.random.Generator
) -> None:
    """Draw each particle's hidden values, parents of the junction tree first, and count them.
    The drawn combination of each clique is written to the row `history`, unless it is negative.
    """
    pattern = plan.pattern_of[cell]
    first, stop = plan.clique_start[pattern], plan.clique_start[pattern + 1]
    combination = np.zeros(stop - first, dtype=np.int64)
    n_particles = len(particles.weights)
    products = particles.products
    for p in range(n_particles):
        parent_p = particles.ancestor[p]
        for q in range(stop - 1, first - 1, -1):
            s = 0
            if plan.parent[q] >= 0:
                s = plan.maps[plan.parent_map_at[q] + combination[plan.parent[q] - first]]
            n_rest, n_separator = plan.n_rest[q], plan.n_separator[q]
            at = plan.product_at[q] * n_particles + (parent_p * n_separator + s) * n_rest
            message_at = plan.message_at[q] * n_particles + parent_p * n_separator + s
            left = rng.random() * products[message_at]
            r = 0
            left -= products[at]
            while left >= 0.0 and r < n_rest - 1:
                r += 1
                left -= products[at + r]
            while products[at + r] <= 0.0:
                r -= 1  # rounding must not draw what is impossible
            combination[q - first] = s * n_rest + r
            for e in range(plan.factor_start[q], plan.factor_start[q + 1]):
                f = plan.factor[e]
                row = plan.row_of[cell, f]
                h = plan.offset_of[cell, f] + plan.maps[plan.map_at[e] + s * n_rest + r]
                particles.counts[particles.row_at[row] + p * plan.n_columns[f] + h] += 1
        if history >= 0:
            at = particles.row_at[history] + p * particles.row_columns[history]
            for q in range(stop - first):
                particles.counts[at + q] = combination[q]
    if history >= 0:
        particles.stamp[history] = particles.clock[1]
