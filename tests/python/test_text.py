"""Arrays are printed as NumPy prints them."""

from __future__ import annotations

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy
import pytest

from forerun import np

SAMPLES = [
    numpy.ones((1, 2), "float32"),
    numpy.array(1.5, "float32"),
    numpy.array([], "float32"),
    numpy.zeros((0, 3), "float32"),
    numpy.array([1e-10, 1.0, 1e10, numpy.nan, -numpy.inf], "float32"),
    numpy.arange(5),
    numpy.array([True, False]),
    numpy.arange(2000).reshape(40, 50),
    numpy.linspace(0, 1, 30, dtype="float32"),
    numpy.arange(3, dtype="int32"),
    numpy.arange(24).reshape(2, 3, 4),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.dtype}{sample.shape}")
def test_str(sample: numpy.ndarray) -> None:
    assert str(np.array(sample)) == str(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.dtype}{sample.shape}")
def test_repr(sample: numpy.ndarray) -> None:
    expected = repr(sample)
    if sample.dtype == numpy.float32 and sample.size > 0:
        expected = expected.replace(", dtype=float32", "").replace(",\n      dtype=float32", "")
    assert repr(np.array(sample)) == expected


def test_repr_of_doubles_names_them() -> None:
    assert repr(np.array(numpy.array([1.0, 2.5]))) == "array([1. , 2.5], dtype=float64)"
    assert repr(np.array([1, 2], dtype=np.int32)) == "array([1, 2], dtype=int32)"
    long = np.array(numpy.linspace(0, 1, 6))
    assert repr(long) == "array([0. , 0.2, 0.4, 0.6, 0.8, 1. ], dtype=float64)"
    longer = np.array(numpy.array([0.123456789] * 5))
    assert repr(longer).endswith("\n      dtype=float64)")


def test_print_options_are_numpys() -> None:
    with numpy.printoptions(precision=2):
        assert str(np.array([0.12345])) == "[0.12]"


def test_format() -> None:
    assert f"{np.array(1.23456):.2f}" == "1.23"
    assert f"{np.ones((2,))}" == "[1. 1.]"


@hypothesis.given(
    st.sampled_from(["float32", "int32", "int64", "bool"]).flatmap(
        lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_any_array(sample: numpy.ndarray) -> None:
    assert str(np.array(sample)) == str(sample)
