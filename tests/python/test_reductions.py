"""Reductions, sorting and sums of products compared with NumPy, at the extents where kernels change."""

from __future__ import annotations

import warnings

import numpy as onp
import pytest

import forerun
from forerun import np

#: Near the limits of short rows, vector lanes, blocks, and the threshold for splitting.
SHAPES = [(7,), (33, 4), (17, 5), (65, 32), (65, 33), (1000, 3), (40, 1), (3, 5000), (2, 3, 4), (300000,), (70000, 2)]


def alike(made: np.ndarray, wanted: object) -> None:
    expected = onp.asarray(wanted)
    assert made.shape == expected.shape
    onp.testing.assert_allclose(made.asnumpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_any_length(shape: tuple[int, ...], dtype: str) -> None:
    given = (onp.random.default_rng(3).standard_normal(shape) * 10).astype(dtype)
    if dtype == "float32":
        given.flat[given.size // 2] = onp.nan
    x = np.array(given)
    for axis in [None, *range(given.ndim)]:
        for op in ["sum", "max", "min", "argmax", "argmin", "any", "all"]:
            alike(getattr(x, op)(axis=axis), getattr(given, op)(axis=axis))
        alike(np.count_nonzero(x, axis=axis), onp.count_nonzero(given, axis=axis))
        alike((x > 0).sum(axis=axis), (given > 0).sum(axis=axis))


@pytest.mark.parametrize("count", [1, 63, 64, 65, 511, 513, 16385, 600001])
@pytest.mark.parametrize("value", [False, True])
def test_one_element_settles_any_and_all(count: int, value: bool) -> None:
    for place in [None, 0, count // 2, count - 1]:
        given = onp.full(count, value)
        if place is not None:
            given[place] = not value
        x = np.array(given)
        assert (bool(x.any()), bool(x.all())) == (given.any(), given.all())
        assert int(np.count_nonzero(x)) == given.sum()


def test_of_nothing() -> None:
    assert (bool(np.zeros((0,)).any()), bool(np.zeros((0,)).all())) == (False, True)
    assert np.zeros((2, 0)).all(axis=1).tolist() == [True, True]
    assert np.zeros((2, 0)).any(axis=1).tolist() == [False, False]


def test_an_early_end_leaves_what_else_is_computed() -> None:
    x = np.array(onp.ones(4096, "float32"))
    mask = x > 0
    assert bool(mask.any())
    assert int(mask.sum()) == 4096


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "float16"])
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 100, 128, 129, 255, 257, 1000, 70001])
def test_sorts_of_any_length(count: int, dtype: str) -> None:
    draw = onp.random.default_rng(count)
    many = (draw.standard_normal(count) * 1000).astype(dtype)
    few = draw.integers(0, 3, count).astype(dtype)
    rising = onp.sort(many)
    for given in [many, few, rising, rising[::-1].copy()]:
        x = np.array(given)
        assert np.sort(x).asnumpy().tobytes() == onp.sort(given).tobytes()
        assert np.sort(x, descending=True).asnumpy().tobytes() == onp.sort(given)[::-1].tobytes()
        assert np.argsort(x).asnumpy().tolist() == onp.argsort(given, kind="stable").tolist()


def test_nan_last_and_zeros_as_they_came() -> None:
    given = onp.array([0.0, onp.nan, -0.0, 1.0, -onp.inf, 0.0, -0.0, onp.nan, onp.inf] * 40, "float32")
    made, wanted = np.sort(np.array(given)).asnumpy(), onp.sort(given, kind="stable")
    numbers = len(given) - 80
    assert made[:numbers].tobytes() == wanted[:numbers].tobytes()
    assert onp.isnan(made[numbers:]).all()
    assert np.argsort(np.array(given)).tolist() == onp.argsort(given, kind="stable").tolist()


def test_rows_and_columns_in_order() -> None:
    for shape in [(50, 4), (20, 130), (3, 70000), (70000, 3), (5, 6, 7)]:
        given = onp.random.default_rng(1).standard_normal(shape).astype("float32")
        for axis in range(given.ndim):
            assert (np.sort(np.array(given), axis).asnumpy() == onp.sort(given, axis)).all()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 50, 1000])
def test_places_among_numbers_in_order(count: int) -> None:
    draw = onp.random.default_rng(count)
    numbers = onp.sort(draw.integers(0, 40, count).astype("float32"))
    values = onp.concatenate([draw.integers(-2, 43, 100), [onp.nan, onp.inf, -onp.inf, 0.0, -0.0]]).astype("float32")
    for side in ["left", "right"]:
        wanted = onp.searchsorted(numbers, values, side)
        assert np.searchsorted(np.array(numbers), np.array(values), side).tolist() == wanted.tolist()
    if count:
        for edges in [numbers, numbers[::-1].copy()]:
            for right in [False, True]:
                wanted = onp.digitize(values[:100], edges, right)
                assert np.digitize(np.array(values[:100]), np.array(edges), right).tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "complex128"])
