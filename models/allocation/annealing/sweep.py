"""One sweep of an allocation: moves of tokens, cells, fibers and blocks, in a fixed order.

On paths from modes labels are exchanged after each sweep (`label_moves`).
"""

from typing import NamedTuple

import numpy as np

from models.allocation.annealing.block_moves import Blocks, blocks_of, move_block
from models.allocation.annealing.cell_moves import (
    CellScratch,
    cell_scratch,
    resample_cell,
    whole_cells,
)
from models.allocation.annealing.fiber_moves import (
    Fibers,
    Products,
    divide_fiber,
    fibers_of,
    products_for,
)
from models.allocation.annealing.label_moves import Labels, labels_of
from models.allocation.annealing.token_moves import resample_tokens, split_cell
from models.allocation.annealing.urn import Urn
from models.allocation.inference_plan import InferencePlan
from models.arrays import Bools, Floats, Ints32
from models.kernel import kernel

EVERY = 4  # Sweeps in which each block is visited once


class Moves(NamedTuple):
    """Sets of cells and of tokens that are moved at once, and labels."""

    is_whole: Bools  # (n_cells,), cells that are resampled in one step
    fibers: Fibers
    blocks: Blocks
    labels: Labels


class Scratch(NamedTuple):
    """Room to work, of one thread."""

    weights: Floats  # (most joint values or tokens of a cell + 1,)
    later: Floats
    cells: CellScratch
    chosen: Ints32  # (T,)
    spare: Ints32  # (T,)
    products: Products


def moves_of(plan: InferencePlan, urn: Urn) -> Moves:
    """Return cells, fibers, blocks and labels."""
    return Moves(whole_cells(urn), fibers_of(plan, urn), blocks_of(plan), labels_of(plan))


def scratch_for(urn: Urn, moves: Moves) -> Scratch:
    """Return room for all moves."""
    n_tokens = int(urn.cell_start[-1])
    most = int(max(urn.n_values.max(), np.diff(urn.cell_start).max(initial=0) + 1))
    return Scratch(
        weights=np.zeros(most),
        later=np.zeros(most),
        cells=cell_scratch(urn, moves.is_whole),
        chosen=np.zeros(n_tokens, dtype=np.int32),
        spare=np.zeros(n_tokens, dtype=np.int32),
        products=products_for(urn, moves.fibers),
    )


@kernel
def sweep(
    urn: Urn,
    moves: Moves,
    scratch: Scratch,
    counts: Floats,
    values: Ints32,
    rho: float,
    turn: int,
    is_reverse: bool,
    rng: np.random.Generator,
) -> None:
    """Visit all cells, then fibers, then every `EVERY`-th block, those of the `turn`; in reverse
    the other way round. Changes `counts` and `values`.
    """
    for part in range(3):
        which = 2 - part if is_reverse else part
        if which == 0:
            _visit_cells(urn, moves.is_whole, scratch, counts, values, rho, is_reverse, rng)
        elif which == 1:
            n_fibers = moves.fibers.start.shape[0] - 1
            for n in range(n_fibers):
                fiber = n_fibers - 1 - n if is_reverse else n
                divide_fiber(urn, moves.fibers, counts, values, rho, fiber, scratch.products, rng)
        else:
            blocks, n_blocks = moves.blocks, moves.blocks.block_start.shape[0] - 1
            for n in range(n_blocks):
                block = n_blocks - 1 - n if is_reverse else n
                if (block + turn) % EVERY == 0:
                    chosen, spare = scratch.chosen, scratch.spare
                    move_block(urn, blocks, counts, values, rho, block, chosen, spare, rng)


@kernel
def _visit_cells(
    urn: Urn,
    is_whole: Bools,
    scratch: Scratch,
    counts: Floats,
    values: Ints32,
    rho: float,
    is_reverse: bool,
    rng: np.random.Generator,
) -> None:
    """Resample all tokens of each cell: in one step, or one by one where that is impossible, and
    then also divide those with one of two values between these.
    """
    n_cells, weights = urn.pattern_of.shape[0], scratch.weights
    for c in range(n_cells):
        cell = n_cells - 1 - c if is_reverse else c
        n_tokens = int(urn.cell_start[cell + 1] - urn.cell_start[cell])
        if is_whole[cell]:
            resample_cell(urn, counts, values, rho, cell, scratch.cells, rng)
            continue
        if n_tokens > 1 and is_reverse:
            split_cell(urn, counts, values, rho, cell, weights, scratch.later, rng)
        resample_tokens(urn, counts, values, rho, cell, n_tokens, weights, rng)
        if n_tokens > 1 and not is_reverse:
            split_cell(urn, counts, values, rho, cell, weights, scratch.later, rng)
