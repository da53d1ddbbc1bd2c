"""The dtypes, NumPy's abstract dtype classes, and its names for C types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forerun._forerun import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    ndarray,
    uint8,
    uint16,
    uint32,
    uint64,
)
from forerun._forerun import bool as bool_

if TYPE_CHECKING:
    from forerun._types import DTypeLike

__all__ = [
    "bfloat16",
    "bool_",
    "byte",
    "cdouble",
    "complex64",
    "complex128",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "float16",
    "float32",
    "float64",
    "floating",
    "generic",
    "half",
    "inexact",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "intc",
    "integer",
    "intp",
    "issubdtype",
    "long",
    "longlong",
    "ndarray",
    "number",
    "short",
    "signedinteger",
    "single",
    "ubyte",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "unsignedinteger",
    "ushort",
]

byte, short, intc = int8, int16, int32
ubyte, ushort, uintc = uint8, uint16, uint32
int_ = intp = long = longlong = int64
uint = uintp = ulong = ulonglong = uint64
half, single, double = float16, float32, float64
csingle, cdouble = complex64, complex128


class generic:
    """Abstract class of all dtypes, for :func:`issubdtype`; it cannot be instantiated.

    Examples
    --------
    >>> from forerun import np
    >>> issubclass(np.floating, np.number)
    True
    """

    def __new__(cls, *_: Any) -> Any:
        """Raise: elements of arrays are 0-d arrays."""
        raise TypeError(f"{cls.__name__}: an abstract dtype class cannot be instantiated")


class number(generic):
    """All dtypes except bool."""


class integer(number):
    """Integers."""


class signedinteger(integer):
    """Signed integers."""


class unsignedinteger(integer):
    """Unsigned integers."""


class inexact(number):
    """Floats and complex numbers."""


class floating(inexact):
    """Floats."""


class complexfloating(inexact):
    """Complex numbers."""


_KINDS = {
    "generic": "biufc",
    "number": "iufc",
    "integer": "iu",
    "signedinteger": "i",
    "unsignedinteger": "u",
    "inexact": "fc",
    "floating": "f",
    "complexfloating": "c",
}


def issubdtype(arg1: ndarray | DTypeLike, arg2: DTypeLike) -> bool:
    """Return whether a dtype equals another or belongs to an abstract class.

    Parameters
    ----------
    arg1
        A dtype or a family.
    arg2
        A dtype or a family: :class:`floating`, :class:`integer` and so on, or NumPy's classes of those names.

    Examples
    --------
    >>> from forerun import np
    >>> np.issubdtype(np.float32, np.floating), np.issubdtype("u1", np.signedinteger)
    (True, False)
    """
    family = _family(arg2)
    if family is None:
        return _family(arg1) is None and dtype(arg1) == dtype(arg2)
    inner = _family(arg1)
    return set(inner or dtype(arg1).kind) <= set(family)


def _family(given: Any) -> str | None:
    """Return the kinds of an abstract class, or None for a concrete dtype."""
    return _KINDS.get(given.__name__) if isinstance(given, type) else None
