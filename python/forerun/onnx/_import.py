"""Blocks made from ONNX files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from forerun._device import DeviceLike, asked
from forerun._elements import from_elements
from forerun._forerun import ndarray
from forerun._refused import refused
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter
from forerun.onnx._loops import CONTROL, Body
from forerun.onnx._reading import Graph, Malformed, Model, Node, Tensor, read
from forerun.onnx._running import OPS, run
from forerun.onnx._unsupported import named
from forerun.onnx._values import placed

# A call computes at most this many nodes, so that no file makes it endless.
MOST_STEPS = 1 << 24
# Inputs that are not trained, and inputs whose numbers must be known, by op.
_FIXED = {"BatchNormalization": slice(3, 5)}
_KNOWN = {"Resize": slice(1, 4), "Upsample": slice(1, 2)}


def import_model(filename: str | os.PathLike[str], ctx: DeviceLike, device: DeviceLike) -> OnnxBlock:
    """Read a file; see :func:`forerun.onnx.import_model`."""
    where = f"import_model: {os.fspath(filename)}"
    with open(filename, "rb") as file:
        data = file.read()
    try:
        model = read(data)
        missing = {node.op for node, _ in model.graph.each_node()} - OPS.keys() - CONTROL.keys()
        if missing:
            raise Malformed(named(missing))
        block = OnnxBlock(model)
        arrays = {
            name: from_elements(tensor.raw, tensor.dtype, tensor.shape, "<C") for name, tensor in _parameters(model)
        }
    except Malformed as error:
        raise refused(f"{where}: {error}") from None
    block.load_dict(arrays, asked("import_model", ctx, device))
    return block


def _parameters(model: Model) -> Iterator[tuple[str, Tensor]]:
    """Return the constants that can be trained: floats with elements and dimensions, not numbers such as epsilons."""
    known = set(_inputs(model, _KNOWN))
    for name, tensor in model.constants.items():
        if "float" in tensor.dtype and tensor.shape != () and 0 not in tensor.shape and name not in known:
            yield name, tensor


def _inputs(model: Model, places: Mapping[str, slice]) -> Iterator[str]:
    """Return the names of some inputs of ops."""
    for node, constants in model.graph.each_node():
        for name in node.inputs[places[node.op]] if node.op in places else ():
            yield constants.get(name, name)


class _Scope(dict[str, Any]):
    """The values of a graph by name; others are those of the graph around it."""

    def __init__(self, around: _Scope | None) -> None:
        super().__init__()
        self._around = around

    def __missing__(self, name: str) -> Any:
        if self._around is None:
            raise KeyError(name)
        return self._around[name]


class OnnxBlock(HybridBlock):
    """A block whose computation comes from an ONNX file. Float constants are parameters, with their names."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._graph = model.graph
        fixed, trained = set(_inputs(model, _FIXED)), dict(_parameters(model))
        for name, tensor in trained.items():
            grad_req = "null" if name in fixed else "write"
            self._reg_params[name] = Parameter(name, grad_req=grad_req, shape=tensor.shape, dtype=tensor.dtype)
        self._hosted = {name: tensor.host() for name, tensor in model.constants.items() if name not in trained}

    def forward(self, *inputs: ndarray) -> Any:
        """Compute the output, or a list if there are several."""
        names = self._graph.inputs
        if len(inputs) != len(names):
            raise ValueError(f"OnnxBlock: takes {len(names)} arrays ({', '.join(names)}), not {len(inputs)}")
        parameters = {name: parameter.data() for name, parameter in self._reg_params.items()}
        with numpy.errstate(all="ignore"):
            try:
                outputs = _Run({**self._hosted, **parameters}).graph(self._graph, inputs, None)
            except _Failed as error:
                raise ValueError(f"OnnxBlock: {error}") from error.__cause__
        made = [placed(output) for output in outputs]
        return made[0] if len(made) == 1 else made

    def __repr__(self) -> str:
        """Return the inputs and the number of nodes."""
        return f"OnnxBlock({', '.join(self._graph.inputs)}: {len(self._graph.nodes)} nodes)"


class _Failed(ValueError):
    """The error of a node."""


class _Run:
    """One computation of a model."""

    def __init__(self, constants: dict[str, Any]) -> None:
        self._constants = constants
        self._left = MOST_STEPS

    def graph(self, graph: Graph, inputs: Sequence[Any], around: _Scope | None) -> list[Any]:
        """Compute the outputs of a graph, which may read the values of the graph around it."""
        if len(inputs) != len(graph.inputs):
            raise ValueError(f"its graph takes {len(graph.inputs)} arrays, not {len(inputs)}")
        self._left -= 1 + len(graph.nodes)
        if self._left < 0:
            raise ValueError(f"a call computes at most {MOST_STEPS} nodes")
        values = _Scope(around)
        for name, kept in graph.constants.items():
            values[name] = self._constants[kept]
        values.update(zip(graph.inputs, inputs, strict=True))
        for number, node in enumerate(graph.nodes):
            values.update(zip(node.outputs, self._node(number, node, values), strict=False))
        return [values[name] for name in graph.outputs]

    def _node(self, number: int, node: Node, values: _Scope) -> list[Any]:
        try:
            given = [values[name] if name else None for name in node.inputs]
            if node.op in CONTROL:
                run_body: Body = lambda body, inputs: self.graph(body, inputs, values)  # noqa: E731
                made = CONTROL[node.op](run_body, node.attributes, *given)
            else:
                made = run(node.op, node.attributes, given)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            text = f"needs the attribute {error}" if isinstance(error, KeyError) else str(error)
            raise _Failed(f"node {number} ({node.op}): {text}") from error
        if any(one is None for one in made):
            raise _Failed(f"node {number} ({node.op}): an input is missing")
        if len(made) < sum(map(bool, node.outputs)):
            raise _Failed(f"node {number} ({node.op}): further outputs are not supported")
        return made
