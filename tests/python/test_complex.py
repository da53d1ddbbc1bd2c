"""Complex functions compared with NumPy: branch cuts, signed zeros, infinities, sorting, scans, statistics."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from hypothesis.strategies import complex_numbers, sampled_from

from forerun import autograd, np

COMPLEX = ["complex64", "complex128"]
FUNCTIONS = [
    *["sqrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh"],
    *["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "square", "reciprocal", "sign", "rint"],
]
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 1e-10]


def drawn(*shape: int) -> numpy.ndarray:
    generator = numpy.random.default_rng(sum(shape))
    made: numpy.ndarray = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return made


def close(got: Any, want: Any, places: float = 1e-12) -> None:
    found = got.asnumpy()
    want = numpy.asarray(want)
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    numpy.testing.assert_allclose(found, want, rtol=places, atol=places)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_over_the_plane(name: str, dtype: str) -> None:
    generator = numpy.random.default_rng(3)
    sizes = numpy.exp(generator.uniform(-9, 3, 500))
    x = (sizes * numpy.exp(1j * generator.uniform(-numpy.pi, numpy.pi, 500))).astype(dtype)
    got = getattr(np, name)(np.array(x)).asnumpy()
    want = getattr(numpy, name)(x.astype("complex128"))
    if name == "log1p":
        # NumPy adds 1 first, which loses small numbers.
        want = 2 * numpy.arctanh(x.astype("complex128") / (2 + x))
        want = want - 2j * numpy.pi * numpy.round((want.imag - numpy.angle(1 + x)) / (2 * numpy.pi))
    assert got.dtype == dtype
    assert (abs(got - want) <= 100 * numpy.finfo(dtype).eps * abs(want) + 1e-300).all()


CUTS = ["sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]


@pytest.mark.parametrize("name", CUTS)
def test_branch_cuts_and_signed_zeros(name: str) -> None:
    x = numpy.array([complex(a, b) for a in EDGES for b in EDGES])
    with numpy.errstate(all="ignore"):
        want = getattr(numpy, name)(x)
    got = getattr(np, name)(np.array(x)).asnumpy()
    for ours, theirs in ((got.real, want.real), (got.imag, want.imag)):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-300)
        assert (numpy.signbit(ours) == numpy.signbit(theirs)).all()


def test_what_is_infinite() -> None:
    inf, nan = numpy.inf, numpy.nan
    for name, x, want in [
        ("sqrt", complex(1, inf), complex(inf, inf)),
        ("sqrt", complex(-inf, 2), complex(0, inf)),
        ("exp", complex(inf, 0), complex(inf, 0)),
        ("exp", complex(-inf, inf), complex(0, 0)),
        ("sinh", complex(inf, 0), complex(inf, 0)),
        ("cosh", complex(-inf, 0), complex(inf, 0)),
        ("sin", complex(0, inf), complex(0, inf)),
        ("tanh", complex(inf, 3), complex(1, 0)),
        ("tanh", complex(-inf, nan), complex(-1, 0)),
        ("arcsin", complex(inf, 1), complex(numpy.pi / 2, inf)),
        ("arctanh", complex(inf, 1), complex(0, numpy.pi / 2)),
        ("arctanh", complex(1e300, -1), complex(1e-300, -numpy.pi / 2)),
        ("arctan", complex(1, inf), complex(numpy.pi / 2, 0)),
        ("log", complex(0, 0), complex(-inf, 0)),
        ("abs", complex(nan, -inf), inf),
    ]:
        got = getattr(np, name)(np.array([x], "complex128")).item()
        numpy.testing.assert_allclose([got.real, got.imag], [want.real, want.imag], rtol=1e-14, err_msg=f"{name} {x}")


@pytest.mark.parametrize("dtype", COMPLEX)
def test_orders(dtype: str) -> None:
    nan = numpy.nan
    x = numpy.array(
        [2 + 1j, 1 + 5j, 2 - 1j, complex(nan, 1), complex(1, nan), -0.0 + 1j, 0.0 + 1j, complex(nan, nan), 1]
    )
    x = x.astype(dtype)
    long = drawn(1000).round(1).astype(dtype)
    for theirs in (x, long, x[:0], drawn(4, 5).astype(dtype)):
        ours = np.array(theirs)
        numpy.testing.assert_array_equal(np.sort(ours).asnumpy(), numpy.sort(theirs))
        numpy.testing.assert_array_equal(np.argsort(ours).asnumpy(), numpy.argsort(theirs, stable=True))
    # Zeros of both signs are equal, and keep their order.
    zeros = numpy.array([complex(0.0, 1), complex(-0.0, 1), complex(0.0, 1)], dtype)
    assert (numpy.signbit(np.sort(np.array(zeros)).asnumpy().real) == [False, True, False]).all()
    numpy.testing.assert_array_equal(np.unique(np.array(long)).asnumpy(), numpy.unique(long))
    rising = numpy.sort(long)
    for side in ("left", "right"):
        want = numpy.searchsorted(rising, long, side)
        numpy.testing.assert_array_equal(np.searchsorted(np.array(rising), np.array(long), side).asnumpy(), want)
    values, counts = np.unique(np.array(long), return_counts=True)
    assert counts.sum().item() == 1000 and values.dtype == dtype


def test_scans_and_statistics() -> None:
    z = drawn(3, 4)
    for axis in (0, 1, -1):
        close(np.cumsum(np.array(z), axis), numpy.cumsum(z, axis))
        close(np.cumprod(np.array(z), axis), numpy.cumprod(z, axis))
        close(np.var(np.array(z), axis), numpy.var(z, axis))
        close(np.std(np.array(z), axis, ddof=1), numpy.std(z, axis, ddof=1))
        close(np.diff(np.array(z), axis=axis), numpy.diff(z, axis=axis))
    close(np.cov(np.array(z)), numpy.cov(z))
    close(np.corrcoef(np.array(z)), numpy.corrcoef(z))
    close(np.correlate(np.array(z[0]), np.array(z[1, :2])), numpy.correlate(z[0], z[1, :2]))
    assert np.var(np.zeros((2, 0), "complex64"), 0).shape == (0,)
    assert np.var(np.ones((2,), "complex64")).dtype == np.float32


def test_moves() -> None:
    z, at = drawn(3, 4), numpy.array([[1], [0], [3]])
    ours = np.array(z)
    close(np.take_along_axis(ours, np.array(at), 1), numpy.take_along_axis(z, at, 1))
    close(ours[np.array(z.real > 0)], z[z.real > 0])
    close(ours[[0, 2], [1, 1]], z[[0, 2], [1, 1]])
    ours, theirs = np.array(z), z.copy()
    ours[np.array(z.real > 0)] = 1j
    theirs[z.real > 0] = 1j
    ours[[2, 0]], theirs[[2, 0]] = np.array(z[:2]), z[:2]
    np.put_along_axis(ours, np.array(at), 3j, 1)
    numpy.put_along_axis(theirs, at, 3j, 1)
    close(ours, theirs)
    close(np.nan_to_num(np.array([complex(numpy.nan, numpy.inf), 1j])), numpy.array([3.4028235e38j, 1j], "complex64"))
    assert [int(k) for k in np.nonzero(np.array([0j, 1j, 0, 2]))[0]] == [1, 3]
    back = pickle.loads(pickle.dumps(np.array(z)))
    assert back.dtype == "complex128" and (back.asnumpy() == z).all()
    close(np.from_dlpack(numpy.array(z)), z)
    close(np.angle(np.array(z)), numpy.angle(z))
    close(np.angle(np.array(z), deg=True), numpy.angle(z, deg=True))
    assert np.angle([1, -1]).tolist() == pytest.approx([0, numpy.pi])


def test_products_turn_their_first_operand_round() -> None:
    a, b = drawn(3, 4), drawn(3, 4)[::-1]
    close(np.vecdot(np.array(a), np.array(b)), numpy.vecdot(a, b))
    close(np.linalg.vecdot(np.array(a), np.array(b), axis=0), numpy.linalg.vecdot(a, b, axis=0))
    close(np.vdot(np.array(a), np.array(b)), numpy.vdot(a, b))
    close(np.inner(np.array(a), np.array(b)), numpy.inner(a, b))
    close(np.einsum("ij,kj->ik", np.array(a), np.array(b)), a @ b.T)
    close(np.matmul(np.array(a.real), np.array(b.T)), a.real @ b.T)


def test_norms_ranks_and_powers() -> None:
    z, square = drawn(3, 4), drawn(4, 4)
    for order in (None, 1, -1, 2, -2, numpy.inf, -numpy.inf, "fro", "nuc"):
        close(np.linalg.norm(np.array(z), order), numpy.linalg.norm(z, order))
    for order in (0, 1, 2, 3, numpy.inf):
        want = numpy.linalg.vector_norm(z, ord=order, axis=1)
        close(np.linalg.vector_norm(np.array(z), ord=order, axis=1), want)
    assert np.linalg.matrix_rank(np.array(z)).item() == 3
    for p in (None, 1, "fro"):
        close(np.linalg.cond(np.array(square), p), numpy.linalg.cond(square, p), 1e-10)
    for n in (-2, 0, 3):
        close(np.linalg.matrix_power(np.array(square), n), numpy.linalg.matrix_power(square, n), 1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", *COMPLEX])
def test_eigenvalues_of_any_matrices(dtype: str) -> None:
    made = drawn(2, 5, 5)
    a = (made if dtype in COMPLEX else made.real).astype(dtype)
    wide = a.astype("complex128")
    eps = float(numpy.finfo(dtype).eps)
    w, v = (part.asnumpy() for part in np.linalg.eig(np.array(a)))
    assert w.dtype == v.dtype == numpy.result_type(dtype, "complex64")
    numpy.testing.assert_allclose(wide @ v, v * w[..., None, :], atol=100 * eps)
    numpy.testing.assert_allclose((abs(v) ** 2).sum(-2), 1, atol=20 * eps)
    want = numpy.linalg.eigvals(wide)
    for found in (w, np.linalg.eigvals(np.array(a)).asnumpy()):
        # Each is near one of the expected values, in any order.
        apart = abs(found[..., :, None] - want[..., None, :])
        assert (apart.min(-1) < 100 * eps).all() and (apart.min(-2) < 100 * eps).all()
    assert np.linalg.eigvals(np.zeros((0, 0))).shape == (0,) and np.linalg.eig(np.zeros((2, 0, 0)))[1].shape == (
        2,
        0,
        0,
    )
    with pytest.raises(np.linalg.LinAlgError, match="eigvals: the matrix has an infinity or NaN"):
        np.linalg.eigvals(np.array([[numpy.nan]])).asnumpy()


@pytest.mark.parametrize(
    "p", [[1, -3, 2], [1, 0, 1], [0, 0, 2, 3, 0, 0], [5], [0, 0], [1, 2j, 3 - 1j], [1.0, -6, 11, -6]]
)
def test_roots(p: list[complex]) -> None:
    want = numpy.roots(p)
    found = np.roots(np.array(p, "complex128" if any(isinstance(x, complex) for x in p) else "float64")).asnumpy()
    assert found.shape == want.shape and found.dtype == "complex128"
    for x in found:
        assert abs(x - want).min() < 1e-12
    for x in want:
        assert abs(x - found).min() < 1e-12


def test_gradients_of_complex_variables() -> None:
    z = np.array(drawn(3))
    z.attach_grad()
    with autograd.record():
        loss = (abs(z) ** 2).sum()
    loss.backward()
    close(z.grad, 2 * z.asnumpy())
    with autograd.record():
        y = z * z
    with pytest.raises(ValueError, match="backward: a complex128 head needs an explicit gradient"):
        y.backward()
    x = np.array(drawn(3, 3).real)
    x.attach_grad()
    with autograd.record():
        loss = abs(np.linalg.eigvals(x)).sum() + x.sum()
    with pytest.raises(TypeError, match="eigvals: no gradient for float64"):
        loss.backward()


@given(
    arrays(
        numpy.complex128,
        array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5),
        elements=complex_numbers(max_magnitude=1e3, min_magnitude=1e-3),
    ),
    sampled_from(
        [
            "exp",
            "log",
            "sqrt",
            "tanh",
            "arcsin",
            "arctan",
            "arccosh",
            "sum",
            "mean",
            "conj",
            "abs",
            "sort",
            "cumsum",
            "var",
        ]
    ),
)
def test_any_array(x: numpy.ndarray, name: str) -> None:
    if name in ("mean", "var") and x.size == 0:
        return
    with numpy.errstate(all="ignore"):
        want = numpy.asarray(getattr(numpy, name)(x))
    found = getattr(np, name)(np.array(x)).asnumpy()
    assert found.shape == want.shape and found.dtype == want.dtype
    finite = numpy.isfinite(want)
    scale = 1 + abs(x).sum()
    numpy.testing.assert_allclose(found[finite], want[finite], rtol=1e-12, atol=1e-13 * scale * scale)


inf, nan, pi = numpy.inf, numpy.nan, numpy.pi
# The special cases of the array API standard for infinite and NaN parts.
ENDS = [
    ("exp", complex(-1e4, nan), complex(nan, nan)),
    ("exp", complex(inf, inf), complex(inf, nan)),
    ("exp", complex(inf, nan), complex(inf, nan)),
    ("exp", complex(-inf, nan), complex(0, 0)),
    ("expm1", complex(1, inf), complex(nan, nan)),
    ("expm1", complex(-inf, inf), complex(-1, 0)),
    ("cosh", complex(inf, inf), complex(inf, nan)),
    ("sinh", complex(inf, nan), complex(inf, nan)),
    ("tanh", complex(2, inf), complex(nan, nan)),
    ("tanh", complex(100, nan), complex(nan, nan)),
    ("tanh", complex(0, nan), complex(0, nan)),
    ("tanh", complex(nan, 0), complex(nan, 0)),
    ("tanh", complex(inf, nan), complex(1, 0)),
    ("tanh", complex(inf, 2), complex(1, 0)),
    ("acos", complex(0, nan), complex(pi / 2, nan)),
    ("acos", complex(inf, inf), complex(pi / 4, -inf)),
    ("acos", complex(-inf, inf), complex(3 * pi / 4, -inf)),
    ("acos", complex(nan, inf), complex(nan, -inf)),
    ("acosh", complex(inf, nan), complex(inf, nan)),
    ("acosh", complex(-inf, inf), complex(inf, 3 * pi / 4)),
    ("asinh", complex(nan, 0), complex(nan, 0)),
    ("asinh", complex(inf, inf), complex(inf, pi / 4)),
    ("atanh", complex(0, nan), complex(0, nan)),
    ("atanh", complex(inf, nan), complex(0, nan)),
    ("atanh", complex(nan, inf), complex(0, pi / 2)),
    ("atanh", complex(1, 1e-30), complex((numpy.log(2) - numpy.log(1e-30)) / 2, pi / 4)),
]


@pytest.mark.parametrize(("name", "x", "want"), ENDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_where_parts_end(name: str, x: complex, want: complex, dtype: str) -> None:
    got = getattr(np, name)(np.array([x], dtype=dtype)).item()
    for seen, said in [(got.real, want.real), (got.imag, want.imag)]:
        assert (seen != seen) if said != said else seen == pytest.approx(said, rel=1e-6), (got, want)
