"""Less common NumPy functions compared with NumPy."""

from __future__ import annotations

import io
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import np

X = numpy.random.default_rng(5).normal(size=(3, 4)).astype("float32")
HOLES = X.copy()
HOLES[0, 1] = HOLES[2, 2] = numpy.nan


def same(ours: Any, theirs: Any, rtol: float = 1e-5) -> None:
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, rtol)
        return
    theirs = numpy.asarray(theirs)
    assert isinstance(ours, np.ndarray) and ours.shape == theirs.shape
    numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=rtol, atol=1e-6)


CALLS: dict[str, Callable[[Any], Any]] = {
    "r_": lambda m: m.r_[1:4, 0, m.array([7, 8])],
    "r_ counts": lambda m: m.r_[0:1:5j, 2.5],
    "r_ axis": lambda m: m.r_["1", m.ones((2, 2)), m.zeros((2, 1))],
    "r_ stacked": lambda m: m.r_["0,2", [1, 2, 3], [4, 5, 6]],
    "r_ columns": lambda m: m.r_["0,2,0", [1, 2, 3], [4, 5, 6]],
    "c_": lambda m: m.c_[m.array([1, 2, 3]), m.array([4, 5, 6])],
    "c_ of matrices": lambda m: m.c_[m.ones((2, 2)), m.zeros((2, 1))],
    "c_ of numbers": lambda m: m.c_[m.array([[1, 2]]), 0, 0],
    "mgrid": lambda m: m.mgrid[0:2, 1:4],
    "mgrid counts": lambda m: m.mgrid[-1:1:3j, 0:2],
    "mgrid of one": lambda m: m.mgrid[0:5:2],
    "ogrid": lambda m: list(m.ogrid[0:2, 0:3:0.5]),
    "nanargmax": lambda m: m.nanargmax(m.array(HOLES)),
    "nanargmin": lambda m: m.nanargmin(m.array(HOLES), axis=1),
    "nanargmax of integers": lambda m: m.nanargmax(m.array([1, 3, 2])),
    "spacing": lambda m: m.spacing(m.array([1.0, -2.0, 1e10], "float32")),
    "logaddexp2": lambda m: m.logaddexp2(m.array([1.0, 2.0]), m.array([3.0, -1.0])),
    "bitwise_count": lambda m: m.bitwise_count(m.array([0, 1, 7, -5, 2**40 - 1])),
    "bitwise_count of bytes": lambda m: m.bitwise_count(m.array([255, 3], "u1")),
    "packbits": lambda m: m.packbits(m.array([[1, 0, 1, 1, 0, 0, 0, 1, 1], [0] * 8 + [1]])),
    "packbits of an axis": lambda m: m.packbits(m.array([[1, 0, 1], [0, 1, 1]]), axis=1, bitorder="little"),
    "unpackbits": lambda m: m.unpackbits(m.array([[2, 7], [200, 1]], "u1"), axis=0),
    "unpackbits count": lambda m: m.unpackbits(m.array([2, 7], "u1"), count=11, bitorder="little"),
    "trim_zeros": lambda m: m.trim_zeros(m.array([0, 0, 1, 0, 2, 0])),
    "trim_zeros front": lambda m: m.trim_zeros(m.array([0, 1, 0]), "f"),
    "trim_zeros of zeros": lambda m: m.trim_zeros(m.array([0, 0])),
    "block": lambda m: m.block([[m.eye(2), m.zeros((2, 3))], [m.ones((3, 2)), m.eye(3)]]),
    "block of numbers": lambda m: m.block([1, 2, m.array([3, 4])]),
    "matvec": lambda m: m.matvec(m.array(X), m.array([1.0, 2.0, 3.0, 4.0])),
    "vecmat": lambda m: m.vecmat(m.array([1.0, 2.0, 3.0]), m.array(X)),
    "mask_indices": lambda m: m.mask_indices(3, m.triu, 1),
    "sort_complex": lambda m: m.sort_complex(m.array([3 + 1j, 1 - 2j, 1 - 3j])),
    "real_if_close": lambda m: m.real_if_close(m.array([1 + 1e-20j, 2])),
    "real_if_far": lambda m: m.real_if_close(m.array([1 + 1j, 2])),
    "ascontiguousarray": lambda m: m.ascontiguousarray(3.0),
    "asanyarray": lambda m: m.asanyarray([1, 2]),
    "fromstring": lambda m: m.fromstring("1.5, 2.5", sep=","),
    "sliding_window_view": lambda m: m.lib.stride_tricks.sliding_window_view(m.array(X), 2, axis=1),
    "windows of a matrix": lambda m: m.lib.stride_tricks.sliding_window_view(m.array(X), (2, 3)),
    "windows of one axis twice": lambda m: m.lib.stride_tricks.sliding_window_view(m.arange(6), (2, 2), (0, 0)),
    "vectorize": lambda m: m.vectorize(lambda a, b: a - b if a > b else a + b)(m.array([1, 2, 3]), 2),
    "vectorize several": lambda m: m.vectorize(divmod)(m.array([7, 8]), 3),
    "piecewise": lambda m: m.piecewise(m.array([-1.0, 2.0]), [m.array([True, False])], [7.0, 9.0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name: str) -> None:
    same(CALLS[name](np), CALLS[name](numpy))


def test_positions_are_taken_apart() -> None:
    for order in ("C", "F"):
        same(np.unravel_index(np.array([1, 5]), (2, 3), order), numpy.unravel_index([1, 5], (2, 3), order))
    same(np.unravel_index(7, (3, 3)), numpy.unravel_index(7, (3, 3)))
    for outside in (100, -1, 9):
        with pytest.raises(ValueError, match=f"index {outside} is out of bounds for array of size 9"):
            np.unravel_index(outside, (3, 3))
        with pytest.raises(IndexError):
            np.unravel_index(np.array([0, outside]), (3, 3))[0].wait_to_read()


def test_index_expressions() -> None:
    assert np.s_[1:3, ...] == numpy.s_[1:3, ...]
    assert np.s_[2] == 2 and np.index_exp[2] == (2,) and np.index_exp[1, 2] == (1, 2)
    x = np.arange(6).reshape(2, 3)
    assert x[np.s_[:, 1]].tolist() == [1, 4]


def test_questions_about_things() -> None:
    for thing in (1, 2.5, 1j, "a", numpy.float32(1), [1], None):
        assert np.isscalar(thing) == numpy.isscalar(thing)
    assert not np.isscalar(np.array(1)) and np.iterable(np.ones(2)) and not np.iterable(np.array(2))
    assert np.promote_types("i4", "u4") == numpy.promote_types("i4", "u4")
    assert np.common_type(np.ones(2, "f4")) == "float32" and np.common_type(np.arange(2)) == "float64"
    assert np.min_scalar_type(300) == "uint16" and np.min_scalar_type(-1) == "int8"
    assert np.min_scalar_type(np.ones(2)) == "float32"
    assert np.binary_repr(-3, 5) == numpy.binary_repr(-3, 5) and np.base_repr(100, 7) == numpy.base_repr(100, 7)
    assert np.format_float_positional(np.array(0.5)) == "0.5"
    assert not np.isfortran(np.ones((2, 2))) and np.euler_gamma == numpy.euler_gamma
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        np.asarray_chkfinite([1.0, numpy.nan])
    assert np.asarray_chkfinite(np.ones(2)).tolist() == [1.0, 1.0]
    assert np.require([1], "f8", ["C", "W"]).dtype == np.float64


def test_errors_of_floats_are_accepted_and_let_be() -> None:
    former = np.seterr(all="warn")
    assert np.geterr() == dict.fromkeys(former, "warn")
    with np.errstate(divide="raise", invalid="ignore"):
        assert np.geterr()["divide"] == "raise" and np.geterr()["over"] == "warn"
        assert (np.ones(1) / 0).item() == numpy.inf
    assert np.geterr()["divide"] == "warn"
    np.seterr(**former)
    assert np.seterrcall(print) is None and np.geterrcall() is print and np.seterrcall(None) is print
    with pytest.raises(ValueError, match="seterr: over must be one of ignore"):
        np.seterr(over="maybe")

    @np.errstate(all="ignore")
    def function() -> str:
        return np.geterr()["under"]

    assert function() == "ignore"


def test_assertions() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(x, [1.0, 2.0])
    np.testing.assert_array_equal(x, x)
    np.testing.assert_equal({"a": [x, 1]}, {"a": [np.array([1.0, 2.0]), 1]})
    np.testing.assert_almost_equal(x, x + 1e-9)
    np.testing.assert_array_almost_equal(x, x + 1e-9)
    np.testing.assert_array_less(x, x + 1)
    for call in (
        lambda: np.testing.assert_allclose(x, x + 1), lambda: np.testing.assert_array_equal(x, x + 1),
        lambda: np.testing.assert_equal([x], [x + 1]), lambda: np.testing.assert_almost_equal(x, x + 1),
        lambda: np.testing.assert_array_less(x, x), lambda: np.testing.assert_array_equal(x, np.ones(3)),
    ):  # fmt: skip
        with np.testing.assert_raises(AssertionError):
            call()


def test_text_and_bytes_in_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x"
    np.savetxt(path, np.array(X), fmt="%.9g", delimiter=",")
    same(np.loadtxt(path, delimiter=","), X)
    text = io.StringIO()
    np.savetxt(text, np.arange(3), fmt="%d")
    assert text.getvalue().split() == ["0", "1", "2"]
    np.array(X).tofile(path)
    same(np.fromfile(path, "f4"), X.ravel())
    same(np.fromfile(path, "f4", count=2, offset=4), X.ravel()[1:3])


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="as_strided: views are made by slices"):
        np.lib.stride_tricks.as_strided(np.ones(4), (2, 2), (4, 4))
    with pytest.raises(ValueError, match="a window of 5 does not fit axis 0"):
        np.lib.stride_tricks.sliding_window_view(np.ones(4), 5)
    with pytest.raises(ValueError, match="there are no matrices"):
        np.r_["r", 1, 2]
    with pytest.raises(ValueError, match="nested to different depths"):
        np.block([[1, 2], 3])
    with pytest.raises(TypeError, match="needs uint8"):
        np.unpackbits(np.arange(3))


def test_only_public_names_are_shown() -> None:
    assert set(dir(np)) == set(np.__all__)
    for name in ("annotations", "Any", "TypeVar", "complex", "creation", "manipulation"):
        assert not hasattr(np, name)
    for module in (np.random, np.linalg, np.fft, np.testing, np.polynomial, np.lib):
        assert set(dir(module)) == set(module.__all__)
    assert set(dir(forerun)) >= set(forerun.__all__) and "annotations" not in dir(forerun)
    for module in (forerun.npx, forerun.autograd, forerun.engine, forerun.init, forerun.optimizer):
        assert set(dir(module)) == set(module.__all__)
    # Modules of the package stay importable.
    from forerun.np._complex import conj

    assert conj is np.conj
    hidden = {name for name in dir(numpy) if not name.startswith("_")} - set(dir(np))
    page = (pathlib.Path(__file__).parents[2] / "docs" / "numpy.md").read_text(encoding="utf-8")
    assert [name for name in sorted(hidden) if f"`{name}`" not in page] == []


MOMENTS: dict[str, tuple[Callable[[Any, int], Any], float, float]] = {
    "random": (lambda r, n: r.random(n), 0.5, 1 / 12),
    "standard_exponential": (lambda r, n: r.standard_exponential(n), 1.0, 1.0),
    "standard_t": (lambda r, n: r.standard_t(10.0, n), 0.0, 10 / 8),
    "triangular": (lambda r, n: r.triangular(0.0, 1.0, 5.0, n), 2.0, (25 + 1 - 5) / 18),
    "negative_binomial": (lambda r, n: r.negative_binomial(3, 0.4, n), 4.5, 11.25),
    "noncentral_chisquare": (lambda r, n: r.noncentral_chisquare(3.0, 2.0, n), 5.0, 14.0),
    "noncentral_f": (lambda r, n: r.noncentral_f(3.0, 30.0, 2.0, n), 30 * 5 / (3 * 28), 2.168),
    "logseries": (lambda r, n: r.logseries(0.5, n), 1.4427, 0.8042),
    "wald": (lambda r, n: r.wald(2.0, 5.0, n), 2.0, 8 / 5),
    "rand": (lambda r, n: r.rand(n), 0.5, 1 / 12),
    "randn": (lambda r, n: r.randn(n), 0.0, 1.0),
    "randint": (lambda r, n: r.randint(0, 10, n), 4.5, 8.25),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_of_samples(name: str) -> None:
    draw, mean, variance = MOMENTS[name]
    count = 200_000
    state = np.random.RandomState(11)
    drawn = draw(state, count)
    assert drawn.shape == (count,)
    np.random.seed(3)
    values = drawn.asnumpy().astype("float64")
    assert abs(values.mean() - mean) < 6 * (variance / count) ** 0.5 + 1e-3
    assert abs(values.var() / variance - 1) < 0.05
    again = draw(np.random.RandomState(11), count)
    assert bool((again == drawn).min())


def test_samples_of_vectors_and_tails() -> None:
    state = np.random.RandomState(3)
    shares = state.dirichlet([1.0, 2.0, 3.0], (20_000,))
    numpy.testing.assert_allclose(shares.sum(-1).asnumpy(), 1.0, rtol=1e-5)
    numpy.testing.assert_allclose(shares.mean(0).asnumpy(), [1 / 6, 2 / 6, 3 / 6], atol=0.01)
    cauchy = state.standard_cauchy((20_000,)).asnumpy()
    assert abs(numpy.median(cauchy)) < 0.05 and abs(numpy.percentile(cauchy, 75) - 1) < 0.06


def test_states_are_kept_and_taken_up() -> None:
    state = np.random.RandomState(5)
    noted = state.get_state()
    first = state.normal(size=3)
    state.set_state(noted)
    assert np.array_equal(first, state.normal(size=3))
    state.seed(5)
    assert np.array_equal(first, state.normal(size=3))
    assert "randint" in dir(state) and callable(state.choice)
    copy = pickle.loads(pickle.dumps(state))
    assert np.array_equal(state.rand(2), copy.rand(2))
    # A generator has its own stream, independent of the global one.
    np.random.seed(1)
    want = np.random.rand(2)
    np.random.seed(1)
    state.rand(5)
    assert np.array_equal(want, np.random.rand(2))


def test_nothing_waits() -> None:
    x = np.array(X)
    with forerun.no_sync("error"):
        np.r_[x, x], np.c_[x, x], np.mgrid[0:2, 0:2]
        np.packbits(x > 0), np.nanargmax(x), np.spacing(x), np.block([[x, x], [x, x]])
        np.lib.stride_tricks.sliding_window_view(x, (2, 2))
        np.random.wald(1.0, 1.0, 3), np.random.RandomState(1).dirichlet([1.0, 2.0])
        fit = np.polynomial.Polynomial.fit(x[0], x[1], 2)
        fit(x), fit.deriv().integ() + fit * fit
