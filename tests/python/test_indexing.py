"""Integer arrays and masks as indices, for reads and writes: the same as in NumPy, however they are planned."""

from __future__ import annotations

import itertools
import os
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy
import pytest

import forerun
from forerun import autograd, engine, np

Index = tuple[Any, ...]


def filled(shape: tuple[int, ...], dtype: str = "float32") -> numpy.ndarray:
    """Return an array with distinct elements."""
    made = numpy.arange(int(numpy.prod(shape)), dtype="int64") * 7 % 101
    return (made % 2 == 0 if dtype == "bool" else made.astype(dtype)).reshape(shape)


def ours(index: Index, how: str = "ours") -> Index:
    """Return an index with Forerun arrays, or lists, in place of NumPy's."""

    def one(part: Any) -> Any:
        if not isinstance(part, numpy.ndarray) or how == "numpy":
            return part
        if how == "list" and part.ndim > 0 and part.size > 0:
            return part.tolist()
        return np.array(part)

    return tuple(one(part) for part in index)


shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], advanced: bool = True) -> Index:
    """Draw an index for an array of this shape; most of them are valid."""
    common = draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1), (0,)]))

    def places(extent: int) -> Any:
        some = draw(st.sampled_from([common, common[-1:], ()]))
        dtype = draw(st.sampled_from(["int64", "int32"]))
        low, high = (-extent, extent - 1) if extent else (0, 0)
        size = int(numpy.prod(some))
        numbers = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return numpy.array(numbers, dtype).reshape(some)

    parts: list[Any] = []
    axis = 0
    open_ellipsis = draw(st.booleans())
    while axis < len(shape):
        kinds = ["int", "slice", "slice", "newaxis", "skip"] + ["places", "places", "mask"] * advanced
        kind = draw(st.sampled_from(kinds))
        if kind == "int" and shape[axis] > 0:
            parts.append(draw(st.integers(-shape[axis], shape[axis] - 1)))
            axis += 1
        elif kind == "slice":
            bound = st.none() | st.integers(-5, 5)
            parts.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2]))))
            axis += 1
        elif kind == "newaxis" and not any(part is None for part in parts):
            parts.append(None)
        elif kind == "places":
            parts.append(places(shape[axis]))
            axis += 1
        elif kind == "mask":
            over = draw(st.integers(0, min(2, len(shape) - axis)))
            extents = shape[axis : axis + over]
            size = int(numpy.prod(extents))
            truth = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            parts.append(numpy.array(truth, bool).reshape(extents) if over or advanced else True)
            axis += over
        elif kind == "skip":
            if open_ellipsis:
                parts.append(...)
                open_ellipsis = False
                axis += draw(st.integers(0, len(shape) - axis))
                # The remaining dimensions are indexed from the end.
                axis = max(axis, 0)
                break
            break
    return tuple(parts)


def same(got: Any, wanted: numpy.ndarray) -> None:
    read = got.asnumpy()

    assert read.shape == wanted.shape
    assert read.dtype == wanted.dtype
    numpy.testing.assert_array_equal(read, wanted)


FAILURES = (IndexError, ValueError)


