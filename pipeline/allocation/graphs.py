"""Graphs of `allocate`: standard graphs by name, others as arrows between names of axes.

    nmf
    k -> i, k -> j
    doc -> topic -> word; doc -> broad -> narrow -> word

A name that is not an axis of the data is a hidden index. Semicolons separate graphs to compare.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from models.allocation.model import AllocationModel
from pipeline.allocation.count_table import CountTable
from pipeline.errors import UsageError

ARROW = re.compile(r"(->|<-|→|←)")
Shape = tuple[int, ...]
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Prior:
    """Parameters of the Dirichlet and Gamma priors."""

    a: float | None = None
    """Total pseudo-count; by default 1, for LDA the value at which its tables agree."""
    b: float | None = None
    alpha: float = 0.1
    eta: float = 0.1

    @property
    def rates(self) -> dict[str, Any]:
        """`a` and `b` as keyword arguments of the standard graphs."""
        return {"a": 1.0 if self.a is None else self.a, "b": self.b}


@dataclass(frozen=True)
class Kind:
    """Standard graph."""

    make: Callable[[Shape, Sizes, Prior], AllocationModel]
    """Function that makes the model; its visible indices are the axes, in order."""
    sizes: tuple[str, ...]
    """Names of the sizes to choose, mostly those of hidden indices; no more than there are axes."""
    n_axes: tuple[int, int] = (2, 2)  # Smallest and largest number of axes
    n_alike: int = 0  # Number of axes, the first ones, that must have the same values


MAX_AXES = 50
ANY = (1, MAX_AXES)


def _hidden_markov(shape: Shape, of: Sizes, prior: Prior, *, tied: bool = False) -> AllocationModel:
    return AllocationModel.hidden_markov(len(shape), of["h"], shape[0], **prior.rates, tied=tied)


KINDS: dict[str, Kind] = {
    "nmf": Kind(
        lambda shape, of, prior: AllocationModel.nmf(shape[0], shape[1], of["k"], **prior.rates),
        ("k",),
    ),
    "symmetric-nmf": Kind(
        lambda shape, of, prior: AllocationModel.symmetric_nmf(shape[0], of["k"], **prior.rates),
        ("k",),
        n_alike=2,
    ),
    "lda": Kind(
        lambda shape, of, prior: AllocationModel.lda(
            shape[0], shape[1], of["topic"], prior.alpha, prior.eta, a=prior.a, b=prior.b
        ),
        ("topic",),
    ),
    "pachinko": Kind(
        lambda shape, of, prior: AllocationModel.pachinko(
            shape[1], shape[0], (of["k1"], of["k2"]), **prior.rates
        ),
        ("k1", "k2"),
    ),
    "sum-conditioned": Kind(
        lambda shape, of, prior: AllocationModel.sum_conditioned(
            I=shape[0], R=shape[1], J=shape[2], K=of["k"], **prior.rates
        ),
        ("k",),
        n_axes=(3, 3),
    ),
    "mixed-membership": Kind(
        lambda shape, of, prior: AllocationModel.mixed_membership(
            shape[0], of["k"], shape[2], **prior.rates
        ),
        ("k",),
        n_axes=(3, 3),
        n_alike=2,
    ),
    "cp": Kind(
        lambda shape, of, prior: AllocationModel.cp(shape, of["r"], **prior.rates), ("r",), ANY
    ),
    "tucker": Kind(
        lambda shape, of, prior: AllocationModel.tucker(shape, tuple(of.values()), **prior.rates),
        tuple(f"k{n}" for n in range(1, MAX_AXES + 1)),
        ANY,
    ),
    "complete": Kind(
        lambda shape, _, prior: AllocationModel.complete(shape, **prior.rates), (), ANY
    ),
    "hidden-markov": Kind(_hidden_markov, ("h",), ANY, MAX_AXES),
    "hidden-markov-tied": Kind(partial(_hidden_markov, tied=True), ("h",), ANY, MAX_AXES),
}
"""Standard graphs by name."""


@dataclass(frozen=True)
class Graph:
    """Graph as the user gave it."""

    text: str
    parents: Mapping[str, tuple[str, ...]] | None = None
    """Parents of each index, from arrows; None for a standard graph, whose name is `text`."""

    def hidden(self, axes: Sequence[str]) -> tuple[str, ...]:
        """Names of the sizes to choose."""
        if self.parents is None:
            return KINDS[self.text].sizes[: len(axes)]
        return tuple(name for name in self.parents if name not in axes)

    def alike(self, axes: Sequence[str]) -> tuple[int, ...]:
        """Axes that must have the same values."""
        n_alike = KINDS[self.text].n_alike if self.parents is None else 0
        return tuple(range(min(n_alike, len(axes))))

    def check(self, table: CountTable) -> None:
        """Check that the graph covers all axes of the table.

        Raises UsageError if the graph leaves an axis out, or names one that does not exist.
        """
        n_axes = len(table.axes)
        if self.parents is None:
            least, most = KINDS[self.text].n_axes
            if not least <= n_axes <= most:
                wanted = f"{least} axes" if least == most else f"{least} to {most} axes"
                raise UsageError(
                    f"graph {self.text} is of {wanted}, {table.path} has {n_axes}: "
                    f"{', '.join(table.axes)}; choose another graph"
                    + (" or some columns, --axes" if table.layout == "records" else "")
                )
            return
        left_out = [name for name in table.axes if name not in self.parents]
        if left_out:
            raise UsageError(
                f"graph {self.text!r} does not reach {', '.join(map(repr, left_out))} of "
                f"{table.path}, whose counts are over {', '.join(table.axes)}: add an arrow, or "
                "the bare name after a comma"
                + (", or choose columns, --axes" if table.layout == "records" else "")
            )

    def model(self, table: CountTable, sizes: Sizes, prior: Prior) -> AllocationModel:
        """Return the model over the table's axes, with these sizes of the hidden indices.

        Raises UsageError if the graph gives no model, as with a cycle.
        """
        try:
            if self.parents is None:
                made = KINDS[self.text].make(table.counts.shape, sizes, prior)
                return self._renamed(made, table)
            shape = dict(zip(table.axes, table.counts.shape, strict=True))
            known = {name: shape.get(name, sizes.get(name)) for name in self.parents}
            cardinalities: Any = known
            return AllocationModel(self.parents, cardinalities, table.axes, **prior.rates)
        except (ValueError, TypeError, MemoryError) as error:
            raise UsageError(f"graph {self.text!r}: {error}") from error

    def _renamed(self, model: AllocationModel, table: CountTable) -> AllocationModel:
        """Model with the names of the table's axes."""
        new = {name: name for name in model.indices}
        new |= dict(zip(model.visible, table.axes, strict=True))
        for name in model.hidden:
            if name in table.axes:
                raise UsageError(
                    f"{name!r} is a hidden index of graph {self.text} and an axis of {table.path}: "
                    "give the axis another name"
                )
        prior = model.prior
        return AllocationModel(
            {new[name]: tuple(new[each] for each in of) for name, of in model.parents.items()},
            {new[name]: size for name, size in model.cardinalities.items()},
            table.axes,
            model.a,
            model.b,
            prior=None if prior is None else {new[name]: each for name, each in prior.items()},
            tied=tuple(tuple(new[name] for name in group) for group in model.tied),
        )


