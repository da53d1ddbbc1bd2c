"""Functions that join tensors and split them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun.torch._pointwise import into
from forerun.torch._tensor import Tensor

__all__ = [
    "cat", "chunk", "column_stack", "concat", "concatenate", "dstack", "hstack", "narrow", "row_stack", "select",
    "split", "stack", "tensor_split", "unbind", "vstack",
]  # fmt: skip


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cat((torch.ones(1), torch.zeros(1)))
    tensor([1., 0.])
    """
    # PyTorch ignores empty vectors beside tensors of other ranks.
    kept = [tensor for tensor in tensors if tuple(tensor.shape) != (0,)] or list(tensors)
    return into(Tensor._run(lambda *arrays: np.concatenate(arrays, axis=dim), *kept), out)


concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Stack tensors along a new dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.stack((torch.ones(1), torch.zeros(1))).shape
    torch.Size([2, 1])
    """
    return into(Tensor._run(lambda *arrays: np.stack(arrays, axis=dim), *tensors), out)


def _joined(name: str, function: Callable[..., Any], doc: str) -> Callable[[Sequence[Tensor]], Tensor]:
    def joined(tensors: Sequence[Tensor]) -> Tensor:
        return Tensor._run(lambda *arrays: function(arrays), *tensors)

    joined.__name__ = joined.__qualname__ = name
    joined.__doc__ = doc
    return joined


hstack = _joined("hstack", np.hstack, "Concatenate along the second dimension; vectors along their only one.")
vstack = _joined("vstack", np.vstack, "Concatenate along the first dimension; vectors become rows.")
dstack = _joined("dstack", np.dstack, "Concatenate along the third dimension.")
column_stack = _joined("column_stack", np.column_stack, "Concatenate along the second dimension; vectors are columns.")
row_stack = vstack


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a view of ``length`` positions along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.narrow(torch.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    place = dim % input.dim()
    begin = start + input.shape[place] if start < 0 else start
    if not 0 <= begin <= begin + length <= input.shape[place]:
        raise RuntimeError(f"narrow: {start} and {length} leave the extent {input.shape[place]} of dimension {dim}")
    return input[(slice(None),) * place + (slice(begin, begin + length),)]


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of one position along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.select(torch.eye(2), 1, 0)
    tensor([1., 0.])
    """
    return input[(slice(None),) * (dim % input.dim()) + (index,)]


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into parts of one size, of which the last may be smaller, or of the listed sizes.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    extent = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 1:
            raise RuntimeError(f"split: the size of parts must be positive, got {size}")
        sizes = [min(size, extent - start) for start in range(0, extent, size)] or [0]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != extent:
            raise RuntimeError(f"split: {sizes} do not add up to the extent {extent} of dimension {dim}")
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return tuple(narrow(tensor, dim, start, size) for start, size in zip(starts, sizes, strict=True))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into at most ``chunks`` parts of equal size, of which the last may be smaller.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks < 1:
        raise RuntimeError(f"chunk: the number of parts must be positive, got {chunks}")
    return split(input, max(1, -(-input.shape[dim] // chunks)), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into a number of parts whose sizes differ by at most one, or before the listed positions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.tensor_split(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    extent = input.shape[dim]
    if isinstance(indices_or_sections, int):
        share, rest = divmod(extent, indices_or_sections)
        return split(input, [share + (number < rest) for number in range(indices_or_sections)], dim)
    edges = [0, *[min(max(edge + extent if edge < 0 else edge, 0), extent) for edge in indices_or_sections], extent]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in itertools.pairwise(edges))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.unbind(torch.eye(2))
    (tensor([1., 0.]), tensor([0., 1.]))
    """
    return tuple(select(input, dim, number) for number in range(input.shape[dim]))
