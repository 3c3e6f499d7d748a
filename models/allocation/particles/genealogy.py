"""Who descends from whom, so that resampling copies no state.

A row of a table is only brought up to date when a token counts in it. Until then it stands as it
was after some earlier resampling, and the particle that now lives in slot p finds its counts in the
slot of its ancestor then. Ancestors over many resamplings are compositions of maps; a binary tree
holds those of 1, 2, 4, … consecutive ones, so that any stretch takes a logarithmic number of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.kernel import kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints32 = NDArray[np.int32]


def n_nodes(n_events: int) -> int:
    """Maps that a tree over so many resamplings, a power of two, holds."""
    return 2 * n_events


@kernel
def add_event(tree: Ints32, n_events: int, event: int) -> None:
    """Complete the nodes that end with an event, whose own map is at its place already.

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
    """Into `found`: the slot before event `since` of the ancestor of each slot before `now`.

    Events count from 0; `now` is the number of those that have been.
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
