"""ONNX files: networks for other programs, and from them. ``docs/onnx.md`` lists the ops.

Examples
--------
>>> import os, tempfile
>>> from forerun import np, onnx
>>> from forerun.gluon import nn
>>> net = nn.Dense(2, in_units=3)
>>> net.initialize()
>>> with tempfile.TemporaryDirectory() as folder:
...     path = onnx.export(net, os.path.join(folder, "net.onnx"), [np.ones((4, 3))])
...     os.path.basename(path)
'net.onnx'
"""

from __future__ import annotations

import os
import tempfile
import typing as _typing
from collections.abc import Mapping, Sequence
from typing import Any

from forerun import np
from forerun._device import DeviceLike
from forerun._files import load_parameters
from forerun._forerun import Graph, ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun.gluon._export import trace
from forerun.gluon.hybrid import HybridBlock

__all__ = ["export", "export_model", "import_model"]


def export(
    block: HybridBlock,
    path: str | os.PathLike[str],
    inputs: Sequence[Any] | None = None,
    *,
    batch_axis: int | Sequence[int | None] | None = 0,
) -> str:
    """Write a network to an ONNX file, with operators of version 18.

    The block is traced in prediction mode, as by :meth:`~forerun.gluon.HybridBlock.export`: dropout does nothing, and
    batch normalisation uses its running statistics. Waits for the parameters.

    Parameters
    ----------
    block
        The network.
    path
        The file. It is replaced atomically.
    inputs
        Example inputs, or their shapes as tuples of integers, which stand for arrays of float32. Without them the block
        must have been hybridized and called.
    batch_axis
        The axis of the inputs along which the batch size may change, or one for each input, or ``None`` for fixed
        shapes. A single axis applies to the inputs whose extent there equals that of the first input. If the
        computation does not allow other batch sizes, a warning names the line, and the shapes are fixed.

    Returns
    -------
    str
        The path.

    Raises
    ------
    ValueError
        If ONNX cannot express an op. The message names the op and the line of the program.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import onnx
    >>> from forerun.gluon import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Conv2D(4, kernel_size=3, activation="relu"), nn.GlobalAvgPool2D(), nn.Dense(2))
    >>> net.initialize()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = onnx.export(net, os.path.join(folder, "net.onnx"), [(1, 3, 8, 8)])
    """
    if not isinstance(block, HybridBlock):
        raise TypeError(f"export: needs a HybridBlock, not {type(block).__name__}")
    examples = None if inputs is None else [_example(one) for one in inputs]
    graph, arrays = trace(block, examples, batch_axis, 3)
    return _write(path, graph, arrays, None)


def export_model(
    sym: str | os.PathLike[str],
    params: str | os.PathLike[str] | Mapping[str, ndarray],
    in_shapes: Sequence[Sequence[int]] | None = None,
    in_types: Any = None,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Sequence[int | None]] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Sequence[Sequence[int]] | None = None,
    large_model: bool = False,
) -> str:
    """Convert the files that :meth:`~forerun.gluon.HybridBlock.export` wrote to an ONNX file, under MXNet's name.

    Parameters
    ----------
    sym
        The file ``NAME-symbol.json``.
    params
        The file ``NAME-0000.params``, or the arrays by name.
    in_shapes, input_shape
        The shapes of the inputs. They must fit the graph, and give the batch size unless ``dynamic``.
    in_types, input_type
        Accepted for compatibility with MXNet: the graph knows the dtypes.
    onnx_file_path
        The file to write.
    verbose
        Whether to print the path.
    dynamic
        Whether the model runs with any batch size. Without shapes it always does.
    dynamic_input_shapes, run_shape_inference
        Accepted for compatibility with MXNet: the graph knows the shapes.
    large_model
        Must be false: parameters are written to the file itself, which has at most 2 GiB.

    Returns
    -------
    str
        The path of the ONNX file.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np, onnx
    >>> from forerun.gluon import nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = net.export(os.path.join(folder, "net"), inputs=[np.ones((4, 3))])
    ...     path = onnx.export_model(*files, [(1, 3)], onnx_file_path=os.path.join(folder, "net.onnx"))
    """
    if large_model:
        raise ValueError("export_model: parameters are written to the file itself; large_model is not supported")
    graph = Graph.open(sym)
    arrays = dict(params) if isinstance(params, Mapping) else load_parameters(params)
    for name, shape, dtype, _ in graph.parameters:
        if name not in arrays:
            raise ValueError(f"export_model: no array for the parameter {name!r}")
        if arrays[name].shape != tuple(shape) or arrays[name].dtype != dtype:
            found = f"{arrays[name].dtype.name} of shape {arrays[name].shape}"
            raise ValueError(f"export_model: {name!r} is {found}, the graph needs {dtype.name} of shape {tuple(shape)}")
    shapes = in_shapes if input_shape is None else input_shape
    batch = None if shapes is None else _batch_of(graph, [tuple(shape) for shape in shapes])
    made = _write(onnx_file_path, graph, arrays, None if dynamic else batch)
    if verbose:
        print(f"export_model: wrote {made}")
    return made


