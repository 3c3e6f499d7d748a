"""Gibbs steps: all tokens of a fiber with one of two joint values are divided between these anew.

A *fiber* is a set of cells that agree in all visible indices but one: a row or a column of a
matrix, the words of a document, a fiber of a tensor. Tables read the other indices at the same
entry for all cells of it, which *share* that entry, or they read the free index, at an entry of
each cell's own. Of the cells' m_c tokens with the values a or b, the numbers s_c that have a have
a probability proportional to

    g(Σ s_c) ∏_c m_c! / (s_c! (m_c - s_c)!) ∏_{i<s_c} u_a(c, i) ∏_{i<m_c-s_c} u_b(c, i),

where u(c, i) are factors of own entries after i more tokens, and g is the product of the factors of
shared ones. Sums over cells are polynomial products. They are kept for each number of cells, and
the s_c are drawn backwards: an exact draw, in time proportional to the squared number of tokens.

g may favour few or many tokens with a as strongly as own factors favour the contrary, each by more
than floating-point numbers span. So a factor exp(λ s), by which both ends of g are alike, is moved
from g to the cells: the total does not change. If g spans more than `MAX_RANGE` nats all the same,
the tokens stay as they are, which depends on their set only. What is lost by underflow is then less
than exp(-80) of the total.
"""

from typing import NamedTuple

import numpy as np

from models.allocation.annealing.token_moves import draw, exponentiate, log_ratio, sum_of
from models.allocation.annealing.urn import Urn, count
from models.allocation.inference_plan import InferencePlan
from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel

MAX_TOKENS = 400  # Tokens that are divided in one step at most
MAX_RANGE = 600.0  # nats


class Fibers(NamedTuple):
    """Cells of each fiber."""

    start: Ints  # (n_fibers + 1,), first place of each in `cell`
    cell: Ints32
    n_uses: Ints
    """(n_fibers, n_factors), factors at the same entry if all cells share it, 0 if each has its
    own."""
    earlier: Ints  # (n_fibers, n_factors), those of them that come before


class Products(NamedTuple):
    """Scratch: weights of the numbers of tokens with the first value."""

    cells: Ints32  # (most cells of a fiber,)
    n_own: Ints32  # (most cells,), tokens of each cell with one of the two values
    own: Floats  # (most tokens + most cells,), weights of each cell's numbers, cell by cell
    total: Floats  # Weights of the sums over the first cells, for each number of cells
    weights: Floats  # (most tokens + 1,)


def fibers_of(plan: InferencePlan, urn: Urn) -> Fibers:
    """Return fibers of two cells or more.

    A cell is left out where a token would read an entry twice, or one that belongs to another cell.
    """
    cells = plan.observed.cells
    start, members, shared, seen = [0], [], [], set()
    n_factors = len(urn.power)
    for axis in range(cells.shape[1]):
        others = np.delete(cells, axis, axis=1)
        keys = np.column_stack([plan.arrays.pattern_of, others])
        _, of_cell = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(of_cell.ravel(), kind="stable")
        ends = np.flatnonzero(np.diff(of_cell.ravel()[order])) + 1
        for group in np.split(order, ends):
            if len(group) < 2:
                continue
            fiber, n_uses, earlier = _fiber(urn, group)
            if len(fiber) < 2 or fiber.tobytes() in seen:
                continue
            seen.add(fiber.tobytes())
            members.append(fiber)
            shared.append((n_uses, earlier))
            start.append(start[-1] + len(fiber))
    uses = np.array(shared, dtype=np.int64).reshape(len(shared), 2, n_factors)
    return Fibers(
        start=np.array(start, dtype=np.int64),
        cell=np.concatenate([*members, np.zeros(0, np.int64)]).astype(np.int32),
        n_uses=np.ascontiguousarray(uses[:, 0]),
        earlier=np.ascontiguousarray(uses[:, 1]),
    )


