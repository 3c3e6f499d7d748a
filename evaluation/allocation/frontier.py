"""Exact marginal likelihood by variable elimination over tokens: states of the open table rows.

The urn (Cemgil et al. 2019, eqs. 4.1 to 4.3) gives a token its hidden values with a probability
that depends on the tokens before it through a few counts: those of the table rows it shares with
them. So tokens are processed one by one, and a state keeps of their allocations the counts of the
*open* rows, which later tokens still ask for. Allocations with the same open counts are one state,
whose probability is their sum. The order of the tokens is free: one is sought that has few rows
open at a time. Under the flat prior the values of a hidden index are alike: states that differ by
their names only are one too.

A state is held as integers of 64 bits, one or more for each column of the tables: every open row
has a field of bits in them, at the same place in all columns. To rename hidden values is to
exchange whole integers, and to sum columns is to add them. As the sum of a row is known, the last
column says nothing new, and states are told apart without it.
"""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from evaluation.allocation.token_order import cell_order
from evaluation.arrays import Bools, Floats, Ints
from models.allocation.inference_plan import InferencePlan
from models.allocation.tables import Table

Words = NDArray[np.uint64]

BYTES_A_COLUMN = 100  # bytes in Python for one of the columns that a token can count in
WORD = 64  # bits of an integer that holds fields


class MarginalCostError(ValueError):
    """The exact marginal likelihood of some counts would take too much memory.

    `n_taken` of `n_tokens` tokens had been taken in; with the next there would be up to `n_states`
    states, in `n_bytes`.
    """

    def __init__(
        self, n_taken: int, n_tokens: int, n_states: int, n_bytes: int, max_memory: int
    ) -> None:
        super().__init__(
            f"the exact marginal likelihood needs {n_bytes:.3g} bytes for {n_states:.3g} states "
            f"after {n_taken} of {n_tokens} tokens, and max_memory is {max_memory:.3g}: use method "
            '"smc", which samples, or give a higher max_memory'
        )
        self.n_taken, self.n_tokens = n_taken, n_tokens
        self.n_states, self.n_bytes = n_states, n_bytes


class _Row(NamedTuple):
    table: int
    number: int


class _Field(NamedTuple):
    """Place of the counts of an open row in the integers of its family."""

    word: int
    shift: int
    n_bits: int

    @property
    def bits(self) -> int:
        return ((1 << self.n_bits) - 1) << self.shift


