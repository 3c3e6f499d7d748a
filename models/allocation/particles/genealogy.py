"""Particle genealogy: resampling updates ancestor indices instead of copying states.

A row of a table is updated only when a token counts in it. Until then it holds the counts after an
earlier resampling, and the particle now in slot p finds its counts in the slot of its ancestor at
that time. Ancestor indices over several resamplings are compositions of maps. A binary tree holds
the compositions of 1, 2, 4, … consecutive maps, so that any interval takes O(log n) lookups.
"""

from models.arrays import Ints32
from models.kernel import kernel


def n_nodes(n_events: int) -> int:
    """Return the number of maps in a tree over `n_events` resamplings, a power of two."""
    return 2 * n_events


@kernel
def add_event(tree: Ints32, n_events: int, event: int) -> None:
    """Complete the nodes that end with an event, whose own map is already in its place.
    `tree` (n_nodes, P): the maps of level l start at row 2·n_events - (2·n_events >> l).
    """
    n_particles = tree.shape[1]
    level = 0
    below = 0
    while (event >> level) & 1 and (2 << level) <= n_events:
        at = 2 * n_events - (2 * n_events >> (level + 1))
        node = event >> (level + 1)
        left, right = below + 2 * node, below + 2 * node + 1
        for p in range(n_particles):
            tree[at + node, p] = tree[left, tree[right, p]]
        below = at
        level += 1


@kernel
def ancestors(tree: Ints32, n_events: int, since: int, now: int, found: Ints32) -> None:
    """Fill `found` with the slot, before event `since`, of the ancestor of each current slot.
    Events count from 0; `now` is the number of past events.
    """
    n_particles = tree.shape[1]
    position = now
    is_first = True
    while position > since:
        level = 0
        while (
            (position >> level) & 1 == 0
            and (2 << level) <= n_events
            and position - (2 << level) >= since
        ):
            level += 1
        row = 2 * n_events - (2 * n_events >> level) + (position >> level) - 1
        if is_first:
            for p in range(n_particles):
                found[p] = tree[row, p]
            is_first = False
        else:
            for p in range(n_particles):
                found[p] = tree[row, found[p]]
        position -= 1 << level
    if is_first:
        for p in range(n_particles):
            found[p] = p
