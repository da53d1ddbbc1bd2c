"""Random arrays, shapes and matrices, for ``mxnet.test_utils``."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.random as rnd

import forerun.mxnet as mx
from forerun._forerun import Device, ndarray

__all__ = [
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]


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
