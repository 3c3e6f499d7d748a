"""A Bayesian allocation model: a directed graph over the indices of a count tensor, and its prior.

Cemgil et al. 2019, section 3: tokens arrive at rate λ ~ Gamma(a, b) and each is given a value of
every index by a Bayesian network, whose conditional probability tables have Dirichlet priors. Of
the tensor S of all allocations only the counts X over the visible indices are observed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import networkx as nx
import numpy as np

from models.allocation.standard_graphs import StandardGraphs
from models.checks import check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from models.arrays import Floats


@dataclass(frozen=True, eq=False)
class AllocationModel(StandardGraphs):
    """A directed acyclic graph over named indices, some of them visible, with its prior.

        λ ~ Gamma(a, rate b),   θ_n(:, pa) ~ Dirichlet(α_n(:, pa)),   S ~ Poisson(λ ∏_n θ_n)

    Standard graphs are constructors of `StandardGraphs`. Raises ValueError if the graph has a
    cycle, a name is unknown, twice or missing, a cardinality is not positive, `a` or `b` is not
    positive, or a prior does not fit its table; TypeError if a cardinality is not a whole number,
    `a` or `b` not a number, or parents are a string.
    """

    parents: Mapping[str, Sequence[str]]
    """Parents of each index, in the order of the axes of its table; its own axis is the last."""
    cardinalities: Mapping[str, int]
    visible: Sequence[str]
    """Observed indices, in the order of the axes of X; all others are hidden."""
    a: float = 1.0
    """Shape of the prior of λ and, where the prior is flat, the sum of all pseudo-counts."""
    b: float | None = None
    """Rate of the prior of λ; by default a / S₊, which has as many tokens expected as there are."""
    prior: Mapping[str, Any] | None = None
    """Dirichlet parameters of each index, an array of the shape of its table; tied tables have that
    of the first of their names. By default flat and consistent (BDeu): a / ∏ I over the table's
    axes, so that Markov-equivalent graphs agree."""
    tied: Sequence[Sequence[str]] = ()  #: Groups of indices that share one table.
    hidden: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        for name, of in self.parents.items():
            if isinstance(of, str):
                raise TypeError(f"parents of {name!r} must be a tuple of names: ({of!r},)")
        parents = {name: tuple(of) for name, of in self.parents.items()}
        cardinalities = {name: self.cardinalities.get(name, 0) for name in parents}
        visible = tuple(self.visible)
        _check_graph(parents, self.cardinalities, visible)
        for name in ("a", "b"):
            _check_positive(name, getattr(self, name))
        tied = tuple(tuple(group) for group in self.tied)
        _check_tied(tied, parents, cardinalities)
        values: dict[str, Any] = {
            "parents": MappingProxyType(parents),
            "cardinalities": MappingProxyType({n: int(i) for n, i in cardinalities.items()}),
            "visible": visible,
            "tied": tied,
            "hidden": tuple(name for name in parents if name not in visible),
            "a": float(self.a),
            "b": None if self.b is None else float(self.b),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "prior", self._checked_prior())

    @property
    def indices(self) -> tuple[str, ...]:
        """All indices, in the order of `parents`."""
        return tuple(self.parents)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of X."""
        return tuple(self.cardinalities[name] for name in self.visible)

    def family(self, name: str) -> tuple[str, ...]:
        """The axes of an index's table: its parents and itself. In the paper fa(n)."""
        return (*self.parents[name], name)

    def table_shape(self, name: str) -> tuple[int, ...]:
        """The shape of an index's table."""
        return tuple(self.cardinalities[each] for each in self.family(name))

    def table_groups(self) -> list[tuple[str, ...]]:
        """Indices of each table: one, or several that are tied."""
        group_of = {name: tuple(group) for group in self.tied for name in group}
        groups = [group_of.get(name, (name,)) for name in self.parents]
        return list(dict.fromkeys(groups))

    def pseudo_counts(self, name: str) -> Floats:
        """Dirichlet parameters (eq. 3.3: α_fa(n)) of the table of an index and all tied to it."""
        group = next(group for group in self.table_groups() if name in group)
        if self.prior is not None:
            given: Floats = self.prior[group[0]]
            return given
        return np.full(self.table_shape(name), self.flat_pseudo_count(name))

    def flat_pseudo_count(self, name: str) -> float:
        """Each Dirichlet parameter of an index's table where the prior is flat."""
        group = next(group for group in self.table_groups() if name in group)
        return len(group) * self.a / float(np.prod(self.table_shape(name), dtype=np.float64))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by the constructor's arguments."""
        prior = None if self.prior is None else dict(self.prior)
        made_of = (dict(self.parents), dict(self.cardinalities), self.visible, self.a, self.b)
        return type(self), (*made_of, prior, self.tied)

    def graph(self) -> nx.DiGraph[str]:
        """The directed graph."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.parents)
        graph.add_edges_from((each, name) for name, of in self.parents.items() for each in of)
        return graph

    def junction_tree(self) -> nx.Graph[tuple[str, ...]]:
        """Cliques of the moral graph, triangulated, and the separators between them.
        Nodes are tuples of names, with an attribute `type`, "clique" or "sepset".
        """
        return nx.junction_tree(self.graph())

    def fully_visible(self) -> AllocationModel:
        """The same with nothing hidden: its X is S, in the order of `indices`."""
        return replace(self, visible=self.indices)

    def with_cardinality(self, name: str, cardinality: int) -> Self:
        """The same with another number of values of one index, such as another rank. Raises
        ValueError if there is no such index, or the prior was given, which then does not fit.
        """
        if name not in self.parents:
            raise ValueError(f"there is no index {name!r}: use one of {', '.join(self.parents)}")
        if self.prior is not None:
            raise ValueError(
                "the prior was given for other cardinalities: make a new model with its own"
            )
        return replace(self, cardinalities={**self.cardinalities, name: cardinality})

    def _checked_prior(self) -> Mapping[str, Floats] | None:
        if self.prior is None:
            return None
        wanted = [group[0] for group in self.table_groups()]
        if set(self.prior) != set(wanted):
            raise ValueError(
                f"prior must have an array for each of {', '.join(wanted)}, found "
                f"{', '.join(map(str, self.prior)) or 'none'}"
            )
        checked = {}
        for name in wanted:
            array = np.array(self.prior[name], dtype=np.float64)
            if array.shape != self.table_shape(name):
                raise ValueError(
                    f"prior of {name!r} must have the shape {self.table_shape(name)} of its table "
                    f"({', '.join(self.family(name))}), found {array.shape}"
                )
            if not np.isfinite(array).all() or (array < 0).any() or not array.any():
                raise ValueError(
                    f"prior of {name!r} must be of finite, non-negative numbers, not all zero"
                )
            array.setflags(write=False)
            checked[name] = array
        return MappingProxyType(checked)


def _check_graph(
    parents: Mapping[str, tuple[str, ...]],
    cardinalities: Mapping[str, int],
    visible: tuple[str, ...],
) -> None:
    if not parents:
        raise ValueError("parents must name at least one index, found none")
    unnamed = [name for name in parents if not name]
    if unnamed:
        raise ValueError("an index must be named by a word, found an empty one")
    for what, names in [
        ("visible", visible),
        ("cardinalities", tuple(cardinalities)),
        *((f"parents of {name!r}", of) for name, of in parents.items()),
    ]:
        _check_names(what, names, parents)
    if not visible:
        raise ValueError("visible must name at least one index: nothing is observed otherwise")
    for name in parents:
        if name not in cardinalities:
            raise ValueError(f"cardinalities: how many values does {name!r} have?")
        check_whole(f"cardinality of {name!r}", cardinalities[name], 1)
    graph: nx.DiGraph[str] = nx.DiGraph(
        [(each, name) for name, of in parents.items() for each in of]
    )
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [start for start, _ in nx.find_cycle(graph)]
        raise ValueError(
            f"the graph has a cycle, {' → '.join([*cycle, cycle[0]])}: leave one of these out"
        )


def _check_names(what: str, names: tuple[str, ...], known: Mapping[str, Any]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"{what}: there is no index {unknown[0]!r} among {', '.join(known)}: "
            "parents must have every index, those without any with an empty tuple"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"{what} must name each index once, found {', '.join(names)}")


def _check_positive(name: str, value: Any) -> None:
    if value is None and name == "b":
        return
    check_number(name, value)
    if not np.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be positive and finite, found {value}")


def _check_tied(
    tied: tuple[tuple[str, ...], ...],
    parents: Mapping[str, tuple[str, ...]],
    cardinalities: Mapping[str, int],
) -> None:
    names = [name for group in tied for name in group]
    unknown = [name for name in names if name not in parents]
    if unknown:
        raise ValueError(f"tied: there is no index {unknown[0]!r}")
    if len(set(names)) < len(names):
        raise ValueError("tied: an index can be in one group only, and there once")
    for group in tied:
        if len(group) < 2:
            raise ValueError(f"tied: a group needs at least two indices, found {group}")
        shapes = {
            name: tuple(cardinalities[each] for each in (*parents[name], name)) for name in group
        }
        if len(set(shapes.values())) > 1:
            raise ValueError(
                "tied: tables that are shared must have the same shape, found "
                + ", ".join(f"{shape} of {name!r}" for name, shape in shapes.items())
            )
