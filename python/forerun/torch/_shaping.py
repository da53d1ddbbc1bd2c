"""Functions that rearrange elements: shapes, dimensions, triangles and grids."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun.torch._joining import stack
from forerun.torch._tensor import Tensor

__all__ = [
    "adjoint", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "broadcast_to", "cartesian_prod",
    "combinations", "diag", "diag_embed", "diagonal", "flatten", "flip", "fliplr", "flipud", "meshgrid", "moveaxis",
    "movedim", "numel", "permute", "ravel", "repeat_interleave", "reshape", "roll", "rot90", "squeeze", "swapaxes",
    "swapdims", "t", "tile", "transpose", "tril", "tril_indices", "triu", "triu_indices", "unflatten", "unsqueeze",
    "view_as_complex", "view_as_real",
]  # fmt: skip


def listed(first: Any, rest: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the numbers of ``f(2, 3)`` and ``f((2, 3))``."""
    return tuple(first) if isinstance(first, (tuple, list)) else (first, *rest)


def numel(input: Tensor) -> int:
    """Return the number of elements.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return input._array.size


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """Return the elements with another shape.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.reshape(torch.arange(4), (2, -1)).shape
    torch.Size([2, 2])
    """
    return input.reshape(*shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge several dimensions into one.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.flatten(torch.ones(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    rank = max(input.dim(), 1)
    for dim in (start_dim, end_dim):
        if not -rank <= dim < rank:
            raise IndexError(f"flatten: dimension {dim} is out of range for shape {tuple(input.shape)}")
    first, last = start_dim % rank, end_dim % rank
    if first > last:
        raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    return input.reshape(*input.shape[:first], math.prod(input.shape[first : last + 1]), *input.shape[last + 1 :])


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split a dimension into several.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.unflatten(torch.ones(2, 12), 1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    place = dim % input.dim()
    known = math.prod(size for size in sizes if size != -1)
    filled = [input.shape[place] // max(known, 1) if size == -1 else size for size in sizes]
    return input.reshape(*input.shape[:place], *filled, *input.shape[place + 1 :])


def ravel(input: Tensor) -> Tensor:
    """Return the elements in one dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.ravel(torch.ones(2, 3)).shape
    torch.Size([6])
    """
    return input.reshape(-1)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.transpose(torch.ones(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """
    return Tensor._run(lambda x: np.swapaxes(x, dim0, dim1), input)


swapaxes = swapdims = transpose


def adjoint(input: Tensor) -> Tensor:
    """Swap the last two dimensions, and conjugate complex elements.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.adjoint(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """
    return Tensor._run(lambda x: np.conj(np.swapaxes(x, -1, -2)), input)


