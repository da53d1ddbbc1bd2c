"""NumPy's dtype codes, attributes of dtypes, and abstract dtype classes."""

from __future__ import annotations

import numpy
import pytest

from forerun import np

CODES = [
    "?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "p", "P", "n", "N", "e", "f", "d", "F", "D",
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
    "<f4", "=f4", "|u1", "<i8", ">u1", "<c16", "half", "single", "double", "intp", "uint", "byte", "ubyte", "short",
    "ushort", "intc", "uintc", "long", "longlong", "csingle", "cdouble", "float", "int", "complex", "bool",
]  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_codes_are_numpys(code: str) -> None:
    wanted = numpy.dtype(code).name
    assert np.dtype(code).name == wanted
    assert np.zeros(2, code).dtype.name == wanted
    assert np.array([1, 0], code).dtype.name == wanted
    assert np.ones(2).astype(code).dtype.name == wanted if "c" not in wanted else True
    assert np.dtype(code) == code


NAMES = [
    "byte", "short", "intc", "int_", "intp", "long", "longlong", "ubyte", "ushort", "uintc", "uint", "uintp", "ulong",
    "ulonglong", "half", "single", "double", "csingle", "cdouble", "bool_",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_are_numpys(name: str) -> None:
    assert getattr(np, name).name == numpy.dtype(getattr(numpy, name)).name


@pytest.mark.parametrize("name", [d for d in np.__array_namespace_info__().dtypes()] + ["float16"])
def test_attributes_are_numpys(name: str) -> None:
    ours, theirs = np.dtype(name), numpy.dtype(name)
    for attribute in ("name", "itemsize", "kind", "char", "str", "byteorder", "isnative"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert ours.type(1).dtype == ours


def test_attributes_of_bfloat16() -> None:
    assert (np.bfloat16.kind, np.bfloat16.char, np.bfloat16.itemsize) == ("f", "E", 2)
    assert np.issubdtype(np.bfloat16, np.floating)


@pytest.mark.parametrize(
    ("given", "text"), [(object, "object"), ("O", "O"), (str, "str"), (">f4", ">f4"), ("f3", "f3")]
)
def test_other_dtypes_are_named(given: object, text: str) -> None:
    with pytest.raises(TypeError, match=f"^dtype {text} is not supported; expected one of bool, int8"):
        np.zeros(2, given)


def test_a_class_is_no_code() -> None:
    class d:
        pass

    with pytest.raises(TypeError, match="dtype d is not supported"):
        np.zeros(2, d)


FAMILIES = [
    "generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating",
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_numpys(family: str) -> None:
    ours, theirs = getattr(np, family), getattr(numpy, family)
    for name in ("bool", "int8", "uint16", "int64", "float16", "float64", "complex64"):
        wanted = numpy.issubdtype(name, theirs)
        assert np.issubdtype(name, ours) == wanted
        assert np.issubdtype(np.zeros(1, name).dtype, theirs) == wanted
        assert np.issubdtype(np.dtype(name), ours) == wanted
    for other in FAMILIES:
        assert np.issubdtype(getattr(np, other), ours) == numpy.issubdtype(getattr(numpy, other), theirs)
        assert not np.issubdtype(getattr(np, other), "float32")
    with pytest.raises(TypeError, match="abstract dtype class"):
        ours(1)


def test_casting_rules_are_numpys() -> None:
    names = ["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
    for casting in ("no", "equiv", "same_kind", "unsafe"):
        for first in names:
            for second in names:
                wanted = numpy.can_cast(first, second, casting)
                assert np.can_cast(first, second, casting) == wanted, (first, second, casting)
    with pytest.raises(ValueError, match="casting must be"):
        np.can_cast("int8", "int16", "maybe")
