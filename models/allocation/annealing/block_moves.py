"""Metropolis-Hastings steps: many tokens at once exchange two values of a hidden index.

A *block* is all tokens that count in one row of a table: a row or a column of a matrix, a document,
a slice of a tensor; the first is of all tokens. Of a block and two values a and b of a hidden
index, the tokens that have a or b are either all *swapped*, or taken out and put back one by one
with a or b, each with the urn's probability given those that are back. The urn's normalisers,
∏ (u_a + u_b), are then the target's probability over the proposal's.

A token of the block, chosen without regard to its value, names a; b is any other value. Both moves
leave the set of tokens as it is, so that the same pair is as probable to be chosen afterwards, and
they may be skipped by the size of that set.
"""

import math
from typing import NamedTuple

import numpy as np

from models.allocation.annealing.urn import Urn, count, factor
from models.allocation.inference_plan import InferencePlan
from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel

LARGEST = 200  # Tokens up to which they are put back one by one; more are hardly ever accepted


class Blocks(NamedTuple):
    """Tokens of each block, and hidden values as digits of joint values."""

    block_start: Ints  # (n_blocks + 1,), first place of each in `token`
    token: Ints32
    cell_of: Ints32  # (n_tokens,)
    size: Ints  # (n_names,), values of each hidden index
    stride: Ints
    """(n_patterns, n_names), step of the joint value that one step of the index is; 0 where it is
    not unknown."""


def blocks_of(plan: InferencePlan) -> Blocks:
    """Return the blocks of tables that stand above the line and have several rows, each once."""
    counts = plan.observed.counts
    cell_of = np.repeat(np.arange(len(counts)), counts)
    tokens = np.arange(len(cell_of))
    found = [tokens]
    seen = {tokens.tobytes()}
    for table in plan.dynamic:
        if table.power < 0 or table.n_rows < 2:
            continue
        of_tokens = table.row_of[:, cell_of]
        for row in range(table.n_rows):
            block = np.flatnonzero((of_tokens == row).any(axis=0))
            if block.tobytes() not in seen:
                seen.add(block.tobytes())
                found.append(block)
    names = sorted({name for unknown in plan.unknown for name in unknown})
    size = [plan.model.cardinalities[name] for name in names]
    stride = np.zeros((len(plan.unknown), len(names)), dtype=np.int64)
    for pattern, unknown in enumerate(plan.unknown):
        step = 1
        for name in reversed(unknown):
            stride[pattern, names.index(name)] = step
            step *= plan.model.cardinalities[name]
    return Blocks(
        block_start=np.cumsum([0, *map(len, found)]).astype(np.int64),
        token=np.concatenate(found).astype(np.int32),
        cell_of=cell_of.astype(np.int32),
        size=np.array(size, dtype=np.int64),
        stride=stride,
    )


@kernel
def move_block(
    urn: Urn,
    blocks: Blocks,
    counts: Floats,
    values: Ints32,
    rho: float,
    block: int,
    chosen: Ints32,
    spare: Ints32,
    rng: np.random.Generator,
) -> int:
    """Propose a swap, and to put tokens back one by one; return how many were accepted.

    Changes `counts` and `values`. `chosen` and `spare` (n_tokens,) are scratch.
    """
    start = blocks.block_start[block]
    n_tokens = blocks.block_start[block + 1] - start
    if n_tokens == 0 or blocks.size.shape[0] == 0:
        return 0
    name = int(rng.integers(0, blocks.size.shape[0]))
    size = blocks.size[name]
    token = blocks.token[start + int(rng.integers(0, n_tokens))]
    step = blocks.stride[urn.pattern_of[blocks.cell_of[token]], name]
    if step == 0 or size < 2:
        return 0
    a = values[token] // step % size
    b = int(rng.integers(0, size - 1))
    b = b + 1 if b >= a else b
    n = 0
    for member in range(start, start + n_tokens):
        token = blocks.token[member]
        step = blocks.stride[urn.pattern_of[blocks.cell_of[token]], name]
        if step > 0:
            digit = values[token] // step % size
            if digit in (a, b):
                chosen[n] = token
                n += 1
    tokens = chosen[:n]
    accepted = 0
    if block > 0:  # to swap two values everywhere renames them
        accepted += _swap(urn, blocks, counts, values, rho, tokens, name, a, b, rng)
    if n <= LARGEST:
        accepted += _put_back(urn, blocks, counts, values, rho, tokens, name, a, b, spare, rng)
    return accepted


