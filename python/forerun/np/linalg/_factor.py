"""Matrix factorisations."""

from __future__ import annotations

from typing import Literal, NamedTuple, overload

from forerun import _forerun
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.np._complex import real
from forerun.np.linalg._stack import matrices, parts

__all__ = ["eig", "eigh", "eigvalsh", "qr", "svd"]


class QRResult(NamedTuple):
    """An orthogonal factor and an upper triangular one."""

    Q: ndarray
    R: ndarray


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, right singular vectors."""

    U: ndarray
    S: ndarray
    Vh: ndarray


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors of general matrices, always complex."""

    eigenvalues: ndarray
    eigenvectors: ndarray


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> ndarray: ...
def qr(a: ArrayLike, mode: str = "reduced") -> QRResult | ndarray:
    """Compute the QR factorisation of matrices.

    With ``mode="complete"`` the orthogonal factor is square; with ``mode="r"`` only the triangular factor is returned.

    Examples
    --------
    >>> from forerun import np
    >>> q, r = np.linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 1.0]]))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    >>> np.allclose(np.matmul(q, r), np.array([[3.0, 1.0], [4.0, 2.0], [0.0, 1.0]]), atol=1e-6)
    True
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode must be reduced, complete or r, got {mode!r}")
    x = matrices("qr", a)
    (*lead, rows, columns) = x.shape
    kept = rows if mode == "complete" else min(rows, columns)
    packed = _forerun.routine("qr", [x], complete=mode == "complete")
    q, r = parts(packed, tuple(lead), (rows, kept), (kept, columns))
    return r if mode == "r" else QRResult(q, r)


@overload
def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> ndarray: ...
def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | ndarray:
    """Compute the singular value decomposition of matrices; values are in descending order.

    Without ``full_matrices`` the factors have only as many columns and rows as there are singular values; without
    ``compute_uv`` only the values are returned. ``hermitian`` has no effect.

    Examples
    --------
    >>> from forerun import np
    >>> u, s, vh = np.linalg.svd(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]), full_matrices=False)
    >>> s
    array([2., 1.])
    >>> u.shape, vh.shape
    ((3, 2), (2, 2))
    """
    x = matrices("svd", a)
    if not compute_uv:
        return _forerun.routine("svdvals", [x])
    (*lead, rows, columns) = x.shape
    least = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (least, least)
    packed = _forerun.routine("svd", [x], complete=full_matrices)
    u, s, vh = parts(packed, tuple(lead), (rows, left), (least,), (right, columns))
    return SVDResult(u, real(s), vh)


def _upper(op: str, half: str) -> bool:
    if half.upper() not in ("L", "U"):
        raise ValueError(f"{op}: UPLO must be 'L' or 'U', not {half!r}")
    return half.upper() == "U"


def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues of Hermitian matrices in ascending order, and their eigenvectors as columns.

    Only the lower half of each matrix is read, or with ``UPLO="U"`` the upper half.

    Examples
    --------
    >>> from forerun import np
    >>> w, v = np.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> w
    array([1., 2.])
    """
    upper = _upper("eigh", UPLO)
    x = matrices("eigh", a, square=True)
    (*lead, n, _) = x.shape
    packed = _forerun.routine("eigh", [x], upper=upper)
    w, v = parts(packed, tuple(lead), (n,), (n, n))
    return EighResult(real(w), v)


def eigvalsh(a: ArrayLike, UPLO: str = "L") -> ndarray:
    """Return the eigenvalues of Hermitian matrices in ascending order.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    upper = _upper("eigvalsh", UPLO)
    return _forerun.routine("eigvalsh", [matrices("eigvalsh", a, square=True)], upper=upper)


def eig(a: ArrayLike) -> EigResult:
    """Return the eigenvalues of square matrices, unordered, and their normalised eigenvectors as columns.

    Both are always complex: the dtype of a result does not depend on values.

    Examples
    --------
    >>> from forerun import np
    >>> w, v = np.linalg.eig(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> np.sort(np.real(w))
    array([1., 2.])
    """
    x = matrices("eig", a, square=True)
    (*lead, n, _) = x.shape
    return EigResult(*parts(_forerun.routine("eig", [x]), tuple(lead), (n,), (n, n)))
