"""Images resized, warped and read at any place, with MXNet's names and arguments; part of ``npx``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import int64, ndarray
from forerun._images import extents
from forerun._pointwise import floor, maximum, minimum, remainder, rint
from forerun._types import ArrayLike
from forerun.np._common import alike

__all__ = ["bilinear_resize", "bilinear_sampler", "grid_generator", "grid_sample", "spatial_transformer"]

Size = SupportsIndex | Sequence[SupportsIndex]


def _images(op: str, x: ndarray) -> ndarray:
    if x.ndim != 4:
        raise ValueError(f"{op}: data must have shape (batch, channels, height, width), got {x.shape}")
    return floating(x)


def _target(op: str, target_shape: Size) -> tuple[int, ...]:
    target = extents(target_shape, 0, 2)
    if len(target) != 2 or min(target) < 1:
        raise ValueError(f"{op}: target_shape must be two positive numbers, got {target_shape}")
    return target


def resized_axis(x: ndarray, axis: int, extent: int, align_corners: bool) -> ndarray:
    """Interpolate linearly along one axis."""
    old = x.shape[axis]
    if extent == old:
        return x
    steps = _forerun.arange(0, extent, 1, "float64", x.device)
    if align_corners:
        places = steps * ((old - 1) / (extent - 1) if extent > 1 else 0.0)
    else:
        places = maximum((steps + 0.5) * (old / extent) - 0.5, 0)
    first = minimum(floor(places), old - 1)
    share = (places - first).astype(x.dtype).reshape(extent, *(1,) * (x.ndim - 1 - axis))
    low = _forerun.take(x, first.astype(int64), axis)
    high = _forerun.take(x, minimum(first + 1, old - 1).astype(int64), axis)
    return low + (high - low) * share


def bilinear_resize(
    data: ArrayLike,
    like: ArrayLike | None = None,
    height: SupportsIndex = 1,
    width: SupportsIndex = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: str = "size",
    align_corners: bool = True,
) -> ndarray:
    """Resize images by bilinear interpolation.

    With ``align_corners`` the corner pixels stay in the corners: row ``i`` of ``n`` is read at
    ``i * (h - 1) / (n - 1)``. Otherwise pixels are areas: it is read at ``(i + 0.5) * h / n - 0.5``, within the image.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    like
        Images whose extents the result has; only with ``mode="like"``.
    height, width
        The extents of the result; only with ``mode="size"``.
    scale_height, scale_width
        Factors of the extents, instead of ``height`` and ``width``; extents are rounded down.
    mode
        ``"size"``; ``"like"``; ``"odd_scale"``: ``(h - 1) * scale + 1`` for odd extents, ``h * scale`` for even ones;
        ``"to_even_down"``, ``"to_even_up"``, ``"to_odd_down"`` or ``"to_odd_up"``: the next even or odd extents.
    align_corners
        See above.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.bilinear_resize(np.array([[[[0.0, 2.0]]]]), height=1, width=3)
    array([[[[0., 1., 2.]]]])
    """
    x = _images("bilinear_resize", to_array(data))
    old = x.shape[2:]
    scales = scale_height, scale_width
    if mode == "like":
        if like is None:
            raise ValueError("bilinear_resize: mode 'like' needs another array")
        size = _images("bilinear_resize", to_array(like)).shape[2:]
    elif mode == "size":
        given = index(height), index(width)
        size = tuple(g if s is None else int(o * s) for o, g, s in zip(old, given, scales, strict=True))
    elif mode == "odd_scale":
        factors = [s for s in scales if s is not None]
        if len(factors) < 2:
            raise ValueError("bilinear_resize: mode 'odd_scale' needs scale_height and scale_width")
        size = tuple(int((o - o % 2) * s) + o % 2 for o, s in zip(old, factors, strict=True))
    elif mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up"):
        wanted, step = int("odd" in mode), 1 if mode.endswith("up") else -1
        size = tuple(o if o % 2 == wanted else o + step for o in old)
    else:
        raise ValueError(f"bilinear_resize: unknown mode {mode!r}")
    if min(size) < 1 or 0 in old:
        raise ValueError(f"bilinear_resize: cannot resize images of shape {x.shape} to {size[0]} x {size[1]}")
    return resized_axis(resized_axis(x, 2, size[0], align_corners), 3, size[1], align_corners)


def _sampled(x: ndarray, rows: ndarray, columns: ndarray) -> ndarray:
    """Read images at places in pixels; both have shape (batch, height, width)."""
    batch, *size = rows.shape
    count = rows.size // batch if batch else 0
    places = _forerun.concatenate([rows.reshape(batch, 1, count), columns.reshape(batch, 1, count)], 1)
    return _forerun.routine("bilinear_sample", [x, places]).reshape(batch, x.shape[1], *size)


def _lines(extent: int, x: ndarray) -> ndarray:
    """Return even steps from -1 to 1."""
    steps = _forerun.arange(0, extent, 1, x.dtype, x.device)
    return steps * (2 / (extent - 1)) - 1 if extent > 1 else steps


def grid_generator(data: ArrayLike, transform_type: str = "affine", target_shape: Size = (0, 0)) -> ndarray:
    """Generate the places that :func:`bilinear_sampler` reads.

    The grid has shape (batch, 2, height, width): columns ``x``, then rows ``y``, from -1 (the first pixel) to 1 (the
    last).

    Parameters
    ----------
    data
        For ``"affine"``, matrices of shape (batch, 6): ``x' = a x + b y + c``, ``y' = d x + e y + f``. For ``"warp"``,
        displacements in pixels of shape (batch, 2, height, width), across first.
    transform_type
        ``"affine"`` or ``"warp"``.
    target_shape
        Height and width of the grid; only for ``"affine"``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.grid_generator(np.array([[1.0, 0, 0, 0, 1, 0]]), "affine", (2, 2))
    array([[[[-1.,  1.],
             [-1.,  1.]],
    <BLANKLINE>
            [[-1., -1.],
             [ 1.,  1.]]]])
    """
    x = floating(to_array(data))
    if transform_type == "affine":
        if x.ndim != 2 or x.shape[1] != 6:
            raise ValueError(f"grid_generator: affine matrices must have shape (batch, 6), got {x.shape}")
        height, width = _target("grid_generator", target_shape)
        across, down = _lines(width, x), _lines(height, x).reshape(height, 1)
        terms = [x[:, i].reshape(-1, 1, 1) for i in range(6)]
        made = [terms[i] * across + terms[i + 1] * down + terms[i + 2] for i in (0, 3)]
        return _forerun.concatenate([each.reshape(x.shape[0], 1, height, width) for each in made], 1)
    if transform_type != "warp":
        raise ValueError(f"grid_generator: transform_type must be 'affine' or 'warp', not {transform_type!r}")
    if x.ndim != 4 or x.shape[1] != 2:
        raise ValueError(f"grid_generator: displacements must have shape (batch, 2, height, width), got {x.shape}")
    batch, _, height, width = x.shape
    steps = [_forerun.arange(0, extent, 1, x.dtype, x.device) for extent in (width, height)]
    moved = [x[:, 0] + steps[0], x[:, 1] + steps[1].reshape(height, 1)]
    made = [
        each * (2 / (extent - 1)) - 1 if extent > 1 else each
        for each, extent in zip(moved, (width, height), strict=True)
    ]
    return _forerun.concatenate([each.reshape(batch, 1, height, width) for each in made], 1)


def bilinear_sampler(data: ArrayLike, grid: ArrayLike, cudnn_off: bool | None = None) -> ndarray:
    """Read images at the places of a grid, by bilinear interpolation; beyond the images everything is 0.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    grid
        Places of shape (batch, 2, height of the result, width of the result), as from :func:`grid_generator`.
    cudnn_off
        Has no effect.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array([[[[0.0, 4.0]]]])
    >>> npx.bilinear_sampler(x, np.array([[[[-1.0, -0.5, 2.0]], [[0.0, 0.0, 0.0]]]]))
    array([[[[0., 1., 2.]]]])
    """
    x, places = alike(data, grid)
    x = _images("bilinear_sampler", x)
    if places.ndim != 4 or places.shape[:2] != (x.shape[0], 2):
        raise ValueError(
            f"bilinear_sampler: grid must have shape ({x.shape[0]}, 2, height, width) for data {x.shape}, "
            f"got {places.shape}"
        )
    places = floating(places)
    height, width = x.shape[2:]
    return _sampled(x, (places[:, 1] + 1) * ((height - 1) / 2), (places[:, 0] + 1) * ((width - 1) / 2))


def _within(places: ndarray, extent: int, padding_mode: str, align_corners: bool) -> ndarray:
    """Move places beyond an axis to where they are read."""
    if padding_mode == "reflection":
        low, span = (0.0, extent - 1.0) if align_corners else (-0.5, float(extent))
        if span > 0:
            turned = remainder(places - low, 2 * span)
            places = minimum(turned, 2 * span - turned) + low
    return places if padding_mode == "zeros" else minimum(maximum(places, 0), extent - 1)


def grid_sample(
    data: ArrayLike,
    grid: ArrayLike,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> ndarray:
    """Read images at the places of a grid, with PyTorch's arguments.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    grid
        Places of shape (batch, height of the result, width of the result, 2): columns, then rows, from -1 to 1.
    mode
        ``"bilinear"``, or ``"nearest"``: the nearest pixel, without a gradient for the grid.
    padding_mode
        What lies beyond the images: ``"zeros"``; ``"border"``, the pixels of the border; or ``"reflection"``, the
        images mirrored again and again.
    align_corners
        Whether -1 and 1 are the centers of the first and last pixels; otherwise their outer edges.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array([[[[1.0, 3.0]]]])
    >>> npx.grid_sample(x, np.array([[[[-1.0, 0.0], [0.0, 0.0], [0.5, 0.0]]]]), padding_mode="border")
    array([[[[1., 2., 3.]]]])
    """
    x, places = alike(data, grid)
    x = _images("grid_sample", x)
    if places.ndim != 4 or places.shape[0] != x.shape[0] or places.shape[3] != 2:
        raise ValueError(
            f"grid_sample: grid must have shape ({x.shape[0]}, height, width, 2) for data {x.shape}, got {places.shape}"
        )
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f"grid_sample: mode must be 'bilinear' or 'nearest', not {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"grid_sample: padding_mode must be zeros, border or reflection, not {padding_mode!r}")
    if 0 in x.shape[2:]:
        raise ValueError(f"grid_sample: images of shape {x.shape} have no pixels")
    places = floating(places)
    made = []
    for axis, extent in ((1, x.shape[2]), (0, x.shape[3])):
        place = places[..., axis]
        place = (place + 1) * ((extent - 1) / 2) if align_corners else ((place + 1) * extent - 1) / 2
        place = _within(place, extent, padding_mode, align_corners)
        made.append(rint(place) if mode == "nearest" else place)
    return _sampled(x, *made)


def spatial_transformer(
    data: ArrayLike,
    loc: ArrayLike,
    target_shape: Size = (0, 0),
    transform_type: str = "affine",
    sampler_type: str = "bilinear",
    cudnn_off: bool | None = None,
) -> ndarray:
    """Transform images by affine maps: :func:`grid_generator`, then :func:`bilinear_sampler`.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    loc
        Matrices of shape (batch, 6).
    target_shape
        Height and width of the result.
    transform_type, sampler_type
        ``"affine"`` and ``"bilinear"``; there are no others.
    cudnn_off
        Has no effect.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> npx.spatial_transformer(x, np.array([[-1.0, 0, 0, 0, 1, 0]]), (2, 2))
    array([[[[2., 1.],
             [4., 3.]]]])
    """
    for name, given, known in (("transform", transform_type, "affine"), ("sampler", sampler_type, "bilinear")):
        if given != known:
            raise ValueError(f"spatial_transformer: {name}_type must be {known!r}, not {given!r}")
    x, matrices = to_arrays(data, loc)
    x = _images("spatial_transformer", x)
    if matrices.shape != (x.shape[0], 6):
        raise ValueError(f"spatial_transformer: loc must have shape ({x.shape[0]}, 6), got {matrices.shape}")
    return bilinear_sampler(x, grid_generator(matrices, "affine", target_shape))