@hypothesis.given(data=st.data(), shape=shapes, dtype=st.sampled_from(["float32", "int64", "bool"]))
def test_reading(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    x = filled(shape, dtype)
    index = data.draw(indices(shape))
    how = data.draw(st.sampled_from(["ours", "numpy", "list"]))
    try:
        wanted = numpy.asarray(x[index])
    except FAILURES as error:
        with pytest.raises(type(error)):
            np.array(x)[ours(index, how)].asnumpy()
        return
    same(np.array(x)[ours(index, how)], wanted)


@hypothesis.given(data=st.data(), shape=shapes)
def test_reading_through_views(data: st.DataObject, shape: tuple[int, ...]) -> None:
    x = filled(shape)
    a = np.array(x)
    for _ in range(2):
        first = data.draw(indices(x.shape, advanced=False))
        x, a = numpy.asarray(x[first]), a[ours(first)]
    x, a = x.T, a.T
    index = data.draw(indices(x.shape))
    try:
        wanted = numpy.asarray(x[index])
    except FAILURES as error:
        with pytest.raises(type(error)):
            a[ours(index)].asnumpy()
        return
    same(a[ours(index)], wanted)


@hypothesis.given(data=st.data(), shape=shapes, dtype=st.sampled_from(["float32", "int32"]))
def test_writing(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> None:
    x = filled(shape, dtype)
    a = np.array(x)
    seen, view = x, a
    if data.draw(st.booleans()):
        first = data.draw(indices(shape, advanced=False))
        seen, view = x[first], a[ours(first)]
        if not isinstance(seen, numpy.ndarray):
            return
    index = data.draw(indices(seen.shape))
    try:
        result = numpy.asarray(seen[index])
    except FAILURES as error:
        with pytest.raises(type(error)):
            view[ours(index)] = 1
            a.asnumpy()
        return
    kind = data.draw(st.sampled_from(["number", "whole", "broadcast", "first", "added"]))
    if kind == "added":
        seen[index] += 3
        view[ours(index)] += 3
        same(a, x)
        return
    value: Any = 2.5
    if kind == "whole":
        value = filled(result.shape, "float64") + 0.5
    elif kind == "broadcast":
        value = filled(result.shape[1:], "int64")
    elif kind == "first":
        value = filled(tuple(1 if data.draw(st.booleans()) else d for d in result.shape), "float32")
    ours_value = np.array(value) if isinstance(value, numpy.ndarray) else value
    try:
        seen[index] = value
    except FAILURES as error:
        with pytest.raises(type(error)):
            view[ours(index)] = ours_value
            a.asnumpy()
        return
    view[ours(index)] = ours_value
    same(a, x)


def test_integers_are_read_and_written_without_a_wait() -> None:
    x = np.arange(12, dtype="float32").reshape(3, 4)
    i, j = np.array([2, 0]), np.array([1, 3])
    mask = x > 5
    with forerun.no_sync("error"):
        read = [x[i], x[:, j], x[i, j], x[i, None, j], x[np.array(1)], x[[0, 1]], x[i[:, None], j]]
        x[i] = 1
        x[i, j] += 2
        x[:, j] = np.ones((3, 2))
        x[mask] = 0
        x[mask] = np.zeros((6,))
        x[np.array([True, False, True])] = np.ones((4,))
        x[:, np.array([True, False, True, False])] = 4
        x[0, np.array([True, False, True, False])] = 5
    assert [part.shape for part in read] == [(2, 4), (3, 2), (2,), (2, 1), (4,), (2, 4), (2, 2)]


def test_a_mask_is_read_after_one_wait() -> None:
    x = np.arange(4)
    y = x[x > 1]
    assert y.shape == (2,)
    with forerun.no_sync("error"), pytest.raises(RuntimeError, match=r"__getitem__.* waits inside no_sync"):
        x[x > 1]


def test_of_several_at_one_place_the_last_stays() -> None:
    for count in (5, 200_000):
        places = numpy.arange(count) * 7919 % 100
        x, a = numpy.zeros((100,), "float32"), np.zeros((100,))
        x[places] = numpy.arange(count)
        a[np.array(places)] = np.arange(count)
        same(a, x)


def test_an_index_out_of_bounds_names_itself_and_both_lines() -> None:
    x = np.zeros((3, 4))
    cases: list[tuple[Any, str]] = [
        (lambda: x[np.array([1, 3])], "index 3 is out of bounds for axis 0 with size 3"),
        (lambda: x[:, np.array([-5])], "index -5 is out of bounds for axis 1 with size 4"),
        (lambda: x[0, np.array([4])], "index 4 is out of bounds for axis 1 with size 4"),
        (lambda: x[None, np.array([3])], "index 3 is out of bounds for axis 0 with size 3"),
        (lambda: x[np.array([2]), np.array([4])], "index 4 is out of bounds for axis 1 with size 4"),
    ]
    for read, text in cases:
        y = read()
        with pytest.raises(IndexError, match=text) as caught:
            y.asnumpy()
        assert "submitted at" in str(caught.value) and "read at" in str(caught.value)


@pytest.mark.skipif(os.environ.get("FORERUN_TEST_DEVICE") == "gpu", reason="an accelerator keeps no former values")
def test_a_failed_write_leaves_the_last_good_value() -> None:
    for size in (3, 300_000):
        x = np.ones((size, 2))
        x[np.array([0, size])] = 5
        with pytest.raises(IndexError, match=f"index {size} is out of bounds for axis 0 with size {size}"):
            x.asnumpy()
        assert x.restore() == 1
        assert x.sum().item() == 2 * size
        x[x > 0] = np.ones((7,))
        with pytest.raises(ValueError, match=f"cannot assign 7 input values to the {2 * size} places"):
            x.asnumpy()
        assert x.restore() == 1
        assert x.sum().item() == 2 * size


def gradient(x: np.ndarray) -> Any:
    assert x.grad is not None
    return x.grad.tolist()


def test_gradients_flow_to_base_and_value() -> None:
    base, value = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 7.0])
    base.attach_grad()
    value.attach_grad()
    with autograd.record():
        x = base * 2
        x[1:][np.array([0, 1, 0])] = value
        out = (x * x).sum()
    out.backward()
    # The first of two values at one position is overwritten.
    assert gradient(base) == [8.0, 0.0, 0.0, 32.0]
    assert gradient(value) == [0.0, 12.0, 14.0]
    with autograd.record():
        x = base * 1
        x[base > 2] = value[0]
        out = (x * x).sum() + x[base > 1].sum()
    out.backward()
    assert gradient(base) == [2.0, 5.0, 0.0, 0.0]
    assert gradient(value) == [22.0, 0.0, 0.0]


def test_a_captured_function_indexes() -> None:
    from forerun import gluon

    class Picked(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            y = x * 2
            y[np.array([1, 0])] = x[np.array([0, 1]), :2]
            y[y > 6] = 0
            return y[:, np.array([1, 0])]

    block = Picked()
    plain = block(np.arange(4).reshape(2, 2).astype("float32")).asnumpy()
    block.hybridize()
    for _ in range(3):
        numpy.testing.assert_array_equal(block(np.arange(4).reshape(2, 2).astype("float32")).asnumpy(), plain)


def test_fused_or_not_the_values_are_the_same() -> None:
    generator = numpy.random.default_rng(3)
    x = generator.normal(size=(50, 40)).astype("float32")
    places, columns = generator.integers(-50, 50, (30,)), generator.integers(0, 40, (30,))
    found = []
    for fuse, tiny in itertools.product([True, False], [0, 1 << 20]):
        with engine.set_fuse(fuse), engine.set_tiny_limit(tiny):
            a = np.array(x)
            a[np.array(places)] *= 2
            a[np.array(places), np.array(columns)] += 1
            a[a < 0] = -1
            a[:, a[0] > 0] = a[:, :1]
            found.append(a[::-1][np.array(places), 3:].asnumpy().tobytes())
    assert len(set(found)) == 1
