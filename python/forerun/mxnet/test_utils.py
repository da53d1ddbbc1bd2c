"""``mxnet.test_utils``: comparisons, random arrays, numeric gradients and checks of samplers, for tests.

Everything here works on the host, in NumPy, and waits for the arrays it is given.
"""

from __future__ import annotations

import contextlib
import logging
import numbers
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.random as rnd
import numpy.testing as npt

import forerun.mxnet as mx
from forerun import autograd
from forerun._forerun import Device, current_device, ndarray, set_device
from forerun.mxnet._sampling_checks import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from forerun.mxnet.util import getenv, setenv, use_np, use_np_default_dtype

# Tests import everything from here, including the modules.
__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "compare_optimizer_noise_seeded",
    "default_atols",
    "default_context",
    "default_device",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "effective_dtype",
    "environment",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tols",
    "getenv",
    "has_tvm_ops",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "logging",
    "mean_check",
    "mx",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np",
    "np_reduce",
    "npt",
    "numbers",
    "os",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "rnd",
    "same",
    "same_array",
    "set_default_context",
    "set_default_device",
    "setenv",
    "time",
    "use_np",
    "use_np_default_dtype",
    "var_check",
    "verify_generator",
]

_Tolerance: TypeAlias = "float | Mapping[Any, float] | None"
_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def default_device() -> Device:
    """Return the current device."""
    return current_device()


default_context = default_device


def set_default_device(device: Device) -> None:
    """Set the current device of this thread."""
    set_device(device)


set_default_context = set_default_device


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


def _tolerance(array: Any, given: _Tolerance, defaults: Mapping[Any, float]) -> float:
    if isinstance(given, numbers.Real):
        return float(given)
    kind = effective_dtype(array)
    by_kind = {np.dtype(key): value for key, value in given.items()} if isinstance(given, Mapping) else {}
    return by_kind[kind] if kind in by_kind else defaults.get(kind, 0.0)


def get_tols(x: Any, y: Any, rtol: _Tolerance, atol: _Tolerance) -> tuple[float, float]:
    """Return the tolerances for two arrays: the larger of what their dtypes ask for."""
    arrays = [value if hasattr(value, "dtype") else np.asarray(value) for value in (x, y)]
    relative = max(_tolerance(array, rtol, default_rtols()) for array in arrays)
    absolute = max(_tolerance(array, atol, default_atols()) for array in arrays)
    return relative, absolute


