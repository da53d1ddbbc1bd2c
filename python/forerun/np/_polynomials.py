"""Polynomials, as vectors of coefficients with the highest power first.

Leading zeros are kept, because their number depends on values; only ``roots`` waits for values.
"""

from __future__ import annotations

from collections.abc import Sequence

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.np._diagonals import diag
from forerun.np._differences import convolve
from forerun.np._indexing import flatnonzero
from forerun.np._manipulation import broadcast_to, concatenate
from forerun.np._sizes import refuse_impossible
from forerun.np.linalg._routines import eigvals

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval", "roots"]


def _vector(name: str, p: ArrayLike) -> ndarray:
    x = to_array(p)
    if x.ndim > 1:
        raise ValueError(f"{name}: coefficients must be a vector, got {x.shape}")
    return x.ravel()


def _zeros(x: ndarray, count: int) -> ndarray:
    return broadcast_to(_forerun.full((), 0, x.dtype, x.device), (count,))


def _aligned(name: str, a1: ArrayLike, a2: ArrayLike) -> tuple[ndarray, ndarray]:
    x, y = (_vector(name, each) for each in to_arrays(a1, a2))
    count = max(x.size, y.size)
    pair = [concatenate([_zeros(each, count - each.size), each]) if each.size < count else each for each in (x, y)]
    return pair[0], pair[1]


def polyval(p: ArrayLike, x: ArrayLike) -> ndarray:
    """Evaluate a polynomial at each element.

    Examples
    --------
    >>> from forerun import np
    >>> np.polyval(np.array([3, 0, 1]), np.array([1, 2]))
    array([ 4, 13])
    """
    coefficients, at = to_arrays(p, x)
    y = at * 0
    for place in range(coefficients.shape[0]):
        y = y * at + coefficients[place]
    return y


def polyadd(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Add two polynomials.

    Examples
    --------
    >>> from forerun import np
    >>> np.polyadd(np.array([1, 2]), np.array([9, 5, 4]))
    array([9, 6, 6])
    """
    x, y = _aligned("polyadd", a1, a2)
    return x + y


def polysub(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Subtract a polynomial from another.

    Examples
    --------
    >>> from forerun import np
    >>> np.polysub(np.array([2, 10, -2]), np.array([10, -4]))
    array([2, 0, 2])
    """
    x, y = _aligned("polysub", a1, a2)
    return x - y


def polymul(a1: ArrayLike, a2: ArrayLike) -> ndarray:
    """Multiply two polynomials.

    Examples
    --------
    >>> from forerun import np
    >>> np.polymul(np.array([1, 2]), np.array([1, -2]))
    array([ 1,  0, -4])
    """
    x, y = (_vector("polymul", each) for each in to_arrays(a1, a2))
    return convolve(x, y)


def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[ndarray, ndarray]:
    """Divide a polynomial by another, whose first coefficient must not be zero: quotient and remainder.

    Examples
    --------
    >>> from forerun import np
    >>> np.polydiv(np.array([1.0, 0.0, -4.0]), np.array([1.0, 2.0]))
    (array([ 1., -2.]), array([0.]))
    """
    left, by = (floating(_vector("polydiv", each)) for each in to_arrays(u, v))
    if by.size == 0:
        raise ValueError("polydiv: the divisor has no coefficients")
    steps = left.size - by.size + 1
    if steps < 1:
        return _forerun.full((1,), 0, left.dtype, left.device), left.copy()
    quotient = []
    for _ in range(steps):
        one = left[:1] / by[0]
        quotient.append(one)
        left = concatenate([left[1 : by.size] - one * by[1:], left[by.size :]])
    return concatenate(quotient), left if left.size else _zeros(left, 1).copy()


def polyder(p: ArrayLike, m: int = 1) -> ndarray:
    """Return the ``m``-th derivative of a polynomial.

    Examples
    --------
    >>> from forerun import np
    >>> np.polyder(np.array([1, 1, 1, 1]))
    array([3, 2, 1])
    """
    if m < 0:
        raise ValueError(f"polyder: order must not be negative, got {m}")
    x = _vector("polyder", p)
    for _ in range(m):
        if x.size < 2:
            return x[:0]
        x = x[:-1] * _forerun.arange(x.size - 1, 0, -1, "int64", x.device)
    return x.copy() if x is p else x


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> ndarray:
    """Return the ``m``-th antiderivative of a polynomial, with optional integration constants.

    Examples
    --------
    >>> from forerun import np
    >>> np.polyint(np.array([3.0, 2.0, 1.0]))
    array([1., 1., 1., 0.])
    """
    if m < 0:
        raise ValueError(f"polyint: order must not be negative, got {m}")
    x = floating(_vector("polyint", p))
    # A sum with one record per step, each over a longer array.
    refuse_impossible("polyint", m * (x.size + m), x.dtype.itemsize, held=True)
    constants = _zeros(x, m) if k is None else to_array(k, x.dtype, x.device).ravel()
    if constants.size == 1 and m > 1:
        constants = broadcast_to(constants, (m,))
    if constants.size < m:
        raise ValueError(f"polyint: {constants.size} constants for {m} steps")
    for step in range(m):
        powers = _forerun.arange(x.size, 0, -1, x.dtype, x.device)
        x = concatenate([x / powers, constants[step : step + 1]])
    return x.copy() if x is p else x


def poly(seq_of_zeros: ArrayLike | Sequence[float]) -> ndarray:
    """Return the monic polynomial with these roots.

    Examples
    --------
    >>> from forerun import np
    >>> np.poly(np.array([2.0, -2.0]))
    array([ 1.,  0., -4.])
    """
    zeros = floating(to_array(seq_of_zeros))
    if zeros.ndim != 1:
        raise ValueError(f"poly: needs a vector of zeros, got {zeros.shape}")
    one = _forerun.full((1,), 1, zeros.dtype, zeros.device)
    made = one
    for place in range(zeros.size):
        made = convolve(made, concatenate([one, -zeros[place : place + 1]]))
    return made


def roots(p: ArrayLike) -> ndarray:
    """Return the roots of a polynomial: complex numbers, unordered.

    Their number depends on the first nonzero coefficient, for which this waits.

    Examples
    --------
    >>> from forerun import np
    >>> np.sort(np.real(np.roots(np.array([1.0, -3.0, 2.0])))).round(4)
    array([1., 2.])
    """
    x = floating(_vector("roots", p))
    places = flatnonzero(x).tolist()
    kept = x[places[0] : places[-1] + 1] if places else x[:1]
    degree, zeros = kept.size - 1, x.size - 1 - places[-1] if places else 0
    if degree > 0:
        # The companion matrix.
        below = diag(_forerun.full((degree - 1,), 1, x.dtype, x.device), -1)
        found = eigvals(concatenate([(-kept[1:] / kept[0]).reshape(1, degree), below[1:]]))
    else:
        found = eigvals(_forerun.full((0, 0), 0, x.dtype, x.device))
    return concatenate([found, _zeros(found, zeros)]) if zeros else found