class _Family:
    """Tables whose columns stand for the same values of interchangeable indices."""

    def __init__(self, classes: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        self.classes, self.sizes = classes, sizes
        """Class of alike indices, and number of values, of each axis of the columns."""
        self.used: list[int] = []  # The bits of each word that are taken

    def take(self, n_bits: int) -> _Field:
        """A free field, the first that is found; perhaps in a new word."""
        for word, used in enumerate([*self.used, 0]):
            for shift in range(WORD - n_bits + 1):
                field = _Field(word, shift, n_bits)
                if not used & field.bits:
                    if word == len(self.used):
                        self.used.append(0)
                    self.used[word] |= field.bits
                    return field
        raise AssertionError("an empty word has room for every field")


class Frontier:
    """All states of the open rows of some tables, and the probability of each."""

    def __init__(self, plan: InferencePlan, tables: list[Table], max_memory: int) -> None:
        self.plan, self.tables, self.max_memory = plan, tables, max_memory
        self.counts = plan.observed.counts
        self.n_tokens = plan.observed.n_tokens
        self.names = {name for table in tables for name in table.inner_names} & plan.unknown_names
        start = np.cumsum([0, *(table.n_rows for table in tables)])
        self.rows = [_Row(t, r) for t, table in enumerate(tables) for r in range(table.n_rows)]
        self.table_of_row = np.array([row.table for row in self.rows])
        self.n_uses = sum(table.n_uses for table in tables)
        n_bytes = 8 * 8 * len(self.counts) * len(self.rows)  # some arrays of this size
        n_bytes += 4 * 8 * self.n_uses * self.n_tokens  # logs of α and all counts there can be
        if n_bytes > max_memory:
            raise MarginalCostError(0, self.n_tokens, 1, n_bytes, max_memory)
        self.uses = np.zeros((len(self.counts), len(self.rows)), dtype=np.int64)
        """(n_cells, n_rows), how often a token of each cell is counted in each row."""
        for table, first in zip(tables, start[:-1], strict=True):
            for row_of in table.row_of:
                np.add.at(self.uses, (np.arange(len(row_of)), first + row_of), 1)
        self._set_families()
        self.fields: dict[_Row, _Field] = {}
        self.logs: dict[tuple[int, float], Floats] = {}
        self.lanes = [
            np.zeros((np.prod(f.sizes, dtype=int), 0, 1), np.uint64) for f in self.families
        ]
        """Counts of each family (n_columns, n_words, n_states)."""
        self.log_weight = np.zeros(1)
        """(n_states,), log-probability of the tokens so far and the state, less `log_scale`."""
        self.log_scale: list[float] = []
        self.max_states = 1

    def _set_families(self) -> None:
        """Find indices whose values can be renamed only together, and their tables.

        Indices that use the same axis of a tied table are alike.
        """
        model = self.plan.model
        alike: nx.Graph[str] = nx.Graph()
        for table in self.tables:
            alike.add_nodes_from(table.inner_names)
            for axis in table.inner_axes:
                names = [use[axis] for use in table.marginal.uses]
                alike.add_edges_from(pairwise(names))
        groups = sorted(sorted(group) for group in nx.connected_components(alike))
        class_of = {name: c for c, group in enumerate(groups) for name in group}
        self.renamed = [
            c
            for c, group in enumerate(groups)
            if model.prior is None and all(name in model.hidden for name in group)
        ]
        found: dict[tuple[int, ...], int] = {}
        self.families: list[_Family] = []
        self.family_of: list[int] = []
        for table in self.tables:
            use = table.marginal.uses[0]
            classes = tuple(class_of[use[axis]] for axis in table.inner_axes)
            if classes not in found:
                found[classes] = len(self.families)
                sizes = tuple(table.marginal.sizes[axis] for axis in table.inner_axes)
                self.families.append(_Family(classes, sizes))
            self.family_of.append(found[classes])

    def log_probability(self) -> float:
        """Log of the product of the tables' terms, summed over all allocations of the tokens."""
        order = cell_order(self.uses, self.counts, self.tables, self.table_of_row)
        n_uses = self.uses * self.counts[:, np.newaxis]
        total = n_uses.sum(axis=0)
        position = np.arange(len(order))[:, np.newaxis]
        first = np.where(self.uses[order] > 0, position, len(order)).min(axis=0, initial=len(order))
        last = np.where(self.uses[order] > 0, position, -1).max(axis=0, initial=-1)
        n_taken = 0
        for p, cell in enumerate(order):
            for r in np.flatnonzero(first == p):
                self._open(self.rows[r], int(total[r]))
            self._check_affordable(self._n_moves(cell), n_taken)
            moves = list(self._moves(cell))
            closing = [self.rows[r] for r in np.flatnonzero(last == p)]
            for left in range(int(self.counts[cell]) - 1, -1, -1):
                self._check_affordable(len(moves), n_taken)
                self._expand(moves)
                if left == 0:
                    for row in closing:
                        self._close(row)
                if len(self.log_weight) > 1:
                    for each in self.renamed:
                        self._rename(each)
                    self._merge()
                n_taken += 1
        return float(np.logaddexp.reduce(self.log_weight)) + float(np.sum(self.log_scale))

    def _n_moves(self, cell: int) -> int:
        """Number of joint values of the unknown indices of a token."""
        names = set(self.plan.unknown[self.plan.arrays.pattern_of[cell]]) & self.names
        return math.prod(self.plan.model.cardinalities[name] for name in names)

    def _moves(self, cell: int) -> Iterator[list[tuple[_Row, int]]]:
        """Yield the rows and columns of each joint value of a token's unknown indices."""
        plan = self.plan
        pattern = plan.arrays.pattern_of[cell]
        unknown = [name for name in plan.unknown[pattern] if name in self.names]
        sizes = (range(plan.model.cardinalities[name]) for name in unknown)
        for values in product(*sizes):
            value_of = dict(zip(unknown, values, strict=True))
            move = []
            for t, table in enumerate(self.tables):
                for u, use in enumerate(table.marginal.uses):
                    column = int(table.offset_of[u, cell])
                    for axis, stride in zip(table.inner_axes, table.strides, strict=True):
                        column += stride * value_of.get(use[axis], 0)
                    move.append((_Row(t, int(table.row_of[u, cell])), column))
            yield move

    def _open(self, row: _Row, total: int) -> None:
        f = self.family_of[row.table]
        family, lanes = self.families[f], self.lanes[f]
        self.fields[row] = family.take(total.bit_length())
        if len(family.used) > lanes.shape[1]:
            new = np.zeros((len(lanes), 1, lanes.shape[2]), dtype=np.uint64)
            self.lanes[f] = np.concatenate([lanes, new], axis=1)

    def _close(self, row: _Row) -> None:
        f, field = self.family_of[row.table], self.fields.pop(row)
        self.families[f].used[field.word] &= ~field.bits
        self.lanes[f][:, field.word] &= np.uint64(2**WORD - 1 - field.bits)

    def _check_affordable(self, n_moves: int, n_taken: int) -> None:
        """Refuse the next token if its states, and their merging, need too much memory."""
        n_words = sum(lanes.shape[0] * lanes.shape[1] for lanes in self.lanes)
        n_states = n_moves * len(self.log_weight)
        n_bytes = 8 * n_states * (2 * n_words + 6) + BYTES_A_COLUMN * n_moves * self.n_uses
        if n_bytes > self.max_memory and n_states > 1:
            raise MarginalCostError(n_taken, self.n_tokens, n_states, n_bytes, self.max_memory)

    def _expand(self, moves: list[list[tuple[_Row, int]]]) -> None:
        """Give the next token all its values in every state."""
        n_states = len(self.log_weight)
        grown = [
            np.empty((*lanes.shape[:2], len(moves), n_states), np.uint64) for lanes in self.lanes
        ]
        for new, lanes in zip(grown, self.lanes, strict=True):
            new[...] = lanes[:, :, np.newaxis]
        log_weight = np.repeat(self.log_weight[np.newaxis], len(moves), axis=0)
        terms: dict[tuple[_Row, int, int], Floats] = {}
        for z, move in enumerate(moves):
            earlier: Counter[tuple[_Row, int]] = Counter()  # uses of the same token in a tied table
            for row, column in move:
                key = (row, column, earlier[row, column])
                if key not in terms:
                    terms[key] = self._term(*key)
                log_weight[z] += terms[key]
                earlier[row, column] += 1
                field = self.fields[row]
                new = grown[self.family_of[row.table]][column, field.word, z]
                new += np.uint64(1 << field.shift)
        self.lanes = [new.reshape(*new.shape[:2], -1) for new in grown]
        self.log_weight = log_weight.ravel()
        largest = self.log_weight.max()
        if np.isneginf(self.log_weight).any():
            self._keep(np.flatnonzero(self.log_weight > -np.inf) if largest > -np.inf else [0])
        if largest > -np.inf:
            self.log_weight -= largest
            self.log_scale.append(float(largest))

    def _term(self, row: _Row, column: int, earlier: int) -> Floats:
        """Power times log(α + S) of a row and column, of each state."""
        table, field = self.tables[row.table], self.fields[row]
        alpha = np.broadcast_to(table.alpha, (table.n_rows, table.n_columns))[row.number, column]
        key = (table.power, float(alpha))
        if key not in self.logs:
            counts = np.arange(max(each.n_uses for each in self.tables) * self.n_tokens + 1)
            with np.errstate(divide="ignore"):
                logs = table.power * np.log(alpha + counts)
            # Where α + S = 0 below the line, so it is above: probability 0.
            self.logs[key] = np.where(np.isinf(logs), -np.inf, logs)
        lane = self.lanes[self.family_of[row.table]][column, field.word]
        held = (lane >> np.uint64(field.shift)) & np.uint64(2**field.n_bits - 1)
        term: Floats = self.logs[key][held.astype(np.intp) + earlier]
        return term

    def _rename(self, renamed: int) -> None:
        """Give the values of alike indices new names, in the order of their counts."""
        whole, judged = [], []
        for family, lanes in zip(self.families, self.lanes, strict=True):
            apart = lanes.reshape(*family.sizes, *lanes.shape[1:])
            for axis, each in enumerate(family.classes):
                if each != renamed:
                    continue
                by_value = np.moveaxis(apart, axis, 0)
                whole.append(by_value)
                sums = by_value
                if len(family.sizes) > 1:  # no field overflows: it has room for the row's sum
                    sums = by_value.sum(axis=tuple(range(1, len(family.sizes))), dtype=np.uint64)
                    whole.append(sums)
                judged += [sums[:, w] for w, used in enumerate(family.used) if used]
        for end in range(len(whole[0]) - 1, 0, -1) if judged else ():
            for v in range(end):
                swap = -_is_less(judged, v, v + 1).astype(np.uint64)
                for by_value in whole:
                    change = (by_value[v] ^ by_value[v + 1]) & swap
                    by_value[v] ^= change
                    by_value[v + 1] ^= change

    def _merge(self) -> None:
        keys = self._keys()
        order = np.argsort(_mixed(keys)) if keys else np.arange(len(self.log_weight))
        is_first = np.zeros(len(order), dtype=bool)
        is_first[0] = True
        for key in keys:
            ordered = key[order]
            is_first[1:] |= ordered[1:] != ordered[:-1]
        first = np.flatnonzero(is_first)
        if len(first) < len(order):
            ordered_weight = self.log_weight[order]
            largest = np.maximum.reduceat(ordered_weight, first)
            ordered_weight -= np.repeat(largest, np.diff(first, append=len(order)))
            summed = np.add.reduceat(np.exp(ordered_weight), first)
            self._keep(order[first])
            self.log_weight = largest + np.log(summed)
        self.max_states = max(self.max_states, len(self.log_weight))

    def _keys(self) -> list[Words]:
        """Keys that identify states, in few integers; the last column is left out."""
        keys: list[Words] = []
        room = 0
        for family, lanes in zip(self.families, self.lanes, strict=True):
            for word, used in enumerate(family.used):
                width = used.bit_length()
                for piece in lanes[:-1, word] if used else ():
                    if width > room:
                        keys.append(piece.copy())
                        room = WORD - width
                    else:
                        keys[-1] <<= np.uint64(width)
                        keys[-1] |= piece
                        room -= width
        return keys

    def _keep(self, states: Ints | list[int]) -> None:
        self.lanes = [np.take(lanes, states, axis=2) for lanes in self.lanes]
        self.log_weight = self.log_weight[states]


def _is_less(judged: list[Words], v: int, w: int) -> Bools:
    """Mask of states in which value v precedes w, by the first integer that differs."""
    less: Bools = judged[-1][v] < judged[-1][w]
    for each in judged[-2::-1]:
        less = (each[v] < each[w]) | ((each[v] == each[w]) & less)
    return less


def _mixed(keys: list[Words]) -> Words:
    """One integer for several, almost always another for others.

    Where it is not, states stand apart that could be one, which does no harm.
    """
    mixed = keys[0]
    for key in keys[1:]:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        mixed = (mixed + key) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(29)
    return mixed
