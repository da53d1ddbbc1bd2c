"""Export of hybrid blocks: traces a block for several batch sizes and writes a graph and its parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forerun import _forerun, np
from forerun._forerun import Captured, Device, Graph, dtype, ndarray
from forerun.autograd import pause
from forerun.gluon.hybrid import UNREPEATABLE, _flatten

if TYPE_CHECKING:
    from forerun.gluon.hybrid import HybridBlock

# Shape, dtype and device of an input.
_Meta = tuple[tuple[int, ...], dtype, Device]


def export(
    block: HybridBlock,
    path: str,
    epoch: int,
    inputs: Sequence[Any] | None,
    batch_axis: int | Sequence[int | None] | None,
) -> tuple[str, str]:
    """Write ``path-symbol.json`` and ``path-EPOCH.params``; return their names."""
    graph, arrays = trace(block, inputs, batch_axis, 4)
    files = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
    _forerun.save_arrays(files[1], arrays)
    graph.save(files[0])
    return files


def trace(
    block: HybridBlock,
    inputs: Sequence[Any] | None,
    batch_axis: int | Sequence[int | None] | None,
    depth: int,
) -> tuple[Graph, dict[str, ndarray]]:
    """Return the graph of a block and its parameters; ``depth`` is the stack level of the program, for warnings."""
    kind = type(block).__name__
    if inputs is not None:
        found: dict[int, tuple[int, ndarray]] = {}
        form: Any = _flatten(tuple(inputs), found)
        metas: list[_Meta] = [(array.shape, array.dtype, array.device) for _, array in found.values()]
        if any(not parameter._data for parameter in block.collect_params().values()):
            with pause():
                block(*inputs)
    elif block._example is None:
        raise RuntimeError(f"export: call hybridize() and then {kind} at least once before, or pass inputs=")
    else:
        form, metas = block._example
    axes = _batch_axes(metas, batch_axis)
    names = ["data"] if len(metas) == 1 else [f"data{number}" for number in range(len(metas))]
    parameters = [
        (name, array, parameter.grad_req != "null")
        for name, parameter in block.collect_params().items()
        for array in parameter.list_data()
    ]

    def traced(sizes: Sequence[int | None]) -> tuple[Graph, list[tuple[str, ndarray]]]:
        captures = [(size, _captured(block, form, metas, axes, size)) for size in sizes]
        return Graph.trace(captures, names, parameters)

    with pause():
        # Batches of one element are traced with two, because an extent of 1 broadcasts.
        size = next((max(2, meta[0][axis]) for meta, axis in zip(metas, axes, strict=True) if axis is not None), None)
        if size is None:
            graph, arrays = traced([None])
        else:
            try:
                graph, arrays = traced([size, size + 1, size + 3])
            except (ValueError, TypeError, IndexError) as error:
                graph, arrays = traced([None])
                warnings.warn(f"export: {kind} runs only with the shapes of its example: {error}", stacklevel=depth)
    known = block.collect_params()
    return graph, {name: known[name]._reduce() if name in known else array for name, array in arrays}


def _batch_axes(metas: list[_Meta], batch_axis: int | Sequence[int | None] | None) -> list[int | None]:
    """Return the batch axis of each input."""
    if batch_axis is not None and not isinstance(batch_axis, int):
        axes = list(batch_axis)
        if len(axes) != len(metas):
            raise ValueError(f"export: {len(axes)} batch axes for {len(metas)} arrays")
        for (shape, _, _), axis in zip(metas, axes, strict=True):
            if axis is not None and not -len(shape) <= axis < len(shape):
                raise ValueError(f"export: an input of shape {shape} has no axis {axis}")
        return axes
    if batch_axis is None or not metas:
        return [None] * len(metas)
    first = metas[0][0]
    if not -len(first) <= batch_axis < len(first):
        raise ValueError(f"export: an input of shape {first} has no axis {batch_axis}")

    def has_batch(shape: tuple[int, ...]) -> bool:
        return -len(shape) <= batch_axis < len(shape) and shape[batch_axis] == first[batch_axis]

    return [batch_axis if has_batch(shape) else None for shape, _, _ in metas]


def _captured(block: HybridBlock, form: Any, metas: list[_Meta], axes: list[int | None], size: int | None) -> Captured:
    """Capture a call with inputs of zeros, with another batch size if one is given."""
    arrays = []
    for (shape, kind, device), axis in zip(metas, axes, strict=True):
        extents = list(shape)
        if axis is not None and size is not None:
            extents[axis] = size
        arrays.append(np.zeros(tuple(extents), kind, ctx=device))
    captured, _, _, obstacle = block._record(form, arrays)
    if captured is None or obstacle is not None:
        raise ValueError(f"export: {type(block).__name__} cannot be exported: {obstacle or UNREPEATABLE}")
    return captured