def _host(value: Any) -> Any:
    array = value.asnumpy() if isinstance(value, ndarray) else np.asarray(value)
    # NumPy has no arithmetic on bfloat16.
    return array.astype("float32") if array.dtype.name == "bfloat16" else array


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same shape and elements."""
    return bool(np.array_equal(_host(a), _host(b)))


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
    a, b = _host(a), _host(b)
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
    rtol: _Tolerance = None,
    atol: _Tolerance = None,
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
      (1,): a = 1.0, b = 2.0, 832.6 times the tolerance
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _host(a), _host(b)
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
    rtol: _Tolerance = None,
    atol: _Tolerance = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise ``AssertionError`` unless all elements but a share of ``etol`` are equal within tolerances."""
    relative, absolute = get_tols(a, b, rtol, atol)
    far = ~np.isclose(_host(a), _host(b), rtol=relative, atol=absolute, equal_nan=equal_nan)
    if not get_etol(etol) or far.mean() > get_etol(etol):
        assert_almost_equal(a, b, relative, absolute, names, equal_nan, mismatches=mismatches)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: _Tolerance = None, atol: _Tolerance = None, names: Sequence[str] = ("a", "b")
) -> None:
    """Raise ``AssertionError`` unless two arrays are equal within tolerances where neither is NaN."""
    a, b = np.array(_host(a)), np.array(_host(b))
    neither = np.isnan(a) | np.isnan(b)
    a[neither] = b[neither] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(
    f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any
) -> None:
    """Raise ``AssertionError`` unless a call raises an exception of a type."""
    try:
        result = f(*args, **kwargs)
        for array in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(array, ndarray):
                array.wait_to_read()
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: _Tolerance = None, atol: _Tolerance = None) -> None:
    """Compare arrays, or nested tuples of them; a None is equal to everything."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for one, other in zip(t1, t2, strict=True):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shapes: Sequence[Any],
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
) -> None:
    """Compare the weights and the states after a step of two optimisers on the same random weights and gradients."""
    if (w_stype, g_stype) != ("default", "default"):
        raise ValueError("compare_optimizer: there are no sparse arrays")
    weights, gradients, states = ([], []), ([], []), ([], [])  # type: ignore[var-annotated]
    for i, shape in enumerate(shapes):
        weight, gradient = (mx.random.uniform(shape=shape, dtype=dtype) for _ in range(2))
        for which, optimizer in enumerate((opt1, opt2)):
            weights[which].append(weight.copy())
            gradients[which].append(gradient.copy())
            states[which].append(optimizer.create_state_multi_precision(i, weights[which][-1]))
    indices = list(range(len(shapes)))
    opt1.update_multi_precision(indices, weights[0], gradients[0], states[0])
    opt2.update_multi_precision(indices, weights[1], gradients[1], states[1])
    if compare_states:
        compare_ndarray_tuple(tuple(states[0]), tuple(states[1]), rtol, atol)
    compare_ndarray_tuple(tuple(weights[0]), tuple(weights[1]), rtol, atol)


def compare_optimizer_noise_seeded(
    opt1: Any,
    opt2: Any,
    shapes: Sequence[Any],
    dtype: Any,
    noise_seed: int,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
) -> None:
    """Compare two optimisers that draw random numbers, as :func:`compare_optimizer`, from the same seed."""
    if (w_stype, g_stype) != ("default", "default"):
        raise ValueError("compare_optimizer_noise_seeded: there are no sparse arrays")
    made = []
    pairs = [[mx.random.uniform(shape=shape, dtype=dtype) for _ in range(2)] for shape in shapes]
    indices = list(range(len(shapes)))
    for optimizer in (opt1, opt2):
        weights = [weight.copy() for weight, _ in pairs]
        gradients = [gradient.copy() for _, gradient in pairs]
        states = [optimizer.create_state_multi_precision(i, weight) for i, weight in zip(indices, weights, strict=True)]
        mx.random.seed(noise_seed)
        optimizer.update_multi_precision(indices, weights, gradients, states)
        made.append((tuple(weights), tuple(states)))
    if compare_states:
        compare_ndarray_tuple(made[0][1], made[1][1], rtol, atol)
    compare_ndarray_tuple(made[0][0], made[1][0], rtol, atol)


# Random arrays.


def random_arrays(*shapes: Any) -> Any:
    """Return normally distributed NumPy arrays in float32; one shape gives an array."""
    arrays = [np.asarray(rnd.randn(*shape), dtype="float32") for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: Any, low: float = 0.0, high: float = 1.0, dtype: Any = "float32") -> list[Any]:
    """Return uniformly distributed NumPy arrays."""
    return [rnd.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """Return different elements of a sequence, in random order."""
    return random.sample(list(population), k)


def rand_ndarray(
    shape: Any,
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Device | None = None,
) -> ndarray:
    """Return a normally distributed array; ``stype`` must be ``"default"``, since there are no sparse arrays."""
    if stype != "default":
        raise ValueError(f"rand_ndarray: there are no sparse arrays, stype is {stype!r}")
    return mx.np.array(random_arrays(shape), dtype="float32" if dtype is None else dtype, ctx=ctx)


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape of two dimensions."""
    low = 0 if allow_zero_size else 1
    return tuple(int(rnd.randint(low, most + 1)) for most in (dim0, dim1))


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape of three dimensions."""
    low = 0 if allow_zero_size else 1
    return tuple(int(rnd.randint(low, most + 1)) for most in (dim0, dim1, dim2))


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape."""
    return tuple(int(extent) for extent in rnd.randint(0 if allow_zero_size else 1, dim + 1, size=num_dim))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Return two random integers."""
    return int(rnd.randint(x_low, x_high)), int(rnd.randint(y_low, y_high))


def new_orthonormal_matrix_2d(n: int) -> Any:
    """Return a random orthonormal matrix."""
    return np.linalg.qr(rnd.randn(n, n))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> Any:
    """Return a random well-conditioned matrix with real eigenvalues."""
    while True:
        vectors = rnd.uniform(-1, 1, (n, n)) + n * new_orthonormal_matrix_2d(n)
        if np.linalg.cond(vectors) < 3:
            return np.linalg.inv(vectors) @ np.diag(rnd.uniform(-10, 10, n)) @ vectors


def new_sym_matrix_with_real_eigvals_2d(n: int) -> Any:
    """Return a random symmetric matrix."""
    vectors = new_orthonormal_matrix_2d(n)
    return vectors.T @ np.diag(rnd.uniform(-10, 10, n)) @ vectors


def _stack_of(make: Callable[[int], Any], shape: Sequence[int]) -> Any:
    count = int(np.prod(shape[:-2]))
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Any:
    """Return random well-conditioned matrices with real eigenvalues."""
    return _stack_of(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> Any:
    """Return random symmetric matrices."""
    return _stack_of(new_sym_matrix_with_real_eigvals_2d, shape)


# References.


def np_reduce(dat: Any, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Any:
    """Reduce over one axis after another."""
    axes = [axis] if isinstance(axis, int) else list(range(dat.ndim)) if axis is None else list(axis)
    for one in sorted(axes, reverse=True):
        dat_shape = dat.shape
        dat = numpy_reduce_func(dat, axis=one)
        if keepdims:
            dat = np.reshape(dat, (*dat_shape[:one], 1, *dat_shape[one + 1 :]))
    return dat


def collapse_sum_like(a: Any, shape: Sequence[int]) -> Any:
    """Return the sum over the axes along which ``shape`` was broadcast to the array's shape."""
    before = a.ndim - len(shape)
    axes = [*range(before), *(before + i for i, extent in enumerate(shape) if extent != a.shape[before + i])]
    return np.sum(a, axis=tuple(axes)).reshape(shape)


