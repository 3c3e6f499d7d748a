"""Blocks of 16 elements as vectors of the processor, in LLVM's intermediate representation.

For kernels of which the compiler makes slower code: it searches place by place, and stores numbers
one by one before it loads them as a vector.
"""

from typing import Any

from llvmlite import ir
from numba.core import types

LANES = 16
"""Elements of a block; rows are padded to a multiple, so that loops over blocks vectorise."""

FLOAT, INT16, INT32, INT64 = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
BYTES = {FLOAT: 4, INT16: 2, INT32: 4}


def hold(array: Any, element: Any) -> bool:
    """Return whether a type is of arrays in C order with such elements."""
    return isinstance(array, types.Array) and array.layout == "C" and array.dtype == element


class Lanes:
    """Code for vectors of `LANES` elements, of the arguments of an intrinsic, by their numbers."""

    def __init__(self, context: Any, builder: Any, of_types: Any, arguments: Any) -> None:
        self._context, self._builder = context, builder
        self._types, self._arguments = of_types, arguments

    def number(self, number: int, as_type: Any = types.intp) -> Any:
        """Return an argument that is a number."""
        value, of_type = self._arguments[number], self._types[number]
        return self._context.cast(self._builder, value, of_type, as_type)

    def pointer(self, array: int, index: Any) -> Any:
        """Return a pointer to the element `index`, counted over all axes, from the first on."""
        make = self._context.make_array(self._types[array])
        data = make(self._context, self._builder, self._arguments[array]).data
        return self._builder.gep(data, [index])

    def row(self, array: int, row: int) -> Any:
        """Return the index of the first element of a row, whose number is an argument."""
        make = self._context.make_array(self._types[array])
        shape = make(self._context, self._builder, self._arguments[array]).shape
        return self._builder.mul(self.number(row), self._builder.extract_value(shape, 1))

    def load(self, array: int, index: Any) -> Any:
        """Return `array[index : index + LANES]`."""
        pointer = self.pointer(array, index)
        element = pointer.type.pointee
        vector = self._builder.bitcast(pointer, ir.VectorType(element, LANES).as_pointer())
        return self._builder.load(vector, align=BYTES[element])

    def store(self, vector: Any, array: int, index: Any) -> None:
        """Set `array[index : index + LANES]`."""
        pointer = self._builder.bitcast(self.pointer(array, index), vector.type.as_pointer())
        self._builder.store(vector, pointer, align=BYTES[vector.type.element])

    def splat(self, value: Any) -> Any:
        """Return a value as each element."""
        empty = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        first = self._builder.insert_element(empty, value, INT32(0))
        zeros = ir.Constant(ir.VectorType(INT32, LANES), [0] * LANES)
        return self._builder.shuffle_vector(first, empty, zeros)

    def index(self, array: int, index: Any) -> Any:
        """Return `array[index]` of unsigned integers, as an index."""
        return self._builder.zext(self._builder.load(self.pointer(array, index)), INT64)

    def indices(self, array: int, index: Any) -> list[Any]:
        """Return the elements of `array[index : index + LANES]`, as indices."""
        places = (self._builder.add(index, INT64(lane)) for lane in range(LANES))
        return [self.index(array, each) for each in places]

    def gather(self, array: int, indices: list[Any]) -> Any:
        """Return `array[indices]`."""
        vector = ir.Constant(ir.VectorType(FLOAT, LANES), ir.Undefined)
        for lane, index in enumerate(indices):
            element = self._builder.load(self.pointer(array, index))
            vector = self._builder.insert_element(vector, element, INT32(lane))
        return vector

    def sum(self, vector: Any) -> Any:
        """Return the sum of the elements, by halves."""
        while vector.type.count > 1:
            half = vector.type.count // 2
            low, high = (
                self._builder.shuffle_vector(
                    vector,
                    vector,
                    ir.Constant(ir.VectorType(INT32, half), list(range(first, first + half))),
                )
                for first in (0, half)
            )
            vector = self._builder.fadd(low, high)
        return self._builder.extract_element(vector, INT32(0))
