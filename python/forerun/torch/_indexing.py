"""Functions that read and write elements by indices and masks, and sorting."""

from __future__ import annotations

from typing import Any, NamedTuple

from forerun import _forerun, np, npx
from forerun._forerun import ndarray
from forerun.torch._tensor import Extremes, Tensor

__all__ = [
    "argsort", "argwhere", "bucketize", "gather", "index_add", "index_copy", "index_fill", "index_select", "isin",
    "kthvalue", "masked_fill", "masked_scatter", "masked_select", "msort", "nonzero", "scatter", "scatter_add",
    "scatter_reduce", "searchsorted", "sort", "take", "take_along_dim", "topk", "unique", "unique_consecutive",
]  # fmt: skip

# The functions that also exist as methods that write in place.
IN_PLACE = [
    "index_add", "index_copy", "index_fill", "masked_fill", "masked_scatter", "scatter", "scatter_add",
    "scatter_reduce",
]  # fmt: skip


def _region(x: ndarray, shape: tuple[int, ...], but: int | None = None) -> ndarray:
    """Return the part of an array that indices of a shape cover, whole along the dimension ``but``."""
    cut = tuple(slice(None) if d == but else slice(0, extent) for d, extent in enumerate(shape))
    return x[cut] if any(extent != have for extent, have in zip(shape, x.shape, strict=True)) else x


