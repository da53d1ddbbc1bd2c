"""Comparisons within tolerances, for ``mxnet.test_utils``."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from forerun._forerun import ndarray

__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "default_atols",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tols",
    "same",
    "same_array",
]

Tolerance: TypeAlias = "float | Mapping[Any, float] | None"
_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def default_dtype() -> Any:
    """Return float32."""
    return np.float32


def _by_dtype(half: float, single: float, double: float) -> dict[Any, float]:
    floats = {np.dtype("float16"): half, np.dtype("float32"): single, np.dtype("float64"): double}
    complexes = {np.dtype("complex64"): single, np.dtype("complex128"): double}
    return floats | complexes | {np.dtype(name): 0.0 for name in _EXACT}


def default_rtols() -> dict[Any, float]:
    """Return the default relative tolerance of each dtype."""
    return _by_dtype(1e-2, 1e-4, 1e-5)


def default_atols() -> dict[Any, float]:
    """Return the default absolute tolerance of each dtype."""
    return _by_dtype(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[Any, float]:
    """Return the default step of finite differences of each float dtype: powers of two, which round nothing."""
    return {np.dtype("float16"): 2.0**-6, np.dtype("float32"): 2.0**-9, np.dtype("float64"): 2.0**-14}


def get_atol(atol: float | None = None, dtype: Any = "float64") -> float:
    """Return an absolute tolerance, or the default one."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: Any = "float64") -> float:
    """Return a relative tolerance, or the default one."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """Return the share of elements that may differ, 0 by default."""
    return 0 if etol is None else etol


def effective_dtype(dat: Any) -> Any:
    """Return the dtype whose tolerance applies to an array."""
    return np.dtype(dat.dtype)


def _tolerance(array: Any, given: Tolerance, defaults: Mapping[Any, float]) -> float:
    if isinstance(given, numbers.Real):
        return float(given)
    kind = effective_dtype(array)
    by_kind = {np.dtype(key): value for key, value in given.items()} if isinstance(given, Mapping) else {}
    return by_kind[kind] if kind in by_kind else defaults.get(kind, 0.0)


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """Return the tolerances for two arrays: the larger of what their dtypes ask for."""
    arrays = [value if hasattr(value, "dtype") else np.asarray(value) for value in (x, y)]
    relative = max(_tolerance(array, rtol, default_rtols()) for array in arrays)
    absolute = max(_tolerance(array, atol, default_atols()) for array in arrays)
    return relative, absolute


def host(value: Any) -> Any:
    array = value.asnumpy() if isinstance(value, ndarray) else np.asarray(value)
    # NumPy has no arithmetic on bfloat16.
    return array.astype("float32") if array.dtype.name == "bfloat16" else array


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same shape and elements."""
    return bool(np.array_equal(host(a), host(b)))


def same_array(array1: ndarray, array2: ndarray) -> bool:
    """Return whether two arrays share their memory."""
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared and same(array1, array2)


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Return whether two arrays are equal within tolerances, by default those of float64."""
    a, b = host(a), host(b)
    if not use_broadcast and a.shape != b.shape:
        raise AssertionError(f"the shapes differ: {a.shape} and {b.shape}")
    return bool(np.allclose(a, b, rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan))


def _excess(a: Any, b: Any, rtol: float, atol: float) -> Any:
    """Return by which factor each difference exceeds the tolerance."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.where(np.equal(a, b), 0, np.abs(np.subtract(a, b, dtype=np.result_type(a, b, "float64"))))
        return np.real(apart) / (atol + rtol * np.abs(b) + 1e-20)


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise ``AssertionError`` unless two arrays are equal within tolerances.

    Parameters
    ----------
    a, b
        Arrays or numbers.
    rtol, atol
        Relative and absolute tolerance: numbers, numbers by dtype, or None for the defaults of the dtypes.
    names
        Names for the message.
    equal_nan
        Whether NaNs are equal to each other.
    use_broadcast
        Whether shapes may differ if they broadcast.
    mismatches
        The first number is how many mismatches the message lists at most.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.test_utils.assert_almost_equal(mx.np.ones((2,)), [1, 1.0001])
    >>> mx.test_utils.assert_almost_equal(mx.np.ones((2,)), [1, 2])
    Traceback (most recent call last):
        ...
    AssertionError: 1 of 2 elements differ by more than rtol=1e-04, atol=0.001
      (1,): a = 1.0, b = 2, 833.3 times the tolerance
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = host(a), host(b)
    if almost_equal(a, b, rtol, atol, equal_nan, use_broadcast):
        return
    a, b = np.broadcast_arrays(a, b)
    far = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    excess = np.where(far, np.nan_to_num(_excess(a, b, rtol, atol), nan=np.inf), -1)
    order = np.argsort(-excess, axis=None)[: min(int(far.sum()), mismatches[0])]
    lines = [f"{int(far.sum())} of {far.size} elements differ by more than rtol={rtol:.0e}, atol={atol:g}"]
    for place in zip(*np.unravel_index(order, far.shape), strict=True):
        where = tuple(int(i) for i in place)
        times = f"{float(excess[place]):.1f} times the tolerance"
        lines.append(f"  {where}: {names[0]} = {a[place]}, {names[1]} = {b[place]}, {times}")
    raise AssertionError("\n".join(lines))


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """Raise ``AssertionError`` unless two arrays are equal within tolerances, NaNs being equal."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise ``AssertionError`` unless all elements but a share of ``etol`` are equal within tolerances."""
    relative, absolute = get_tols(a, b, rtol, atol)
    far = ~np.isclose(host(a), host(b), rtol=relative, atol=absolute, equal_nan=equal_nan)
    if not get_etol(etol) or far.mean() > get_etol(etol):
        assert_almost_equal(a, b, relative, absolute, names, equal_nan, mismatches=mismatches)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: Sequence[str] = ("a", "b")
) -> None:
    """Raise ``AssertionError`` unless two arrays are equal within tolerances where neither is NaN."""
    a, b = np.array(host(a)), np.array(host(b))
    neither = np.isnan(a) | np.isnan(b)
    a[neither] = b[neither] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any) -> None:
    """Raise ``AssertionError`` unless a call raises an exception of a type."""
    try:
        result = f(*args, **kwargs)
        for array in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(array, ndarray):
                array.wait_to_read()
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}")