def parse_graphs(text: str) -> list[Graph]:
    """Return the graphs of a list separated by semicolons.

    Raises UsageError if a graph is neither a known name nor arrows between names, or is repeated.
    """
    parts = [" ".join(part.split()) for part in text.split(";")]
    if not all(parts):
        raise UsageError("--graph: a graph is missing before or after a semicolon")
    graphs = [_parsed(part) for part in parts]
    for n, graph in enumerate(graphs):
        if graph in graphs[:n]:
            raise UsageError(f"--graph names {graph.text!r} twice")
    return graphs


def prepared(table: CountTable, graphs: Sequence[Graph], *, chosen: bool) -> CountTable:
    """Return the table that all graphs are scored on: of records the columns that arrows name.

    All columns are used if the user has `chosen` them. Raises UsageError if a graph does not fit.
    """
    if table.layout == "records" and not chosen and all(each.parents for each in graphs):
        named = {name for graph in graphs for name in graph.parents or ()}
        columns = [name for name in table.axes if name in named]
        if not columns:
            raise UsageError(
                f"--graph names no column of {table.path}, which has {', '.join(table.axes)}"
            )
        table = table.of_axes(columns)
    for graph in graphs:
        graph.check(table)
        alike = graph.alike(table.axes)
        if alike:
            table = table.with_values_alike(alike, f"graph {graph.text}")
    return table


def _parsed(text: str) -> Graph:
    if text in KINDS:
        return Graph(text)
    if not ARROW.search(text) and "," not in text:
        raise UsageError(
            f"--graph: there is no graph {text!r}: use one of {', '.join(KINDS)}, or arrows such "
            "as 'k -> i, k -> j'"
        )
    parents: dict[str, tuple[str, ...]] = {}
    for chain in text.split(","):
        names_and_arrows = [part.strip() for part in ARROW.split(chain)]
        names, arrows = names_and_arrows[::2], names_and_arrows[1::2]
        if not all(names):
            raise UsageError(f"--graph: a name is missing in {chain.strip()!r} of {text!r}")
        for name in names:
            parents.setdefault(name, ())
        for left, arrow, right in zip(names, arrows, names[1:], strict=False):
            above, below = (left, right) if arrow in ("->", "→") else (right, left)
            if above in parents[below]:
                raise UsageError(f"--graph: {above} -> {below} is in {text!r} twice")
            parents[below] += (above,)
    return Graph(text, parents)
