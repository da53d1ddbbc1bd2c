"""Pointwise ops as objects: NumPy's attributes, arguments and methods of ufuncs."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun._pointwise
from forerun import np

NAMES = forerun._pointwise.__all__
BINARY = [name for name in NAMES if getattr(np, name).nin == 2]


def same(ours: np.ndarray, theirs: Any, rtol: float = 1e-6) -> None:
    theirs = numpy.asarray(theirs)
    assert ours.shape == theirs.shape
    if theirs.dtype.kind != "f":
        assert ours.dtype.name == theirs.dtype.name
        numpy.testing.assert_array_equal(ours.asnumpy(), theirs)
    else:
        numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=rtol)


@pytest.mark.parametrize("name", NAMES)
def test_every_pointwise_op_is_an_object(name: str) -> None:
    op = getattr(np, name)
    assert isinstance(op, np.ufunc)
    assert op.__doc__ and name[:3] and callable(op)
    assert (op.nout, op.nargs) == (1, op.nin + 1)
    assert pickle.loads(pickle.dumps(op)) is op and copy.deepcopy(op) is op
    assert repr(op) == f"<ufunc '{op.__name__}'>"
    assert inspect.signature(op)
    theirs = getattr(numpy, name, None)
    if isinstance(theirs, numpy.ufunc):
        assert op.nin == theirs.nin
        if op.identity is not None:
            assert op.identity == theirs.identity


def test_results_are_written_where_asked() -> None:
    x, y, z = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.zeros(2)
    assert np.add(x, y, z) is z and z.tolist() == [4.0, 6.0]
    assert np.add(x, y, out=z) is z
    assert np.multiply(x, y, out=(z,)) is z and z.tolist() == [3.0, 8.0]
    assert np.exp(x, out=x) is x
    numpy.testing.assert_allclose(x.asnumpy(), numpy.exp([1.0, 2.0]), rtol=1e-6)
    wide = np.zeros((2, 2))
    assert np.add(y, 1, out=wide).tolist() == [[4.0, 5.0]] * 2
    with pytest.raises(TypeError, match="add: cannot cast float32 to int64 of out according to the rule 'same_kind'"):
        np.add(x, y, out=np.zeros(2, int))
    whole = np.zeros(2, int)
    assert np.add(y, 0.5, out=whole, casting="unsafe").tolist() == [3, 4]
    with pytest.raises(ValueError, match=r"add: a result of shape \(2,\) does not fit out of shape \(3,\)"):
        np.add(x, y, out=np.zeros(3))
    with pytest.raises(TypeError, match="out must be an array of forerun, got ndarray"):
        np.add(x, y, out=numpy.zeros(2))


def test_only_what_a_condition_names_is_written() -> None:
    z = np.full(3, 9.0)
    assert np.add(np.ones(3), 1, out=z, where=np.array([True, False, True])).tolist() == [2.0, 9.0, 2.0]
    assert np.add(np.ones(3), 1, where=np.array([True, False, True])).tolist() == [2.0, 0.0, 2.0]
    assert np.sqrt(np.array([4.0, 9.0]), where=[True, False]).tolist() == [2.0, 0.0]
    assert np.negative(np.ones(2), where=np.array([[True], [False]])).tolist() == [[-1.0, -1.0], [0.0, 0.0]]


def test_a_dtype_is_computed_in() -> None:
    assert np.add(np.array([1, 2]), 1, dtype="float64").dtype == np.float64
    assert np.add(np.array([200], "uint8"), np.array([100], "uint8"), dtype="int32").tolist() == [300]
    assert np.sqrt(np.array([4]), dtype=float).dtype == np.float64
    assert np.equal(np.array([1, 2]), 1, dtype=bool).tolist() == [True, False]
    assert np.add(1, 2, dtype="f4", casting="unsafe", order="C", subok=False).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: np.add(np.ones(2)), "add: takes 2 arguments and out, got 1"),
        (lambda: np.exp(), "exp: takes 1 argument and out, got 0"),
        (lambda: np.exp(np.ones(2), None, 3), "exp: takes 1 argument and out, got 3"),
        (lambda: np.add(np.ones(2), 1, axis=3), "add: got an unexpected keyword argument 'axis'"),
        (lambda: np.power.reduce(np.ones(2)), "power.reduce: not supported, because the order of evaluation matters"),
    ],
)
def test_refusals(call: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call()


# Ops that reduce, with a dtype of operands.
REDUCED = {
    "add": "if", "multiply": "if", "subtract": "if", "divide": "f", "maximum": "ifb", "minimum": "ifb", "fmax": "f",
    "fmin": "f", "logical_and": "ifb", "logical_or": "ifb", "logical_xor": "ifb", "bitwise_and": "ib",
    "bitwise_or": "ib", "bitwise_xor": "ib", "gcd": "i", "lcm": "i", "hypot": "f", "logaddexp": "f",
}  # fmt: skip
CASES = [(name, kind) for name, kinds in REDUCED.items() for kind in kinds]


def values(kind: str, *shape: int) -> numpy.ndarray:
    drawn = numpy.random.default_rng(7).integers(1, 7, shape)
    return drawn > 3 if kind == "b" else drawn if kind == "i" else drawn / 4


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_reductions_are_numpys(name: str, kind: str) -> None:
    ours, theirs = getattr(np, name), getattr(numpy, name)
    for shape in ((7,), (1,), (2, 5), (4, 3, 2)):
        x = values(kind, *shape)
        for axis in (0, -1):
            same(ours.reduce(np.array(x), axis), theirs.reduce(x, axis), 1e-5)
            same(ours.reduce(np.array(x), axis, keepdims=True), theirs.reduce(x, axis, keepdims=True), 1e-5)
            same(ours.accumulate(np.array(x), axis), theirs.accumulate(x, axis), 1e-5)
    if name not in ("subtract", "divide", "lcm"):
        x = values(kind, 4, 3, 2)
        same(ours.reduce(np.array(x), None), theirs.reduce(x, None), 1e-5)
        same(ours.reduce(np.array(x), (0, 2)), theirs.reduce(x, (0, 2)), 1e-5)
        same(ours.reduce(np.array(x), initial=3), theirs.reduce(x, initial=3), 1e-5)
        mask = values("b", 4, 3, 2)
        same(ours.reduce(np.array(x), initial=1, where=mask), theirs.reduce(x, initial=1, where=mask), 1e-5)


@pytest.mark.parametrize("name", ["add", "multiply", "logical_and", "logical_or", "bitwise_xor"])
def test_reductions_of_nothing(name: str) -> None:
    x = numpy.zeros((0, 3), int)
    same(getattr(np, name).reduce(np.array(x)), getattr(numpy, name).reduce(x))
    same(getattr(np, name).reduce(np.array(x), 1), getattr(numpy, name).reduce(x, 1))


def test_reductions_without_an_identity() -> None:
    with pytest.raises(ValueError, match=r"maximum.reduce: zero-size array to a reduction which has no identity"):
        np.maximum.reduce(np.zeros((0, 2)))
    assert np.maximum.reduce(np.zeros((0, 2)), initial=5).tolist() == [5.0, 5.0]
    with pytest.raises(ValueError, match=r"maximum.reduce: has no identity, so a where mask needs initial"):
        np.maximum.reduce(np.zeros(3), where=[True, False, True])
    with pytest.raises(ValueError, match=r"exp.reduce: only ops on two operands have it"):
        np.exp.reduce(np.ones(2))
    out = np.zeros(2)
    assert np.add.reduce(np.ones((3, 2)), out=out) is out and out.tolist() == [3.0, 3.0]
    assert np.add.reduce(np.array(5)).item() == 5
    assert np.add.reduce(np.array([100, 100], "int8"), dtype="int8").item() == -56


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] not in ("subtract", "divide")])
def test_slices_between_indices_are_reduced(name: str, kind: str) -> None:
    ours, theirs = getattr(np, name), getattr(numpy, name)
    for shape, places, axis in (
        ((9,), [0, 4, 6], 0), ((9,), [3, 3, 1, 8, 0], 0), ((1,), [0], 0), ((3, 11), [0, 10, 2, 5], 1),
        ((8, 2), [5, 7], 0),
    ):  # fmt: skip
        x = values(kind, *shape)
        same(ours.reduceat(np.array(x), places, axis), theirs.reduceat(x, places, axis), 1e-5)
        same(ours.reduceat(np.array(x), np.array(places), axis), theirs.reduceat(x, places, axis), 1e-5)


def test_a_slice_beyond_the_end() -> None:
    for outside in (4, -1):
        with pytest.raises(IndexError):
            np.add.reduceat(np.arange(4), [0, outside]).wait_to_read()


@pytest.mark.parametrize("name", sorted(set(BINARY)))
def test_outer_is_the_op_on_every_pair(name: str) -> None:
    first, second = values("i", 3), values("i", 2, 2)
    theirs = getattr(numpy, name).outer(first, second)
    same(getattr(np, name).outer(np.array(first), np.array(second)), theirs, 1e-5)


def applied(name: str, kind: str, places: Any, operand: bool, *shape: int) -> None:
    x = values(kind, *shape)
    mine = np.array(x)
    other = [values(kind, *numpy.shape(x[places]))] if operand else []
    getattr(numpy, name).at(x, places, *other)
    named = tuple(np.array(each) for each in places) if isinstance(places, tuple) else places
    getattr(np, name).at(mine, named, *map(np.array, other))
    same(mine, x, 1e-4)


@pytest.mark.parametrize(
    ("name", "kind"), [*CASES, ("power", "f"), ("floor_divide", "i"), ("remainder", "i"), ("arctan2", "f")]
)
def test_ops_are_applied_at_places(name: str, kind: str) -> None:
    for places in ([0, 2, 0, 0, 5], numpy.array([1, -1, 5]), slice(1, 4), numpy.array([], int), [3]):
        applied(name, kind, places, True, 6)
    applied(name, kind, (numpy.array([0, 1, 0]), numpy.array([2, 0, 2])), True, 2, 3)
    applied(name, kind, [1, 1], True, 2, 3)
    applied(name, kind, numpy.array([True, False, True]), True, 3)


@pytest.mark.parametrize("name", ["negative", "square", "sqrt", "exp"])
def test_unary_ops_are_applied_as_often_as_a_place_is_named(name: str) -> None:
    applied(name, "f", [0, 2, 0, 0, 2], False, 4)


def test_refused_at_places() -> None:
    x = np.zeros(3, int)
    with pytest.raises(TypeError, match=r"add.at: cannot write a float32 result into a int64 array"):
        np.add.at(x, [0], 1.5)
    with pytest.raises(TypeError, match=r"add.at: takes 3 arguments"):
        np.add.at(x, [0])
    with pytest.raises(TypeError, match="needs an array of forerun to write to"):
        np.add.at([1, 2], [0], 1)  # type: ignore[arg-type]


def test_nothing_waits() -> None:
    x = np.ones((4, 3))
    with forerun.no_sync():
        np.add(x, 1, out=x, where=x > 0)
        np.hypot.reduce(x)
        np.logaddexp.accumulate(x, 1)
        np.maximum.at(x, np.array([0, 0]), 5)
        np.multiply.reduceat(x, np.array([0, 2]))
        np.add.reduce(x, initial=2, where=x > 1)


def test_numpys_ufuncs_have_their_methods_on_our_arrays() -> None:
    x = np.array([1.0, 3.0, 2.0])
    same(numpy.maximum.accumulate(x), [1.0, 3.0, 3.0])
    same(numpy.multiply.outer(x, x), numpy.multiply.outer([1.0, 3.0, 2.0], [1.0, 3.0, 2.0]))
    same(numpy.add.reduceat(x, [0, 1]), [1.0, 5.0])
    numpy.add.at(x, [0, 0], 1.0)
    assert isinstance(x, np.ndarray) and x.tolist() == [3.0, 3.0, 2.0]
