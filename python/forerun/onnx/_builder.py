"""The nodes and constants of an ONNX graph while it is built.

Integers of the graph may be linear in the batch size. Where ONNX takes a tensor of integers, such integers are computed
from the shape of an input; equal ones are computed once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from forerun.onnx import _wire
from forerun.onnx._views import Steps, steps

# Batch sizes for which the steps of a view are computed. They are primes above the usual extents, so that no extent of
# a network equals a multiple of one by chance.
_BATCHES = (10007, 20011, 30011)
# Indices beyond the end of every axis, for slices that reach the end.
_LOWEST = -(2**62)


class Unmapped(ValueError):
    """What ONNX cannot express; the message gets the op and the line of the program."""


class Linear(NamedTuple):
    """The integer ``per_batch * batch + plus``."""

    per_batch: int
    plus: int

    @classmethod
    def of(cls, tree: Any) -> Linear:
        """Return the integer that a graph file describes."""
        return cls(tree["batch"], tree.get("plus", 0)) if isinstance(tree, dict) else cls(0, tree)

    @classmethod
    def through(cls, points: Sequence[tuple[int, int]]) -> Linear | None:
        """Return the integer with these values for these batch sizes."""
        (batch, value), *rest = points
        if not rest:
            return cls(0, value)
        slope, left = divmod(rest[0][1] - value, rest[0][0] - batch)
        line = cls(slope, value - slope * batch)
        return line if left == 0 and all(line.at(b) == v for b, v in rest) else None

    def at(self, batch: int) -> int:
        """Return the value for a batch size."""
        return self.per_batch * batch + self.plus

    @property
    def fixed(self) -> bool:
        """Whether the batch size does not matter."""
        return self.per_batch == 0


Shape = tuple[Linear, ...]


class Value(NamedTuple):
    """An array of the graph."""

    name: str
    dtype: str
    shape: Shape

    def extents(self, what: str) -> list[int]:
        """Return the shape; raise if it depends on the batch size."""
        if any(not extent.fixed for extent in self.shape):
            raise Unmapped(f"{what} depends on the batch size")
        return [extent.plus for extent in self.shape]


class View(NamedTuple):
    """A layout over the elements of an array."""

    shape: Shape
    strides: Shape
    offset: Linear

    @classmethod
    def of(cls, tree: Any) -> View:
        """Return the view that a graph file describes."""
        return cls(shape_of(tree["shape"]), shape_of(tree["strides"]), Linear.of(tree["offset"]))


def shape_of(tree: Iterable[Any]) -> Shape:
    """Return the shape that a graph file describes."""
    return tuple(Linear.of(extent) for extent in tree)


def fixed(extents: Iterable[int]) -> Shape:
    """Return a shape that does not depend on the batch size."""
    return tuple(Linear(0, extent) for extent in extents)


class Builder:
    """A graph that is built node by node."""

    def __init__(self, batch: bool, taken: Iterable[str]) -> None:
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []
        # The line of the program for nodes that are added.
        self.note = ""
        known = set(taken)
        self._names = (name for name in map("t{}".format, itertools.count()) if name not in known)
        self._constants: dict[tuple[Any, ...], str] = {}
        self._computed: dict[tuple[Any, ...], str] = {}
        # The batch size as a vector of one element, if it may change.
        self._batch: str | None = None
        self._batches: tuple[int, ...] = _BATCHES if batch else (1,)

    @property
    def batches(self) -> tuple[int, ...]:
        """The batch sizes for which numbers are compared."""
        return self._batches

    def fresh(self) -> str:
        """Return a name that nothing has yet."""
        return next(self._names)

    def add(self, op: str, *inputs: str, **attributes: _wire.Attribute) -> str:
        """Add a node with one output; return its name."""
        return self.add_all(op, inputs, 1, attributes)[0]

    def add_all(
        self, op: str, inputs: Sequence[str], outputs: int, attributes: Mapping[str, _wire.Attribute]
    ) -> list[str]:
        """Add a node; return the names of its outputs."""
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(_wire.node(op, inputs, names, attributes, self.note))
        return names

    def tensor(self, array: numpy.ndarray[Any, Any]) -> str:
        """Return the name of a constant; equal ones are stored once."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = self._constants[key] = self.fresh()
            self.tensors.append(_wire.tensor(name, str(array.dtype), array.shape, array.tobytes()))
        return self._constants[key]

    def number(self, number: Any, dtype: str) -> str:
        """Return the name of a constant without dimensions."""
        if dtype == "bfloat16":
            return self.cast(self.number(number, "float32"), "float32", dtype)
        if dtype not in _wire.DTYPES:
            raise Unmapped(f"there is no {dtype} in ONNX")
        with numpy.errstate(over="ignore"):
            return self.tensor(numpy.asarray(number).astype(dtype))

    def cast(self, name: str, dtype: str, to: str) -> str:
        """Return an array in another dtype."""
        if dtype == to:
            return name
        if to not in _wire.DTYPES:
            raise Unmapped(f"there is no {to} in ONNX")
        return self.add("Cast", name, to=_wire.DTYPES[to])

    def learn_batch(self, name: str, shape: Shape) -> None:
        """Take the batch size from an input, if its shape depends on it and none did before."""
        axis = next((axis for axis, extent in enumerate(shape) if not extent.fixed), None)
        if axis is None or self._batch is not None:
            return
        found = self.add("Shape", name, start=axis, end=axis + 1)
        if shape[axis].plus:
            found = self.add("Sub", found, self.ints([Linear(0, shape[axis].plus)]))
        if shape[axis].per_batch != 1:
            found = self.add("Div", found, self.ints([Linear(0, shape[axis].per_batch)]))
        self._batch = found

    def ints(self, numbers: Sequence[Linear]) -> str:
        """Return a vector of integers."""
        if all(number.fixed for number in numbers):
            return self.tensor(numpy.array([number.plus for number in numbers], "int64"))
        key = tuple(numbers)
        if key in self._computed:
            return self._computed[key]
        if len(numbers) > 1:
            made = self.add("Concat", *[self.ints([number]) for number in numbers], axis=0)
        else:
            if self._batch is None:
                raise Unmapped("no input determines the batch size")
            made = self._batch
            if numbers[0].per_batch != 1:
                made = self.add("Mul", made, self.ints([Linear(0, numbers[0].per_batch)]))
            if numbers[0].plus:
                made = self.add("Add", made, self.ints([Linear(0, numbers[0].plus)]))
        self._computed[key] = made
        return made

    def scalar(self, number: Linear) -> str:
        """Return an integer without dimensions."""
        if number.fixed:
            return self.number(number.plus, "int64")
        return self.add("Reshape", self.ints([number]), self.tensor(numpy.zeros((0,), "int64")))

    def reshape(self, value: Value, shape: Shape) -> Value:
        """Return the elements of an array in row-major order with another shape."""
        if value.shape == shape:
            return value
        changing = [axis for axis, extent in enumerate(shape) if not extent.fixed]
        if len(changing) == 1 and Linear(0, 0) not in shape:
            wanted = self.ints([Linear(0, -1) if axis in changing else extent for axis, extent in enumerate(shape)])
        else:
            wanted = self.ints(shape)
        # Otherwise an extent of 0 means that of the input.
        return Value(self.add("Reshape", value.name, wanted, allowzero=1), value.dtype, shape)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Return an array with its axes in another order."""
        if list(order) == list(range(len(order))):
            return value
        shape = tuple(value.shape[axis] for axis in order)
        return Value(self.add("Transpose", value.name, perm=list(order)), value.dtype, shape)

    def expand(self, value: Value, shape: Shape) -> Value:
        """Broadcast an array to a shape."""
        if value.shape == shape:
            return value
        return Value(self.add("Expand", value.name, self.ints(shape)), value.dtype, shape)

    def full(self, shape: Shape, number: Any, dtype: str) -> Value:
        """Return an array filled with a number."""
        name = self.expand(Value(self.number(number, dtype), dtype, ()), shape)
        return Value(name.name, dtype, shape)

    def range(self, count: Linear) -> Value:
        """Return the integers from 0 on."""
        zero, one = self.number(0, "int64"), self.number(1, "int64")
        return Value(self.add("Range", zero, self.scalar(count), one), "int64", (count,))

    def view(self, value: Value, view: View) -> Value:
        """Return a view of an array."""
        if any(extent == Linear(0, 0) for extent in view.shape):
            return self.full(view.shape, 0, value.dtype)
        planned = self._planned(value.shape, view)
        if planned is None:
            return self._gathered(value, view)
        extents, slices, order = planned
        value = self.reshape(value, extents)
        value = self._sliced(value, slices)
        # Axes that are dropped have one element, so the order of the others decides.
        kept = Value(value.name, value.dtype, value.shape)
        if list(order) != sorted(order):
            kept = self.reshape(value, tuple(value.shape[axis] for axis in sorted(order)))
            ranks = {axis: rank for rank, axis in enumerate(sorted(order))}
            kept = self.transpose(kept, [ranks[axis] for axis in order])
        shown = tuple(
            Linear(0, 1) if stride == Linear(0, 0) else extent
            for extent, stride in zip(view.shape, view.strides, strict=True)
        )
        return self.expand(self.reshape(kept, shown), view.shape)

    def _planned(
        self, base: Shape, view: View
    ) -> tuple[Shape, list[tuple[Linear, Linear, int]], tuple[int, ...]] | None:
        """Return the steps of a view with numbers that are linear in the batch size, or None."""
        made: list[Steps] = []
        for batch in self._batches:
            whole, shape, strides = [
                [number.at(batch) for number in numbers] for numbers in (base, view.shape, view.strides)
            ]
            one = steps(whole, shape, strides, view.offset.at(batch))
            if one is None or one.form() != (made or [one])[0].form():
                return None
            made.append(one)
        numbers = []
        for values in zip(*[one.numbers() for one in made], strict=True):
            line = Linear.through(list(zip(self._batches, values, strict=True)))
            if line is None:
                return None
            numbers.append(line)
        count = len(made[0].extents)
        pairs = zip(numbers[count::2], numbers[count + 1 :: 2], made[0].slices, strict=True)
        return tuple(numbers[:count]), [(begin, end, given[2]) for begin, end, given in pairs], made[0].order

    def _sliced(self, value: Value, slices: Sequence[tuple[Linear, Linear, int]]) -> Value:
        begins, ends, axes, distances = [], [], [], []
        shape = list(value.shape)
        for axis, (begin, end, distance) in enumerate(slices):
            if (begin, end, distance) == (Linear(0, 0), shape[axis], 1):
                continue
            if distance > 0:
                begins.append(begin)
                ends.append(end)
            else:
                begins.append(Linear(end.per_batch, end.plus - 1))
                # Index -1 would mean the last element.
                first = begin == Linear(0, 0)
                ends.append(Linear(0, _LOWEST) if first else Linear(begin.per_batch, begin.plus - 1))
            axes.append(Linear(0, axis))
            distances.append(Linear(0, distance))
            count = self._count(begin, end, abs(distance))
            shape[axis] = count
        if not axes:
            return value
        parts = [self.ints(numbers) for numbers in (begins, ends, axes, distances)]
        return Value(self.add("Slice", value.name, *parts), value.dtype, tuple(shape))

    def _count(self, begin: Linear, end: Linear, distance: int) -> Linear:
        values = [(batch, -(-(end.at(batch) - begin.at(batch)) // distance)) for batch in self._batches]
        line = Linear.through(values)
        if line is None:
            raise Unmapped("the length of a slice is not linear in the batch size")
        return line

    def _gathered(self, value: Value, view: View) -> Value:
        """Return a view whose elements are selected one by one."""
        flat = self.flat(value)
        places = Value(self.scalar(view.offset), "int64", ())
        rank = len(view.shape)
        for axis, (extent, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
            part = self.add("Mul", self.range(extent).name, self.scalar(stride))
            along = tuple(extent if other == axis else Linear(0, 1) for other in range(rank))
            part = self.reshape(Value(part, "int64", (extent,)), along).name
            places = Value(self.add("Add", places.name, part), "int64", view.shape)
        return Value(self.add("Gather", flat.name, places.name, axis=0), value.dtype, view.shape)

    def size(self, shape: Shape) -> Linear:
        """Return the number of elements."""
        values = [(batch, math.prod(extent.at(batch) for extent in shape)) for batch in self._batches]
        line = Linear.through(values)
        if line is None:
            raise Unmapped("the number of elements is not linear in the batch size")
        return line

    def flat(self, value: Value) -> Value:
        """Return the elements of an array as a vector."""
        return self.reshape(value, (self.size(value.shape),))
