"""Blocks of 16 topics as vectors of the processor: a search, and weights with their sum."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from models.arrays import Ints32
from models.lanes import INT32, INT64, LANES, Lanes, hold


def lane_of(topics: NDArray[np.uint16], start: int, k: int) -> int:
    """Return the first i < LANES with `topics[start + i] == k`; LANES if there is none.

    A kernel reads `LANES` places without looking whether the array, in C order, has them.
    """
    found = np.flatnonzero(topics[start : start + LANES] == k)
    return int(found[0]) if len(found) else LANES


@overload(lane_of, jit_options={"forceinline": True})
def _lane_of_types(topics: Any, start: Any, k: Any) -> Callable[..., Any] | None:
    del start, k
    if not hold(topics, types.uint16):
        return None

    def lane_of_types(topics: Any, start: Any, k: Any) -> Any:
        return _lane_of(topics, start, k)  # type: ignore[call-arg]

    return lane_of_types


@intrinsic
def _lane_of(typing_context: Any, topics: Any, start: Any, k: Any) -> Any:  # noqa: ARG001
    """Return the types and the code of `lane_of`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(context, builder, signature.args, arguments)
        k = lanes.splat(lanes.number(2, types.uint16))
        same = builder.icmp_unsigned("==", lanes.load(0, lanes.number(1)), k)
        found = builder.bitcast(same, ir.IntType(LANES))  # a bit for each lane
        return builder.zext(builder.cttz(found, ir.IntType(1)(0)), INT64)

    return types.intp(topics, start, k), code


def weigh(
    counts: Ints32,
    topics: NDArray[np.uint16],
    start: int,
    without: int,
    phi: NDArray[np.float32],
    p: NDArray[np.float32],
    at: int,
) -> np.float32:
    """Set `p[at + i]` to `counts[start + i] * phi[topics[start + i]]` for i < LANES, but to 0 for
    i = `without`, and return their sum.

    A kernel reads and writes `LANES` places without looking whether the arrays, in C order, have
    them.
    """
    n = counts[start : start + LANES] * (np.arange(LANES) != without)
    p[at : at + LANES] = n.astype(np.float32) * phi[topics[start : start + LANES]]
    total = p[at : at + LANES]
    while len(total) > 1:
        total = total[: len(total) // 2] + total[len(total) // 2 :]
    return np.float32(total[0])


@overload(weigh, jit_options={"forceinline": True})
def _weigh_types(
    counts: Any, topics: Any, start: Any, without: Any, phi: Any, p: Any, at: Any
) -> Callable[..., Any] | None:
    del start, without, at
    if not (hold(counts, types.int32) and hold(topics, types.uint16)):
        return None
    if not (hold(phi, types.float32) and hold(p, types.float32)):
        return None

    def weigh_types(
        counts: Any, topics: Any, start: Any, without: Any, phi: Any, p: Any, at: Any
    ) -> Any:
        return _weigh(counts, topics, start, without, phi, p, at)  # type: ignore[call-arg]

    return weigh_types


@intrinsic
def _weigh(
    typing_context: Any,  # noqa: ARG001
    counts: Any,
    topics: Any,
    start: Any,
    without: Any,
    phi: Any,
    p: Any,
    at: Any,
) -> Any:
    """Return the types and the code of `weigh`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(context, builder, signature.args, arguments)
        numbers = ir.Constant(ir.VectorType(INT32, LANES), list(range(LANES)))
        left_out = lanes.splat(lanes.number(3, types.int32))
        left_out = builder.icmp_signed("==", numbers, left_out)
        none, start = ir.Constant(numbers.type, [0] * LANES), lanes.number(2)
        n = builder.select(left_out, none, lanes.load(0, start))
        of_topic = lanes.gather(4, lanes.indices(1, start))
        weights = builder.fmul(builder.sitofp(n, of_topic.type), of_topic)
        lanes.store(weights, 5, lanes.number(6))
        return lanes.sum(weights)

    return types.float32(counts, topics, start, without, phi, p, at), code
