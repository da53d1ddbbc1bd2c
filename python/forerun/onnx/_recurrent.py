"""Recurrent layers as an ONNX ``Scan``, whose body computes one step.

The products of the inputs are computed for all steps before, as the engine does it, so ONNX's ``LSTM`` does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from forerun.onnx import _wire
from forerun.onnx._builder import Builder, Linear, Shape, Unmapped, Value

_RELU, _TANH, _LSTM, _GRU = range(4)


def recurrent(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> list[Value]:
    """Add a scan; return the parts of its packed result that predictions read: the states, and cells of an LSTM."""
    gates, h0, c0, weight, bias, projection, lengths = given
    mode, reverse = attributes["mode"], attributes["reverse"]
    if Linear(0, 0) not in lengths.shape:
        raise Unmapped("sequences of different lengths cannot be expressed")
    steps, batch = gates.shape[:2]
    body = _Body(b, dtype)
    carried = [h0, c0] if mode == _LSTM else [h0]
    matrix = b.transpose(weight, [1, 0]).name
    projected = None if Linear(0, 0) in projection.shape else b.transpose(projection, [1, 0]).name
    states = body.step(mode, matrix, bias.name, projected, weight.extents("the weight"))
    direction = [int(reverse)]
    inputs = [*[value.name for value in carried], gates.name]
    options: dict[str, _wire.Attribute] = {
        "body": body.graph(len(states)),
        "num_scan_inputs": 1,
        "scan_input_directions": direction,
        "scan_output_directions": direction * len(states),
    }
    names = b.add_all("Scan", inputs, 2 * len(states), options)[len(states) :]
    outputs = [Value(name, dtype, (steps, batch, state.shape[-1])) for name, state in zip(names, carried, strict=True)]
    begin = b.reshape(h0, (Linear(0, 1), *h0.shape))
    states_in_time = [outputs[0], begin] if reverse else [begin, outputs[0]]
    return [*states_in_time, *outputs[1:]]


class _Body:
    """The body of a scan: a graph that computes one step."""

    def __init__(self, outer: Builder, dtype: str) -> None:
        self._outer = outer
        self._dtype = dtype
        self._nodes: list[bytes] = []
        self._states: list[str] = []
        self._results: list[str] = []
        self._gates = outer.fresh()

    def _add(self, op: str, *inputs: str, **attributes: _wire.Attribute) -> str:
        # Names of a body must differ from those of the graph, whose arrays it can read.
        name = self._outer.fresh()
        self._nodes.append(_wire.node(op, inputs, [name], attributes, self._outer.note))
        return name

    def _gate(self, name: str, number: int, hidden: int) -> str:
        """Return one gate of all."""
        ints = [self._outer.tensor(numpy.array([n], "int64")) for n in (number * hidden, (number + 1) * hidden, -1)]
        return self._add("Slice", name, *ints)

    def step(self, mode: int, weight: str, bias: str, projection: str | None, extents: Sequence[int]) -> list[str]:
        """Add the computation of the next states; return their names."""
        hidden = extents[0] // (1, 1, 4, 3)[mode]
        state = self._outer.fresh()
        self._states = [state]
        recurrent = self._add("Add", self._add("MatMul", state, weight), bias)
        if mode == _GRU:
            self._results = [self._gru(state, recurrent, hidden)]
            return self._results
        sums = self._add("Add", self._gates, recurrent)
        if mode != _LSTM:
            self._results = [self._add("Tanh" if mode == _TANH else "Relu", sums)]
            return self._results
        cell = self._outer.fresh()
        self._states.append(cell)
        # The gates are input, forget, cell, output.
        enter, forget, leave = (self._add("Sigmoid", self._gate(sums, number, hidden)) for number in (0, 1, 3))
        new = self._add("Tanh", self._gate(sums, 2, hidden))
        cell = self._add("Add", self._add("Mul", enter, new), self._add("Mul", forget, cell))
        output = self._add("Mul", leave, self._add("Tanh", cell))
        if projection is not None:
            output = self._add("MatMul", output, projection)
        self._results = [output, cell]
        return self._results

    def _gru(self, state: str, recurrent: str, hidden: int) -> str:
        """Add a gated recurrent unit: reset, update, new."""
        reset, update = (
            self._add("Sigmoid", self._add("Add", *[self._gate(x, number, hidden) for x in (self._gates, recurrent)]))
            for number in (0, 1)
        )
        kept = self._add("Mul", reset, self._gate(recurrent, 2, hidden))
        new = self._add("Tanh", self._add("Add", self._gate(self._gates, 2, hidden), kept))
        return self._add("Add", new, self._add("Mul", update, self._add("Sub", state, new)))

    def graph(self, states: int) -> _wire.Graph:
        """Return the graph: it maps states and the gates of a step to states and the results of the step."""
        # Outputs must be different names.
        stacked = [self._add("Identity", name) for name in self._results[:states]]
        inputs = [_wire.value(name, self._dtype, ("", "")) for name in [*self._states, self._gates]]
        outputs = [_wire.value(name, self._dtype, ("", "")) for name in [*self._results, *stacked]]
        return _wire.graph("step", self._nodes, [], inputs, outputs)
