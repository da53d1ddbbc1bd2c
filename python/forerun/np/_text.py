"""Printing: NumPy's functions and options, which are shared with NumPy."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from forerun._convert import to_array
from forerun._types import ArrayLike

__all__ = ["array2string", "array_repr", "array_str", "get_printoptions", "printoptions", "set_printoptions"]


def array2string(a: ArrayLike, *args: Any, **options: Any) -> str:
    """Return an array as text. Waits for its value.

    Parameters
    ----------
    a
        The array.
    args, options
        NumPy's arguments: ``max_line_width``, ``precision``, ``separator`` and so on.

    Examples
    --------
    >>> from forerun import np
    >>> np.array2string(np.array([1.25, 2.5]), precision=1, separator=",")
    '[1.2,2.5]'
    """
    import numpy

    return numpy.array2string(to_array(a).asnumpy(), *args, **options)


def array_repr(
    arr: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Return the ``repr`` of an array. Waits for its value.

    Parameters
    ----------
    arr
        The array.
    max_line_width, precision, suppress_small
        As in :func:`set_printoptions`, for this call.

    Examples
    --------
    >>> from forerun import np
    >>> np.array_repr(np.array([1.25, 2.5]), precision=1)
    'array([1.2, 2.5])'
    """
    with printoptions(**_given(max_line_width, precision, suppress_small)):
        return repr(to_array(arr))


def array_str(
    a: ArrayLike, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Return the ``str`` of an array. Waits for its value.

    Parameters
    ----------
    a
        The array.
    max_line_width, precision, suppress_small
        As in :func:`set_printoptions`, for this call.

    Examples
    --------
    >>> from forerun import np
    >>> np.array_str(np.arange(3))
    '[0 1 2]'
    """
    with printoptions(**_given(max_line_width, precision, suppress_small)):
        return str(to_array(a))


def set_printoptions(*args: Any, **options: Any) -> None:
    """Set the print options of Forerun and NumPy: ``precision``, ``threshold``, ``linewidth`` and so on.

    Examples
    --------
    >>> from forerun import np
    >>> np.set_printoptions(precision=3)
    >>> np.array([0.12345678])
    array([0.123])
    >>> np.set_printoptions(precision=8)
    """
    import numpy

    numpy.set_printoptions(*args, **options)


def get_printoptions() -> dict[str, Any]:
    """Return the print options.

    Examples
    --------
    >>> from forerun import np
    >>> np.get_printoptions()["precision"]
    8
    """
    import numpy

    return dict(numpy.get_printoptions())


def printoptions(*args: Any, **options: Any) -> AbstractContextManager[Any]:
    """Set the print options inside a ``with`` statement.

    Examples
    --------
    >>> from forerun import np
    >>> with np.printoptions(precision=2):
    ...     print(np.array([0.12345678]))
    [0.12]
    """
    import numpy

    return numpy.printoptions(*args, **options)


def _given(linewidth: int | None, precision: int | None, suppress: bool | None) -> dict[str, Any]:
    options = {"linewidth": linewidth, "precision": precision, "suppress": suppress}
    return {name: value for name, value in options.items() if value is not None}
