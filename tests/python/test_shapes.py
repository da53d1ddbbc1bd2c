"""Functions that rearrange, join, split, pad and index arrays compared with NumPy, for every memory layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import np

Make = Callable[..., Any]
Case = Callable[[Any, Make], Any]

LOOKS = ["dense", "transposed", "backwards"]


def plain(dtype: str, *shape: int) -> numpy.ndarray:
    """Return small distinct numbers of both signs."""
    size = int(numpy.prod(shape))
    return (numpy.arange(size) * 7 % max(size, 1) - size // 3).astype(dtype).reshape(shape)


def laid(values: numpy.ndarray, look: str) -> np.ndarray:
    """Return a Forerun array with these values and a given memory layout."""
    if look == "transposed":
        return np.array(values.T.copy()).T
    if look == "backwards" and values.ndim:
        spread = numpy.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        spread[..., ::-2] = values
        return np.array(spread)[..., ::-2]
    return np.array(values)


def compare(got: Any, want: Any) -> None:
    """Compare results: arrays by shape, kind of dtype and values; collections item by item."""
    if isinstance(want, (tuple, list)):
        assert isinstance(got, (tuple, list)) and len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            compare(one, other)
        return
    want = numpy.asarray(want)
    assert isinstance(got, np.ndarray), type(got)
    assert got.shape == want.shape
    read = got.asnumpy()
    # The default float has another width.
    assert read.dtype == want.dtype or (read.dtype.kind, want.dtype) == ("f", numpy.dtype("float64")), read.dtype
    numpy.testing.assert_allclose(read, want, rtol=2e-6 if read.dtype.kind == "f" else 0, atol=1e-6)


SHAPES: dict[str, list[Case]] = {
    "matrix_transpose": [lambda m, a: m.matrix_transpose(a(2, 3, 4)), lambda m, a: m.matrix_transpose(a(0, 3))],
    "broadcast_arrays": [
        lambda m, a: m.broadcast_arrays(a(3, 1), a(4)),
        lambda m, a: m.broadcast_arrays(a(), a(2, 0)),
        lambda m, a: m.broadcast_arrays(a(2)),
    ],
    "unstack": [
        lambda m, a: m.unstack(a(2, 3)),
        lambda m, a: m.unstack(a(2, 3), axis=-1),
        lambda m, a: m.unstack(a(0, 3)),
    ],
    "roll": [
        lambda m, a: m.roll(a(5), 2),
        lambda m, a: m.roll(a(2, 3), -1),
        lambda m, a: m.roll(a(2, 3), 7, axis=1),
        lambda m, a: m.roll(a(2, 3), (1, 2), axis=(0, -1)),
        lambda m, a: m.roll(a(4, 3), 1, axis=(0, 1)),
        lambda m, a: m.roll(a(4, 3), (1, 2), axis=0),
        lambda m, a: m.roll(a(0, 3), 2, axis=0),
        lambda m, a: m.roll(a(), 2),
    ],
    "rot90": [lambda m, a, k=k: m.rot90(a(2, 3, 4), k, (0, 2)) for k in range(-2, 5)],
    "flipud": [lambda m, a: m.flipud(a(2, 3))],
    "fliplr": [lambda m, a: m.fliplr(a(2, 3))],
    "rollaxis": [
        lambda m, a: m.rollaxis(a(2, 3, 4), 2),
        lambda m, a: m.rollaxis(a(2, 3, 4), 0, 2),
        lambda m, a: m.rollaxis(a(2, 3, 4), -1, -1),
        lambda m, a: m.rollaxis(a(2, 3, 4), 1, 3),
    ],
    "atleast_1d": [lambda m, a: m.atleast_1d(a()), lambda m, a: m.atleast_1d(a(), a(2))],
    "atleast_2d": [lambda m, a: m.atleast_2d(a()), lambda m, a: m.atleast_2d(a(3)), lambda m, a: m.atleast_2d(a(2, 3))],
    "atleast_3d": [lambda m, a, n=n: m.atleast_3d(a(*(2, 3, 4, 5)[:n])) for n in range(5)],
    "hstack": [lambda m, a: m.hstack([a(2), a(3)]), lambda m, a: m.hstack([a(2, 1), a(2, 3)])],
    "vstack": [lambda m, a: m.vstack([a(2), a(2)]), lambda m, a: m.vstack([a(1, 2), a(3, 2)])],
    "dstack": [lambda m, a: m.dstack([a(2), a(2)]), lambda m, a: m.dstack([a(2, 3), a(2, 3)])],
    "column_stack": [lambda m, a: m.column_stack([a(2), a(2, 3)])],
    "append": [
        lambda m, a: m.append(a(2, 3), a(2)),
        lambda m, a: m.append(a(2, 3), a(1, 3), axis=0),
        lambda m, a: m.append(a(0), a(2)),
    ],
    "insert": [
        lambda m, a: m.insert(a(4), 1, 9),
        lambda m, a: m.insert(a(4), -1, [8, 9]),
        lambda m, a: m.insert(a(4), [0, 4, 0], [7, 8, 9]),
        lambda m, a: m.insert(a(4), slice(1, 3), 5),
        lambda m, a: m.insert(a(2, 3), 1, 9),
        lambda m, a: m.insert(a(2, 3), 1, 9, axis=1),
        lambda m, a: m.insert(a(2, 3), 1, [7, 8], axis=1),
        lambda m, a: m.insert(a(2, 3), [1, 2], [[7, 8]], axis=1),
        lambda m, a: m.insert(a(2, 3), 2, a(3), axis=0),
    ],
    "delete": [
        lambda m, a: m.delete(a(5), 2),
        lambda m, a: m.delete(a(5), [0, -1]),
        lambda m, a: m.delete(a(3, 4), slice(None, None, 2), axis=1),
        lambda m, a: m.delete(a(3, 4), 1, axis=0),
        lambda m, a: m.delete(a(2, 2), [0, 3]),
    ],
    "array_split": [
        lambda m, a: m.array_split(a(7), 3),
        lambda m, a: m.array_split(a(2, 5), 2, axis=1),
        lambda m, a: m.array_split(a(3), 5),
        lambda m, a: m.array_split(a(5), [1, 3]),
    ],
    "hsplit": [lambda m, a: m.hsplit(a(4), 2), lambda m, a: m.hsplit(a(2, 4), [1, 2])],
    "vsplit": [lambda m, a: m.vsplit(a(4, 2), 2)],
    "dsplit": [lambda m, a: m.dsplit(a(2, 3, 4), 2)],
    "resize": [
        lambda m, a: m.resize(a(5), (2, 4)),
        lambda m, a: m.resize(a(5), 3),
        lambda m, a: m.resize(a(0), (2, 2)),
        lambda m, a: m.resize(a(2, 3), (0,)),
    ],
    "diagonal": [lambda m, a, k=k: m.diagonal(a(3, 4), k) for k in range(-3, 5)]
    + [
        lambda m, a: m.diagonal(a(2, 3, 4), 1, 0, 2),
        lambda m, a: m.diagonal(a(2, 3, 4), -1, -1, -2),
        lambda m, a: m.diagonal(a(0, 3)),
    ],
    "trace": [lambda m, a: m.trace(a(3, 4), 1), lambda m, a: m.trace(a(2, 3, 4), 0, 1, 2)],
    "diag": [lambda m, a, k=k: m.diag(a(3), k) for k in (-2, 0, 1)]
    + [lambda m, a: m.diag(a(3, 4), -1), lambda m, a: m.diag(a(0))],
    "diagflat": [lambda m, a: m.diagflat(a(2, 2), 1), lambda m, a: m.diagflat(a())],
    "tril": [lambda m, a, k=k: m.tril(a(2, 3, 4), k) for k in (-1, 0, 2)] + [lambda m, a: m.tril(a(3))],
    "triu": [lambda m, a, k=k: m.triu(a(3, 4), k) for k in (-1, 0, 2)] + [lambda m, a: m.triu(a(0, 3))],
    "unravel_index": [lambda m, a: m.unravel_index(m.array([[0, 5], [11, 23]]), (2, 3, 4))],
    "ravel_multi_index": [
        lambda m, a: m.ravel_multi_index((m.array([0, 1]), m.array([2, 0])), (2, 3)),
        lambda m, a: m.ravel_multi_index((m.array([5, -1]), m.array([4, 0])), (2, 3), mode="clip"),
        lambda m, a: m.ravel_multi_index((m.array([5, -1]), m.array([4, 0])), (2, 3), mode="wrap"),
    ],
    "vander": [lambda m, a: m.vander(a(3)), lambda m, a: m.vander(a(3), 2, increasing=True)],
    "meshgrid": [
        lambda m, a: m.meshgrid(a(2), a(3), a(4)),
        lambda m, a: m.meshgrid(a(2), a(3), indexing="ij", sparse=True),
        lambda m, a: m.meshgrid(a(2), copy=False),
    ],
    "pad": [
        lambda m, a: m.pad(a(3), 2),
        lambda m, a: m.pad(a(2, 3), ((1, 0), (2, 3)), constant_values=((1, 2), (3, 4))),
        lambda m, a: m.pad(a(2, 3), {-1: (1, 2)}),
        lambda m, a: m.pad(a(0, 2), 1),
        lambda m, a: m.pad(a(2, 3), 0),
        *[lambda m, a, w=w: m.pad(a(2, 3), w, "edge") for w in (1, (0, 2))],
        *[
            lambda m, a, w=w, k=k: m.pad(a(3, 4), w, k)
            for w in (1, 2, (7, 9))
            for k in ("reflect", "symmetric", "wrap")
        ],
        *[
            lambda m, a, w=w, k=k: m.pad(a(4), w, k, reflect_type="odd")
            for w in (1, (2, 3), (9, 8))
            for k in ("reflect", "symmetric")
        ],
        lambda m, a: m.pad(a(1), 3, "reflect"),
        lambda m, a: m.pad(a(2, 3), (2, 1), "linear_ramp", end_values=(5, -3)),
        *[lambda m, a, k=k: m.pad(a(3, 4), (2, 1), k) for k in ("maximum", "minimum", "mean")],
        lambda m, a: m.pad(a(3, 4), 1, "maximum", stat_length=2),
        lambda m, a: m.pad(a(3, 4), 1, "mean", stat_length=((1, 2), (3, 9))),
    ],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", SHAPES)
def test_against_numpy(name: str, look: str, dtype: str) -> None:
    for case in SHAPES[name]:
        want = case(numpy, lambda *shape: plain(dtype, *shape))
        compare(case(np, lambda *shape: laid(plain(dtype, *shape), look)), want)


GRIDS: list[Case] = [
    lambda m, _: m.identity(3),
    lambda m, _: m.identity(2, dtype="int32"),
    lambda m, _: m.logspace(-1, 3, 7),
    lambda m, _: m.logspace(0, 4, 5, endpoint=False, base=2.0),
    lambda m, _: m.geomspace(1, 1000, 4),
    lambda m, _: m.geomspace(-1, -100, 5, endpoint=False),
    lambda m, _: m.geomspace(2, 4, 1),
    lambda m, _: m.indices((2, 3)),
    lambda m, _: m.indices((2, 0, 3), dtype="int32"),
    lambda m, _: m.indices((2, 3), sparse=True),
    lambda m, _: m.tri(3, 4, 1),
    lambda m, _: m.tri(3, k=-1, dtype="int64"),
    *[lambda m, _, k=k: m.tril_indices(3, k, 4) for k in (-2, 0, 2, 5)],
    *[lambda m, _, k=k: m.triu_indices(4, k, 3) for k in (-2, 0, 2, 5)],
    lambda m, _: m.tril_indices_from(m.zeros((2, 3)), 1),
    lambda m, _: m.triu_indices_from(m.zeros((2, 3)), 1),
    lambda m, _: m.diag_indices(3, 3),
    lambda m, _: m.diag_indices_from(m.zeros((2, 2))),
    *[
        lambda m, _, f=f, n=n: getattr(m, f)(n)
        for f in ("hanning", "hamming", "blackman", "bartlett")
        for n in (0, 1, 2, 9)
    ],
    *[lambda m, _, n=n: m.kaiser(n, 3.5) for n in (0, 1, 2, 9)],
]


@pytest.mark.parametrize("place", range(len(GRIDS)))
def test_grids_against_numpy(place: int) -> None:
    compare(GRIDS[place](np, plain), GRIDS[place](numpy, plain))


def test_shapes_that_broadcast() -> None:
    for shapes in [((3, 1), (4,)), ((), (2, 3)), ((0,), (1,)), (5, (2, 1)), ()]:
        assert np.broadcast_shapes(*shapes) == numpy.broadcast_shapes(*shapes)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (2, 5), (2, 2, 2)])
@pytest.mark.parametrize("value", [9.0, [1.0, 2.0]])
def test_fill_diagonal(shape: tuple[int, ...], value: Any, wrap: bool) -> None:
    for look in LOOKS:
        want = plain("float32", *shape)
        got = laid(want, look)
        numpy.fill_diagonal(want, value, wrap)
        np.fill_diagonal(got, value, wrap)
        numpy.testing.assert_array_equal(got.asnumpy(), want)


def test_views_are_views() -> None:
    x = np.zeros((2, 2))
    for view in (np.rot90(x)[0], np.flipud(x)[0], np.matrix_transpose(x)[0], np.unstack(x)[1], np.diagonal(x), x.mT[1]):
        view[...] = 1
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    y = np.arange(3)
    for copy in (np.roll(y, 0), np.pad(y, 0), np.diff(y, 0), np.append(y, []), np.tril(np.eye(2))):
        copy += 1
    assert y.tolist() == [0, 1, 2]


def test_methods() -> None:
    x = plain("float32", 3, 4) / 8
    y = np.array(x)
    compare(y.round(1), x.round(1))
    compare(y.diagonal(1), x.diagonal(1))
    compare(y.trace(-1), x.trace(-1))
    compare(y.mT, x.mT)
    compare(round(y, 1), x.round(1))
    compare(round(y), x.round())
    whole = np.array([5, -7])
    compare(divmod(17, whole), divmod(17, whole.asnumpy()))
    compare(whole << 2, whole.asnumpy() << 2)
    compare(3 << abs(whole), 3 << abs(whole.asnumpy()))
    compare(whole >> 1, whole.asnumpy() >> 1)
    compare(100 >> abs(whole), 100 >> abs(whole.asnumpy()))
    whole <<= 3
    whole >>= 1
    assert whole.tolist() == [20, -28]


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: np.matrix_transpose(np.ones(3)), ValueError, "matrix_transpose: needs at least two dimensions"),
    (lambda: np.ones(3).mT, ValueError, "matrix_transpose: needs at least two dimensions"),
    (lambda: np.broadcast_shapes((2,), (3,)), ValueError, "could not be broadcast together: (2,) (3,)"),
    (lambda: np.roll(np.ones((2, 2)), (1, 2, 3), (0, 1)), ValueError, "roll: 3 shifts do not fit 2 axes"),
    (lambda: np.rot90(np.ones((2, 2)), 1, (0, 0)), ValueError, "rot90: needs two different axes"),
    (lambda: np.flipud(np.ones(())), ValueError, "flipud: needs at least one dimension"),
    (lambda: np.fliplr(np.ones(2)), ValueError, "fliplr: needs at least two dimensions"),
    (lambda: np.rollaxis(np.ones((2, 2)), 0, 5), IndexError, "rollaxis: start 5 is out of bounds"),
    (lambda: np.insert(np.ones(2), 5, 1), IndexError, "index 5 is out of bounds for axis with size 2"),
    (lambda: np.delete(np.ones(2), -3), IndexError, "index -3 is out of bounds for axis with size 2"),
    (lambda: np.array_split(np.ones(2), 0), ValueError, "array_split: needs at least one part"),
    (lambda: np.hsplit(np.ones(()), 1), ValueError, "hsplit: needs at least one dimension"),
    (lambda: np.vsplit(np.ones(2), 1), ValueError, "vsplit: needs at least two dimensions"),
    (lambda: np.dsplit(np.ones((2, 2)), 1), ValueError, "dsplit: needs at least three dimensions"),
    (lambda: np.resize(np.ones(2), (-1,)), ValueError, "resize: an extent must not be negative"),
    (lambda: np.diagonal(np.ones(2)), ValueError, "diagonal: needs at least two dimensions"),
    (lambda: np.diagonal(np.ones((2, 2)), 0, 1, -1), ValueError, "diagonal: axis1 and axis2 are both 1"),
    (lambda: np.diag(np.ones((2, 2, 2))), ValueError, "diag: needs one or two dimensions"),
    (lambda: np.fill_diagonal(np.ones(2), 1), ValueError, "fill_diagonal: needs two dimensions"),
    (lambda: np.tril(np.ones(())), ValueError, "tril: needs at least one dimension"),
    (lambda: np.tril_indices_from(np.ones(2)), ValueError, "tril_indices_from: needs a matrix"),
    (lambda: np.triu_indices_from(np.ones(2)), ValueError, "triu_indices_from: needs a matrix"),
    (lambda: np.diag_indices_from(np.ones((2, 3))), ValueError, "diag_indices_from: needs at least two equal"),
    (lambda: np.unravel_index(np.ones(2), (2,)), TypeError, "unravel_index: indices must be integers"),
    (lambda: np.ravel_multi_index((np.array([1]),), (2, 2)), ValueError, "ravel_multi_index: 1 indices for 2"),
    (lambda: np.ravel_multi_index((np.array([7]),), (2,)).asnumpy(), IndexError, "index 7 is out of bounds"),
    (lambda: np.geomspace(-1, 2), ValueError, "geomspace: needs two numbers of one sign"),
    (lambda: np.meshgrid(np.ones(2), indexing="yx"), ValueError, "meshgrid: indexing must be 'xy' or 'ij'"),
    (lambda: np.vander(np.ones((2, 2))), ValueError, "vander: needs one dimension"),
    (lambda: np.pad(np.ones(2), -1), ValueError, "pad: a width must not be negative"),
    (lambda: np.pad(np.ones(2), 1, "bend"), ValueError, "pad: unknown mode bend"),
    (lambda: np.pad(np.ones(2), 1, "edge", end_values=1), ValueError, "pad: mode edge takes no end_values"),
    (lambda: np.pad(np.ones((2, 2)), ((1, 1), (1, 1), (1, 1))), ValueError, "does not fit 2 dimensions"),
    (lambda: np.pad(np.ones((0,)), 1, "edge"), ValueError, "pad: cannot extend empty axis 0"),
    (lambda: np.pad(np.ones((2,)), 1, "mean", stat_length=0), ValueError, "pad: stat_length must be at least 1"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_is_refused(place: int) -> None:
    call, error, text = REFUSED[place]
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