@pytest.mark.parametrize("count", [1, 15, 63, 64, 65, 200, 70001])
def test_what_masks_choose(count: int, dtype: str) -> None:
    draw = onp.random.default_rng(count)
    given = draw.integers(0, 100, count).astype(dtype)
    for share in [0.0, 0.01, 0.5, 1.0]:
        mask = draw.random(count) < share
        x, chosen = np.array(given), np.array(mask)
        assert x[chosen].asnumpy().tolist() == given[mask].tolist()
        assert np.nonzero(chosen)[0].tolist() == mask.nonzero()[0].tolist()


TERMS = [
    "ij,ij->i",
    "ij,ij->j",
    "ij,ij->",
    "ij,ji->ij",
    "i,j->ij",
    "i,j->ji",
    "i,i",
    "ij,jk",
    "ij,jk->ki",
    "bij,bjk->bik",
    "bij,bjk->bki",
    "bij,jk->bik",
    "ij->ji",
    "ij->j",
    "ij->",
    "ij",
    "ji",
    "ij,j->i",
    "i,ij->j",
    "i,ij->ij",
    "i,->i",
    "ij,kj->ik",
    "ij,k->ijk",
    "bij,bij->b",
    "ij,j",
    ",->",
    "bij,bj->bi",
    "ij,ijk->k",
    "ij,jk->i",
    "ijk,k->",
    "ij->ij",
]


@pytest.mark.parametrize("text", TERMS)
def test_einsum_of_one_and_two(text: str) -> None:
    extents, draw = {"i": 4, "j": 5, "k": 6, "b": 3}, onp.random.default_rng(2)
    for dtype in ["float32", "int32", "int64"]:
        terms = text.split("->")[0].split(",")
        given = [(draw.standard_normal([extents[label] for label in term]) * 5).astype(dtype) for term in terms]
        made, wanted = np.einsum(text, *[np.array(x) for x in given]), onp.einsum(text, *given)
        alike(made, wanted)
        assert made.dtype.name == wanted.dtype.name


def test_einsum_of_one_array_is_a_view() -> None:
    x = np.ones((2, 2))
    y = np.einsum("ij->ij", x)
    y[0, 0] = 5
    assert float(x[0, 0]) == 5


@pytest.mark.parametrize("taps", [1, 2, 3, 9, 16, 17])
def test_convolve_with_few_taps(taps: int) -> None:
    draw = onp.random.default_rng(taps)
    for count in [20, 1000, 5000]:
        a, v = draw.standard_normal(count), draw.standard_normal(taps)
        for mode in ["full", "same", "valid"]:
            alike(np.convolve(np.array(a), np.array(v), mode), onp.convolve(a, v, mode))
            alike(np.correlate(np.array(a), np.array(v), mode), onp.correlate(a, v, mode))
    v[0] = onp.inf
    made, wanted = np.convolve(np.array(a), np.array(v)).asnumpy(), onp.convolve(a, v)
    assert (onp.isnan(made) == onp.isnan(wanted)).all()


def test_products_with_vectors_and_of_small_matrices() -> None:
    draw = onp.random.default_rng(5)
    for m, k in [(1, 7), (2, 3), (3, 5), (5, 600), (700, 33), (1024, 1025)]:
        a, v, w = (draw.standard_normal(shape).astype("float32") for shape in [(m, k), (k,), (m,)])
        x = np.array(a)
        onp.testing.assert_allclose((x @ np.array(v)).asnumpy(), a @ v, rtol=1e-3, atol=1e-3)
        onp.testing.assert_allclose((np.array(w) @ x).asnumpy(), w @ a, rtol=1e-3, atol=1e-3)
        onp.testing.assert_allclose((x.T @ np.array(w)).asnumpy(), a.T @ w, rtol=1e-3, atol=1e-3)
    for n in [2, 3, 4, 5, 8]:
        a, b = (draw.standard_normal((3000, n, n)).astype("float32") for _ in range(2))
        onp.testing.assert_allclose((np.array(a) @ np.array(b)).asnumpy(), a @ b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", [(1,), (33,), (64, 33), (3, 1000), (40, 5), (1200001,)])
def test_sums_of_integers_wrap_in_64_bits(shape: tuple[int, ...], dtype: str) -> None:
    info = onp.iinfo(dtype)
    given = onp.random.default_rng(5).integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x = np.array(given)
    for axis in [None, *range(given.ndim)]:
        made = x.sum(axis=axis)
        wanted = given.sum(axis=axis)
        assert made.dtype.name == wanted.dtype.name
        assert made.tolist() == wanted.tolist()
    # Computed and non-contiguous operands give the same sum.
    assert (x + x).sum().tolist() == (given + given).sum().tolist()
    assert x[..., ::2].sum(axis=-1).tolist() == given[..., ::2].sum(axis=-1).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 3, 8, 63, 64, 65, 127, 2047, 2048, 2049, 5000, 16384, 131073, 1000003])
