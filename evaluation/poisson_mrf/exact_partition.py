"""Exact log-partition function of a fixed-length Poisson MRF, by variable elimination over words.

Words that are connected by Φ form components. A component's part of the sum over all x depends on
its number n of tokens only:

    Z_c(n) = Σ over x of the component, of n tokens, of exp(θ·x + ω(L) x·Φx - Σ log x_s!)

so that exp A_L is the convolution of all Z_c, at L. All isolated words form one component, with
Z_c(n) = (Σ exp θ)^n / n!. The words of other components are eliminated one by one, if that is
cheaper than to enumerate all x: the sum over one word is a table over the counts of the words it
depends on and the number of tokens of all eliminated words. Chains, stars and all other trees need
no table over more than one count.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import binom, gammaln, logsumexp

from evaluation.arrays import Floats, Ints
from models.kernel import kernel
from models.poisson_mrf.distribution import FixedLengthPoissonMRF

MAX_STATES = 2**28  # default maximum of terms; they take some seconds
LARGEST_TABLE = 2**25  # maximum of numbers in a table over counts, 256 MiB
WORDS_A_TERM = 32
"""Number of words whose interactions with one word take as long as a term of the sum."""


class PartitionCostError(ValueError):
    """The exact log-partition function of `length` tokens needs too many terms.

    It is a sum over `n_states` states, more than `max_states`.
    """

    def __init__(self, n_states: float, length: int, max_states: int) -> None:
        number = f"{n_states:.3g}" if np.isfinite(n_states) else "more than 1e308"
        super().__init__(
            f"the exact log-partition function of {length} tokens sums over {number} states, and "
            f'max_states is {max_states:.3g}: use method "ais" or raise max_states'
        )
        self.n_states = n_states
        self.length = length
        self.max_states = max_states


def exact_log_partition(
    mrf: FixedLengthPoissonMRF, length: int, *, max_states: int = MAX_STATES
) -> float:
    """Return A_L of the model as given, with θ not normalised.

    Raises PartitionCostError if there are more than `max_states` terms; checked before the sum. A
    ValueError.
    """
    shift = float(logsumexp(mrf.node))
    node = mrf.node - shift
    _, component_of = connected_components(mrf.interactions, directed=False)
    sizes = np.bincount(component_of)
    by_component = np.split(np.argsort(component_of, kind="stable"), np.cumsum(sizes)[:-1])
    alone = np.flatnonzero(sizes[component_of] == 1)
    together = [words for words in by_component if len(words) > 1]
    log_factorial = gammaln(np.arange(length + 1) + 1.0)
    if not together:
        return float(length * shift - log_factorial[length])

    only_total = len(together) == 1 and not len(alone)
    weight = 2.0 * float(mrf.weight(length))  # each pair counts twice
    plans = [_plan_of(mrf, words, length, only_total) for words in together]
    n_joins = len(plans) - (not len(alone))
    n_states = sum(plan.n_states for plan in plans) + n_joins * _n_states(length, 2)
    if n_states > max_states:
        raise PartitionCostError(n_states, length, max_states)

    room = np.array([length])
    total = np.zeros((1, 1))
    if len(alone):
        total = (logsumexp(node[alone]) * np.arange(length + 1) - log_factorial)[None]
    for words, plan in zip(together, plans, strict=True):
        if plan.order is None:
            pairs = weight * mrf.interactions[words][:, words].toarray()
            logs = log_sums_by_listing(node[words], pairs, length, only_total, log_factorial)[None]
        else:
            pairs_of = {(s, t): weight * w for s, t, w in _edges(mrf, words)}
            logs = _log_sums_by_elimination(plan.order, node[words], pairs_of, log_factorial)
        total = _convolved(total, logs, room)
    return float(total[0, length] + length * shift)


@dataclass(frozen=True)
class _Plan:
    """Order of the elimination of a component's words, and its number of terms."""

    order: Sequence[tuple[int, tuple[int, ...]]] | None
    """Words in the order of elimination, each with the words of its table; None: enumeration."""
    n_states: float


