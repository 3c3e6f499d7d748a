"""Blocks of 16 topics as vectors of the processor: a search, and weights with their sum.

Written in LLVM's intermediate representation, as the compiler makes slower code of loops: it
searches place by place, and stores weights one by one before it loads them as a vector for the sum.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from models.arrays import Ints32

LANES = 16  # Topics in a block; rows are padded to a multiple, so that sums over blocks vectorise

FLOAT, INT16, INT32, INT64 = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
BYTES = {FLOAT: 4, INT16: 2, INT32: 4}


def lane_of(topics: NDArray[np.uint16], start: int, k: int) -> int:
    """Return the first i < LANES with `topics[start + i] == k`; LANES if there is none.

    A kernel reads `LANES` places without looking whether the array, in C order, has them.
    """
    found = np.flatnonzero(topics[start : start + LANES] == k)
    return int(found[0]) if len(found) else LANES


@overload(lane_of, jit_options={"forceinline": True})
def _lane_of_types(topics: Any, start: Any, k: Any) -> Callable[..., Any] | None:
    del start, k
    if not _hold(topics, types.uint16):
        return None

    def lane_of_types(topics: Any, start: Any, k: Any) -> Any:
        return _lane_of(topics, start, k)  # type: ignore[call-arg]

    return lane_of_types


@intrinsic
def _lane_of(typing_context: Any, topics: Any, start: Any, k: Any) -> Any:  # noqa: ARG001
    """Return the types and the code of `lane_of`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, signature.args, arguments)
        same = builder.icmp_unsigned("==", lanes.load(0, 1, INT16), lanes.splat(2, types.uint16))
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
    if not (_hold(counts, types.int32) and _hold(topics, types.uint16)):
        return None
    if not (_hold(phi, types.float32) and _hold(p, types.float32)):
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
        lanes = _Lanes(context, builder, signature.args, arguments)
        numbers = ir.Constant(ir.VectorType(INT32, LANES), list(range(LANES)))
        left_out = builder.icmp_signed("==", numbers, lanes.splat(3, types.int32))
        none = ir.Constant(numbers.type, [0] * LANES)
        n = builder.select(left_out, none, lanes.load(0, 2, INT32))
        weights = builder.fmul(
            builder.sitofp(n, ir.VectorType(FLOAT, LANES)), lanes.gather(4, 1, 2)
        )
        pointer = builder.bitcast(lanes.pointer(5, 6), weights.type.as_pointer())
        builder.store(weights, pointer, align=BYTES[FLOAT])
        while weights.type.count > 1:
            half = weights.type.count // 2
            low, high = (
                builder.shuffle_vector(
                    weights,
                    weights,
                    ir.Constant(ir.VectorType(INT32, half), list(range(first, first + half))),
                )
                for first in (0, half)
            )
            weights = builder.fadd(low, high)
        return builder.extract_element(weights, INT32(0))

    return types.float32(counts, topics, start, without, phi, p, at), code


def _hold(array: Any, element: Any) -> bool:
    """Return whether a type is of arrays in C order with such elements."""
    return isinstance(array, types.Array) and array.layout == "C" and array.dtype == element


class _Lanes:
    """Code for vectors of `LANES` elements, of the arguments of an intrinsic, by their numbers."""

    def __init__(self, context: Any, builder: Any, of_types: Any, arguments: Any) -> None:
        self._context, self._builder = context, builder
        self._types, self._arguments = of_types, arguments

    def pointer(self, array: int, place: int, lane: int = 0) -> Any:
        """Return a pointer to `array[place + lane]`; negative places do not count from the end."""
        place_type = self._types[place]
        first = self._context.cast(self._builder, self._arguments[place], place_type, types.intp)
        return self._element(array, self._builder.add(first, INT64(lane)))

    def load(self, array: int, place: int, element: Any) -> Any:
        """Return `array[place:place + LANES]`."""
        vector = ir.VectorType(element, LANES).as_pointer()
        pointer = self._builder.bitcast(self.pointer(array, place), vector)
        return self._builder.load(pointer, align=BYTES[element])

    def splat(self, number: int, as_type: Any) -> Any:
        """Return a number as each element."""
        value = self._context.cast(
            self._builder, self._arguments[number], self._types[number], as_type
        )
        empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        first = self._builder.insert_element(empty, value, INT32(0))
        zeros = ir.Constant(ir.VectorType(INT32, LANES), [0] * LANES)
        return self._builder.shuffle_vector(first, empty, zeros)

    def gather(self, array: int, places: int, place: int) -> Any:
        """Return `array[places[place:place + LANES]]`."""
        vector = ir.Constant(ir.VectorType(FLOAT, LANES), ir.Undefined)
        for lane in range(LANES):
            index = self._builder.zext(self._builder.load(self.pointer(places, place, lane)), INT64)
            element = self._builder.load(self._element(array, index))
            vector = self._builder.insert_element(vector, element, INT32(lane))
        return vector

    def _element(self, array: int, index: Any) -> Any:
        make = self._context.make_array(self._types[array])
        data = make(self._context, self._builder, self._arguments[array]).data
        return self._builder.gep(data, [index])