def check_numeric_gradient(
    sym: Callable[..., Any],
    location: Sequence[Any] | Mapping[str, Any],
    aux_states: Any = None,
    numeric_eps: float | None = None,
    rtol: _Tolerance = None,
    atol: _Tolerance = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Device | None = None,
    dtype: Any = np.float32,
) -> None:
    """Compare the gradients of a function or block with finite differences.

    Parameters
    ----------
    sym
        A function of arrays, a block, or an expression of ``mx.sym``.
    location
        The arguments: arrays, or a mapping from names of parameters or variables to arrays.
    numeric_eps
        The step of the differences.
    rtol, atol
        Tolerances, as for :func:`assert_almost_equal`.
    grad_nodes
        The indices, or names, of the arguments whose gradients are compared; all by default.
    use_forward_train
        Whether the differences are taken in training mode.
    ctx, dtype
        The device and dtype of the arguments.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.test_utils.check_numeric_gradient(lambda x, y: x * y, [mx.np.ones((2,)), mx.np.ones((2,))])
    """
    if aux_states is not None:
        raise ValueError("check_numeric_gradient: blocks keep their own auxiliary states")
    named = list(location) if isinstance(location, Mapping) else None
    given = list(location.values()) if isinstance(location, Mapping) else list(location)
    if named is None and isinstance(sym, mx.sym.Symbol):
        named = sym.list_arguments()
    values = [_host(value).astype(dtype) for value in given]

    def outputs(arrays: list[ndarray]) -> ndarray:
        if isinstance(sym, mx.sym.Symbol):
            return sym.eval(**dict(zip(named or (), arrays, strict=True)))[0]
        result = sym(**dict(zip(named, arrays, strict=True))) if named else sym(*arrays)
        return result[0] if isinstance(result, (list, tuple)) else result

    arrays = [mx.np.array(value, dtype=dtype, ctx=ctx) for value in values]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        out = outputs(arrays)
    weights = rnd.uniform(0.1, 1.1, out.shape).astype(dtype)
    out.backward(mx.np.array(weights, dtype=dtype, ctx=ctx))
    step = default_numeric_eps()[np.dtype(dtype)] if numeric_eps is None else numeric_eps
    wanted = list(named or range(len(values))) if grad_nodes is None else list(grad_nodes)
    for number, (array, value) in enumerate(zip(arrays, values, strict=True)):
        name = named[number] if named else number
        if name not in wanted:
            continue
        expected = np.zeros(value.shape, "float64")
        around = [mx.np.array(each, dtype=dtype, ctx=ctx) for each in values]
        for place in np.ndindex(value.shape):
            sides = []
            for sign in (0.5, -0.5):
                around[number][place] = value[place] + sign * step
                with autograd.train_mode() if use_forward_train else autograd.predict_mode():
                    sides.append(outputs(around))
            around[number][place] = value[place]
            above, below = (_host(side).astype("float64") for side in sides)
            expected[place] = ((above - below) * weights).sum() / step
        names = (f"numeric gradient of {name}", f"gradient of {name}")
        assert_almost_equal(expected.astype(dtype), array.grad, rtol, atol, names)


