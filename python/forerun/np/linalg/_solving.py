"""Linear systems, inverses, determinants and powers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import NamedTuple, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._pointwise import divide, greater, multiply, where
from forerun._types import ArrayLike
from forerun.np._common import broadcast
from forerun.np._complex import real
from forerun.np.linalg._factor import svd
from forerun.np.linalg._routines import inv
from forerun.np.linalg._stack import adjoint, eps, matrices, spread, squares, to_floats

__all__ = ["lstsq", "matrix_power", "pinv", "slogdet", "solve", "solve_triangular", "tensorinv", "tensorsolve"]


class SlogdetResult(NamedTuple):
    """The sign of a determinant (its phase if complex) and the logarithm of its absolute value."""

    sign: ndarray
    logabsdet: ndarray


class LstsqResult(NamedTuple):
    """Least-squares solution, residuals, ranks and singular values."""

    x: ndarray
    residuals: ndarray
    rank: ndarray
    singular_values: ndarray


def _solved(op: str, a: ArrayLike, b: ArrayLike, **attributes: bool) -> ndarray:
    left, right = to_floats(a, b)
    left = matrices(op, left, square=True)
    vector = right.ndim == 1
    if vector:
        right = _forerun.expand_dims(right, 1)
    if right.ndim < 2 or right.shape[-2] != left.shape[-1]:
        raise ValueError(f"{op}: right-hand sides do not match the matrix: {left.shape} and {to_array(b).shape}")
    lead = broadcast(op, left.shape[:-2], right.shape[:-2])
    found = _forerun.routine(op, [spread(left, lead), spread(right, lead)], **attributes)
    return found[..., 0] if vector else found


def solve(a: ArrayLike, b: ArrayLike, /) -> ndarray:
    """Solve ``a x = b`` for ``x``.

    A 1-d ``b`` is one right-hand side; otherwise the columns of ``b`` are.
    A singular matrix raises ``LinAlgError`` where the result is read.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 8.0]))
    array([1., 2.])
    """
    return _solved("solve", a, b)


def solve_triangular(
    a: ArrayLike, b: ArrayLike, /, *, lower: bool = False, transposed: bool = False, unit_diagonal: bool = False
) -> ndarray:
    """Solve ``a x = b`` for a triangular ``a``: the upper half, or with ``lower`` the lower half.

    ``transposed`` solves with the transpose; ``unit_diagonal`` assumes ones on the diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.solve_triangular(np.array([[1.0, 1.0], [9.0, 2.0]]), np.array([3.0, 4.0]))
    array([1., 2.])
    """
    return _solved("solve_triangular", a, b, lower=lower, transposed=transposed, unit=unit_diagonal)


def slogdet(a: ArrayLike) -> SlogdetResult:
    """Return the signs of determinants and the logarithms of their absolute values, without overflow.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.slogdet(np.array([[0.0, 1.0], [1.0, 0.0]]))
    SlogdetResult(sign=array(-1.), logabsdet=array(0.))
    """
    packed = _forerun.routine("slogdet", [matrices("slogdet", a, square=True)])
    return SlogdetResult(packed[0], real(packed[1]))


def _inverted(s: ndarray, cutoff: ArrayLike) -> tuple[ndarray, ndarray]:
    """Invert singular values above a fraction of the largest, zero the others; also return which were above."""
    largest = s.max(-1, keepdims=True) if s.shape[-1] else s
    share = to_array(cutoff, s.dtype, s.device)
    above = greater(s, multiply(largest, share[..., None] if share.ndim else share))
    return where(above, divide(1, where(above, s, 1)), 0), above


def pinv(
    a: ArrayLike, rcond: ArrayLike | None = None, hermitian: bool = False, *, rtol: ArrayLike | None = None
) -> ndarray:
    """Return Moore-Penrose pseudo-inverses.

    Singular values up to ``rcond`` (or ``rtol``) times the largest count as zero. The default is the larger extent of
    the matrix times the machine epsilon.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    x = matrices("pinv", a)
    given = rcond if rcond is not None else rtol
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    over, _ = _inverted(s, max(x.shape[-2:]) * eps(x) if given is None else given)
    return _forerun.matmul(adjoint(vh), multiply(over[..., None], adjoint(u)))


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> LstsqResult:
    """Solve ``a x = b`` by least squares.

    Singular values up to ``rcond`` times the largest count as zero; the default is the larger extent of the matrix
    times the machine epsilon. Residuals are returned if there are more equations than unknowns, whatever the rank,
    because the function does not wait for the rank.

    Examples
    --------
    >>> from forerun import np
    >>> found = np.linalg.lstsq(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, 4.0]))
    >>> np.allclose(found.x, np.array([1.0, 2.0]), atol=1e-6)
    True
    >>> found.rank
    array(2)
    """
    left, right = to_floats(a, b)
    left = matrices("lstsq", left)
    if left.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != left.shape[0]:
        raise ValueError(f"lstsq: right-hand sides do not match the matrix: {left.shape} and {right.shape}")
    rows, columns = left.shape
    sides = right if right.ndim == 2 else right[:, None]
    u, s, vh = svd(left, full_matrices=False)
    given = max(rows, columns) * eps(left) if rcond is None else eps(left) if rcond == -1 else rcond
    over, above = _inverted(s, given)
    x = _forerun.matmul(adjoint(vh), multiply(over[:, None], _forerun.matmul(adjoint(u), sides)))
    if rows > columns:
        off = _forerun.matmul(left, x) - sides
        residuals = squares(off).sum(0)
    else:
        residuals = _forerun.full((0,), 0, s.dtype, left.device)
    rank = above.astype("int64").sum()
    return LstsqResult(x if right.ndim == 2 else x[:, 0], residuals, rank, s)


