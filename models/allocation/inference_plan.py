"""Inference plan: sums over and draws of a token's hidden indices, given its visible ones.

Among the indices that are unknown of a token, those that share a table are joined by an edge; the
graph's junction tree says in which order to sum. Each clique holds a product over all values of its
indices, the separator to its parent varying slowest: a message to the parent is a sum over
consecutive numbers, and a clique's values are drawn among consecutive numbers.

Kernels read the plan as flat arrays, made once for each pattern of unknown indices.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.allocation.cell_counts import MISSING, CellCounts
from models.allocation.cliques import Clique, check_cliques, rooted_cliques
from models.allocation.model import AllocationModel
from models.allocation.tables import Table, mixed_radix, tables_of
from models.arrays import Bools, Floats, Ints, Ints32


class PlanArrays(NamedTuple):
    """The plan as arrays. A factor is one use of a table that depends on hidden indices.
    Cliques of a pattern stand one after the other, children before their parents.
    """

    clique_start: Ints  # (n_patterns + 1,), first clique of each pattern
    n_separator: Ints  # (n_cliques,), combinations of values of the indices shared with the parent
    n_rest: Ints
    """(n_cliques,), those of other indices: combination s·n_rest + r of the clique has s and r."""
    parent: Ints  # (n_cliques,), -1 for a root
    product_at: Ints  # (n_cliques,), start of the clique's products in a particle's scratch
    message_at: Ints  # (n_cliques,), start of its message to the parent
    parent_map_at: Ints
    """(n_cliques,), start in `maps` of the separator of each combination of the parent."""
    factor_start: Ints  # (n_cliques + 1,), first entries in `factor`, `map_at` and `is_straight`
    factor: Ints
    map_at: Ints  # Start in `maps` of the column that each combination of the clique reads
    is_straight: Bools  # Whether combination c reads column c
    maps: Ints32

    table_of: Ints  # (n_factors,)
    first_use: Ints  # (n_factors,), the first factor that uses the same table
    power: Ints  # (n_factors,), of α + S
    n_columns: Ints  # (n_factors,), of the table
    row_of: Ints  # (n_cells, n_factors), row of the table counted over all dynamic tables
    offset_of: Ints  # (n_cells, n_factors), first column
    pattern_of: Ints  # (n_cells,)
    alpha: Floats  # Pseudo-counts of all dynamic tables, flat
    alpha_at: Ints  # (n rows,), first pseudo-count of each row
    alpha_step: Ints  # (n rows,), 1, or 0 where all columns share one number


@dataclass(frozen=True, eq=False)
class InferencePlan:
    """Steps of inference for each token of some data under a model."""

    model: AllocationModel
    observed: CellCounts
    dynamic: tuple[Table, ...]  # Tables with a hidden or missing index
    constant: tuple[Table, ...]
    row_start: Ints  # (n_dynamic + 1,), first row of each dynamic table
    arrays: PlanArrays
    unknown: tuple[tuple[str, ...], ...]
    """(n_patterns,), indices that are summed over in each pattern."""
    cliques: tuple[tuple[str, ...], ...]
    """(n_cliques,), indices of each clique, those shared with its parent first."""
    scratch_size: int  # Length of a particle's products and messages

    @property
    def n_factors(self) -> int:
        """Uses of dynamic tables."""
        return len(self.arrays.table_of)

    @property
    def unknown_names(self) -> set[str]:
        """Indices that are hidden, or missing of some token."""
        return {name for names in self.unknown for name in names}

    @property
    def has_one_allocation(self) -> bool:
        """Whether nothing is to be found: no index that is summed over has two values."""
        sizes = self.model.cardinalities
        return not self.observed.n_tokens or all(sizes[name] == 1 for name in self.unknown_names)

    @property
    def max_cliques(self) -> int:
        """Largest number of cliques of a pattern."""
        return int(np.diff(self.arrays.clique_start).max())

    @property
    def n_state(self) -> int:
        """Counts that one particle holds: rows times columns of all dynamic tables."""
        return sum(table.n_rows * table.n_columns for table in self.dynamic)

    def constant_log_probability(self) -> float:
        """Log-probability that the constant tables contribute to the sequence of all tokens."""
        return sum(table.log_rising(self.counts_of(table)) for table in self.constant)

    def counts_of(self, table: Table) -> Ints:
        """The counts (n_rows, 1) of a constant table."""
        counts = np.zeros((table.n_rows, 1), dtype=np.int64)
        for rows in table.row_of:
            np.add.at(counts[:, 0], rows, self.observed.counts)
        return counts

    def unknown_values(self, pattern: int, chosen: Ints) -> Ints:
        """The values (…, n_unknown) of a pattern's unknown indices, in the order of `unknown`.
        `chosen` (…, cliques of the pattern) is the combination that each clique has, which must
        agree on what they share.
        """
        values = np.zeros((*chosen.shape[:-1], len(self.unknown[pattern])), dtype=np.int64)
        first = int(self.arrays.clique_start[pattern])
        for n in range(chosen.shape[-1]):
            names = self.cliques[first + n]
            if names:
                sizes = [self.model.cardinalities[name] for name in names]
                of_clique = np.unravel_index(chosen[..., n], sizes)
                for name, each in zip(names, of_clique, strict=True):
                    values[..., self.unknown[pattern].index(name)] = each
        return values


def plan_of(model: AllocationModel, observed: CellCounts) -> InferencePlan:
    """Return the plan of inference for each token."""
    tables = tables_of(model, observed)
    dynamic = tuple(table for table in tables if not table.is_constant)
    missing = observed.cells == MISSING
    patterns, pattern_of = np.unique(missing, axis=0, return_inverse=True)
    if not len(patterns):
        patterns = np.zeros((1, len(model.visible)), dtype=bool)
    unknown = []
    for pattern in patterns:
        absent = {
            name for name, is_missing in zip(model.visible, pattern, strict=True) if is_missing
        }
        unknown.append(
            tuple(name for name in model.indices if name in absent or name in model.hidden)
        )
    layout = _Layout(model, dynamic)
    for names in unknown:
        layout.add_pattern(names)
    row_start = np.cumsum([0, *(table.n_rows for table in dynamic)])
    return InferencePlan(
        model=model,
        observed=observed,
        dynamic=dynamic,
        constant=tuple(table for table in tables if table.is_constant),
        row_start=row_start,
        arrays=layout.arrays(observed, pattern_of.ravel(), row_start),
        unknown=tuple(unknown),
        cliques=tuple(layout.cliques),
        scratch_size=layout.scratch_size,
    )


class _Layout:
    """Appends cliques pattern by pattern."""

    def __init__(self, model: AllocationModel, dynamic: tuple[Table, ...]) -> None:
        self.model, self.dynamic = model, dynamic
        self.uses = [(t, u) for t, table in enumerate(dynamic) for u in range(table.n_uses)]
        self.maps: list[Ints] = []
        self.maps_length = 0
        self.scratch_size = 0
        names = ("n_separator", "n_rest", "parent", "product_at", "message_at", "parent_map_at")
        self.columns: dict[str, list[int]] = {n: [] for n in (*names, "factor", "map_at")}
        self.columns |= {"clique_start": [0], "factor_start": [0]}
        self.is_straight: list[bool] = []
        self.cliques: list[tuple[str, ...]] = []

    def add_pattern(self, unknown: tuple[str, ...]) -> None:
        cliques = rooted_cliques(unknown, [table.marginal.uses for table in self.dynamic])
        sizes = {name: self.model.cardinalities[name] for name in unknown}
        add = self.columns
        first = add["clique_start"][-1]
        homes = self._homes(cliques, set(unknown))
        check_cliques(cliques, sizes)
        at = 0
        for n, (separator, rest, parent) in enumerate(cliques):
            names = separator + rest
            values = _values([sizes[name] for name in names])
            of = dict(zip(names, values.T, strict=True))
            add["n_separator"].append(int(np.prod([sizes[name] for name in separator], dtype=int)))
            add["n_rest"].append(int(np.prod([sizes[name] for name in rest], dtype=int)))
            add["parent"].append(first + parent if parent >= 0 else -1)
            add["product_at"].append(at)
            at += len(values)
            add["message_at"].append(at)
            at += add["n_separator"][-1]
            self.cliques.append(names)
            if parent >= 0:
                above = cliques[parent][0] + cliques[parent][1]
                parent_values = _values([sizes[name] for name in above])
                parent_of = dict(zip(above, parent_values.T, strict=True))
                strides, _ = mixed_radix([sizes[name] for name in separator])
                stride = dict(zip(separator, strides, strict=True))
                codes = _codes(parent_of, separator, stride, len(parent_values))
                add["parent_map_at"].append(self._add_map(codes))
            else:
                add["parent_map_at"].append(0)
            for f, home in enumerate(homes):
                if home == n:
                    t, u = self.uses[f]
                    table = self.dynamic[t]
                    use = table.marginal.uses[u]
                    pairs = zip(table.inner_axes, table.strides, strict=True)
                    stride = {use[axis]: each for axis, each in pairs if use[axis] in sizes}
                    add["factor"].append(f)
                    columns = _codes(of, stride, stride, len(values))
                    add["map_at"].append(self._add_map(columns))
                    self.is_straight.append(bool((columns == np.arange(len(values))).all()))
            add["factor_start"].append(len(add["factor"]))
        add["clique_start"].append(first + len(cliques))
        self.scratch_size = max(self.scratch_size, at)

    def _homes(self, cliques: list[Clique], unknown: set[str]) -> list[int]:
        """Clique that each factor is multiplied into; uses of one table share a clique."""
        homes = []
        for t, _ in self.uses:
            names = {name for use in self.dynamic[t].marginal.uses for name in use} & unknown
            homes.append(
                next(n for n, (above, rest, _) in enumerate(cliques) if names <= {*above, *rest})
            )
        return homes

    def _add_map(self, codes: Ints) -> int:
        self.maps.append(codes)
        self.maps_length += len(codes)
        return self.maps_length - len(codes)

    def arrays(self, observed: CellCounts, pattern_of: Ints, row_start: Ints) -> PlanArrays:
        tables = [self.dynamic[t] for t, _ in self.uses]
        n_cells = len(observed.cells)
        row_of = np.zeros((n_cells, len(self.uses)), dtype=np.int64)
        offset_of = np.zeros_like(row_of)
        for f, (t, u) in enumerate(self.uses):
            row_of[:, f] = row_start[t] + self.dynamic[t].row_of[u]
            offset_of[:, f] = self.dynamic[t].offset_of[u]
        alpha, alpha_at, alpha_step = _flat_alpha(self.dynamic)
        whole = {name: np.array(values, dtype=np.int64) for name, values in self.columns.items()}
        maps = np.concatenate(self.maps) if self.maps else np.zeros(0, dtype=np.int64)
        return PlanArrays(
            **whole,
            is_straight=np.array(self.is_straight, dtype=np.bool_),
            maps=maps.astype(np.int32),
            table_of=np.array([t for t, _ in self.uses], dtype=np.int64),
            first_use=np.array([f - u for f, (_, u) in enumerate(self.uses)], dtype=np.int64),
            power=np.array([table.power for table in tables], dtype=np.int64),
            n_columns=np.array([table.n_columns for table in tables], dtype=np.int64),
            row_of=row_of,
            offset_of=offset_of,
            pattern_of=pattern_of.astype(np.int64),
            alpha=alpha,
            alpha_at=alpha_at,
            alpha_step=alpha_step,
        )


def _values(sizes: list[int]) -> Ints:
    """All combinations (n, axes) of values, the last axis the fastest."""
    _, length = mixed_radix(sizes)
    if not sizes:
        return np.zeros((1, 0), dtype=np.int64)
    return np.stack(np.unravel_index(np.arange(length), sizes), axis=-1).astype(np.int64)


def _codes(
    of: dict[str, Ints], names: tuple[str, ...] | dict[str, int], stride: dict[str, int], n: int
) -> Ints:
    """Σ stride · value over the names, for each of n combinations."""
    codes = np.zeros(n, dtype=np.int64)
    for name in names:
        codes += stride[name] * of[name]
    return codes


def _flat_alpha(dynamic: tuple[Table, ...]) -> tuple[Floats, Ints, Ints]:
    parts, starts, strides = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], [np.zeros(0, np.int64)]
    at = 0
    for table in dynamic:
        one = table.alpha.size == 1
        starts.append(at + (0 if one else table.n_columns) * np.arange(table.n_rows))
        strides.append(np.full(table.n_rows, 0 if one else 1))
        parts.append(table.alpha.ravel())
        at += table.alpha.size
    return np.concatenate(parts), np.concatenate(starts), np.concatenate(strides)
