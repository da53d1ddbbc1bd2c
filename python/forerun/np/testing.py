"""Assertions about arrays, implemented with ``numpy.testing``.

Each function waits for the arrays it is given.
"""

from __future__ import annotations

from typing import Any

from forerun._forerun import ndarray
from forerun._types import ArrayLike

__all__ = [
    "assert_allclose",
    "assert_almost_equal",
    "assert_array_almost_equal",
    "assert_array_equal",
    "assert_array_less",
    "assert_equal",
    "assert_raises",
    "assert_raises_regex",
]


def _read(value: Any) -> Any:
    """Convert Forerun arrays to NumPy arrays, also inside containers."""
    if isinstance(value, ndarray):
        return value.asnumpy()
    if type(value) in (list, tuple):
        return type(value)(_read(each) for each in value)
    if type(value) is dict:
        return {key: _read(each) for key, each in value.items()}
    return value


def assert_allclose(
    actual: ArrayLike,
    desired: ArrayLike,
    rtol: float = 1e-07,
    atol: float = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
) -> None:
    """Raise an AssertionError unless two arrays agree up to a tolerance, which is relative to the second.

    Examples
    --------
    >>> from forerun import np
    >>> np.testing.assert_allclose(np.ones(2), np.array([1.0, 1.000001]), rtol=1e-5)
    """
    import numpy.testing

    numpy.testing.assert_allclose(_read(actual), _read(desired), rtol, atol, equal_nan, err_msg, verbose)


def assert_array_equal(
    actual: ArrayLike, desired: ArrayLike, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Raise an AssertionError unless two arrays have the same shape and elements; ``strict`` compares dtypes too.

    Examples
    --------
    >>> from forerun import np
    >>> np.testing.assert_array_equal(np.ones(2), [1, 1])
    """
    import numpy.testing

    numpy.testing.assert_array_equal(_read(actual), _read(desired), err_msg, verbose, strict=strict)


def assert_equal(actual: Any, desired: Any, err_msg: str = "", verbose: bool = True) -> None:
    """Raise an AssertionError unless two things are equal: numbers, arrays, or lists and dictionaries of them.

    Examples
    --------
    >>> from forerun import np
    >>> np.testing.assert_equal([np.ones(2), 3], [np.array([1.0, 1.0]), 3])
    """
    import numpy.testing

    numpy.testing.assert_equal(_read(actual), _read(desired), err_msg, verbose)


def assert_almost_equal(actual: Any, desired: Any, decimal: int = 7, err_msg: str = "", verbose: bool = True) -> None:
    """Raise an AssertionError unless two numbers or arrays agree to ``decimal`` decimals.

    Examples
    --------
    >>> from forerun import np
    >>> np.testing.assert_almost_equal(np.array(1.0001), 1.0, decimal=3)
    """
    import numpy.testing

    numpy.testing.assert_almost_equal(_read(actual), _read(desired), decimal, err_msg, verbose)


def assert_array_almost_equal(
    actual: ArrayLike, desired: ArrayLike, decimal: int = 6, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise an AssertionError unless two arrays agree to ``decimal`` decimals.

    Examples
    --------
    >>> from forerun import np
    >>> np.testing.assert_array_almost_equal(np.ones(2), [1.0, 1.0000001])
    """
    import numpy.testing

    numpy.testing.assert_array_almost_equal(_read(actual), _read(desired), decimal, err_msg, verbose)


def assert_array_less(x: ArrayLike, y: ArrayLike, err_msg: str = "", verbose: bool = True) -> None:
    """Raise an AssertionError unless every element of the first array is less than that of the second.

    Examples
    --------
    >>> from forerun import np
    >>> np.testing.assert_array_less(np.zeros(2), np.ones(2))
    """
    import numpy.testing

    numpy.testing.assert_array_less(_read(x), _read(y), err_msg, verbose)


def assert_raises(*args: Any, **kwargs: Any) -> Any:
    """Check that a call, or the block of a ``with`` statement, raises an exception of a class.

    Examples
    --------
    >>> from forerun import np
    >>> with np.testing.assert_raises(ValueError):
    ...     np.ones(2) + np.ones(3)
    """
    import numpy.testing

    return numpy.testing.assert_raises(*args, **kwargs)


def assert_raises_regex(exception_class: Any, expected_regexp: str, *args: Any, **kwargs: Any) -> Any:
    """Check that a call, or the block of a ``with`` statement, raises an exception whose text fits a pattern.

    Examples
    --------
    >>> from forerun import np
    >>> with np.testing.assert_raises_regex(ValueError, "broadcast"):
    ...     np.ones(2) + np.ones(3)
    """
    import numpy.testing

    return numpy.testing.assert_raises_regex(exception_class, expected_regexp, *args, **kwargs)


def __dir__() -> list[str]:
    return __all__