def test_inner_products_of_any_length(count: int, dtype: str) -> None:
    draw = onp.random.default_rng(count)
    a, b = (draw.standard_normal(count).astype(dtype) for _ in range(2))
    wanted = onp.dot(a.astype("longdouble"), b.astype("longdouble"))
    bound = 4 * onp.finfo(dtype).eps * onp.dot(abs(a).astype("longdouble"), abs(b))
    x, y = np.array(a), np.array(b)
    for made in [x @ y, np.dot(x, y), np.inner(x, y), np.vdot(x, y), np.einsum("i,i->", x, y)]:
        assert abs(float(made) - wanted) <= bound
    squares = onp.sqrt(onp.dot(a.astype("longdouble"), a.astype("longdouble")))
    assert abs(float(np.linalg.norm(x)) - squares) <= 4 * onp.finfo(dtype).eps * squares
    # Strided elements, and batched products.
    assert abs(float(x[::-1] @ y[::-1]) - wanted) <= 4 * bound
    rows = np.array(onp.stack([a, b]))
    assert abs(float((rows[:, None, :] @ y[:, None])[0, 0, 0]) - wanted) <= 4 * bound


def test_threads_change_no_bit_of_an_inner_product() -> None:
    draw = onp.random.default_rng(2)
    x, y = (np.array(draw.standard_normal(1000003, dtype="float32")) for _ in range(2))
    found = set()
    before = forerun.num_threads()
    try:
        for threads in (1, 2, 3):
            forerun.set_num_threads(threads)
            found.add((x @ y).asnumpy().tobytes())
    finally:
        forerun.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("shape", SHAPES)
def test_extremes_pass_over_nan(shape: tuple[int, ...], dtype: str) -> None:
    draw = onp.random.default_rng(4)
    given = (draw.standard_normal(shape) * 10).astype(dtype)
    if given.dtype.kind == "f":
        given[draw.random(shape) < 0.3] = onp.nan
        given[draw.random(shape) < 0.05] = -onp.inf
        given.flat[0] = 1
    x = np.array(given)
    for axis in [None, *range(given.ndim)]:
        for op in ["nanmax", "nanmin"]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = getattr(onp, op)(given, axis=axis)
            onp.testing.assert_array_equal(getattr(np, op)(x, axis=axis).asnumpy(), wanted)
    # The result of a program, too.
    onp.testing.assert_array_equal(np.nanmax(x * 2).asnumpy(), onp.nanmax(given * 2))


def test_extremes_of_nothing_but_nan() -> None:
    x = np.array(onp.full((3, 70), onp.nan, "float32"))
    assert onp.isnan(np.nanmax(x).asnumpy())
    assert onp.isnan(np.nanmin(x, axis=0).asnumpy()).all()
    assert onp.isnan(np.nanmax(x, axis=1).asnumpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 128, 129, 4096, 4097, 9000])
def test_first_extremes_of_rows(count: int, dtype: str) -> None:
    draw = onp.random.default_rng(count)
    given = draw.integers(0, 5, (37, count)).astype(dtype)
    if given.dtype.kind == "f":
        given[3, count // 2 :] = onp.nan
        given[4, -1] = onp.nan
        given[5] = -onp.inf
    x = np.array(given)
    for op in ["argmax", "argmin"]:
        assert getattr(x, op)(axis=1).tolist() == getattr(given, op)(axis=1).tolist()
        assert int(getattr(x[4], op)()) == getattr(given[4], op)()
        assert getattr(x + x, op)(axis=1).tolist() == getattr(given + given, op)(axis=1).tolist()


CONVOLVED = ["float16", "float32", "float64", "int8", "uint16", "int32", "int64", "bool", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", CONVOLVED)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (64, 3), (65, 64), (129, 70), (1000, 32), (700, 600), (3, 200)])
def test_convolutions_of_any_length(n: int, k: int, dtype: str) -> None:
    draw = onp.random.default_rng(n * k)
    kind = onp.dtype(dtype).kind
    a, v = ((draw.standard_normal(size) * (2 if kind in "fc" else 9)).astype(dtype) for size in (n, k))
    if kind == "c":
        a = a + a[::-1] * a.dtype.type(1j)
    wide = {"f": "float64", "c": "complex128"}.get(kind, dtype)
    for mode in ["full", "same", "valid"]:
        for op in ["convolve", "correlate"]:
            made = getattr(np, op)(np.array(a), np.array(v), mode)
            wanted = getattr(onp, op)(a.astype(wide), v.astype(wide), mode)
            assert (made.dtype.name, made.shape) == (dtype, wanted.shape)
            if kind in "fc":
                eps = onp.finfo(dtype).eps
                bound = 4 * eps * getattr(onp, op)(abs(a).astype("float64"), abs(v).astype("float64"), mode)
                assert (abs(made.asnumpy() - wanted) <= bound).all()
            else:
                assert made.tolist() == wanted.tolist()


def test_the_whole_of_a_convolution_holds_its_parts() -> None:
    draw = onp.random.default_rng(1)
    x, y = np.array(draw.standard_normal(5000, dtype="float32")), np.array(draw.standard_normal(700, dtype="float32"))
    full = np.convolve(x, y).asnumpy()
    assert np.convolve(x, y, "same").asnumpy().tobytes() == full[349:5349].tobytes()
    assert np.convolve(x, y, "valid").asnumpy().tobytes() == full[699:5000].tobytes()
    assert np.convolve(y, x).asnumpy().tobytes() == full.tobytes()
