"""Elementwise functions composed of several ops."""

from __future__ import annotations

import builtins

from forerun import _forerun
from forerun._convert import floating, to_array
from forerun._forerun import ndarray
from forerun._pointwise import (
    copysign,
    floor_divide,
    isinf,
    isnan,
    isneginf,
    isposinf,
    remainder,
    rint,
    subtract,
    trunc,
    where,
)
from forerun._reducing import written
from forerun._types import ArrayLike, Out
from forerun.np._complex import compose, imag, iscomplexobj, real

__all__ = ["around", "divmod", "frexp", "modf", "nan_to_num", "round"]

_MANTISSA, _EXPONENT = _forerun.point("mantissa"), _forerun.point("exponent")
# The largest number of each float dtype.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[ndarray, ndarray]:
    """Return the floored quotient and the remainder.

    Examples
    --------
    >>> from forerun import np
    >>> np.divmod(np.array([-7, 7]), 3)
    (array([-3,  2]), array([2, 1]))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def modf(x: ArrayLike, /) -> tuple[ndarray, ndarray]:
    """Return the fractional and the integral part, both with the sign of the number.

    Examples
    --------
    >>> from forerun import np
    >>> np.modf(np.array([-1.5, 2.25]))
    (array([-0.5 ,  0.25]), array([-1.,  2.]))
    """
    number = floating(to_array(x))
    whole = trunc(number)
    # The difference of equal infinities is NaN, and that of equal numbers has no sign.
    fraction = copysign(where(isinf(number), 0.0, subtract(number, whole)), number)
    return fraction, whole


def frexp(x: ArrayLike, /) -> tuple[ndarray, ndarray]:
    """Decompose numbers into a mantissa in [0.5, 1) and an exponent of 2.

    Examples
    --------
    >>> from forerun import np
    >>> np.frexp(np.array([8.0, 0.3]))
    (array([0.5, 0.6]), array([ 4, -1], dtype=int32))
    """
    number = to_array(x)
    return _forerun.pointwise(_MANTISSA, number), _forerun.pointwise(_EXPONENT, number).astype("int32")


# The decimal exponent of the largest number.
_MOST_DIGITS = 308


def round(a: ArrayLike, decimals: int = 0, out: Out = None) -> ndarray:
    """Round to ``decimals``, ties to even; negative values round to tens, hundreds and so on.

    Examples
    --------
    >>> from forerun import np
    >>> np.round(np.array([0.5, 1.25, 2.75]), 1)
    array([0.5, 1.2, 2.8])
    >>> np.round(np.array([15, 25]), -1)
    array([20, 20])
    """
    if out is not None:
        return written("round", round(a, decimals), out)
    x = to_array(a)
    if x.dtype == "bool":
        raise TypeError("round: not defined for bool")
    # No float has that many digits before or after the point.
    if decimals > _MOST_DIGITS:
        return x.copy()
    if decimals < -_MOST_DIGITS:
        return x * 0
    if "int" in x.dtype.name:
        if decimals >= 0:
            return x.copy()
        by = 10.0**-decimals
        return (rint(x.astype("float64") / by) * by).astype(x.dtype)
    if decimals == 0:
        return rint(x)
    by = 10.0 ** builtins.abs(decimals)
    return rint(x * by) / by if decimals > 0 else rint(x / by) * by


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> ndarray:
    """Replace NaN by zero and infinities by the largest finite numbers, unless others are given.

    With ``copy=False`` the array is changed in place.

    Examples
    --------
    >>> from forerun import np
    >>> np.nan_to_num(np.array([np.nan, 1.0, -np.inf]), neginf=-9.0)
    array([ 0.,  1., -9.])
    """
    number = to_array(x)
    if number.dtype == "bool" or "int" in number.dtype.name:
        return number.copy() if copy else number
    if iscomplexobj(number):
        made = compose(*(nan_to_num(part, True, nan, posinf, neginf) for part in (real(number), imag(number))))
    else:
        largest = _LARGEST.get(number.dtype.name, 1.7976931348623157e308)
        made = where(isnan(number), nan, number)
        made = where(isposinf(number), largest if posinf is None else posinf, made)
        made = where(isneginf(number), -largest if neginf is None else neginf, made)
    if copy or number is not x:
        return made
    number[...] = made
    return number


around = round