def check_symbolic_forward(
    sym: Any,
    location: Sequence[Any] | Mapping[str, Any],
    expected: Sequence[Any] | Mapping[str, Any],
    rtol: _Tolerance = None,
    atol: _Tolerance = None,
    aux_states: Any = None,
    ctx: Device | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[Any]:
    """Compare the outputs of an expression with NumPy arrays, and return them.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x = mx.sym.Variable("x")
    >>> mx.test_utils.check_symbolic_forward(x + 1, [[1.0, 2.0]], [[2.0, 3.0]])
    [array([2., 3.])]
    """
    outputs = sym.eval(**_placed(sym, location, ctx, dtype))
    wanted = list(expected.values()) if isinstance(expected, Mapping) else list(expected)
    for output, value in zip(outputs, wanted, strict=True):
        assert_almost_equal(value, output, rtol, atol, ("expected", "output"), equal_nan)
    return list(outputs)


def check_symbolic_backward(
    sym: Any,
    location: Sequence[Any] | Mapping[str, Any],
    out_grads: Sequence[Any] | None,
    expected: Sequence[Any] | Mapping[str, Any],
    rtol: _Tolerance = None,
    atol: _Tolerance = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Device | None = None,
    grad_stypes: Any = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[Any]:
    """Compare the gradients of an expression with NumPy arrays, and return them.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x = mx.sym.Variable("x")
    >>> mx.test_utils.check_symbolic_backward(x * 3, [[1.0, 2.0]], [[1.0, 1.0]], [[3.0, 3.0]])
    [array([3., 3.])]
    """
    arrays = _placed(sym, location, ctx, dtype)
    grads = {name: mx.np.zeros_like(array) for name, array in arrays.items()}
    bound = sym.bind(ctx, arrays, grads, grad_req)
    bound.forward(is_train=True)
    heads = None if out_grads is None else [mx.np.array(_host(each), dtype=dtype, ctx=ctx) for each in out_grads]
    bound.backward(heads)
    wanted = expected if isinstance(expected, Mapping) else dict(zip(sym.list_arguments(), expected, strict=False))
    for name, value in wanted.items():
        assert_almost_equal(value, bound.grad_dict[name], rtol, atol, ("expected", f"gradient of {name}"), equal_nan)
    return [grad for grad in bound.grad_arrays if grad is not None]


def _placed(sym: Any, location: Any, ctx: Device | None, dtype: Any) -> dict[str, ndarray]:
    given = location if isinstance(location, Mapping) else dict(zip(sym.list_arguments(), location, strict=True))
    return {name: mx.np.array(_host(value), dtype=dtype, ctx=ctx) for name, value in given.items()}


def check_gluon_hybridize_consistency(
    net_builder: Callable[[], Any],
    data_l: Sequence[ndarray],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Compare the outputs and gradients of a block with and without ``hybridize``, and its outputs with a function.

    Parameters
    ----------
    net_builder
        Makes the block.
    data_l
        The inputs.
    numpy_func
        A function of NumPy arrays that gives the same outputs.
    test_grad
        Whether to compare gradients of the inputs.
    rtol, atol
        Tolerances.
    """
    weights: dict[str, Any] | None = None
    outputs, gradients = [], []
    for hybridize in (False, True):
        for record in (False, True) if test_grad else (False,):
            net = net_builder()
            net.initialize() if weights is None else net.load_dict(weights)
            if hybridize:
                net.hybridize()
            data = [array.copy() for array in data_l]
            if record:
                for array in data:
                    array.attach_grad()
                with autograd.record():
                    out = net(*data)
                out.backward(out)
                gradients.append([_host(array.grad) for array in data])
            else:
                out = net(*data)
            if weights is None:
                weights = {name: parameter.data() for name, parameter in net.collect_params().items()}
            outputs.append(_host(out))
    for other in outputs[1:]:
        assert_almost_equal(other, outputs[0], rtol=rtol, atol=atol)
    for others in gradients[1:]:
        for one, other in zip(others, gradients[0], strict=True):
            assert_almost_equal(one, other, rtol=rtol, atol=atol)
    if numpy_func is not None:
        expected = numpy_func(*[_host(array) for array in data_l])
        assert_almost_equal(outputs[0], expected, rtol=rtol, atol=atol)


# The process and the machine.


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables for a ``with`` statement: a name and a value, or a mapping. None removes one.

    Examples
    --------
    >>> import os
    >>> from forerun import mxnet as mx
    >>> with mx.test_utils.environment("FORERUN_EXAMPLE", "1"):
    ...     os.environ["FORERUN_EXAMPLE"]
    '1'
    >>> "FORERUN_EXAMPLE" in os.environ
    False
    """
    wanted = dict(args[0]) if len(args) == 1 else {args[0]: args[1]}
    before = {name: getenv(name) for name in wanted}
    for name, value in wanted.items():
        setenv(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setenv(name, value)


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """Discard what the process writes to its error stream, inside a ``with`` statement."""
    saved = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def list_gpus() -> list[int]:
    """Return the numbers of the GPUs."""
    return list(range(mx.num_gpus()))


def download(url: str, fname: str | None = None, *args: Any, **kwargs: Any) -> str:
    """Raise: nothing is downloaded. The error says where to put the file."""
    from forerun.gluon import utils

    return str(utils.download(url, fname))


def is_cd_run() -> bool:
    """Return whether the environment variable ``CD_JOB`` is 1."""
    return os.environ.get("CD_JOB") == "1"


def has_tvm_ops() -> bool:
    """Return False: there are no ops generated by TVM."""
    return False


def is_op_runnable() -> bool:
    """Return True: every op runs on every device."""
    return True
