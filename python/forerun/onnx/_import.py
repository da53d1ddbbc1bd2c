"""Blocks made from ONNX files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from forerun._device import DeviceLike, asked
from forerun._elements import from_elements
from forerun._forerun import ndarray
from forerun._refused import refused
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter
from forerun.onnx._reading import Graph, Malformed, Node, Tensor, read
from forerun.onnx._running import OPS, run

# Inputs of batch normalisation that are not trained.
_STATISTICS = slice(3, 5)


def import_model(filename: str | os.PathLike[str], ctx: DeviceLike, device: DeviceLike) -> OnnxBlock:
    """Read a file; see :func:`forerun.onnx.import_model`."""
    where = f"import_model: {os.fspath(filename)}"
    with open(filename, "rb") as file:
        data = file.read()
    try:
        graph = read(data)
        missing = sorted({node.op for node in graph.nodes} - OPS.keys())
        if missing:
            raise Malformed(f"the ops {', '.join(missing)} are not supported")
        block = OnnxBlock(graph)
        arrays = dict(_parameters(graph))
    except Malformed as error:
        raise refused(f"{where}: {error}") from None
    block.load_dict(arrays, asked("import_model", ctx, device))
    return block


def _parameters(graph: Graph) -> Iterator[tuple[str, ndarray]]:
    for name, tensor in graph.constants.items():
        if _is_parameter(tensor):
            yield name, from_elements(tensor.raw, tensor.dtype, tensor.shape, "<C")


def _is_parameter(tensor: Tensor) -> bool:
    """Whether a constant can be trained: floats with elements and dimensions, not numbers such as epsilons."""
    return "float" in tensor.dtype and tensor.shape != () and 0 not in tensor.shape


class OnnxBlock(HybridBlock):
    """A block whose computation comes from an ONNX file. Float constants are parameters, with their names."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._hosted = {}
        fixed = {name for node in graph.nodes if node.op == "BatchNormalization" for name in node.inputs[_STATISTICS]}
        for name, tensor in graph.constants.items():
            if not _is_parameter(tensor):
                self._hosted[name] = tensor.host()
                continue
            grad_req = "null" if name in fixed else "write"
            self._reg_params[name] = Parameter(name, grad_req=grad_req, shape=tensor.shape, dtype=tensor.dtype)

    def forward(self, *inputs: ndarray) -> Any:
        """Compute the output, or a list if there are several."""
        names = self._graph.inputs
        if len(inputs) != len(names):
            raise ValueError(f"OnnxBlock: takes {len(names)} arrays ({', '.join(names)}), not {len(inputs)}")
        values: dict[str, Any] = {**self._hosted, **dict(zip(names, inputs, strict=True))}
        values |= {name: parameter.data() for name, parameter in self._reg_params.items()}
        for number, node in enumerate(self._graph.nodes):
            made = self._computed(number, node, values)
            values.update(zip(node.outputs, made, strict=False))
        outputs = [values[name] for name in self._graph.outputs]
        return outputs[0] if len(outputs) == 1 else outputs

    def _computed(self, number: int, node: Node, values: dict[str, Any]) -> list[Any]:
        try:
            made = run(node.op, node.attributes, [values[name] if name else None for name in node.inputs])
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            text = f"needs the attribute {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"OnnxBlock: node {number} ({node.op}): {text}") from error
        if len(made) < sum(map(bool, node.outputs)):
            raise ValueError(f"OnnxBlock: node {number} ({node.op}): further outputs are not supported")
        return made

    def __repr__(self) -> str:
        """Return the inputs and the number of nodes."""
        return f"OnnxBlock({', '.join(self._graph.inputs)}: {len(self._graph.nodes)} nodes)"
