"""Numbers as text, text as numbers, and Python functions called for each element."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import from_numpy, ndarray
from forerun._types import ArrayLike, DTypeLike
from forerun.np._exchange import frombuffer

__all__ = [
    "base_repr",
    "binary_repr",
    "format_float_positional",
    "format_float_scientific",
    "fromfile",
    "fromstring",
    "savetxt",
    "vectorize",
]


def binary_repr(num: int, width: int | None = None) -> str:
    """Return an integer in base 2; negative ones in two's complement if a width is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.binary_repr(-3, 4)
    '1101'
    """
    import numpy

    return numpy.binary_repr(num, width)


def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """Return an integer in a base as text.

    Examples
    --------
    >>> from forerun import np
    >>> np.base_repr(255, 16)
    'FF'
    """
    import numpy

    return numpy.base_repr(number, base, padding)


def format_float_positional(x: Any, *args: Any, **options: Any) -> str:
    """Format a float in positional notation, like NumPy. Waits if it is an array.

    Examples
    --------
    >>> from forerun import np
    >>> np.format_float_positional(0.25)
    '0.25'
    """
    import numpy

    return numpy.format_float_positional(x.item() if isinstance(x, ndarray) else x, *args, **options)


def format_float_scientific(x: Any, *args: Any, **options: Any) -> str:
    """Format a float in scientific notation, like NumPy. Waits if it is an array.

    Examples
    --------
    >>> from forerun import np
    >>> np.format_float_scientific(0.25)
    '2.5e-01'
    """
    import numpy

    return numpy.format_float_scientific(x.item() if isinstance(x, ndarray) else x, *args, **options)


def fromstring(string: str, dtype: DTypeLike | None = None, count: int = -1, *, sep: str) -> ndarray:
    """Parse numbers from a string, between separators.

    Examples
    --------
    >>> from forerun import np
    >>> np.fromstring("1 2 3", "int64", sep=" ")
    array([1, 2, 3])
    """
    import numpy

    kind = _forerun.default_float() if dtype is None else _forerun.dtype(dtype)
    return from_numpy(numpy.fromstring(string, kind.name, count, sep=sep))


def fromfile(file: Any, dtype: DTypeLike | None = None, count: int = -1, sep: str = "", offset: int = 0) -> ndarray:
    """Read numbers from a file: their bytes, or with ``sep`` as text between separators.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> np.arange(3).tofile(path)
    >>> np.fromfile(path, "int64")
    array([0, 1, 2])
    """
    import numpy

    kind = _forerun.default_float() if dtype is None else _forerun.dtype(dtype)
    if kind == "bfloat16":
        with open(os.fspath(file), "rb") as opened:
            return frombuffer(opened.read(), kind, count, offset)
    return from_numpy(numpy.fromfile(file, kind.name, count, sep, offset))


def savetxt(fname: Any, X: ArrayLike, fmt: str | Sequence[str] = "%.18e", **options: Any) -> None:
    """Write a 1-d or 2-d array to a text file with ``numpy.savetxt``, which documents the options. Waits.

    Examples
    --------
    >>> import io
    >>> from forerun import np
    >>> text = io.StringIO()
    >>> np.savetxt(text, np.array([[1.0, 2.0]]), fmt="%g")
    >>> text.getvalue().split()
    ['1', '2']
    """
    import numpy

    numpy.savetxt(fname, to_array(X).asnumpy(), fmt, **options)


class vectorize:
    """Apply a Python function to each element of arrays. Waits for the arrays.

    Expressions of arrays are faster by orders of magnitude. The arguments are those of ``numpy.vectorize``.

    Examples
    --------
    >>> from forerun import np
    >>> clipped = np.vectorize(lambda a, b: a if a < b else b)
    >>> clipped(np.array([1, 5, 3]), 4)
    array([1, 4, 3])
    """

    def __init__(self, pyfunc: Callable[..., Any], *args: Any, **options: Any) -> None:
        import numpy

        self.pyfunc = pyfunc
        self.__doc__ = pyfunc.__doc__
        self._called = numpy.vectorize(pyfunc, *args, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for each element."""
        made = self._called(
            *(each.asnumpy() if isinstance(each, ndarray) else each for each in args),
            **{name: each.asnumpy() if isinstance(each, ndarray) else each for name, each in kwargs.items()},
        )
        return tuple(to_array(each) for each in made) if isinstance(made, tuple) else to_array(made)
