"""Arrays are printed as NumPy prints them."""

from __future__ import annotations

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy
import pytest

from forerun import np, npx

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


def test_print_options_under_our_own_names() -> None:
    x = np.array([0.12345, 1000.5])
    sample = numpy.array([0.12345, 1000.5], "float32")
    with np.printoptions(precision=2):
        assert str(x) == str(sample) and np.get_printoptions()["precision"] == 2
    before = np.get_printoptions()["precision"]
    np.set_printoptions(precision=3)
    try:
        assert str(x) == str(sample) and numpy.get_printoptions()["precision"] == 3
    finally:
        np.set_printoptions(precision=before)
    assert np.array2string(x, precision=2, separator="; ") == numpy.array2string(sample, precision=2, separator="; ")
    assert np.array_str(x, precision=1) == numpy.array_str(sample, precision=1)
    assert np.array_repr(x, precision=1) == numpy.array_repr(sample, precision=1).replace(", dtype=float32", "")
    assert numpy.array2string(x) == numpy.array2string(sample) and numpy.array_str(x) == numpy.array_str(sample)


def test_notebooks() -> None:
    assert (
        np.arange(3)._repr_html_()
        == f"<table><tr><td>0</td><td>1</td><td>2</td></tr></table><p>(3,), int64, {npx.current_device()}</p>"
    )
    assert np.array([[True], [False]])._repr_html_().count("<tr>") == 2  # type: ignore[union-attr]
    assert "<td>0.25</td>" in np.array([0.25, numpy.nan])._repr_html_()  # type: ignore[operator]
    for bare in [np.array(1.0), np.zeros((2, 2, 2)), np.zeros((0, 3))]:
        assert bare._repr_html_() is None
    large = np.arange(1_000_000).reshape(1000, 1000)._repr_html_()
    assert large is not None and len(large) < 10_000 and large.count("<tr>") == 21 and "999999" in large

    class Printer:
        def text(self, text: str) -> None:
            self.printed = text

    printer = Printer()
    np.arange(3)._repr_pretty_(printer, False)
    assert printer.printed == repr(np.arange(3))


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
