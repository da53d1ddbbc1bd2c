"""Linear algebra compared with NumPy: values, dtypes, shapes, stacks, empty matrices, views, failures and gradients."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
import pytest

from forerun import autograd, np, npx

if TYPE_CHECKING:
    from conftest import Run

DTYPES = ["float32", "float64", "complex64", "complex128"]
SQUARE = [(0, 0), (1, 1), (2, 2), (5, 5), (17, 17), (33, 33), (3, 4, 4), (2, 3, 3, 3), (0, 3, 3), (2, 0, 0)]
OBLONG = [*SQUARE, (3, 5), (5, 3), (33, 7), (7, 33), (0, 3), (3, 0), (2, 4, 3), (0, 2, 3), (4, 0, 3), (1, 9), (9, 1)]
TURN = (-1, -2)


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> numpy.ndarray:
    """Draw well-conditioned matrices."""
    generator = numpy.random.default_rng(seed)
    made = generator.normal(size=shape)
    if dtype.startswith("complex"):
        made = made + 1j * generator.normal(size=shape)
    rows = numpy.arange(min(shape[-2:]))
    made[..., rows, rows] += 3 * numpy.sqrt(max(shape[-2:], default=1)) + rows
    return made.astype(dtype)


def symmetric(shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    made = drawn(shape, dtype).astype("complex128" if dtype.startswith("complex") else "float64")
    return (made @ adjoint(made) + numpy.eye(shape[-1])).astype(dtype)


def close(got: Any, want: Any, condition: float = 1.0) -> None:
    """Compare within what rounding allows at this condition number."""
    got = got.asnumpy() if isinstance(got, np.ndarray) else got
    want = numpy.asarray(want)
    assert got.shape == want.shape
    scale = float(abs(want).max(initial=1.0))
    extent = max(got.shape[-2:], default=1)
    bound = 30 * float(numpy.finfo(got.dtype).eps) * max(extent, 4) * condition * scale
    numpy.testing.assert_allclose(got, want, rtol=0, atol=bound)


def wide(x: numpy.ndarray) -> numpy.ndarray:
    return x.astype("complex128" if x.dtype.kind == "c" else "float64")


def turned(x: Any) -> Any:
    return numpy.swapaxes(x, *TURN)


def adjoint(x: Any) -> Any:
    return numpy.conj(turned(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_inverses_and_determinants(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(shape, dtype)
    close(np.linalg.inv(np.array(a)), numpy.linalg.inv(wide(a)), 10)
    sign, log = np.linalg.slogdet(np.array(a))
    theirs = numpy.linalg.slogdet(wide(a))
    assert (sign.dtype.name, log.dtype.name) == (dtype, numpy.zeros((), dtype).real.dtype.name)
    close(sign, theirs.sign)
    close(log, theirs.logabsdet)
    if shape[-1] < 10:
        want = numpy.linalg.det(wide(a))
        close(np.linalg.det(np.array(a)), want, 4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_cholesky(shape: tuple[int, ...], dtype: str) -> None:
    a = symmetric(shape, dtype)
    half = numpy.tril(a)
    close(np.linalg.cholesky(np.array(half)), numpy.linalg.cholesky(wide(a)))
    close(np.linalg.cholesky(np.array(adjoint(half)), upper=True), numpy.linalg.cholesky(wide(a), upper=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_solutions(dtype: str) -> None:
    for shape, right in [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (4, 3, 1)),
        ((2, 1, 3, 3), (4, 3, 2)), ((0, 0), (0,)), ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (3, 2)),
        ((33, 33), (33,)),
    ]:  # fmt: skip
        a, b = drawn(shape, dtype), numpy.random.default_rng(1).normal(size=right).astype(dtype)
        close(np.linalg.solve(np.array(a), np.array(b)), numpy.linalg.solve(wide(a), wide(b)), 4)
        for lower, transposed, unit in itertools.product([False, True], repeat=3):
            half = (numpy.tril if lower else numpy.triu)(wide(a)) / (10 if unit else 1)
            rows = numpy.arange(shape[-1])
            given = np.array(half.astype(dtype))
            if unit:
                half[..., rows, rows] = 1
            want = numpy.linalg.solve(turned(half) if transposed else half, wide(b))
            options = {"lower": lower, "transposed": transposed, "unit_diagonal": unit}
            close(np.linalg.solve_triangular(given, np.array(b), **options), want, 20)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", OBLONG)
def test_qr(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(shape, dtype)
    for mode in ("reduced", "complete"):
        found = np.linalg.qr(np.array(a), mode)  # type: ignore[call-overload]
        theirs = numpy.linalg.qr(wide(a), mode)
        q, r = found.Q.asnumpy(), found.R.asnumpy()
        assert q.shape == theirs.Q.shape and r.shape == theirs.R.shape and q.dtype == r.dtype == dtype
        close(q @ r, a)
        close(adjoint(q) @ q, numpy.broadcast_to(numpy.eye(q.shape[-1]), turned(q).shape[:-1] + q.shape[-1:]))
        assert (numpy.tril(r, -1) == 0).all()
    assert (np.linalg.qr(np.array(a), "r").asnumpy() == np.linalg.qr(np.array(a)).R.asnumpy()).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", OBLONG)
def test_svd(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(shape, dtype)
    want = numpy.linalg.svd(wide(a), compute_uv=False)
    close(np.linalg.svdvals(np.array(a)), want)
    close(np.linalg.svd(np.array(a), compute_uv=False), want)
    for full in (True, False):
        found = np.linalg.svd(np.array(a), full_matrices=full)
        u, s, vh = (x.asnumpy() for x in found)
        theirs = numpy.linalg.svd(wide(a), full_matrices=full)
        assert [x.shape for x in (u, s, vh)] == [x.shape for x in theirs]
        close(s, want)
        least = s.shape[-1]
        close((u[..., :least] * s[..., None, :]) @ vh[..., :least, :], a)
        close(adjoint(u) @ u, numpy.broadcast_to(numpy.eye(u.shape[-1]), (*u.shape[:-2], *u.shape[-1:] * 2)))
        close(vh @ adjoint(vh), numpy.broadcast_to(numpy.eye(vh.shape[-2]), (*vh.shape[:-2], *vh.shape[-2:-1] * 2)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_symmetric_eigenvalues(shape: tuple[int, ...], dtype: str) -> None:
    a = symmetric(shape, dtype)
    for half, given in (("L", numpy.tril(a)), ("U", numpy.triu(a))):
        want = numpy.linalg.eigvalsh(wide(a))
        close(np.linalg.eigvalsh(np.array(given), half), want)
        w, v = (x.asnumpy() for x in np.linalg.eigh(np.array(given), half))
        close(w, want)
        close((v * w[..., None, :]) @ adjoint(v), a, 2)
        close(adjoint(v) @ v, numpy.broadcast_to(numpy.eye(shape[-1]), shape))


def hilbert(n: int) -> numpy.ndarray:
    rows = numpy.arange(n)
    return 1.0 / (1 + rows[:, None] + rows)


@pytest.mark.parametrize("n", [3, 6, 9])
def test_ill_conditioned_matrices(n: int) -> None:
    a = hilbert(n)
    condition = float(numpy.linalg.cond(a))
    ones = a.sum(1)
    close(np.linalg.solve(np.array(a), np.array(ones)), numpy.ones(n), condition)
    close(np.matmul(np.linalg.inv(np.array(a)), np.array(a)), numpy.eye(n), condition)
    close(np.linalg.svdvals(np.array(a)), numpy.linalg.svd(a, compute_uv=False))
    close(np.linalg.cond(np.array(a)), condition, condition)
    assert np.linalg.matrix_rank(np.array(a)).item() == n
    repeated = numpy.concatenate([a, a])
    assert np.linalg.matrix_rank(np.array(repeated)).item() == n


def test_sources_of_every_look() -> None:
    a = drawn((4, 4), "float64")
    spread = numpy.zeros((4, 8))
    spread[:, ::-2] = a
    for view in (np.array(a.T.copy()).T, np.array(spread)[:, ::-2], np.array(numpy.stack([a, a]))[1]):
        close(np.linalg.inv(view), numpy.linalg.inv(a))
        close(np.linalg.svdvals(view), numpy.linalg.svd(a, compute_uv=False))
    close(np.linalg.inv(np.broadcast_to(np.array(a), (2, 4, 4))), numpy.linalg.inv(numpy.stack([a, a])))
    # Lists and integers: the default float.
    assert np.linalg.inv([[2, 0], [0, 4]]).tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert np.linalg.inv(np.array([[2, 0], [0, 4]])).dtype == np.float32
    mixed = np.linalg.solve(np.eye(2, dtype="float32"), np.ones((2,), dtype="float64"))
    assert mixed.dtype == np.float64


@pytest.mark.parametrize("order", [None, 1, -1, 2, -2, numpy.inf, -numpy.inf, "fro", "nuc"])
def test_norms_of_matrices(order: Any) -> None:
    for shape in [(3, 4), (4, 3), (1, 5)]:
        a = drawn(shape, "float64")
        close(np.linalg.norm(np.array(a), order), numpy.linalg.norm(a, order))
        close(np.linalg.norm(np.array(a), order, keepdims=True), numpy.linalg.norm(a, order, keepdims=True))
        close(np.linalg.matrix_norm(np.array(a), ord=order), numpy.linalg.norm(a, order))
    stack = drawn((2, 3, 4), "float32")
    for axes in [(0, 1), (2, 0), (-1, -2)]:
        close(np.linalg.norm(np.array(stack), order, axes), numpy.linalg.norm(wide(stack), order, axes))
        want = numpy.linalg.norm(wide(stack), order, axes, keepdims=True)
        close(np.linalg.norm(np.array(stack), order, axes, keepdims=True), want)


@pytest.mark.parametrize("order", [None, 0, 1, -1, 2, 3, 0.5, numpy.inf, -numpy.inf])
def test_norms_of_vectors(order: Any) -> None:
    v = numpy.random.default_rng(3).normal(size=7)
    close(np.linalg.norm(np.array(v), order), numpy.linalg.norm(v, order))
    a = numpy.random.default_rng(4).normal(size=(3, 4, 2))
    for axis in (0, -1):
        close(np.linalg.norm(np.array(a), order, axis), numpy.linalg.norm(a, order, axis))
    if order is not None:
        for axis in (None, 1, (0, 2)):
            want = numpy.linalg.vector_norm(a, axis=axis, ord=order, keepdims=True)
            close(np.linalg.vector_norm(np.array(a), axis=axis, ord=order, keepdims=True), want)
    close(np.linalg.norm(np.array(a)), numpy.linalg.norm(a))
    close(np.linalg.norm(np.array([3, 4])), 5.0)


def test_norms_that_do_not_exist() -> None:
    a = np.ones((2, 3, 4))
    with pytest.raises(ValueError, match=re.escape("norm: needs one axis or two: (0, 1, 2) of (2, 3, 4)")):
        np.linalg.norm(a, 1)
    with pytest.raises(ValueError, match="norm: no order 'nuc' for vectors"):
        np.linalg.norm(a, "nuc", 0)
    with pytest.raises(ValueError, match="norm: no order 3 for matrices"):
        np.linalg.norm(a, 3, (0, 1))
    with pytest.raises(IndexError, match="norm: axis 3 is out of bounds"):
        np.linalg.norm(a, 2, 3)


def test_condition_numbers() -> None:
    a = drawn((2, 3, 3), "float64")
    for p in [None, 2, -2, 1, -1, numpy.inf, -numpy.inf, "fro"]:
        close(np.linalg.cond(np.array(a), p), numpy.linalg.cond(a, p), 10)
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert np.linalg.cond(singular, 1).item() == numpy.inf
    assert numpy.isnan(np.linalg.cond(np.array([[1.0, numpy.nan], [2.0, 4.0]]), 1).item())
    with pytest.raises(ValueError, match=re.escape("cond: no elements: (0, 0)")):
        np.linalg.cond(np.zeros((0, 0)))


def test_ranks() -> None:
    a = numpy.random.default_rng(5).normal(size=(2, 6, 2)) @ numpy.random.default_rng(6).normal(size=(2, 2, 5))
    assert np.linalg.matrix_rank(np.array(a)).tolist() == [2, 2]
    assert np.linalg.matrix_rank(np.array(a), tol=1e9).tolist() == [0, 0]
    assert np.linalg.matrix_rank(np.array(a), rtol=numpy.array([1e-9, 2.0])).tolist() == [2, 0]
    assert np.linalg.matrix_rank(np.zeros((3, 3))).item() == 0
    assert np.linalg.matrix_rank(np.ones((4,))).item() == 1
    assert np.linalg.matrix_rank(np.zeros((4,))).item() == 0
    assert np.linalg.matrix_rank(np.zeros((0, 3))).item() == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 2), (0, 3), (3, 0), (2, 0, 3)])
def test_pseudo_inverses_and_least_squares(shape: tuple[int, ...], dtype: str) -> None:
    a = drawn(shape, dtype)
    close(np.linalg.pinv(np.array(a)), numpy.linalg.pinv(wide(a)), 4)
    if len(shape) > 2:
        return
    for columns in [(), (2,)]:
        b = numpy.random.default_rng(8).normal(size=(shape[0], *columns)).astype(dtype)
        found = np.linalg.lstsq(np.array(a), np.array(b))
        x, residuals, rank, s = numpy.linalg.lstsq(wide(a), wide(b))
        close(found.x, x, 4)
        close(found.singular_values, s)
        assert found.rank.item() == rank
        if min(shape):
            close(found.residuals, residuals, 10)


def test_least_squares_of_low_rank() -> None:
    a = numpy.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    found = np.linalg.lstsq(np.array(a), np.array([1.0, 2.0, 3.0]))
    close(found.x, numpy.array([0.5, 0.5], "float32"))
    assert found.rank.item() == 1
    want = numpy.linalg.pinv(a)
    close(np.linalg.pinv(np.array(a)), want)


def test_powers_and_chains() -> None:
    a = drawn((2, 3, 3), "float64") / 10
    for n in (-3, -1, 0, 1, 2, 3, 7, 8):
        close(np.linalg.matrix_power(np.array(a), n), numpy.linalg.matrix_power(a, n), 20)
    whole = np.array([[1, 1], [1, 0]])
    assert np.linalg.matrix_power(whole, 10).tolist() == [[89, 55], [55, 34]]
    made = np.linalg.matrix_power(whole, 1)
    made[0, 0] = 7
    assert whole.tolist() == [[1, 1], [1, 0]]
    shapes = [(4, 9), (9, 2), (2, 7), (7, 3)]
    chain = [numpy.random.default_rng(k).normal(size=shape) for k, shape in enumerate(shapes)]
    row, column = chain[0][0], chain[3][:, 0]
    for given in (chain, [row, *chain[1:]], [*chain[:3], column], [row, *chain[1:3], column]):
        close(np.linalg.multi_dot([np.array(x) for x in given]), numpy.linalg.multi_dot(given), 10)
    with pytest.raises(ValueError, match="multi_dot: needs at least two arrays"):
        np.linalg.multi_dot([np.eye(2)])


def test_products_of_the_standard() -> None:
    a, b = drawn((2, 3, 3), "float64"), drawn((2, 3, 3), "float64", 1)
    x, y = np.array(a), np.array(b)
    close(np.linalg.matmul(x, y), a @ b)
    close(np.linalg.matrix_transpose(x), turned(a))
    close(np.linalg.outer(x[0, 0], y[0, 1]), numpy.outer(a[0, 0], b[0, 1]))
    close(np.linalg.vecdot(x, y, axis=1), numpy.linalg.vecdot(a, b, axis=1))
    axes = ([1, 2], [2, 1])
    close(np.linalg.tensordot(x, y, axes), numpy.tensordot(a, b, axes))
    for offset in (-1, 0, 2):
        close(np.linalg.diagonal(x, offset=offset), numpy.linalg.diagonal(a, offset=offset))
        close(np.linalg.trace(x, offset=offset), numpy.linalg.trace(a, offset=offset))
    for axis in (-1, 1):
        close(np.linalg.cross(x, y, axis=axis), numpy.linalg.cross(a, b, axis=axis))
    with pytest.raises(ValueError, match=re.escape("outer: needs one dimension each: (3, 3) x (3,)")):
        np.linalg.outer(np.eye(3), np.ones((3,)))
    with pytest.raises(ValueError, match=re.escape("cross: vectors must have 3 elements: (2,) x (2,)")):
        np.linalg.cross(np.ones((2,)), np.ones((2,)))


def test_tensor_equations() -> None:
    a = drawn((6, 6), "float64").reshape(2, 3, 6)
    close(np.linalg.tensorinv(np.array(a), 2), numpy.linalg.tensorinv(a, 2))
    ones = np.ones((2, 3), dtype="float64")
    close(np.linalg.tensorsolve(np.array(a), ones), numpy.linalg.tensorsolve(a, numpy.ones((2, 3))))
    moved = numpy.moveaxis(a, 2, 0).copy()
    want = numpy.linalg.tensorsolve(moved, numpy.ones((2, 3)), axes=(0,))
    close(np.linalg.tensorsolve(np.array(moved), ones, axes=(0,)), want)
    with pytest.raises(ValueError, match="tensorinv: ind must be above 0"):
        np.linalg.tensorinv(np.eye(4), 0)


FAILURES: list[tuple[Callable[[], Any], str]] = [
    (lambda: np.linalg.inv(np.ones((3, 3))), "inv: the matrix is singular"),
    (lambda: np.linalg.solve(np.ones((3, 3)), np.ones((3,))), "solve: the matrix is singular"),
    (lambda: np.linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]])), "cholesky: the matrix is not positive definite"),
    (lambda: np.linalg.cholesky(np.array([[numpy.nan]])), "cholesky: the matrix is not positive definite"),
    (lambda: np.linalg.svd(np.array([[numpy.nan, 1.0]])).S, "svd: the matrix has an infinity or NaN"),
    (lambda: np.linalg.eigvalsh(np.array([[numpy.inf]])), "eigvalsh: the matrix has an infinity or NaN"),
]


@pytest.mark.parametrize("call, text", FAILURES, ids=[text for _, text in FAILURES])
def test_failures_show_where_they_are_read(call: Callable[[], Any], text: str) -> None:
    made = call()
    with pytest.raises(np.linalg.LinAlgError, match=re.escape(text)) as raised:
        made.asnumpy()
    assert "submitted at" in str(raised.value) and __file__ in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_the_first_matrix_that_fails_is_named() -> None:
    a = numpy.stack([numpy.eye(3)] * 6).reshape(2, 3, 3, 3)
    a[1, 0] = 1
    a[1, 2] = 1
    for _ in range(5):
        with pytest.raises(np.linalg.LinAlgError, match=re.escape("inv: matrix [1, 0] is singular")):
            np.linalg.inv(np.array(a)).asnumpy()


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: np.linalg.inv(np.ones((2, 3))), "inv: last two dimensions must be square: (2, 3)"),
    (lambda: np.linalg.det(np.ones((3,))), "det: needs at least two dimensions: (3,)"),
    (lambda: np.linalg.svd(np.ones(())), "svd: needs at least two dimensions: ()"),
    (
        lambda: np.linalg.solve(np.eye(3), np.ones((2,))),
        "solve: right-hand sides do not match the matrix: (3, 3) and (2,)",
    ),
    (lambda: np.linalg.solve(np.eye(3)[None].repeat(2, 0), np.ones((4, 3, 1))), "solve: shapes could not be broadcast"),
    (lambda: np.linalg.qr(np.eye(3), "raw"), "qr: mode must be reduced, complete or r, got 'raw'"),  # type: ignore[call-overload]
    (lambda: np.linalg.eigh(np.eye(3), "X"), "eigh: UPLO must be 'L' or 'U', not 'X'"),
    (lambda: np.linalg.lstsq(np.eye(3), np.ones((2,))), "lstsq: right-hand sides do not match the matrix"),
    (lambda: np.linalg.matrix_power(np.ones((2, 3)), 2), "matrix_power: last two dimensions must be square"),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=[text for _, text in REFUSED])
def test_shapes_are_refused_at_once(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


def gradient(f: Callable[[Any], Any], a: numpy.ndarray) -> numpy.ndarray:
    x = np.array(a)
    x.attach_grad()
    with autograd.record():
        y = f(x).sum()
    y.backward()
    assert x.grad is not None
    return x.grad.asnumpy()


def differences(f: Callable[[Any], Any], a: numpy.ndarray, step: float = 1e-6) -> numpy.ndarray:
    found = numpy.zeros_like(a)
    for place in numpy.ndindex(*a.shape):
        apart = numpy.zeros_like(a)
        apart[place] = step
        found[place] = (f(np.array(a + apart)).sum().item() - f(np.array(a - apart)).sum().item()) / (2 * step)
    return found


B = numpy.random.default_rng(9).normal(size=(3, 2))
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "pinv": lambda x: np.linalg.pinv(x[:, :2]) * np.array(B.T),
    "lstsq": lambda x: np.linalg.lstsq(x[:, :2], np.array(B)).x,
    "solve": lambda x: np.linalg.solve(x, np.array(B[:, 0])),
    "solve, broadcast": lambda x: np.linalg.solve(x, np.array(numpy.stack([B, 2 * B]))),
    "slogdet": lambda x: np.linalg.slogdet(x).logabsdet,
    "qr": lambda x: np.linalg.qr(x).R,
    "svd": lambda x: np.linalg.svd(x).U[:, 0] * np.linalg.svd(x).Vh[0, 1],
    "eigh": lambda x: np.linalg.eigh(x + x.T).eigenvectors[0] ** 2,
    "norm, fro": lambda x: np.linalg.norm(x),
    "norm, 2": lambda x: np.linalg.norm(x, 2),
    "norm, nuc": lambda x: np.linalg.norm(x, "nuc"),
    "norm, vectors": lambda x: np.linalg.norm(x, 3, 1),
    "cond": lambda x: np.linalg.cond(x),
    "matrix_power": lambda x: np.linalg.matrix_power(x, -2),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    a = drawn((3, 3), "float64")
    numpy.testing.assert_allclose(gradient(SMOOTH[name], a), differences(SMOOTH[name], a), rtol=1e-5, atol=1e-6)


BITS = """
    import sys
    import numpy
    import forerun
    from forerun import np, npx

    def drawn(shape, dtype, seed):
        return np.array(numpy.random.default_rng(seed).normal(size=shape).astype(dtype))

    made = []
    for dtype in ("float32", "float64", "complex64"):
        stack = drawn((70, 12, 12), dtype, 1)
        one = drawn((65, 65), dtype, 2)
        for x in (stack, one):
            square = np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) + np.eye(x.shape[-1], dtype=dtype)
            made += [np.linalg.inv(x), np.linalg.det(square), *np.linalg.svd(x), *np.linalg.qr(x)]
            made += [*np.linalg.eigh(square), np.linalg.cholesky(square), np.linalg.solve(square, x)]
    with open(sys.argv[1], "wb") as file:
        for x in made:
            file.write(x.asnumpy().tobytes())
