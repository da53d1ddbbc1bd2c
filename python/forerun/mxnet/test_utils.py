"""``mxnet.test_utils``: comparisons, random arrays, numeric gradients and checks of samplers, for tests.

Everything here works on the host, in NumPy, and waits for the arrays it is given.
"""

from __future__ import annotations

import contextlib
import logging
import numbers
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.random as rnd
import numpy.testing as npt

import forerun.mxnet as mx
from forerun._forerun import Device, current_device, set_device
from forerun.mxnet._comparisons import (
    Tolerance,
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    default_atols,
    default_dtype,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tols,
    same,
    same_array,
)
from forerun.mxnet._gradient_checks import (
    check_gluon_hybridize_consistency,
    check_numeric_gradient,
    check_symbolic_backward,
    check_symbolic_forward,
)
from forerun.mxnet._random_data import (
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    random_arrays,
    random_sample,
    random_uniform_arrays,
)
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


def default_device() -> Device:
    """Return the current device."""
    return current_device()


default_context = default_device


def set_default_device(device: Device) -> None:
    """Set the current device of this thread."""
    set_device(device)


set_default_context = set_default_device


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
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


# The process and the machine.


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables for a ``with`` statement: a name and a value, or a mapping. None removes one.

    Examples
    --------
    >>> import os
    >>> from forerun import mxnet as mx
    >>> with mx.test_utils.environment("MXNET_EXAMPLE", "1"):
    ...     os.environ["MXNET_EXAMPLE"]
    '1'
    >>> "MXNET_EXAMPLE" in os.environ
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