def import_model(filename: str | os.PathLike[str], ctx: DeviceLike = None, *, device: DeviceLike = None) -> HybridBlock:
    """Read an ONNX file as a block. The file may come from strangers: nothing in it is executed.

    The block computes what the nodes say, in prediction mode. Its float constants are parameters, with their names, so
    it can be trained, saved and exported.

    Parameters
    ----------
    filename
        The file, with operators of version 7 to 26.
    ctx, device
        The device or devices of the parameters.

    Raises
    ------
    ValueError
        If the file is malformed, or has ops that are not supported. The message names the file and the ops.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np, onnx
    >>> from forerun.gluon import nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize("ones")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = onnx.import_model(onnx.export(net, os.path.join(folder, "net.onnx"), [(4, 3)]))
    >>> again(np.ones((1, 3)))
    array([[3., 3.]])
    """
    from forerun.onnx._import import import_model as imported

    return imported(filename, ctx, device)


def _example(given: Any) -> Any:
    """Return an example input; tuples of integers are shapes."""
    if isinstance(given, tuple) and all(isinstance(extent, int) for extent in given):
        return np.zeros(given, "float32")
    return given


def _batch_of(graph: Graph, shapes: list[tuple[int, ...]]) -> int | None:
    """Return the batch size of the inputs' shapes; raise if they do not fit the graph."""
    from forerun.onnx._builder import Linear

    inputs = _tree(graph)["inputs"]
    if len(inputs) != len(shapes):
        raise ValueError(f"export_model: {len(shapes)} shapes for {len(inputs)} inputs")
    batch = None
    for one, shape in zip(inputs, shapes, strict=True):
        wanted = [Linear.of(extent) for extent in one["shape"]]
        for extent, line in zip(shape, wanted, strict=False):
            if batch is None and not line.fixed:
                batch = (extent - line.plus) // line.per_batch
        if tuple(line.at(batch or 0) for line in wanted) != shape:
            name, known = one["name"], [line.plus if line.fixed else None for line in wanted]
            raise ValueError(f"export_model: input {name!r} of shape {shape} does not fit the graph's {known}")
    return batch


def _tree(graph: Graph) -> Any:
    import json

    return json.loads(_text(graph))


def _text(graph: Graph) -> str:
    """Return the text of the graph file, which is also what pickles hold."""
    reduced: Any = graph.__reduce__()
    return str(reduced[1][0])


def _write(path: str | os.PathLike[str], graph: Graph, arrays: Mapping[str, ndarray], batch: int | None) -> str:
    # Imported with the first export, so that programs that do not export do not pay for the tables.
    from forerun.onnx._convert import convert

    model = convert(_text(graph), arrays, batch)
    target = os.fspath(path)
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(target) or ".", suffix=".onnx")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(model)
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise
    return target


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {"import_to_gluon": "import_model returns a block"})