@kernel
def _swap(
    urn: Urn,
    blocks: Blocks,
    counts: Floats,
    values: Ints32,
    rho: float,
    tokens: Ints32,
    name: int,
    a: int,
    b: int,
    rng: np.random.Generator,
) -> int:
    log_ratio = -_log_taken_out(urn, blocks, counts, values, rho, tokens)
    log_ratio += _log_put_in(urn, blocks, counts, values, rho, tokens, name, a, b)
    if log_ratio >= 0.0 or math.log(rng.random()) < log_ratio:
        return 1
    for n in range(tokens.shape[0]):
        token = tokens[n]
        cell = blocks.cell_of[token]
        count(urn, counts, cell, values[token], -1.0)
        values[token] = _other(urn, blocks, cell, values[token], name, a, b)
        count(urn, counts, cell, values[token], 1.0)
    return 0


@kernel
def _other(urn: Urn, blocks: Blocks, cell: int, h: int, name: int, a: int, b: int) -> int:
    """Return the joint value with b in the place of a, or a in the place of b."""
    step = blocks.stride[urn.pattern_of[cell], name]
    digit = h // step % blocks.size[name]
    other: int = h + (a + b - 2 * digit) * step
    return other


@kernel
def _log_taken_out(
    urn: Urn, blocks: Blocks, counts: Floats, values: Ints32, rho: float, tokens: Ints32
) -> float:
    """Take tokens out of `counts`; return the log of their factors."""
    total = 0.0
    for n in range(tokens.shape[0]):
        token = tokens[n]
        cell = blocks.cell_of[token]
        count(urn, counts, cell, values[token], -1.0)
        total += math.log(factor(urn, counts, rho, cell, values[token]))
    return total


@kernel
def _log_put_in(
    urn: Urn,
    blocks: Blocks,
    counts: Floats,
    values: Ints32,
    rho: float,
    tokens: Ints32,
    name: int,
    a: int,
    b: int,
) -> float:
    """Put tokens into `counts`, a for b and b for a; return the log of their factors."""
    total = 0.0
    for n in range(tokens.shape[0]):
        token = tokens[n]
        cell = blocks.cell_of[token]
        values[token] = _other(urn, blocks, cell, values[token], name, a, b)
        total += math.log(factor(urn, counts, rho, cell, values[token]))
        count(urn, counts, cell, values[token], 1.0)
    return total


@kernel
def _put_back(
    urn: Urn,
    blocks: Blocks,
    counts: Floats,
    values: Ints32,
    rho: float,
    tokens: Ints32,
    name: int,
    a: int,
    b: int,
    before: Ints32,
    rng: np.random.Generator,
) -> int:
    """Take `tokens` out and put them back in random order, each with a or b by its conditional.

    Mutates `counts` and `values`, and `tokens` and `before` as room to work. Accepted or undone by
    Metropolis and Hastings; returns 1 or 0.
    """
    n_tokens = tokens.shape[0]
    for n in range(n_tokens - 1, 0, -1):
        m = int(rng.integers(0, n + 1))
        tokens[n], tokens[m] = tokens[m], tokens[n]
    for n in range(n_tokens):
        before[n] = values[tokens[n]]
        count(urn, counts, blocks.cell_of[tokens[n]], before[n], -1.0)
    log_ratio = 0.0
    for is_new in range(2):
        for n in range(n_tokens):
            token = tokens[n]
            cell = blocks.cell_of[token]
            h = before[n]
            other = _other(urn, blocks, cell, h, name, a, b)
            u, u_other = factor(urn, counts, rho, cell, h), factor(urn, counts, rho, cell, other)
            if is_new == 1 and rng.random() * (u + u_other) < u_other:
                h = other
            log_ratio += math.log(u + u_other) if is_new == 1 else -math.log(u + u_other)
            values[token] = h
            count(urn, counts, cell, h, 1.0)
        if is_new == 0:
            for n in range(n_tokens):
                count(urn, counts, blocks.cell_of[tokens[n]], values[tokens[n]], -1.0)
    if log_ratio >= 0.0 or math.log(rng.random()) < log_ratio:
        return 1
    for n in range(n_tokens):
        token = tokens[n]
        cell = blocks.cell_of[token]
        count(urn, counts, cell, values[token], -1.0)
        values[token] = before[n]
        count(urn, counts, cell, before[n], 1.0)
    return 0
