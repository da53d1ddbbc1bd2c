"""Parts of complex numbers; all functions also accept real arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun import _forerun
from forerun._convert import floating, to_array
from forerun._forerun import ndarray, point, pointwise
from forerun._pointwise import atan2, degrees
from forerun.np._dtypes import isdtype

__all__ = ["angle", "conj", "conjugate", "imag", "iscomplex", "iscomplexobj", "isreal", "isrealobj", "real"]

if TYPE_CHECKING:
    from forerun._types import ArrayLike

_REAL, _IMAG, _COMPOSE = point("real"), point("imag"), point("compose")


def _is_complex(x: ndarray) -> bool:
    return isdtype(x.dtype, "complex floating")


def compose(re: ndarray, im: ndarray) -> ndarray:
    """Make complex numbers from real and imaginary parts."""
    return pointwise(_COMPOSE, re, im)


def real(val: ArrayLike) -> ndarray:
    """Return the real parts; a real array is returned itself.

    Examples
    --------
    >>> from forerun import np
    >>> np.real(np.array([1 + 2j, 3]))
    array([1., 3.])
    """
    x = to_array(val)
    return pointwise(_REAL, x) if _is_complex(x) else x


def imag(val: ArrayLike) -> ndarray:
    """Return the imaginary parts; zeros for a real array.

    Examples
    --------
    >>> from forerun import np
    >>> np.imag(np.array([1 + 2j, 3]))
    array([2., 0.])
    """
    x = to_array(val)
    return pointwise(_IMAG, x) if _is_complex(x) else _forerun.full(x.shape, 0, x.dtype, x.device)


def conj(x: ArrayLike) -> ndarray:
    """Return the complex conjugate; a copy for a real array.

    Examples
    --------
    >>> from forerun import np
    >>> np.conj(np.array([1 + 2j, 3]))
    array([1.-2.j, 3.-0.j], dtype=complex64)
    """
    z = to_array(x)
    return compose(pointwise(_REAL, z), -pointwise(_IMAG, z)) if _is_complex(z) else z.copy()


def angle(z: ArrayLike, deg: bool = False) -> ndarray:
    """Return the angles of complex numbers, in radians or with ``deg`` in degrees.

    Examples
    --------
    >>> from forerun import np
    >>> np.angle(np.array([1.0, 1j, -1 - 1j]), deg=True)
    array([   0.,   90., -135.])
    """
    x = floating(to_array(z))
    turned = atan2(imag(x), real(x))
    return degrees(turned) if deg else turned


def isreal(x: ArrayLike) -> ndarray:
    """Return for each element whether its imaginary part is zero.

    Examples
    --------
    >>> from forerun import np
    >>> np.isreal(np.array([1 + 2j, 3]))
    array([False,  True])
    """
    return imag(x) == 0


def iscomplex(x: ArrayLike) -> ndarray:
    """Return for each element whether its imaginary part is not zero.

    Examples
    --------
    >>> from forerun import np
    >>> np.iscomplex(np.array([1 + 2j, 3]))
    array([ True, False])
    """
    return imag(x) != 0


def iscomplexobj(x: ArrayLike) -> bool:
    """Return whether an array has a complex dtype.

    Examples
    --------
    >>> from forerun import np
    >>> np.iscomplexobj(np.ones((2,), dtype="complex64"))
    True
    """
    return _is_complex(to_array(x))


def isrealobj(x: ArrayLike) -> bool:
    """Return whether an array has a dtype that is not complex.

    Examples
    --------
    >>> from forerun import np
    >>> np.isrealobj(np.ones((2,)))
    True
    """
    return not iscomplexobj(x)


# NumPy's other names.
conjugate = conj
