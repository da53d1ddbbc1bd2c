"""Products, Einstein sums, differences, statistics and polynomials compared with NumPy, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np

Make = Callable[..., Any]
Case = Callable[[Any, Make], Any]


def plain(dtype: str, *shape: int) -> numpy.ndarray:
    """Return small nonzero numbers of both signs."""
    size = int(numpy.prod(shape))
    values = (numpy.arange(size) * 5 % 11 - 4).reshape(shape)
    whole = numpy.where(values == 0, 2, values)
    return whole.astype(dtype) if "int" in dtype else (whole / 4).astype(dtype)


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
    numpy.testing.assert_allclose(read, want, rtol=1e-5 if read.dtype.kind == "f" else 0, atol=1e-5)


EINSUM = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji,jk", (3, 2), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("i,i", (3,), (3,)),
    ("i,j", (3,), (2,)),
    ("i,i->i", (3,), (3,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bij->b", (2, 3, 4), (2, 3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,...jk", (5, 1, 2, 3), (6, 3, 4)),
    ("i...,i...->...", (3, 2), (3, 4, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ab,bc,cd,de", (2, 3), (3, 2), (2, 4), (4, 2)),
    ("ijk,k->ij", (2, 3, 4), (4,)),
    ("ijk->", (2, 3, 4)),
    ("i,->i", (3,), ()),
    (",", (), ()),
    ("ij,ij->ij", (1, 3), (2, 3)),
    ("ij,kj->ik", (2, 1), (3, 4)),
    ("aab,b->a", (2, 2, 3), (3,)),
    ("ij,jk->ik", (0, 3), (3, 2)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("AbC,bC->A", (2, 3, 4), (3, 4)),
    ("ij , jk -> ik", (2, 3), (3, 4)),
]

COMPOSITES: dict[str, list[Case]] = {
    "einsum": [
        *[lambda m, a, t=text, s=shapes: m.einsum(t, *(a(*shape) for shape in s)) for text, *shapes in EINSUM],
        lambda m, a: m.einsum(a(2, 3), [0, 1], a(3, 4), [1, 2], [0, 2]),
        lambda m, a: m.einsum(a(2, 3), [10, 2], a(3, 4), [2, 3]),
        lambda m, a: m.einsum(a(5, 2, 3), [..., 0, 1], a(3), [1], [..., 0]),
    ],
    "outer": [lambda m, a: m.outer(a(2), a(3)), lambda m, a: m.outer(a(2, 2), a())],
    "inner": [
        lambda m, a: m.inner(a(3), a(3)),
        lambda m, a: m.inner(a(2, 3), a(4, 5, 3)),
        lambda m, a: m.inner(a(), a(2, 3)),
    ],
    "vdot": [lambda m, a: m.vdot(a(2, 3), a(3, 2))],
    "vecdot": [lambda m, a: m.vecdot(a(2, 3), a(3)), lambda m, a: m.vecdot(a(3, 2), a(3, 2), axis=0)],
    "tensordot": [
        lambda m, a: m.tensordot(a(2, 3, 4), a(3, 4, 5)),
        lambda m, a: m.tensordot(a(2, 3), a(3, 4), 1),
        lambda m, a: m.tensordot(a(2), a(3), 0),
        lambda m, a: m.tensordot(a(2, 3, 4), a(4, 3, 5), ([1, 2], [1, 0])),
        lambda m, a: m.tensordot(a(2, 3, 4), a(5, 4), (-1, -1)),
        lambda m, a: m.tensordot(a(2, 0), a(0, 3), 1),
    ],
    "kron": [
        lambda m, a: m.kron(a(2), a(3)),
        lambda m, a: m.kron(a(2, 2), a(3)),
        lambda m, a: m.kron(a(2), a(2, 3, 2)),
        lambda m, a: m.kron(a(), a(2)),
    ],
    "cross": [
        lambda m, a: m.cross(a(3), a(3)),
        lambda m, a: m.cross(a(4, 3), a(3)),
        lambda m, a: m.cross(a(3, 4), a(3, 4), axis=0),
        lambda m, a: m.cross(a(3, 2), a(2, 3), axisa=0, axisb=1, axisc=0),
    ],
    "diff": [
        lambda m, a: m.diff(a(5)),
        lambda m, a: m.diff(a(2, 5), 2),
        lambda m, a: m.diff(a(4, 3), axis=0, prepend=1, append=a(2, 3)),
        lambda m, a: m.diff(a(1)),
        lambda m, a: m.diff(a(0)),
        lambda m, a: m.diff(a(3), 5),
    ],
    "ediff1d": [lambda m, a: m.ediff1d(a(2, 3)), lambda m, a: m.ediff1d(a(3), to_begin=a(1), to_end=a(2))],
    "gradient": [
        lambda m, a: m.gradient(a(5)),
        lambda m, a: m.gradient(a(5), 2.0, edge_order=2),
        lambda m, a: list(m.gradient(a(3, 4))),
        lambda m, a: m.gradient(a(3, 4), 0.5, axis=1),
        lambda m, a: m.gradient(a(4), m.array([0.0, 1.0, 3.0, 3.5])),
        lambda m, a: m.gradient(a(4), m.array([0.0, 1.0, 3.0, 3.5]), edge_order=2),
        lambda m, a: list(m.gradient(a(3, 4), m.array([0.0, 1.0, 3.0]), 2.0, edge_order=2)),
    ],
    "interp": [
        lambda m, a: m.interp(a(6), m.array([-1.0, 0.0, 0.5]), m.array([3.0, 1.0, 2.0])),
        lambda m, a: m.interp(a(2, 3), m.array([-1.0, 0.0, 0.5]), m.array([3.0, 1.0, 2.0]), left=-7.0, right=8.0),
        lambda m, a: m.interp(a(3), m.array([0.25]), m.array([3.0])),
        lambda m, a: m.interp(a(9) * 2, m.array([0.25, 1.5, 1.0]), m.array([3.0, 4.0, -1.0]), period=1.75),
        lambda m, a: m.interp(a(3), m.array([0.0, 1.0]), m.array([3.0, 4.0])),
        lambda m, a: m.interp(a(), m.array([0.0, 1.0]), m.array([3.0, 4.0])),
    ],
    "trapezoid": [
        lambda m, a: m.trapezoid(a(5)),
        lambda m, a: m.trapezoid(a(2, 5), dx=0.5, axis=0),
        lambda m, a: m.trapezoid(a(2, 3), m.array([0.0, 1.0, 4.0])),
        lambda m, a: m.trapezoid(a(2, 3), m.array([0.0, 4.0]), axis=0),
        lambda m, a: m.trapezoid(a(1)),
    ],
    "unwrap": [
        lambda m, a: m.unwrap(a(9) * 7),
        lambda m, a: m.unwrap(a(3, 7) * 3, axis=0),
        lambda m, a: m.unwrap(a(9) * 3, period=4),
        lambda m, a: m.unwrap(a(9) * 5, discont=5.0),
    ],
    "convolve": [
        lambda m, a, n=n, k=k, mode=mode: m.convolve(a(n), a(k), mode)
        for n, k in [(5, 3), (3, 5), (1, 4), (4, 4), (40, 33), (6, 2)]
        for mode in ("full", "same", "valid")
    ],
    "correlate": [
        lambda m, a, n=n, k=k, mode=mode: m.correlate(a(n), a(k), mode)
        for n, k in [(5, 3), (4, 2), (40, 20), (2, 5), (2, 4)]
        for mode in ("full", "same", "valid")
        if n >= k or mode == "full"
    ],
    "count_nonzero": [
        lambda m, a: m.count_nonzero(a(3, 4)),
        lambda m, a: m.count_nonzero(a(3, 4) > 0, axis=1, keepdims=True),
    ],
    "ptp": [lambda m, a: m.ptp(a(3, 4)), lambda m, a: m.ptp(a(3, 4), axis=0, keepdims=True)],
    "average": [
        lambda m, a: m.average(a(3, 4)),
        lambda m, a: m.average(a(3, 4), axis=1, weights=m.array([1.0, 2.0, 3.0, 5.0])),
        lambda m, a: m.average(a(3, 4), weights=abs(a(3, 4))),
        lambda m, a: m.average(a(3, 4), axis=0, weights=m.array([1.0, 2.0, 3.0]), returned=True),
        lambda m, a: m.average(a(2, 3, 4), axis=(2, 0), weights=abs(a(4, 2)), keepdims=True),
    ],
    "var": [lambda m, a: m.var(a(3, 4), axis=1, correction=1), lambda m, a: m.std(a(3, 4), ddof=1)],
    "cov": [
        lambda m, a: m.cov(a(3, 7)),
        lambda m, a: m.cov(a(7)),
        lambda m, a: m.cov(a(3, 7), a(2, 7), bias=True),
        lambda m, a: m.cov(a(7, 2), rowvar=False, ddof=2),
        lambda m, a: m.cov(a(2, 4), aweights=[1.0, 2.0, 3.0, 0.5], fweights=[1, 2, 1, 3]),
    ],
    "corrcoef": [lambda m, a: m.corrcoef(a(3, 7)), lambda m, a: m.corrcoef(a(7), a(7) * a(7))],
    "apply_along_axis": [
        lambda m, a: m.apply_along_axis(m.sum, 1, a(2, 3, 4)),
        lambda m, a: m.apply_along_axis(m.outer, 0, a(3, 2), a(2)),
        lambda m, a: m.apply_along_axis(lambda x: x * 2, -1, a(3, 2)),
    ],
    "apply_over_axes": [lambda m, a: m.apply_over_axes(m.sum, a(2, 3, 4), [0, -1])],
    "polyval": [lambda m, a: m.polyval(a(4), a(2, 3)), lambda m, a: m.polyval(a(0), a(2))],
    "polyadd": [lambda m, a: m.polyadd(a(2), a(4))],
    "polysub": [lambda m, a: m.polysub(a(4), a(2))],
    "polymul": [lambda m, a: m.polymul(a(4), a(2))],
    "polydiv": [lambda m, a: m.polydiv(a(5), a(2))[0], lambda m, a: m.polydiv(a(2), a(5))],
    "polyder": [lambda m, a: m.polyder(a(5)), lambda m, a: m.polyder(a(5), 3)],
    "polyint": [lambda m, a: m.polyint(a(3)), lambda m, a: m.polyint(a(3), 2, [1.0, 2.0])],
    "poly": [lambda m, a: m.poly(a(3))],
    "round": [
        lambda m, a: m.round(a(3, 4)),
        lambda m, a: m.round(a(3, 4) / 3, 2),
        lambda m, a: m.round(a(12) * 25, -1),
    ],
    "divmod": [lambda m, a: m.divmod(a(3, 4), a(4))],
    "modf": [lambda m, a: m.modf(a(9))],
    "frexp": [lambda m, a: m.frexp(a(9))],
    "isclose": [lambda m, a: m.isclose(a(9), a(9) + 1e-6), lambda m, a: m.isclose(a(9), a(9) * 2)],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("look", ["dense", "transposed", "backwards"])
@pytest.mark.parametrize("name", COMPOSITES)
def test_against_numpy(name: str, look: str, dtype: str) -> None:
    for case in COMPOSITES[name]:
        with numpy.errstate(all="ignore"):
            want = case(numpy, lambda *shape: plain(dtype, *shape))
        compare(case(np, lambda *shape: laid(plain(dtype, *shape), look)), want)


NAN = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]


@pytest.mark.filterwarnings("ignore:.*(slice|Degrees|axis|encountered)")
@pytest.mark.parametrize("name", NAN)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_what_passes_over_nan(name: str, dtype: str) -> None:
    x = plain(dtype, 4, 5)
    if "float" in dtype:
        x[1, 2] = x[3, :] = numpy.nan
        x[0, 0] = numpy.inf if name in ("nanmax", "nanmin") else 1.0
    for axis in (None, 0, 1, -1, (0, 1)):
        for keepdims in (False, True):
            want = getattr(numpy, name)(x, axis=axis, keepdims=keepdims)
            compare(getattr(np, name)(np.array(x), axis, keepdims=keepdims), want)
    if name in ("nanvar", "nanstd"):
        compare(getattr(np, name)(np.array(x), 1, ddof=1), getattr(numpy, name)(x, 1, ddof=1))


SPECIAL = [0.0, -0.0, 1.5, -2.5, 7.0, 1e-40, -3e38, numpy.inf, -numpy.inf, numpy.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_of_edges(dtype: str) -> None:
    x = numpy.array(SPECIAL).astype(dtype)
    y = np.array(x)
    compare(np.modf(y), list(numpy.modf(x)))
    assert numpy.signbit(np.modf(y)[0].asnumpy())[[1, 3]].all()
    mantissa, exponent = np.frexp(y)
    compare(mantissa, numpy.frexp(x)[0])
    finite = numpy.isfinite(x)
    numpy.testing.assert_array_equal(exponent.asnumpy()[finite], numpy.frexp(x)[1][finite])
    compare(np.nan_to_num(y), numpy.nan_to_num(x))
    compare(np.nan_to_num(y, nan=3.0, posinf=4.0, neginf=-5.0), numpy.nan_to_num(x, nan=3.0, posinf=4.0, neginf=-5.0))
    assert np.nan_to_num(y, copy=False, posinf=1.0, neginf=1.0) is y
    assert np.isfinite(y).all().item()


def test_comparisons() -> None:
    x = np.array([1.0, np.nan])
    assert not np.array_equal(x, x) and np.array_equal(x, x, equal_nan=True)
    assert np.array_equiv(np.ones((2, 3)), [1, 1, 1]) and not np.array_equiv(np.ones((2, 3)), [1, 1])
    assert np.isclose(x, x, equal_nan=True).tolist() == [True, True]
    assert np.isclose(np.array([np.inf, -np.inf]), np.array([np.inf, np.inf])).tolist() == [True, False]


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: np.einsum("ij,jk", np.ones((2, 3))), ValueError, "einsum: 2 terms in 'ij,jk' for 1 arrays"),
    (lambda: np.einsum("ij", np.ones(2)), ValueError, "einsum: 2 labels for an array of 1 dimensions"),
    (lambda: np.einsum("i,i", np.ones(2), np.ones(3)), ValueError, "einsum: label 'i' has extents 2 and 3"),
    (lambda: np.einsum("i->ii", np.ones(2)), ValueError, "einsum: label 'i' of the result is twice in it"),
    (lambda: np.einsum("i->j", np.ones(2)), ValueError, "einsum: label 'j' of the result is in no term"),
    (lambda: np.einsum("i1", np.ones((2, 2))), ValueError, "einsum: '1' in 'i1' is no label"),
    (lambda: np.einsum(np.ones(2), [-1]), ValueError, "einsum: a label must not be negative"),
    (lambda: np.einsum(), ValueError, "einsum: needs labels and at least one array"),
    (lambda: np.vdot(np.ones(2), np.ones(3)), ValueError, "vdot: sizes differ: (2,) x (3,)"),
    (lambda: np.vecdot(np.ones(2), np.ones(3)), ValueError, "vecdot: extents of the axis differ: (2,) x (3,)"),
    (lambda: np.vecdot(np.ones(()), np.ones(3)), ValueError, "vecdot: needs at least one dimension: () x (3,)"),
    (lambda: np.inner(np.ones(2), np.ones(3)), ValueError, "inner: last dimensions differ: (2,) x (3,)"),
    (lambda: np.tensordot(np.ones(2), np.ones(3), 1), ValueError, "tensordot: extents of the axes 1 differ"),
    (lambda: np.tensordot(np.ones(2), np.ones(3), 2), ValueError, "tensordot: axes 2 do not fit (2,) x (3,)"),
    (lambda: np.cross(np.ones(4), np.ones(3)), ValueError, "cross: vectors must have 2 or 3 elements"),
    (lambda: np.diff(np.ones(2), -1), ValueError, "diff: order must not be negative, got -1"),
    (lambda: np.diff(np.ones(())), ValueError, "diff: needs at least one dimension"),
    (lambda: np.gradient(np.ones(1)), ValueError, "gradient: axis 0 of (1,) has fewer than 2 elements"),
    (lambda: np.gradient(np.ones(3), edge_order=3), ValueError, "gradient: edge_order must be 1 or 2, got 3"),
    (lambda: np.gradient(np.ones(3), 1.0, 2.0), TypeError, "gradient: 2 spacings for 1 axes"),
    (lambda: np.gradient(np.ones(3), np.ones(2)), ValueError, "gradient: coordinates of shape (2,) do not fit"),
    (lambda: np.interp(1.0, np.ones(2), np.ones(3)), ValueError, "interp: points (2,) and values (3,)"),
    (lambda: np.convolve(np.ones(0), np.ones(2)), ValueError, "convolve: needs two vectors with elements"),
    (lambda: np.convolve(np.ones(3), np.ones(2), "most"), ValueError, "convolve: mode must be"),
    (lambda: np.average(np.ones((2, 3)), weights=np.ones(3)), ValueError, "average: weights of shape (3,) do not fit"),
    (lambda: np.var(np.ones(3), ddof=1, correction=1), ValueError, "var: ddof and correction are the same argument"),
    (lambda: np.cov(np.ones((2, 2, 2))), ValueError, "cov: needs at most two dimensions"),
    (lambda: np.cov(np.ones((2, 3)), aweights=[1.0]), ValueError, "cov: weights of shape (1,) do not fit 3"),
    (lambda: np.apply_along_axis(np.sum, 0, np.ones((2, 0))), ValueError, "apply_along_axis: there is no vector"),
    (lambda: np.polyval(np.ones(2), "x"), (TypeError, ValueError), ""),  # type: ignore[list-item]
    (lambda: np.polyder(np.ones(2), -1), ValueError, "polyder: order must not be negative"),
    (lambda: np.polyint(np.ones(2), -1), ValueError, "polyint: order must not be negative"),
    (lambda: np.polyint(np.ones(2), 3, [1.0, 2.0]), ValueError, "polyint: 2 constants for 3 steps"),
    (lambda: np.polydiv(np.ones(2), np.ones(0)), ValueError, "polydiv: the divisor has no coefficients"),
    (lambda: np.polymul(np.ones((2, 2)), np.ones(2)), ValueError, "polymul: coefficients must be a vector"),
    (lambda: np.poly(np.ones((2, 2))), ValueError, "poly: needs a vector of zeros"),
    (lambda: np.round(np.array([True])), TypeError, "round: not defined for bool"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_is_refused(place: int) -> None:
    call, error, text = REFUSED[place]
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


# Each composite once, where it is differentiable: a function of one array.
SMOOTH: dict[str, tuple[tuple[int, ...], Callable[[np.ndarray], Any]]] = {
    "append": ((3,), lambda x: np.append(x, x)),
    "average": ((2, 3), lambda x: np.average(x, 1, weights=x[0] * x[0])),
    "broadcast_arrays": ((2, 1), lambda x: np.broadcast_arrays(x, np.ones(3))[0]),
    "convolve": ((5,), lambda x: np.convolve(x, x[:3])),
    "corrcoef": ((2, 4), np.corrcoef),
    "correlate": ((5,), lambda x: np.correlate(x, x[:3], "full")),
    "cov": ((2, 4), np.cov),
    "cross": ((2, 3), lambda x: np.cross(x, x[::-1] * x)),
    "delete": ((4,), lambda x: np.delete(x, [0, 2])),
    "diag": ((3,), lambda x: np.diag(x, -1)),
    "diagonal": ((3, 4), lambda x: np.diagonal(x, 1)),
    "diff": ((5,), lambda x: np.diff(x * x, 2)),
    "divmod": ((4,), lambda x: np.divmod(x, 0.3)[1]),
    "ediff1d": ((4,), lambda x: np.ediff1d(x, 1.0)),
    "einsum": ((3, 3), lambda x: np.einsum("ij,jk,kk->i", x, x, x)),
    "einsum of a batch": ((2, 2, 3), lambda x: np.einsum("bij,bkj->bik", x, x)),
    "flipud": ((3, 2), lambda x: np.flipud(x) * x),
    "frexp": ((4,), lambda x: np.frexp(x)[0]),
    "gradient": ((5,), lambda x: np.gradient(x * x, edge_order=2)),
    "hstack": ((2, 2), lambda x: np.hstack([x, x * x])),
    "inner": ((2, 3), lambda x: np.inner(x, x)),
    "insert": ((3,), lambda x: np.insert(x, [0, 2], x[:2])),
    "interp": ((3,), lambda x: np.interp(x, np.array([0.0, 0.4, 1.0]), np.array([1.0, 3.0, 2.0]))),
    "interp of its values": ((3,), lambda x: np.interp(np.array([0.1, 0.5]), np.array([0.0, 0.4, 1.0]), x)),
    "kron": ((2, 2), lambda x: np.kron(x, x[0])),
    "matrix_transpose": ((2, 3), lambda x: np.matrix_transpose(x) @ x),
    "meshgrid": ((3,), lambda x: np.meshgrid(x, x)[0] * np.meshgrid(x, x)[1]),
    "modf": ((4,), lambda x: np.modf(x * 3.3)[0]),
    "nan_to_num": ((4,), np.nan_to_num),
    "nanmax": ((2, 3), lambda x: np.nanmax(x, 1)),
    "nanmean": ((2, 3), lambda x: np.nanmean(x * x, 0)),
    "nanmin": ((2, 3), lambda x: np.nanmin(x, 1)),
    "nanprod": ((4,), np.nanprod),
    "nanstd": ((2, 3), lambda x: np.nanstd(x, 1)),
    "nansum": ((2, 3), lambda x: np.nansum(x * x, 0)),
    "nanvar": ((2, 3), lambda x: np.nanvar(x, 1)),
    "outer": ((3,), lambda x: np.outer(x, x)),
    "pad": ((3,), lambda x: np.pad(x, 2)),
    "pad edge": ((3,), lambda x: np.pad(x, 2, "edge")),
    "pad linear_ramp": ((3,), lambda x: np.pad(x, 2, "linear_ramp")),
    "pad maximum": ((3,), lambda x: np.pad(x, 2, "maximum")),
    "pad mean": ((3,), lambda x: np.pad(x, 2, "mean")),
    "pad reflect": ((3,), lambda x: np.pad(x, 5, "reflect")),
    "pad reflect odd": ((3,), lambda x: np.pad(x, 5, "reflect", reflect_type="odd")),
    "pad symmetric": ((3,), lambda x: np.pad(x, 5, "symmetric")),
    "pad wrap": ((3,), lambda x: np.pad(x, 5, "wrap")),
    "poly": ((3,), np.poly),
    "polyder": ((4,), np.polyder),
    "polydiv": ((4,), lambda x: np.polydiv(x, x[:2])[0]),
    "polyint": ((3,), np.polyint),
    "polymul": ((3,), lambda x: np.polymul(x, x[:2])),
    "polyval": ((3,), lambda x: np.polyval(x, x)),
    "ptp": ((2, 3), lambda x: np.ptp(x, 1)),
    "resize": ((3,), lambda x: np.resize(x, (2, 4))),
    "roll": ((2, 3), lambda x: np.roll(x, 1, 1) * x),
    "rot90": ((2, 3), lambda x: np.rot90(x) @ x),
    "tensordot": ((2, 3), lambda x: np.tensordot(x, x, ([0], [0]))),
    "trace": ((3, 3), lambda x: np.trace(x @ x)),
    "trapezoid": ((4,), lambda x: np.trapezoid(x * x, x)),
    "tril": ((3, 3), lambda x: np.tril(x) @ x),
    "triu": ((3, 3), lambda x: np.triu(x) @ x),
    "unstack": ((2, 3), lambda x: np.unstack(x)[1]),
    "unwrap": ((4,), lambda x: np.unwrap(x * 9.0)),
    "vander": ((3,), lambda x: np.vander(x, 3)),
    "var": ((2, 3), lambda x: np.var(x, 1, correction=1)),
    "vdot": ((2, 3), lambda x: np.vdot(x, x)),
    "vecdot": ((2, 3), lambda x: np.vecdot(x, x[0])),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_against_differences(name: str) -> None:
    shape, function = SMOOTH[name]
    size = int(numpy.prod(shape))
    values = (0.21 + (numpy.arange(size) * 7 % size) * 0.137).reshape(shape)

    def weighed(x: np.ndarray) -> np.ndarray:
        made = function(x)
        weights = (np.arange(made.size, dtype="float64") * 0.3 + 0.5).reshape(made.shape)
        return (made * weights).sum()

    x = np.array(values)
    x.attach_grad()
    with forerun.no_sync("error"), autograd.record():
        head = weighed(x)
    head.backward()
    assert x.grad is not None
    step, differences = 1e-6, numpy.zeros(size)
    for place in range(size):
        moved = [values.copy().ravel() for _ in range(2)]
        moved[0][place] += step
        moved[1][place] -= step
        ends = [weighed(np.array(one.reshape(shape))).item() for one in moved]
        differences[place] = (ends[0] - ends[1]) / (2 * step)
    numpy.testing.assert_allclose(x.grad.asnumpy().ravel(), differences, rtol=1e-6, atol=1e-7)
