"""Properties of dtypes: limits, kinds and promotion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun import _forerun
from forerun._forerun import dtype, ndarray

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]

if TYPE_CHECKING:
    from forerun._types import DTypeLike, Number

# The bits of the fraction, and the exponents of the smallest normal and the largest number.
_FLOATS = {
    "float16": (10, -14, 15),
    "bfloat16": (7, -126, 127),
    "float32": (23, -126, 127),
    "float64": (52, -1022, 1023),
}

# The dtypes of the parts of complex numbers.
_PARTS = {"complex64": "float32", "complex128": "float64"}
_SIGNED = frozenset({"int8", "int16", "int32", "int64"})
_UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
_KINDS = {
    "bool": frozenset({"bool"}),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED | _UNSIGNED,
    "real floating": frozenset(_FLOATS),
    "complex floating": frozenset(_PARTS),
    "numeric": _SIGNED | _UNSIGNED | frozenset(_FLOATS) | frozenset(_PARTS),
}


def _asked(of: ndarray | DTypeLike) -> dtype:
    return of.dtype if isinstance(of, ndarray) else dtype(of)


class finfo:
    """The limits of a float dtype, or of the parts of a complex one.

    Attributes
    ----------
    bits
        Bits of one number.
    eps
        The distance from 1 to the next larger number.
    max, min
        The largest finite number, and its negative.
    smallest_normal, tiny
        The smallest positive normal number.
    smallest_subnormal
        The smallest positive number.
    dtype
        The dtype.

    Examples
    --------
    >>> from forerun import np
    >>> np.finfo(np.float16).max
    65504.0
    >>> np.finfo("bfloat16").eps
    0.0078125
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    tiny: float
    dtype: dtype

    def __init__(self, type: ndarray | DTypeLike) -> None:
        asked = _asked(type)
        asked = dtype(_PARTS.get(asked.name, asked.name))
        if asked.name not in _FLOATS:
            raise ValueError(f"finfo: {asked.name} is not a float dtype")
        fraction, least, most = _FLOATS[asked.name]
        self.dtype = asked
        self.bits = 8 * asked.itemsize
        self.eps = 2.0**-fraction
        self.max = (2.0 - self.eps) * 2.0**most
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0**least
        self.smallest_subnormal = self.eps * 2.0**least

    def __repr__(self) -> str:
        """Return the limits as text."""
        return f"finfo(min={self.min!r}, max={self.max!r}, dtype={self.dtype.name})"


class iinfo:
    """The limits of an integer dtype.

    Attributes
    ----------
    bits
        Bits of one number.
    min, max
        The smallest and the largest number.
    dtype
        The dtype.

    Examples
    --------
    >>> from forerun import np
    >>> np.iinfo(np.uint8)
    iinfo(min=0, max=255, dtype=uint8)
    """

    bits: int
    min: int
    max: int
    dtype: dtype

    def __init__(self, type: ndarray | DTypeLike) -> None:
        asked = _asked(type)
        if asked.name not in _KINDS["integral"]:
            raise ValueError(f"iinfo: {asked.name} is not an integer dtype")
        self.dtype = asked
        self.bits = 8 * asked.itemsize
        signed = asked.name in _SIGNED
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self) -> str:
        """Return the limits as text."""
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"


def result_type(*arrays_and_dtypes: ndarray | Number | DTypeLike) -> dtype:
    """Return the dtype that operands promote to.

    Within signed integers, within unsigned ones and within floats the wider wins; a signed and an unsigned integer
    become a signed one that holds both, or float64 where there is none; a float wins over integers and keeps its width.
    A Python number has a kind but no width.

    Examples
    --------
    >>> from forerun import np
    >>> np.result_type(np.int8, np.uint8)
    dtype('int16')
    >>> np.result_type(np.ones((2,), dtype="float16"), 2.5)
    dtype('float16')
    """
    return _forerun.result_type(*arrays_and_dtypes)


def can_cast(from_: ndarray | DTypeLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Return whether one dtype can be cast to another.

    Parameters
    ----------
    from_, to
        The dtypes.
    casting
        ``"no"`` and ``"equiv"`` allow the same dtype only, ``"safe"`` what promotion does, ``"same_kind"`` a narrower
        dtype of the same kind too, ``"unsafe"`` everything.

    Examples
    --------
    >>> from forerun import np
    >>> np.can_cast("uint8", "int16"), np.can_cast("int16", "uint8")
    (True, False)
    """
    source, target = _asked(from_), dtype(to)
    if casting in ("no", "equiv"):
        return source == target
    if casting == "same_kind":
        return "buifc".index(source.kind) <= "buifc".index(target.kind)
    if casting not in ("safe", "unsafe"):
        raise ValueError(f"can_cast: casting must be no, equiv, safe, same_kind or unsafe, got {casting!r}")
    return casting == "unsafe" or _forerun.result_type(source, target) == target


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Return whether a dtype has a kind, or one of several.

    Parameters
    ----------
    dtype
        The dtype.
    kind
        A dtype, or one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"`` and ``"numeric"``; or a tuple of them.

    Examples
    --------
    >>> from forerun import np
    >>> np.isdtype(np.uint8, "integral"), np.isdtype(np.uint8, ("bool", np.float32))
    (True, False)
    """
    name = _forerun.dtype(dtype).name
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(name in _KINDS[each] if each in _KINDS else _forerun.dtype(each).name == name for each in kinds)