"""


def test_bits_do_not_depend_on_threads_or_plans(run: Run, tmp_path: Any, once: None) -> None:
    found = []
    settings: list[dict[str, str]] = [
        {"FORERUN_NUM_THREADS": "1"}, {"FORERUN_NUM_THREADS": "3"}, {"FORERUN_ENGINE": "sync"}, {"FORERUN_FUSE": "0"},
        {"FORERUN_TINY": "0"},
    ]  # fmt: skip
    for number, setting in enumerate(settings):
        file = tmp_path / str(number)
        done = run(BITS, str(file), **setting)
        assert done.returncode == 0, done.stderr
        found.append(file.read_bytes())
    assert found[0] and all(other == found[0] for other in found)


def test_the_device_of_results() -> None:
    x = np.eye(3)
    found = np.linalg.svd(x)
    assert found.U.device == found.S.device == x.device
    if os.environ.get("FORERUN_TEST_DEVICE") == "gpu":
        assert x.device == npx.gpu(0)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_svd_of_far_elements(size: float, dtype: str) -> None:
    x = (numpy.arange(12).reshape(4, 3) % 5 + 1).astype(dtype)
    near = numpy.linalg.svd(x, compute_uv=False)
    numpy.testing.assert_allclose(np.linalg.svdvals(np.array(x * size)).asnumpy() / size, near, rtol=1e-12)
    u, s, vh = np.linalg.svd(np.array(x * size), full_matrices=False)
    again = u.asnumpy() @ numpy.diag(s.asnumpy() / size) @ vh.asnumpy()
    numpy.testing.assert_allclose(again, x, rtol=1e-12, atol=1e-12)
