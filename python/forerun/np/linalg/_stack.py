"""Helpers of linear algebra: dtypes, stacks of matrices, and results packed into one array."""

from __future__ import annotations

from math import prod

from forerun import _forerun
from forerun._convert import to_arrays
from forerun._forerun import complex64, complex128, default_float, float32, float64, ndarray
from forerun._types import ArrayLike
from forerun.np._complex import conj, imag, iscomplexobj, real

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}


#: Dtypes that need no conversion.
_FLOATS = (float32, float64, complex64, complex128)


def to_floats(*values: ArrayLike) -> list[ndarray]:
    """Convert arrays to one float or complex dtype: the widest among them, or the default float."""
    arrays = to_arrays(*values)
    wide = any(x.dtype in (float64, complex128) for x in arrays)
    if default_float() == float64:
        wide = wide or any(x.dtype.kind in "biu" for x in arrays)
    if any(iscomplexobj(x) for x in arrays):
        target = complex128 if wide else complex64
    else:
        target = float64 if wide else float32
    return [x.astype(target, copy=False) for x in arrays]


def squares(x: ndarray) -> ndarray:
    """Return the squares of absolute values, which are real."""
    if not iscomplexobj(x):
        return x * x
    return real(x) * real(x) + imag(x) * imag(x)


def to_float(value: ArrayLike) -> ndarray:
    """Convert to a float or complex dtype."""
    if isinstance(value, ndarray) and value.dtype in _FLOATS:
        return value
    return to_floats(value)[0]


def matrices(op: str, value: ArrayLike, *, square: bool = False) -> ndarray:
    """Convert to a stack of float or complex matrices; raise if that is impossible."""
    x = to_float(value)
    if x.ndim < 2:
        raise ValueError(f"{op}: needs at least two dimensions: {x.shape}")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{op}: last two dimensions must be square: {x.shape}")
    return x


def eps(x: ndarray) -> float:
    """Return the machine epsilon of an array's dtype."""
    return EPS[x.dtype.name]


def adjoint(x: ndarray) -> ndarray:
    """Return the conjugate transpose of matrices; a view if they are real."""
    return conj(x.transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)))


def parts(packed: ndarray, lead: tuple[int, ...], *shapes: tuple[int, ...]) -> list[ndarray]:
    """Return views of results that are packed into one dimension."""
    found, start = [], 0
    for shape in shapes:
        whole = (*lead, *shape)
        stop = start + prod(whole)
        found.append(packed[start:stop].reshape(whole))
        start = stop
    return found


def spread(x: ndarray, lead: tuple[int, ...]) -> ndarray:
    """Repeat matrices over a stack: a view."""
    return _forerun.broadcast_to(x, (*lead, *x.shape[-2:]))
