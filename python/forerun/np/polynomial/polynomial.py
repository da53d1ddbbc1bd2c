"""Functions of polynomials whose coefficients come with the lowest power first.

The number of coefficients follows from the shapes of the operands: trailing zeros are kept, so that nothing waits.
:func:`polytrim` removes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike, Number
from forerun.np._differences import convolve
from forerun.np._fitting import polyfit as _fit
from forerun.np._grids import vander
from forerun.np._manipulation import concatenate, moveaxis
from forerun.np._polynomials import poly, roots
from forerun.np._polynomials import polydiv as _divided
from forerun.np._routines import sort

__all__ = [
    "polyadd",
    "polycompanion",
    "polyder",
    "polydiv",
    "polyfit",
    "polyfromroots",
    "polyint",
    "polyline",
    "polymul",
    "polymulx",
    "polypow",
    "polyroots",
    "polysub",
    "polytrim",
    "polyval",
    "polyval2d",
    "polyval3d",
    "polyvander",
]


def _coefficients(op: str, *given: ArrayLike) -> list[ndarray]:
    made = [each.reshape(1) if each.ndim == 0 else each for each in to_arrays(*given)]
    for each in made:
        if each.ndim != 1 or each.size == 0:
            raise ValueError(f"{op}: coefficients must be a vector with elements, got shape {each.shape}")
    return made


def _padded(x: ndarray, count: int) -> ndarray:
    lack = count - x.size
    return concatenate([x, _forerun.full((lack,), 0, x.dtype, x.device)]) if lack else x


def polyline(off: Number, scl: Number) -> ndarray:
    """Return the coefficients of the line ``off + scl * x``.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyline(1, 2)
    array([1, 2])
    """
    return to_array([off, scl] if scl != 0 else [off])


def polyadd(c1: ArrayLike, c2: ArrayLike) -> ndarray:
    """Add two polynomials.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyadd(np.array([1, 2]), np.array([1, 1, 1]))
    array([2, 3, 1])
    """
    a, b = _coefficients("polyadd", c1, c2)
    count = max(a.size, b.size)
    return _padded(a, count) + _padded(b, count)


def polysub(c1: ArrayLike, c2: ArrayLike) -> ndarray:
    """Subtract a polynomial from another.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polysub(np.array([1, 2]), np.array([1, 1, 1]))
    array([ 0,  1, -1])
    """
    a, b = _coefficients("polysub", c1, c2)
    count = max(a.size, b.size)
    return _padded(a, count) - _padded(b, count)


def polymul(c1: ArrayLike, c2: ArrayLike) -> ndarray:
    """Multiply two polynomials.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polymul(np.array([1, 1]), np.array([1, -1]))
    array([ 1,  0, -1])
    """
    a, b = _coefficients("polymul", c1, c2)
    return convolve(a, b)


def polymulx(c: ArrayLike) -> ndarray:
    """Multiply a polynomial by x.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polymulx(np.array([1, 2]))
    array([0, 1, 2])
    """
    (a,) = _coefficients("polymulx", c)
    return concatenate([_forerun.full((1,), 0, a.dtype, a.device), a])


def polydiv(c1: ArrayLike, c2: ArrayLike) -> tuple[ndarray, ndarray]:
    """Divide a polynomial by another, whose last coefficient must not be zero: quotient and remainder.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polydiv(np.array([-4.0, 0.0, 1.0]), np.array([2.0, 1.0]))
    (array([-2.,  1.]), array([0.]))
    """
    a, b = _coefficients("polydiv", c1, c2)
    quotient, rest = _divided(a[::-1], b[::-1])
    return quotient[::-1], rest[::-1]


def polypow(c: ArrayLike, pow: SupportsIndex, maxpower: int | None = None) -> ndarray:
    """Raise a polynomial to a power.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polypow(np.array([1, 1]), 2)
    array([1, 2, 1])
    """
    (a,) = _coefficients("polypow", c)
    power = pow.__index__()
    if power < 0:
        raise ValueError(f"polypow: power must not be negative, got {power}")
    if maxpower is not None and power > maxpower:
        raise ValueError(f"polypow: power {power} is above maxpower {maxpower}")
    made = _forerun.full((1,), 1, a.dtype, a.device)
    while power:
        made = convolve(made, a) if power & 1 else made
        power >>= 1
        a = convolve(a, a) if power else a
    return made


def polyder(c: ArrayLike, m: SupportsIndex = 1, scl: Number | ndarray = 1, axis: int = 0) -> ndarray:
    """Differentiate a polynomial ``m`` times; each time it is multiplied by ``scl``.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyder(np.array([1, 2, 3]))
    array([2, 6])
    """
    times = m.__index__()
    if times < 0:
        raise ValueError(f"polyder: order must not be negative, got {times}")
    a = moveaxis(to_array(c), axis, 0)
    for _ in range(times):
        if a.shape[0] < 2:
            return moveaxis(a[:1] * 0, 0, axis)
        powers = _forerun.arange(1, a.shape[0], 1, "int64", a.device).reshape(-1, *(1,) * (a.ndim - 1))
        a = a[1:] * powers
        a = a * scl if isinstance(scl, ndarray) or scl != 1 else a
    return moveaxis(a, 0, axis)


def polyint(
    c: ArrayLike,
    m: SupportsIndex = 1,
    k: Number | Sequence[Number] = (),
    lbnd: Number | ndarray = 0,
    scl: Number | ndarray = 1,
    axis: int = 0,
) -> ndarray:
    """Integrate a polynomial ``m`` times, with a constant for each; each time it is multiplied by ``scl``.

    ``lbnd`` is where each integral has the value of its constant.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyint(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 1., 1.])
    """
    times = m.__index__()
    constants: list[Any] = list(k) if isinstance(k, Sequence) else [k]
    if times < 0 or len(constants) > times:
        raise ValueError(f"polyint: order {times} does not fit {len(constants)} constants")
    constants += [0] * (times - len(constants))
    a = floating(moveaxis(to_array(c), axis, 0))
    for constant in constants:
        a = a * scl if isinstance(scl, ndarray) or scl != 1 else a
        powers = _forerun.arange(1, a.shape[0] + 1, 1, a.dtype, a.device).reshape(-1, *(1,) * (a.ndim - 1))
        a = concatenate([a[:1] * 0, a / powers])
        at_bound = polyval(lbnd, a) if isinstance(lbnd, ndarray) or lbnd else a[0] * 0
        a = concatenate([(at_bound * -1 + constant)[None], a[1:]])
    return moveaxis(a, 0, axis)


def polyval(x: ArrayLike, c: ArrayLike, tensor: bool = True) -> ndarray:
    """Evaluate a polynomial, or several whose coefficients lie along the first axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyval(np.array([0.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    array([ 1., 17.])
    """
    at, a = to_arrays(x, c)
    if a.ndim == 0 or a.shape[0] == 0:
        a = a.reshape(-1)
    if tensor:
        a = a.reshape(a.shape + (1,) * at.ndim)
    made = a[-1] + at * 0
    for place in range(a.shape[0] - 2, -1, -1):
        made = made * at + a[place]
    return made


def polyval2d(x: ArrayLike, y: ArrayLike, c: ArrayLike) -> ndarray:
    """Evaluate a polynomial in two variables at points.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyval2d(2.0, 3.0, np.array([[1.0, 2.0], [3.0, 4.0]]))
    array(37.)
    """
    return polyval(y, polyval(x, c), tensor=False)


def polyval3d(x: ArrayLike, y: ArrayLike, z: ArrayLike, c: ArrayLike) -> ndarray:
    """Evaluate a polynomial in three variables at points.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyval3d(1.0, 1.0, 1.0, np.ones((2, 2, 2)))
    array(8.)
    """
    return polyval(z, polyval2d(x, y, c), tensor=False)


def polyvander(x: ArrayLike, deg: SupportsIndex) -> ndarray:
    """Return the powers of numbers up to a degree, along a last axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyvander(np.array([2, 3]), 2)
    array([[1, 2, 4],
           [1, 3, 9]])
    """
    at = to_array(x)
    made = vander(at.reshape(-1), deg.__index__() + 1, increasing=True)
    return made.reshape(*at.shape, deg.__index__() + 1)


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: SupportsIndex,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
) -> Any:
    """Fit a polynomial to points, by least squares; see :func:`forerun.np.polyfit`.

    With ``full`` a list of residuals, rank, singular values and ``rcond`` comes too.

    Examples
    --------
    >>> from forerun import np
    >>> fit = np.polynomial.polynomial.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1)
    >>> np.allclose(fit, np.array([1.0, 2.0]), atol=1e-5)
    True
    """
    if full:
        made, *rest = _fit(x, y, deg, rcond, True, w)
        return made[::-1], rest
    return _fit(x, y, deg, rcond, False, w)[::-1]


def polyroots(c: ArrayLike) -> ndarray:
    """Return the roots of a polynomial: sorted complex numbers. Waits for the coefficients.

    Examples
    --------
    >>> from forerun import np
    >>> np.real(np.polynomial.polynomial.polyroots(np.array([2.0, -3.0, 1.0]))).round(4)
    array([1., 2.])
    """
    (a,) = _coefficients("polyroots", c)
    return sort(roots(a[::-1]))


def polyfromroots(roots: ArrayLike) -> ndarray:
    """Return the monic polynomial with these roots.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polyfromroots(np.array([2.0, -2.0]))
    array([-4.,  0.,  1.])
    """
    return poly(roots)[::-1]


def polycompanion(c: ArrayLike) -> ndarray:
    """Return the companion matrix of a polynomial.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polycompanion(np.array([2.0, -3.0, 1.0]))
    array([[ 0., -2.],
           [ 1.,  3.]])
    """
    (a,) = _coefficients("polycompanion", c)
    if a.size < 2:
        raise ValueError(f"polycompanion: needs at least two coefficients, got {a.size}")
    a = floating(a)
    degree = a.size - 1
    below = _forerun.eye(degree, degree, -1, a.dtype, a.device)
    last = _forerun.eye(1, degree, degree - 1, a.dtype, a.device)
    return below - (a[:-1] / a[-1])[:, None] * last


def polytrim(c: ArrayLike, tol: float = 0) -> ndarray:
    """Remove trailing coefficients of absolute value at most ``tol``. Waits for the coefficients.

    Examples
    --------
    >>> from forerun import np
    >>> np.polynomial.polynomial.polytrim(np.array([1, 2, 0, 0]))
    array([1, 2])
    """
    if tol < 0:
        raise ValueError(f"polytrim: tol must not be negative, got {tol}")
    (a,) = _coefficients("polytrim", c)
    large = [place for place, value in enumerate(abs(a).tolist()) if value > tol]
    return a[: large[-1] + 1].copy() if large else a[:1] * 0


def __dir__() -> list[str]:
    return __all__