def matrix_power(a: ArrayLike, n: SupportsIndex) -> ndarray:
    """Raise matrices to an integer power; a negative one inverts them first.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 3)
    array([[1, 3],
           [0, 1]])
    """
    x, power = to_array(a), index(n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: last two dimensions must be square: {x.shape}")
    if power < 0:
        x, power = inv(x), -power
    if power == 0:
        eye = _forerun.eye(x.shape[-1], x.shape[-1], 0, x.dtype, x.device)
        return _forerun.broadcast_to(eye, x.shape).copy()
    if power == 1:
        return x.copy()
    # Exponentiation by squaring.
    made: ndarray | None = None
    while power > 1:
        if power & 1:
            made = x if made is None else _forerun.matmul(made, x)
        x = _forerun.matmul(x, x)
        power >>= 1
    return x if made is None else _forerun.matmul(made, x)


def tensorinv(a: ArrayLike, ind: int = 2) -> ndarray:
    """Invert an array as a linear map from the dimensions after ``ind`` to those before it.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.tensorinv(np.eye(6).reshape((6, 2, 3)), ind=1).shape
    (2, 3, 6)
    """
    x = to_array(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be above 0, not {ind}")
    shape = x.shape[ind:] + x.shape[:ind]
    size = prod(x.shape[ind:])
    return inv(x.reshape((prod(x.shape[:ind]), size))).reshape(shape)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> ndarray:
    """Solve ``tensordot(a, x, x.ndim) = b`` for ``x``; the dimensions ``axes`` of ``a`` are moved to its end first.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.tensorsolve(np.eye(6).reshape((2, 3, 6)), np.ones((2, 3))).shape
    (6,)
    """
    left, right = to_floats(a, b)
    if axes is not None:
        moved = [axis % left.ndim for axis in axes]
        left = left.transpose([axis for axis in range(left.ndim) if axis not in moved] + moved)
    shape = left.shape[right.ndim :]
    size = prod(shape)
    if left.size != size * size:
        raise ValueError(f"tensorsolve: not a square system: {left.shape} and {right.shape}")
    return solve(left.reshape((-1 if size else 0, size)), right.ravel()).reshape(shape)