def _fiber(urn: Urn, group: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the cells of `group` whose own entries are nobody else's, and the uses and earlier
    uses of shared entries by each factor. Without cells where factors share entries in part.
    """
    pattern = urn.pattern_of[group[0]]
    n_factors, n_values, at = len(urn.power), urn.n_values[pattern], urn.columns_at[pattern]
    columns = urn.columns[at : at + n_factors * n_values].reshape(n_factors, n_values)
    address = urn.address[group]
    n_uses, earlier = np.zeros((2, n_factors), dtype=np.int64)
    is_shared = (address == address[0]).all(axis=0)
    readers: dict[tuple[int, ...], list[int]] = {}
    for f in np.flatnonzero(is_shared):
        readers.setdefault(tuple((address[0, f] + columns[f]).tolist()), []).append(int(f))
    for factors in readers.values():
        n_uses[factors], earlier[factors] = len(factors), np.arange(len(factors))
    taken = set().union(*readers)
    if len(taken) < sum(len(set(entries)) for entries in readers):
        return group[:0], n_uses, earlier
    kept = []
    for n in range(len(group)):
        of_factor = [set((address[n, f] + columns[f]).tolist()) for f in np.flatnonzero(~is_shared)]
        entries = set().union(*of_factor)
        if len(entries) == sum(map(len, of_factor)) and not taken & entries:
            taken |= entries
            kept.append(n)
    return group[kept], n_uses, earlier


def products_bytes(plan: InferencePlan) -> int:
    """Return the memory that fibers and their scratch take, at most."""
    n_cells, n_axes = plan.observed.cells.shape
    return int(n_cells * n_axes * (4 + 16 * plan.n_factors)) + 8 * (MAX_TOKENS + 2) ** 2


def products_for(urn: Urn, fibers: Fibers) -> Products:
    """Return scratch for the largest fiber."""
    n_tokens = np.diff(urn.cell_start)
    most_cells, most_tokens, most_total = 0, 0, 0
    for first, last in zip(fibers.start[:-1], fibers.start[1:], strict=True):
        of_cells = n_tokens[fibers.cell[first:last]]
        n = min(int(of_cells.sum()), MAX_TOKENS)
        most_cells = max(most_cells, min(len(of_cells), n))
        most_tokens = max(most_tokens, n)
        most_total = max(most_total, (min(len(of_cells), n) + 1) * (n + 1))
    return Products(
        cells=np.zeros(most_cells, dtype=np.int32),
        n_own=np.zeros(most_cells, dtype=np.int32),
        own=np.zeros(most_tokens + most_cells),
        total=np.zeros(most_total),
        weights=np.zeros(most_tokens + 1),
    )


@kernel
def divide_fiber(
    urn: Urn,
    fibers: Fibers,
    counts: Floats,
    values: Ints32,
    rho: float,
    fiber: int,
    products: Products,
    rng: np.random.Generator,
) -> None:
    """Divide the tokens with one of two joint values between these. Changes `counts`, `values`.

    A token of the fiber, drawn without regard to its value, names a; b is any other value. Cells
    are taken in order from one drawn at random, until they have `MAX_TOKENS`. Neither choice
    depends on which of a and b a token has.
    """
    start = fibers.start[fiber]
    n_cells = fibers.start[fiber + 1] - start
    n_values = urn.n_values[urn.pattern_of[fibers.cell[start]]]
    if n_values < 2:
        return
    first_token, offset = _draw_token(urn, fibers, fiber, rng)
    a = values[first_token]
    b = int(rng.random() * (n_values - 1))
    b = b + 1 if b >= a else b
    n, n_tokens = 0, 0
    for place in range(n_cells):
        cell = fibers.cell[start + (offset + place) % n_cells]
        n_a, n_b = _numbers(urn, values, cell, a, b)
        if n_a + n_b == 0:
            continue
        if n_tokens + n_a + n_b > products.weights.shape[0] - 1:
            break
        count(urn, counts, cell, a, -float(n_a))
        count(urn, counts, cell, b, -float(n_b))
        products.cells[n], products.n_own[n] = cell, n_a + n_b
        n_tokens += n_a + n_b
        n += 1
    if n > 0:
        _divide(urn, fibers, counts, values, rho, fiber, a, b, n, n_tokens, products, rng)


@kernel
def _draw_token(urn: Urn, fibers: Fibers, fiber: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return a token of the fiber, all with equal probabilities, and the place of any cell."""
    start, stop = fibers.start[fiber], fibers.start[fiber + 1]
    n_tokens = 0
    for place in range(start, stop):
        cell = fibers.cell[place]
        n_tokens += urn.cell_start[cell + 1] - urn.cell_start[cell]
    left = int(rng.random() * n_tokens)
    place = start
    cell = fibers.cell[place]
    while left >= urn.cell_start[cell + 1] - urn.cell_start[cell]:
        left -= urn.cell_start[cell + 1] - urn.cell_start[cell]
        place += 1
        cell = fibers.cell[place]
    return urn.cell_start[cell] + left, int(rng.random() * (stop - start))


@kernel
def _numbers(urn: Urn, values: Ints32, cell: int, a: int, b: int) -> tuple[int, int]:
    """Return the numbers of tokens of a cell with the values a and b."""
    n_a, n_b = 0, 0
    for token in range(urn.cell_start[cell], urn.cell_start[cell + 1]):
        n_a += values[token] == a
        n_b += values[token] == b
    return n_a, n_b


@kernel
def _divide(
    urn: Urn,
    fibers: Fibers,
    counts: Floats,
    values: Ints32,
    rho: float,
    fiber: int,
    a: int,
    b: int,
    n_cells: int,
    n_tokens: int,
    products: Products,
    rng: np.random.Generator,
) -> None:
    """Put the tokens of `products.cells`, taken out of `counts`, back with a or b."""
    own, total, weights = products.own, products.total, products.weights
    width = n_tokens + 1
    _split_logs(urn, counts, rho, products.cells[0], a, b, n_tokens, fibers, fiber, True, weights)
    slope = weights[n_tokens] / n_tokens
    least, most = 0.0, 0.0
    for s in range(width):
        weights[s] -= slope * s
        least, most = min(least, weights[s]), max(most, weights[s])
    if most - least > MAX_RANGE:
        for n in range(n_cells):
            n_a, n_b = _numbers(urn, values, products.cells[n], a, b)
            _put_in(urn, counts, values, products.cells[n], a, b, n_a, n_b)
        return
    exponentiate(weights, width)
    total[0] = 1.0
    at, done = 0, 0
    for n in range(n_cells):
        m = products.n_own[n]
        of_cell = own[at : at + m + 1]
        _split_logs(urn, counts, rho, products.cells[n], a, b, m, fibers, fiber, False, of_cell)
        for s in range(m + 1):
            of_cell[s] += slope * s
        exponentiate(of_cell, m + 1)
        before = total[n * width : n * width + done + 1]
        _multiply(before, of_cell, total[(n + 1) * width : (n + 1) * width + done + m + 1])
        at += m + 1
        done += m
    for s in range(width):
        weights[s] *= total[n_cells * width + s]
    left = draw(weights, width, sum_of(weights, width), rng)
    for n in range(n_cells - 1, -1, -1):
        m, cell = products.n_own[n], products.cells[n]
        at -= m + 1
        done -= m
        n_a = left
        if n > 0:
            for s in range(m + 1):
                rest = left - s
                is_possible = 0 <= rest <= done
                weights[s] = own[at + s] * total[n * width + rest] if is_possible else 0.0
            n_a = draw(weights, m + 1, sum_of(weights, m + 1), rng)
        left -= n_a
        _put_in(urn, counts, values, cell, a, b, n_a, m - n_a)


@kernel
def _put_in(
    urn: Urn, counts: Floats, values: Ints32, cell: int, a: int, b: int, n_a: int, n_b: int
) -> None:
    count(urn, counts, cell, a, float(n_a))
    count(urn, counts, cell, b, float(n_b))
    for token in range(urn.cell_start[cell], urn.cell_start[cell + 1]):
        if values[token] == a or values[token] == b:
            values[token] = a if n_a > 0 else b
            n_a -= 1


@kernel
def _multiply(one: Floats, other: Floats, product: Floats) -> None:
    """Fill `product` with that of two polynomials, divided by its largest coefficient."""
    product[:] = 0.0
    for m in range(other.shape[0]):
        by = other[m]
        for n in range(one.shape[0]):
            product[n + m] += by * one[n]
    most = product.max()
    for n in range(product.shape[0]):
        product[n] /= most


@kernel
def _split_logs(
    urn: Urn,
    counts: Floats,
    rho: float,
    cell: int,
    a: int,
    b: int,
    m: int,
    fibers: Fibers,
    fiber: int,
    of_shared: bool,
    logs: Floats,
) -> None:
    """Fill `logs` (m + 1,) with those of the weights of s of m tokens that have a, less a constant.

    Of shared factors only their products count, of own ones also the ways to choose the s tokens.
    """
    logs[0] = 0.0
    for s in range(m):
        ways = 1.0 if of_shared else (m - s) / (s + 1)
        up, down = _factors(urn, counts, rho, cell, a, b, s, m - s - 1, fibers, fiber, of_shared)
        logs[s + 1] = logs[s] + log_ratio(up * ways, down)


@kernel
def _factors(
    urn: Urn,
    counts: Floats,
    rho: float,
    cell: int,
    a: int,
    b: int,
    n_a: int,
    n_b: int,
    fibers: Fibers,
    fiber: int,
    of_shared: bool,
) -> tuple[float, float]:
    """Return the factors of a token that joins `n_a` more with a, and of one with b and `n_b`."""
    pattern = urn.pattern_of[cell]
    n_values, at = urn.n_values[pattern], urn.columns_at[pattern]
    up, down = 1.0, 1.0
    for f in range(urn.power.shape[0]):
        n_uses, base, power = fibers.n_uses[fiber, f], at + f * n_values, urn.power[f]
        if (n_uses > 0) != of_shared or urn.columns[base + a] == urn.columns[base + b]:
            continue
        by, more = max(n_uses, 1), fibers.earlier[fiber, f]
        x = urn.address[cell, f] + urn.columns[base + a]
        y = urn.address[cell, f] + urn.columns[base + b]
        of_a = urn.alpha[x] + rho * (counts[x] + n_a * by + more)
        of_b = urn.alpha[y] + rho * (counts[y] + n_b * by + more)
        for _ in range(abs(power)):
            up *= of_a if power > 0 else of_b
            down *= of_b if power > 0 else of_a
    return up, down
