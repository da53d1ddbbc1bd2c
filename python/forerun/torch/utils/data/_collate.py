"""Rows combined into batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forerun import _forerun
from forerun.torch._creation import tensor
from forerun.torch._joining import stack
from forerun.torch._tensor import Tensor

__all__ = ["default_collate", "default_convert"]


def default_collate(batch: list[Any]) -> Any:
    """Stack rows to a tensor; dicts, tuples and lists of them field by field.

    Python's and NumPy's numbers and NumPy arrays become tensors; texts stay lists.

    Examples
    --------
    >>> from forerun.torch.utils.data import default_collate
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    import numpy

    first = batch[0]
    if isinstance(first, Tensor):
        if any(row.shape != first.shape for row in batch):
            shapes = sorted({tuple(row.shape) for row in batch})
            raise RuntimeError(f"default_collate: rows of a batch must have equal shapes, got {shapes}")
        return stack(batch)
    if isinstance(first, (numpy.ndarray, numpy.generic)):
        if first.dtype.kind in "SU":
            return batch
        # One copy on the host, and one to the engine.
        return Tensor._of(_forerun.from_numpy(numpy.stack(batch)))
    if isinstance(first, float):
        return tensor(batch, dtype="float64")
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {name: default_collate([row[name] for row in batch]) for name in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(column)) for column in zip(*batch, strict=True)))
    if isinstance(first, (tuple, list)):
        if any(len(row) != len(first) for row in batch):
            raise RuntimeError("default_collate: rows of a batch must have equal lengths")
        columns = [list(column) for column in zip(*batch, strict=True)]
        return [tuple(column) if isinstance(column[0], str) else default_collate(column) for column in columns]
    raise TypeError(
        f"default_collate: rows must hold tensors, arrays, numbers, dicts or lists, not {type(first).__name__}: "
        "give the loader a collate_fn"
    )


def default_convert(data: Any) -> Any:
    """Return a row with its NumPy arrays as tensors.

    Examples
    --------
    >>> import numpy
    >>> from forerun.torch.utils.data import default_convert
    >>> default_convert((numpy.ones(1, "float32"), "a"))
    [tensor([1.]), 'a']
    """
    import numpy

    if isinstance(data, numpy.ndarray) and data.dtype.kind not in "SU":
        return Tensor._of(_forerun.from_numpy(data))
    if isinstance(data, Mapping):
        return {name: default_convert(value) for name, value in data.items()}
    if isinstance(data, (tuple, list)):
        return [default_convert(value) for value in data]
    return data