def _plan_of(mrf: FixedLengthPoissonMRF, words: Ints, length: int, only_total: bool) -> _Plan:
    """Return the cheaper plan: enumeration or elimination."""
    c = len(words)
    listing = _n_states(length, c - 1 if only_total else c)
    by_listing = _Plan(None, listing * (1 + c // WORDS_A_TERM))
    if c == 2 and only_total:
        return by_listing
    found = _order_of(mrf, words, length)
    return found if found and found.n_states < by_listing.n_states else by_listing


def _order_of(mrf: FixedLengthPoissonMRF, words: Ints, length: int) -> _Plan | None:
    """Return an elimination order by minimum degree; None if tables get too large.

    The neighbours of an eliminated word become neighbours of each other, through its table.
    """
    others: list[set[int]] = [set() for _ in words]
    for s, t, _ in _edges(mrf, words):
        others[s].add(t)
    scopes: list[list[set[int]]] = [[] for _ in words]
    heap = [(len(of_word), s) for s, of_word in enumerate(others)]
    heapq.heapify(heap)
    order: list[tuple[int, tuple[int, ...]]] = []
    n_states, gone = 0.0, [False] * len(words)
    while heap:
        degree, s = heapq.heappop(heap)
        if gone[s] or degree != len(others[s]):
            continue
        if (length + 1) ** (degree + 1) > LARGEST_TABLE:
            return None
        met = [scope for scope in scopes[s] if scope]
        over = set().union(*met)
        n_counts = len(over)
        if (length + 1) ** (n_counts + 1) > LARGEST_TABLE:
            return None
        n_states += max(0, len(met) - 1) * _n_states(length, n_counts + 2)
        n_states += _n_states(length, degree + 2)
        order.append((s, (*sorted(over - {s}), *sorted(others[s] - over))))
        for scope in met:
            scope.clear()  # its table is now part of the next one
        kept = set(others[s])
        gone[s] = True
        for t in kept:
            scopes[t].append(kept)
            others[t] |= others[s]
            others[t] -= {s, t}
            heapq.heappush(heap, (len(others[t]), t))
    return _Plan(order, n_states)


def _n_states(length: int, n_counts: int) -> float:
    """Return how many vectors of `n_counts` counts sum to at most `length`; inf on overflow."""
    return float(binom(length + n_counts, n_counts))


def _edges(mrf: FixedLengthPoissonMRF, words: Ints) -> list[tuple[int, int, float]]:
    """Return both directions of each edge among `words`, by place in `words`."""
    within = mrf.interactions[words][:, words].tocoo()
    return list(zip(within.row.tolist(), within.col.tolist(), within.data.tolist(), strict=True))


def _log_sums_by_elimination(
    order: Sequence[tuple[int, tuple[int, ...]]],
    node: Floats,
    pairs: dict[tuple[int, int], float],
    log_factorial: Floats,
) -> Floats:
    """Return log Z_c(n) (1, L + 1); every word but the last has a neighbour when eliminated."""
    n_counts = len(log_factorial)
    counts = np.arange(n_counts)
    tables: list[tuple[tuple[int, ...], Floats]] = []
    for s, kept in order:
        met = [table for table in tables if s in table[0]]
        tables = [table for table in tables if s not in table[0]]
        first = tuple(t for t in kept if any(t in of for of, _ in met))
        axes = (*first, s)
        inner = n_counts - 1 - _sums(len(axes), counts)
        joined = np.zeros((n_counts ** len(axes), 1))
        for of, table in met:
            joined = _convolved(joined, _spread(of, table, axes, n_counts), inner)
        field = np.zeros(1)
        for t in kept:
            field = np.add.outer(field, pairs.get((s, t), 0.0) * counts).ravel()
        room = n_counts - 1 - _sums(len(kept), counts)
        logs = node[s] * counts - log_factorial
        joined = joined.reshape(-1, n_counts, joined.shape[1])
        tables.append((kept, sum_out(joined, logs, field, room)))
    ((_, last),) = tables
    return last


def _sums(n_axes: int, counts: Ints) -> Ints:
    """Return the sums of counts along all axes (len(counts)^n_axes,), the last axis the fastest."""
    found = np.zeros(1, dtype=np.int64)
    for _ in range(n_axes):
        found = np.add.outer(found, counts).ravel()
    return found


def _spread(of: tuple[int, ...], table: Floats, axes: tuple[int, ...], n_counts: int) -> Floats:
    """Repeat the rows of a table over the counts of words `of` for the words `axes`."""
    shaped = table.reshape((n_counts,) * len(of) + (-1,))
    there = [of.index(t) for t in axes if t in of]
    shaped = shaped.transpose((*there, len(of)))
    shape = tuple(n_counts if t in of else 1 for t in axes)
    shaped = shaped.reshape((*shape, table.shape[1]))
    full = np.broadcast_to(shaped, (n_counts,) * len(axes) + (table.shape[1],))
    return np.ascontiguousarray(full).reshape(-1, table.shape[1])


def _convolved(left: Floats, right: Floats, room: Ints) -> Floats:
    """Return the log-convolution (R, N) of the rows of both; row r is -inf beyond room[r]."""
    if left.shape[1] == 1 and not left.any():
        return right
    width = min(left.shape[1] + right.shape[1] - 1, int(room.max()) + 1)
    return convolve_rows(left, right, room, width)


@kernel
def convolve_rows(left: Floats, right: Floats, room: Ints, width: int) -> Floats:
    """out[r, n] = log Σ_m exp(left[r, m] + right[r, n - m]) for n <= room[r]."""
    out = np.full((len(left), width), -np.inf)
    for r in range(len(left)):
        for n in range(min(room[r] + 1, width)):
            first, last = max(0, n - right.shape[1] + 1), min(n, left.shape[1] - 1)
            top = -np.inf
            for m in range(first, last + 1):
                top = max(top, left[r, m] + right[r, n - m])
            if top == -np.inf:
                continue
            total = 0.0
            for m in range(first, last + 1):
                total += np.exp(left[r, m] + right[r, n - m] - top)
            out[r, n] = top + np.log(total)
    return out


@kernel
def sum_out(joined: Floats, logs: Floats, field: Floats, room: Ints) -> Floats:
    """Eliminate a word: sum over its count x, given the tokens of words eliminated before.

        out[r, n] = log Σ_x exp(joined[r', x, n - x] + logs[x] + field[r] x),  n <= room[r]

    with r' the row of the first kept words, over which `joined` (R', L + 1, N) is.
    """
    n_rows, n_counts, n_before = joined.shape
    per_row = len(field) // n_rows
    out = np.full((len(field), n_counts), -np.inf)
    for r in range(len(field)):
        before = joined[r // per_row]
        for n in range(room[r] + 1):
            first = max(0, n - n_before + 1)
            top = -np.inf
            for x in range(first, n + 1):
                top = max(top, before[x, n - x] + logs[x] + field[r] * x)
            if top == -np.inf:
                continue
            total = 0.0
            for x in range(first, n + 1):
                total += np.exp(before[x, n - x] + logs[x] + field[r] * x - top)
            out[r, n] = top + np.log(total)
    return out


@kernel
def log_sums_by_listing(
    node: Floats, pairs: Floats, length: int, only_total: bool, log_factorial: Floats
) -> Floats:
    """Return log Z_c(n) (L + 1,) by enumeration of all x of at most L tokens.

    With `only_total`, of exactly L tokens. `pairs` (c, c) is 2 ω(L) Φ. Depth first: word s has
    counts[s] of the left[s] tokens.
    """
    c = len(node)
    top = np.full(length + 1, -np.inf)
    total = np.zeros(length + 1)
    counts, left = np.zeros(c, dtype=np.int64), np.zeros(c, dtype=np.int64)
    energy, field = np.zeros(c), np.zeros(c)
    left[0], field[0], counts[0] = length, node[0], -1
    s = 0
    while s >= 0:
        if s == c - 1:
            for x in range(left[s] if only_total else 0, left[s] + 1):
                _add(top, total, length - left[s] + x, energy[s] + field[s] * x - log_factorial[x])
            s -= 1
            continue
        counts[s] += 1
        if counts[s] > left[s]:
            s -= 1
            continue
        energy[s + 1] = energy[s] + field[s] * counts[s] - log_factorial[counts[s]]
        left[s + 1] = left[s] - counts[s]
        if not left[s + 1]:  # all further counts are 0
            _add(top, total, length, energy[s + 1])
            continue
        field[s + 1] = node[s + 1]
        for t in range(s + 1):
            field[s + 1] += pairs[s + 1, t] * counts[t]
        s += 1
        counts[s] = -1
    return top + np.log(total)


@kernel
def _add(top: Floats, total: Floats, n: int, term: float) -> None:
    """Add exp(term) to the sum total[n] exp(top[n])."""
    if term <= top[n]:
        total[n] += np.exp(term - top[n])
    else:
        total[n] = total[n] * np.exp(top[n] - term) + 1.0
        top[n] = term