def t(input: Tensor) -> Tensor:
    """Return the transpose of a matrix; a vector is returned unchanged.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.t(torch.ones(2, 3)).shape
    torch.Size([3, 2])
    """
    if input.dim() > 2:
        raise RuntimeError(f"t: needs a matrix or a vector, got shape {tuple(input.shape)}")
    return Tensor._run(np.transpose, input)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """Rearrange all dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.permute(torch.ones(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    axes = listed(dims[0], dims[1:])
    if len(axes) != input.dim():
        raise RuntimeError(f"permute: needs {input.dim()} dimensions, got {axes}")
    return Tensor._run(lambda x: np.transpose(x, axes), input)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.movedim(torch.ones(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return Tensor._run(lambda x: np.moveaxis(x, source, destination), input)


moveaxis = movedim


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Remove dimensions of extent one; a listed dimension of another extent stays.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.squeeze(torch.ones(1, 3, 1)).shape, torch.squeeze(torch.ones(1, 3, 1), 0).shape
    (torch.Size([3]), torch.Size([3, 1]))
    """
    if dim is None:
        return Tensor._run(np.squeeze, input)
    axes = tuple(d for d in listed(dim, ()) if input.shape[d] == 1)
    return Tensor._run(lambda x: np.squeeze(x, axes) if axes else x[...], input)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Add a dimension of extent one.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.unsqueeze(torch.ones(3), -1).shape
    torch.Size([3, 1])
    """
    return Tensor._run(lambda x: np.expand_dims(x, dim), input)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Repeat the elements to a larger shape.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.broadcast_to(torch.ones(3), (2, 3)).shape
    torch.Size([2, 3])
    """
    lead = len(size) - input.dim()
    shape = [input.shape[d - lead] if extent == -1 else extent for d, extent in enumerate(size)]
    return Tensor._run(lambda x: np.broadcast_to(x, shape), input)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Repeat the elements of several tensors to their common shape.

    Examples
    --------
    >>> from forerun import torch
    >>> [x.shape for x in torch.broadcast_tensors(torch.ones(3), torch.ones(2, 1))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    shape = np.broadcast_shapes(*[tensor.shape for tensor in tensors])
    return tuple(broadcast_to(tensor, shape) for tensor in tensors)


def _each(function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    made = tuple(Tensor._run(function, tensor) for tensor in given)
    return made[0] if len(tensors) == 1 and given is tensors else made


def atleast_1d(*tensors: Any) -> Any:
    """Return tensors with at least one dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.atleast_1d(torch.tensor(1.0)).shape
    torch.Size([1])
    """
    return _each(np.atleast_1d, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Return tensors with at least two dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.atleast_2d(torch.ones(3)).shape
    torch.Size([1, 3])
    """
    return _each(np.atleast_2d, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Return tensors with at least three dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.atleast_3d(torch.ones(3)).shape
    torch.Size([1, 3, 1])
    """
    return _each(np.atleast_3d, tensors)


def tile(input: Tensor, *dims: Any) -> Tensor:
    """Repeat the whole tensor along each dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    counts = listed(dims[0], dims[1:])
    return Tensor._run(lambda x: np.tile(x, counts), input)


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    """Repeat each element; counts in a tensor are waited for.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    return Tensor._run(lambda x, count: np.repeat(x, count, axis=dim), input, repeats)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """Reverse dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.flip(torch.arange(3), (0,))
    tensor([2, 1, 0])
    """
    axes = listed(dims[0], dims[1:])
    return Tensor._run(lambda x: np.flip(x, axes), input)


def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """Reverse the first dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    return flip(input, 0)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Shift elements along dimensions, those at the end to the start.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.roll(torch.arange(3), 1)
    tensor([2, 0, 1])
    """
    return Tensor._run(lambda x: np.roll(x, shifts, dims), input)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by right angles in the plane of two dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.rot90(torch.tensor([[1, 2]]))
    tensor([[2],
            [1]])
    """
    return Tensor._run(lambda x: np.rot90(x, k, (dims[0], dims[1])), input)


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangle of matrices, zero elsewhere.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return Tensor._run(lambda x: np.tril(x, diagonal), input)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangle of matrices, zero elsewhere.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.triu(torch.ones(2, 2), 1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    return Tensor._run(lambda x: np.triu(x, diagonal), input)


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Return the indices of a lower triangle, as two rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return Tensor._of(np.stack(np.tril_indices(row, offset, col)))


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Return the indices of an upper triangle, as two rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return Tensor._of(np.stack(np.triu_indices(row, offset, col)))


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or the matrix that has a vector on its diagonal.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return Tensor._run(lambda x: np.diag(x, diagonal), input)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of diagonals.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.diagonal(torch.eye(2))
    tensor([1., 1.])
    """
    return Tensor._run(lambda x: np.diagonal(x, offset, dim1, dim2), input)


def diag_embed(input: Tensor, offset: int = 0) -> Tensor:
    """Return matrices with the last dimension on their diagonals.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.diag_embed(torch.ones(3, 2)).shape
    torch.Size([3, 2, 2])
    """
    size = input.shape[-1]
    around = (0, offset) if offset >= 0 else (-offset, 0)
    sides = [(0, 0)] * (input.dim() - 1) + [around, around[::-1]]
    return Tensor._run(lambda x: np.pad(x[..., None] * np.eye(size, dtype=x.dtype), sides), input)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid; ``indexing`` is ``"ij"``, PyTorch's default, or ``"xy"``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.meshgrid(torch.arange(2), torch.arange(2))[0]
    tensor([[0, 0],
            [1, 1]])
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return tuple(Tensor._run_many(lambda *arrays: np.meshgrid(*arrays, indexing=indexing), *given))


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of the elements of vectors, as rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3])).tolist()
    [[1, 3], [2, 3]]
    """
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all choices of ``r`` elements of a vector, as rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.combinations(torch.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    import itertools

    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.shape[0]), r))
    return input[np.array(rows, np.int64).reshape(len(rows), r)] if rows else input[:0].reshape(0, r)


def view_as_real(input: Tensor) -> Tensor:
    """Return real and imaginary parts as the last dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    return Tensor._run(lambda x: np.stack((np.real(x), np.imag(x)), -1), input)


def view_as_complex(input: Tensor) -> Tensor:
    """Return complex numbers from real and imaginary parts in the last dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """
    kind = np.complex128 if input.dtype.name == "float64" else np.complex64
    return Tensor._run(lambda x: (x[..., 0] + x[..., 1] * 1j).astype(kind), input)
