"""NumPy's arguments ``out``, ``where``, ``initial`` and ``order``, and its methods of arrays."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import np

X = numpy.random.default_rng(3).normal(size=(4, 3)).astype("float32")
MASK = X > 0.1
WHOLE = numpy.arange(12).reshape(4, 3) % 5


def same(ours: Any, theirs: Any, rtol: float = 1e-5) -> None:
    theirs = numpy.asarray(theirs)
    assert ours.shape == theirs.shape
    numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=rtol, atol=1e-6)


REDUCTIONS = ["sum", "prod", "max", "min", "mean", "std", "var", "any", "all"]


@pytest.mark.parametrize("values", [X, WHOLE], ids=["float32", "int64"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_take_numpys_arguments(name: str, axis: Any, values: numpy.ndarray) -> None:
    ours, theirs, x = getattr(np, name), getattr(numpy, name), np.array(values)
    want = theirs(values, axis=axis, keepdims=True)
    dtype = "bool" if name in ("any", "all") else x.dtype if name in ("max", "min") else want.dtype
    out = np.zeros(want.shape, dtype)
    assert ours(x, axis=axis, keepdims=True, out=out) is out
    same(out, want)
    method = np.zeros(theirs(values, axis=axis).shape, dtype)
    assert getattr(x, name)(axis, out=method) is method
    same(method, theirs(values, axis=axis))
    options: dict[str, Any] = {"initial": -2} if name in ("max", "min") else {}
    same(ours(x, axis=axis, where=np.array(MASK), **options), theirs(values, axis=axis, where=MASK, **options))
    same(getattr(x, name)(axis, where=MASK, **options), theirs(values, axis=axis, where=MASK, **options))
    if name in ("sum", "prod", "max", "min"):
        same(ours(x, axis=axis, initial=2), theirs(values, axis=axis, initial=2))
        same(getattr(x, name)(axis=axis, initial=2, keepdims=True), theirs(values, axis=axis, initial=2, keepdims=True))


def test_reductions_in_numpys_order_of_arguments() -> None:
    x, out = np.array(WHOLE), np.zeros(3)
    assert x.sum(0, "float32", out, False) is out
    same(np.sum(x, 0, None, None, True, 1), numpy.sum(WHOLE, 0, None, None, True, 1))
    same(x.std(0, None, None, 1), WHOLE.std(0, None, None, 1))
    same(np.var(x, 0, None, None, 1, True), numpy.var(WHOLE, 0, None, None, 1, True))
    with pytest.raises(TypeError, match="mean: cannot cast float64 to int64 of out"):
        x.mean(0, out=np.zeros(3, int))
    with pytest.raises(ValueError, match=r"of shape \(3,\) does not fit out of shape \(2,\)"):
        x.sum(0, out=np.zeros(2, int))


OUT: dict[str, Callable[..., Any]] = {
    "clip": lambda m, x, o: m.clip(x, -0.5, 0.5, out=o),
    "clip method": lambda m, x, o: x.clip(-0.5, 0.5, out=o),
    "dot": lambda m, x, o: m.dot(x, x.T, out=o),
    "dot method": lambda m, x, o: x.dot(x.T, out=o),
    "matmul": lambda m, x, o: m.matmul(x, x.T, out=o),
    "cumsum": lambda m, x, o: m.cumsum(x, 0, out=o),
    "cumsum method": lambda m, x, o: x.cumsum(1, out=o),
    "cumprod": lambda m, x, o: m.cumprod(x, 1, out=o),
    "take": lambda m, x, o: m.take(x, m.array([2, 0]), 0, out=o),
    "take method": lambda m, x, o: x.take(m.array([2, 0]), 1, out=o, mode="clip"),
    "concatenate": lambda m, x, o: m.concatenate([x, x], out=o),
    "stack": lambda m, x, o: m.stack([x, x], 1, out=o),
    "round": lambda m, x, o: m.round(x, 1, out=o),
}


@pytest.mark.parametrize("name", OUT)
def test_results_go_into_out(name: str) -> None:
    want = OUT[name](numpy, X, None)
    out = np.zeros(want.shape)
    assert OUT[name](np, np.array(X), out) is out
    same(out, want)
    same(OUT[name](np, np.array(X), None), want)


def test_out_of_arg_reductions_and_dtypes_of_joined_arrays() -> None:
    x, out = np.array(X), np.zeros(3, int)
    assert np.argmax(x, 0, out) is out and out.tolist() == X.argmax(0).tolist()
    assert np.concatenate([x, x], dtype="float64").dtype == np.float64
    assert np.stack([x, x], dtype="float64").dtype == np.float64
    with pytest.raises(TypeError, match="according to the rule 'same_kind'"):
        np.concatenate([x, x], dtype=int)
    assert np.concatenate([x, x], dtype=int, casting="unsafe").dtype == np.int64


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_orders_say_how_elements_are_counted(order: Any) -> None:
    x, y = np.array(WHOLE), WHOLE
    if order != "K":
        same(x.reshape(2, 6, order=order), y.reshape(2, 6, order=order))
        same(np.reshape(x, (3, -1), order), numpy.reshape(y, (3, -1), order))
        same(x.T.reshape((2, 6), order="F"), y.T.reshape((2, 6), order="F"))
    same(x.ravel(order), y.ravel(order))
    same(np.ravel(x, order), numpy.ravel(y, order))
    same(x.flatten(order), y.flatten(order))
    same(x.copy(order), y)
    same(np.array(x, order=order), y)
    same(np.asarray(y, order=order), y)
    assert np.zeros((2, 3), "f4", order).shape == np.ones_like(x, order=order)[:2].shape == (2, 3)
    assert np.full((2,), 1, None, order).tolist() == [1, 1]
    assert x.astype("f8", order, "same_kind").dtype == np.float64


def test_orders_that_are_none() -> None:
    for call in (
        lambda: np.ones(2).ravel("X"), lambda: np.zeros(2, order="X"), lambda: np.reshape(np.ones(2), (2,), "X"),
        lambda: np.ones(2).reshape(2, order="X"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="order must be C, F, A or K, got"):
            call()


def test_arrays_of_more_dimensions_and_other_shapes() -> None:
    assert np.array([1, 2], ndmin=3).shape == (1, 1, 2)
    assert np.array(np.ones((2, 2)), ndmin=1).shape == (2, 2)
    assert np.zeros_like(np.ones(3, "f8"), shape=(2, 2)).dtype == np.float64
    assert np.expand_dims(np.zeros((2, 3)), (0, -1)).shape == numpy.expand_dims(numpy.zeros((2, 3)), (0, -1)).shape
    assert np.expand_dims(np.zeros(3), (0, 2)).shape == (1, 3, 1)
    with pytest.raises(ValueError, match="an axis is given twice"):
        np.expand_dims(np.zeros(3), (0, 0))


def test_steps_of_linspace() -> None:
    for arguments in ((0, 1, 5), (0, 1, 5, False), (2, 2, 3), (5, 1, 4)):
        made, step = np.linspace(*arguments, retstep=True)  # type: ignore[misc]
        want, wide = numpy.linspace(*arguments, retstep=True)  # type: ignore[misc]
        same(made, want)
        assert step == wide
    same(np.linspace([0, 10], [1, 20], 3), numpy.linspace([0, 10], [1, 20], 3))
    same(np.linspace(np.array([0.0, 10.0]), 20, 3, axis=-1), numpy.linspace(numpy.array([0.0, 10.0]), 20, 3, axis=-1))
    assert np.linspace(0, 5, 1).tolist() == [0.0] and np.linspace(0, 5, 0).shape == (0,)
    with pytest.raises(TypeError):
        np.linspace(0, 1, num=3.5)  # type: ignore[call-overload]


METHODS: dict[str, Callable[..., Any]] = {
    "cumsum": lambda x: x.cumsum(),
    "cumsum of an axis": lambda x: x.cumsum(axis=0),
    "cumprod": lambda x: x.cumprod(1),
    "argsort": lambda x: x.argsort(),
    "argsort of an axis": lambda x: x.argsort(axis=0, kind="stable"),
    "searchsorted": lambda x: x.ravel().cumsum().searchsorted([3, 5], side="right"),
    "conjugate": lambda x: x.conjugate(),
    "view": lambda x: x.view(),
    "same dtype": lambda x: x.view("i8"),
    "trace": lambda x: x.trace(),
    "diagonal": lambda x: x.diagonal(),
    "argpartition": lambda x: x.ravel()[x.ravel().argpartition(5)][5],
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name: str) -> None:
    values = WHOLE if "argsort" not in name else numpy.random.default_rng(1).permutation(12).reshape(4, 3)
    same(METHODS[name](np.array(values)), METHODS[name](values))


def test_arrays_are_sorted_in_place() -> None:
    for axis in (0, -1):
        x, y = np.array(X), X.copy()
        x.sort(axis)  # type: ignore[func-returns-value]
        y.sort(axis)
        same(x, y)
    x = np.array(X)
    part = x[1]
    assert part.sort() is None  # type: ignore[func-returns-value]
    same(x[1], numpy.sort(X[1]))
    x = np.array([3, 1, 2, 0])
    x.partition(1)
    assert x[1].item() == 1 and set(x[:1].tolist()) == {0}


def test_views_share_elements_of_one_dtype() -> None:
    x = np.zeros(3)
    x.view()[1] = 5
    assert x.tolist() == [0.0, 5.0, 0.0]
    with pytest.raises(TypeError, match="view: float32 elements cannot be viewed as int32"):
        x.view("i4")


def test_elements_are_looked_for() -> None:
    x = np.array(WHOLE)
    assert 4 in x and 7 not in x and 2.0 in x and "a" not in x
    assert 1 not in np.zeros((0, 2)) and x[0, 0] in x


def test_arrays_are_pickled_by_a_method() -> None:
    same(pickle.loads(np.array(X).dumps()), X)


def test_nothing_waits() -> None:
    x, out, mask = np.array(X), np.zeros(3), np.array(MASK)
    with forerun.no_sync("error"):
        for name in REDUCTIONS[:2] + REDUCTIONS[4:7]:
            getattr(np, name)(x, 0, out=out, where=mask)
        x.max(0, out=out, initial=1)
        x.sort()
        x.cumsum(1).ravel("F")
        np.clip(x, 0, 1, out=x)
        np.take(x, np.array([0]), 0, mode="clip")
