"""Cliques of the indices that are unknown of a token, and the order to sum them out in."""

from itertools import combinations

import networkx as nx

from models.allocation.tables import mixed_radix

MAX_VALUES = 2**22  # Combinations of values that a clique of hidden indices may have
Clique = tuple[tuple[str, ...], tuple[str, ...], int]
"""Indices shared with the parent, the other ones, and the number of the parent; -1 for a root."""


class TableMemoryError(ValueError):
    """The tables of an allocation model would not fit in memory."""


def check_cliques(cliques: list[Clique], sizes: dict[str, int]) -> None:
    """Refuse cliques that cannot be summed over; `sizes` are the cardinalities of the indices.
    Raises TableMemoryError if one has more than `MAX_VALUES` combinations of values.
    """
    for separator, rest, _ in cliques:
        names = separator + rest
        _, n_values = mixed_radix([sizes[name] for name in names])
        if n_values > MAX_VALUES:
            raise TableMemoryError(
                f"the hidden indices {', '.join(names)} must be summed over together, and have "
                f"{n_values:.3g} combinations of values, more than {MAX_VALUES:,}: give them "
                "fewer values, or the graph fewer edges or ties"
            )


def rooted_cliques(
    unknown: tuple[str, ...], uses: list[tuple[tuple[str, ...], ...]]
) -> list[Clique]:
    """Cliques of the unknown indices, children first: (separator, rest, number of the parent).
    Indices are numbered, since a set of names has another order in each process.
    """
    if not unknown:
        return [((), (), -1)]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(unknown)))
    for group in uses:
        joined = {unknown.index(name) for use in group for name in use if name in unknown}
        graph.add_edges_from(combinations(sorted(joined), 2))
    chordal, _ = nx.complete_to_chordal_graph(graph)
    cliques = sorted(tuple(sorted(clique)) for clique in nx.chordal_graph_cliques(chordal))
    tree: nx.Graph[int] = nx.Graph()
    tree.add_nodes_from(range(len(cliques)))
    for one, other in combinations(range(len(cliques)), 2):
        shared = len(set(cliques[one]) & set(cliques[other]))
        if shared:
            tree.add_edge(one, other, weight=shared)
    tree = nx.maximum_spanning_tree(tree)
    downwards: list[tuple[int, int]] = []
    for component in nx.connected_components(tree):
        root = min(component)
        downwards += [(root, -1), *((child, of) for of, child in nx.bfs_edges(tree, root))]
    upwards = downwards[::-1]
    number = {clique: n for n, (clique, _) in enumerate(upwards)}
    rooted = []
    for clique, of in upwards:
        above = set(cliques[of]) if of >= 0 else set()
        separator = tuple(unknown[i] for i in cliques[clique] if i in above)
        rest = tuple(unknown[i] for i in cliques[clique] if i not in above)
        rooted.append((separator, rest, number[of] if of >= 0 else -1))
    return rooted
