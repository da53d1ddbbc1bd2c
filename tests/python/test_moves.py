"""Copies and expressions of transposed, strided, repeated and reversed arrays compared with NumPy."""

from __future__ import annotations

import numpy as onp
import pytest

from forerun import np

DTYPES = ["bool", "uint8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]


def drawn(dtype: str, *shape: int) -> onp.ndarray:
    return (onp.random.default_rng(sum(shape)).standard_normal(shape) * 100).astype(dtype)


def same(made: np.ndarray, wanted: onp.ndarray) -> None:
    assert made.shape == wanted.shape
    assert (made.asnumpy() == wanted).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_operands(dtype: str) -> None:
    # Sizes below and above the rows and columns of a panel, and the threshold for splitting.
    for rows, columns in [(64, 64), (128, 100), (17, 300), (300, 17), (33, 1000), (16, 5000), (600, 700)]:
        x, y = drawn(dtype, rows, columns), drawn(dtype, columns, rows)
        a, b = np.array(x), np.array(y)
        same(a.T + b, x.T + y)
        same(b + a.T + a.T, y + x.T + x.T)
        same((a.T + b).T + a, (x.T + y).T + x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_stacks(dtype: str) -> None:
    x = drawn(dtype, 5, 40, 50)
    a = np.array(x)
    for order in [(0, 2, 1), (2, 0, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0)]:
        same(a.transpose(order) + a.transpose(order), x.transpose(order) + x.transpose(order))
        same(a.transpose(order).copy(), x.transpose(order))


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_and_repetitions(dtype: str) -> None:
    x = drawn(dtype, 3, 40, 50)
    a = np.array(x)
    for step in [1, 2, 3, 4, 5, -1, -2]:
        line, wanted = a.reshape(-1)[::step], x.reshape(-1)[::step]
        same(line + line, wanted + wanted)
        same(line.copy(), wanted)
    for count in [1, 2, 3, 16, 17, 30]:
        same(np.repeat(a, count), onp.repeat(x, count))
        same(np.repeat(a, count, axis=1), onp.repeat(x, count, axis=1))
        same(np.tile(a, (1, count)), onp.tile(x, (1, count)))
        same(a[:, :, :count].copy(), x[:, :, :count])
        same(a[:, :count, ::-1].copy(), x[:, :count, ::-1])


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 31, 32, 33])
def test_extremes_of_few_columns(columns: int) -> None:
    for rows in [1, 2, 15, 16, 17, 65, 1000]:
        given = onp.random.default_rng(rows).integers(0, 9, (3, rows, columns)).astype("float32")
        if rows > 20:
            given[1, rows // 2, 0] = onp.nan
        x = np.array(given)
        same(x.argmin(axis=1), given.argmin(axis=1))
        same(x.argmax(axis=1), given.argmax(axis=1))


def test_no_indices_name_nothing() -> None:
    assert np.ones((3,))[np.array([], dtype="int64")].shape == (0,)
    assert np.take(np.ones((3, 2)), np.array([], dtype="int32"), 0).shape == (0, 2)