def _dim(name: str, input: Tensor, index: Tensor, dim: int) -> int:
    if input.dim() != index.dim():
        raise RuntimeError(
            f"{name}: index must have as many dimensions as input, got {tuple(index.shape)} and {tuple(input.shape)}"
        )
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"{name}: dimension {dim} is out of range for shape {tuple(input.shape)}")
    return dim % rank


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Take one element per index along a dimension: ``out[i][j] = input[i][index[i][j]]`` for ``dim=1``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    place = _dim("gather", input, index, dim)
    shape = tuple(index.shape)
    return Tensor._run(lambda x, at: np.take_along_axis(_region(x, shape, place), at, place), input, index)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Take elements along a dimension by indices that broadcast against the input.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.take_along_dim(torch.tensor([[3, 1], [2, 5]]), torch.tensor([[1], [0]]), 1)
    tensor([[1],
            [2]])
    """
    return Tensor._run(lambda x, at: np.take_along_axis(x, at, dim), input, indices)


def take(input: Tensor, index: Tensor) -> Tensor:
    """Take elements of the flattened tensor.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    return Tensor._run(lambda x, at: np.take(x.reshape(-1), at), input, index)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Take whole slices along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1]))
    tensor([[2],
            [4]])
    """
    return Tensor._run(lambda x, at: np.take(x, at.reshape(-1), axis=dim), input, index)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask holds. Waits for their number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    shape = np.broadcast_shapes(input.shape, mask.shape)
    return Tensor._run(lambda x, m: np.broadcast_to(x, shape)[np.broadcast_to(m, shape)], input, mask)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Replace the elements where a mask holds by a number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.masked_fill(torch.tensor([1.0, 2.0]), torch.tensor([True, False]), -1)
    tensor([-1.,  2.])
    """
    if mask.dtype.name != "bool":
        raise RuntimeError(f"masked_fill: the mask must be bool, not {mask.dtype.name}")
    return Tensor._run(lambda x, m, v: np.where(m, v, x).astype(x.dtype, copy=False), input, mask, value)


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Replace the elements where a mask holds by those of a tensor, one after another.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])
    """

    def scattered(x: ndarray, m: ndarray, values: ndarray) -> ndarray:
        flags = np.broadcast_to(m, x.shape).reshape(-1)
        places = np.maximum(np.cumsum(flags.astype(np.int64)) - 1, 0)
        return np.where(flags, np.take(values.reshape(-1), places, mode="clip"), x.reshape(-1)).reshape(*x.shape)

    return Tensor._run(scattered, input, mask, source)


def _flat_places(index: ndarray, shape: tuple[int, ...], dim: int) -> ndarray:
    """Return the positions in the flattened tensor that an index along a dimension means."""
    steps = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        steps[d] = steps[d + 1] * shape[d + 1]
    extent = shape[dim]
    # A wrong index leads outside of the tensor, whatever the other coordinates add up to.
    outside = steps[0] * shape[0]
    places = np.where((index >= 0) & (index < extent), index.astype(np.int64) * steps[dim], outside)
    for d, size in enumerate(index.shape):
        if d != dim:
            places = places + (np.arange(size) * steps[d]).reshape([-1 if e == d else 1 for e in range(index.ndim)])
    return places.reshape(-1)


def _values(src: Any, shape: tuple[int, ...], like: ndarray) -> ndarray:
    """Return the values to scatter, in one dimension."""
    if isinstance(src, ndarray) and src.ndim:
        return _region(src, shape).reshape(-1)
    return np.broadcast_to(np.asarray(src, like.dtype), shape).reshape(-1)


def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """Replace one element per index along a dimension: ``out[i][index[i][j]] = src[i][j]`` for ``dim=1``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.scatter(torch.zeros(1, 3), 1, torch.tensor([[2]]), 1.0)
    tensor([[0., 0., 1.]])
    """
    given = value if src is None else src
    if reduce is not None:
        ways = {"add": "sum", "multiply": "prod"}
        if reduce not in ways:
            raise RuntimeError(f"scatter: reduce is 'add' or 'multiply', not {reduce!r}")
        return scatter_reduce(input, dim, index, given, ways[reduce])
    place = _dim("scatter", input, index, dim)

    def scattered(x: ndarray, at: ndarray, values: Any) -> ndarray:
        shape, flat = x.shape, _flat_places(at, x.shape, place)
        return npx.index_update(x.reshape(-1), flat[None], _values(values, at.shape, x).astype(x.dtype)).reshape(*shape)

    return Tensor._run(scattered, input, index, given)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """Add to one element per index along a dimension: ``out[i][index[i][j]] += src[i][j]`` for ``dim=1``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    place = _dim("scatter_add", input, index, dim)

    def scattered(x: ndarray, at: ndarray, values: Any) -> ndarray:
        shape, flat = x.shape, _flat_places(at, x.shape, place)
        return npx.index_add(x.reshape(-1), flat[None], _values(values, at.shape, x).astype(x.dtype)).reshape(*shape)

    return Tensor._run(scattered, input, index, src)


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Any, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce the values of each index along a dimension: ``"sum"``, ``"mean"``, ``"prod"``, ``"amax"`` or ``"amin"``.

    Sums and means have gradients.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0]), "sum")
    tensor([3., 3.])
    """
    place = _dim("scatter_reduce", input, index, dim)
    neutral: dict[str, float] = {"sum": 0, "mean": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}
    if reduce not in neutral:
        raise RuntimeError(f"scatter_reduce: reduce is one of {', '.join(neutral)}, not {reduce!r}")
    flat = _flat_places(index._array, input._array.shape, place)
    size = input.numel()
    ones = np.ones(flat.shape, np.int64)
    counts = npx.index_add(np.zeros((size,), np.int64), flat[None], ones).reshape(*input.shape)
    base = input if include_self else Tensor._run(lambda x: np.where(counts > 0, neutral[reduce], x), input)
    if not include_self:
        base = base.to(input.dtype)
    if reduce in ("sum", "mean"):
        total = scatter_add(base, dim, index, src)
        if reduce == "sum":
            return total
        members = np.maximum(counts + 1 if include_self else counts, 1)
        return Tensor._run(lambda x: (x / members).astype(x.dtype, copy=False), total)
    ufunc = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
    made = base.detach().clone()._array.reshape(-1)
    ufunc.at(made, flat, _values(src._array if isinstance(src, Tensor) else src, index._array.shape, made))
    return Tensor._of(made.reshape(*input.shape))


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add slices to the slices at indices along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.ones(2))
    tensor([2., 0., 0.])
    """

    def added(x: ndarray, at: ndarray, values: ndarray) -> ndarray:
        moved = npx.index_add(np.moveaxis(x, dim, 0), at.reshape(1, -1), np.moveaxis(values, dim, 0) * alpha)
        return np.moveaxis(moved, 0, dim)

    return Tensor._run(added, input, index, source)


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Replace the slices at indices along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2]), torch.ones(1))
    tensor([0., 0., 1.])
    """

    def copied(x: ndarray, at: ndarray, values: ndarray) -> ndarray:
        moved = npx.index_update(np.moveaxis(x, dim, 0), at.reshape(1, -1), np.moveaxis(values, dim, 0))
        return np.moveaxis(moved, 0, dim)

    return Tensor._run(copied, input, index, source)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Set the slices at indices along a dimension to a number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([2]), 7.0)
    tensor([0., 0., 7.])
    """

    def filled(x: ndarray, at: ndarray, number: Any) -> ndarray:
        marked = npx.index_update(np.zeros((x.shape[dim],)), at.reshape(1, -1), np.ones((at.size,)))
        mask = (marked > 0).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)])
        return np.where(mask, number, x).astype(x.dtype, copy=False)

    return Tensor._run(filled, input, index, value)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of nonzero elements, as rows, or as one tensor per dimension. Waits for their number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nonzero(torch.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
    if as_tuple:
        return tuple(Tensor._of(place) for place in np.nonzero(input._array))
    return argwhere(input)


def argwhere(input: Tensor) -> Tensor:
    """Return the indices of nonzero elements, as rows. Waits for their number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.argwhere(torch.tensor([0, 5]))
    tensor([[1]])
    """
    return Tensor._of(np.argwhere(input._array))


def _order(x: ndarray, dim: int, descending: bool) -> ndarray:
    if not descending:
        return np.argsort(x, dim)
    extent = x.shape[dim] if x.ndim else 1
    return _forerun.routine("argtop", [x], axis=dim % max(x.ndim, 1), descending=True, count=extent)


def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Extremes:
    """Sort along a dimension; return values and indices. The sort is stable.

    Examples
    --------
    >>> from forerun import torch
    >>> values, indices = torch.sort(torch.tensor([3.0, 1.0, 2.0]))
    >>> values, indices
    (tensor([1., 2., 3.]), tensor([1, 2, 0]))
    """
    order = _order(input._array, dim, descending)
    return Extremes(Tensor._run(lambda x: np.take_along_axis(x, order, dim), input), Tensor._of(order))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """Return the indices that sort a tensor along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.argsort(torch.tensor([3.0, 1.0, 2.0]), descending=True)
    tensor([0, 2, 1])
    """
    return Tensor._of(_order(input._array, dim, descending))


def msort(input: Tensor) -> Tensor:
    """Sort along the first dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.msort(torch.tensor([3.0, 1.0]))
    tensor([1., 3.])
    """
    return sort(input, 0).values


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Extremes:
    """Return the ``k`` largest or smallest elements along a dimension in order, and their indices.

    Examples
    --------
    >>> from forerun import torch
    >>> values, indices = torch.topk(torch.tensor([1.0, 4.0, 2.0]), 2)
    >>> values, indices
    (tensor([4., 2.]), tensor([1, 2]))
    """
    extent = input.shape[dim] if input.dim() else 1
    if not 0 <= k <= extent:
        raise RuntimeError(f"topk: k={k} is out of range for dimension {dim} of extent {extent}")
    place = dim % max(input.dim(), 1)
    order = _forerun.routine("argtop", [input._array], axis=place, descending=largest, count=k) if k else None
    if order is None:
        nothing = input.narrow(place, 0, 0)
        return Extremes(nothing, nothing.long())
    return Extremes(Tensor._run(lambda x: np.take_along_axis(x, order, place), input), Tensor._of(order))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Extremes:
    """Return the ``k``-th smallest element along a dimension, counted from one, and its index.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.kthvalue(torch.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    found = topk(input, k, dim, largest=False)
    values, indices = found.values.narrow(dim, k - 1, 1), found.indices.narrow(dim, k - 1, 1)
    return Extremes(values, indices) if keepdim else Extremes(values.squeeze(dim), indices.squeeze(dim))


def isin(elements: Any, test_elements: Any, *, invert: bool = False) -> Tensor:
    """Return which elements occur in another tensor.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2]))
    tensor([False,  True, False])
    """
    return Tensor._run(lambda x, others: np.isin(x, others, invert=invert), elements, test_elements)


def searchsorted(sorted_sequence: Tensor, input: Any, *, right: bool = False, side: str | None = None) -> Tensor:
    """Return where elements would be inserted into a sorted vector.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.searchsorted(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 3.0]))
    tensor([1, 1])
    """
    return Tensor._run(
        lambda line, x: np.searchsorted(line, x, side or ("right" if right else "left")), sorted_sequence, input
    )


def bucketize(input: Any, boundaries: Tensor, *, right: bool = False) -> Tensor:
    """Return the interval between boundaries that each element is in.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.bucketize(torch.tensor([0.5, 2.0]), torch.tensor([1.0, 3.0]))
    tensor([0, 1])
    """
    return searchsorted(boundaries, input, right=right)


class Uniques(NamedTuple):
    """Distinct elements, and what else was requested."""

    output: Tensor
    inverse_indices: Tensor
    counts: Tensor


def _chosen(found: Uniques, return_inverse: bool, return_counts: bool) -> Any:
    if return_inverse and return_counts:
        return found
    if return_inverse or return_counts:
        return found.output, found.inverse_indices if return_inverse else found.counts
    return found.output


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements in order, or the distinct slices along a dimension. Waits for their number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    values, inverse, counts = np.unique(input._array, return_inverse=True, return_counts=True, axis=dim)
    shape = input.shape if dim is None else (input.shape[dim],)
    found = Uniques(Tensor._of(values), Tensor._of(inverse.reshape(*shape)), Tensor._of(counts))
    return _chosen(found, return_inverse, return_counts)


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """Return the flattened elements without repetitions of the one before. Waits for their number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    flat = input._array.reshape(-1)
    first = np.concatenate((np.ones((min(flat.size, 1),), bool), np.not_equal(flat[1:], flat[:-1])))
    places = np.flatnonzero(first)
    inverse = np.cumsum(first.astype(np.int64)) - 1
    counts = np.diff(np.concatenate((places, np.array([flat.size]))))
    found = Uniques(Tensor._of(flat[places]), Tensor._of(inverse.reshape(*input.shape)), Tensor._of(counts))
    return _chosen(found, return_inverse, return_counts)
