"""Multivariate distributions."""

from __future__ import annotations

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import Device, float64, ndarray
from forerun._pointwise import maximum, sqrt, where
from forerun._types import ArrayLike, DTypeLike, ShapeLike
from forerun.autograd import Function
from forerun.np._drawing import Draw
from forerun.np._dtypes import finfo
from forerun.np.linalg._factor import eigh

__all__ = ["multivariate_normal"]


def multivariate_normal(
    mean: ArrayLike,
    cov: ArrayLike,
    size: ShapeLike | None = None,
    *,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from a multivariate normal distribution.

    Parameters
    ----------
    mean
        The mean vector.
    cov
        The covariance matrix, of which the lower half is read. It may be singular. If it is not positive semidefinite
        the result is NaN; the call does not wait to check.
    size
        The shape of the draws, before the vector axis; one vector if not given.
    dtype
        The dtype of the result; the default float if not given.
    ctx, device
        The device of the result; by default that of ``mean``.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.random.multivariate_normal([0.0, 5.0], [[1.0, 1.0], [1.0, 1.0]], (3,))
    >>> x.shape
    (3, 2)
    >>> np.allclose(x[:, 0] + 5, x[:, 1], atol=1e-5)
    True
    """
    middle, spread = (to_array(p, None if hasattr(p, "dtype") else float64) for p in (mean, cov))
    if middle.ndim != 1:
        raise ValueError(f"multivariate_normal: mean must have one dimension, not {middle.shape}")
    if spread.ndim != 2 or spread.shape[0] != spread.shape[1]:
        raise ValueError(f"multivariate_normal: cov must be a square matrix, not {spread.shape}")
    if middle.shape != spread.shape[:1]:
        raise ValueError(f"multivariate_normal: mean and cov differ in length: {middle.shape}, {spread.shape}")
    if "complex" in middle.dtype.name + spread.dtype.name:
        raise TypeError(f"multivariate_normal: no complex numbers: {middle.dtype.name}, {spread.dtype.name}")
    draw = Draw("multivariate_normal", [middle, spread], () if size is None else size, dtype, ctx, device)
    middle, spread = (to_array(p, None, draw.place) for p in draw.parameters)
    drawn = _forerun.normal((*draw.shape, *middle.shape), 0.0, 1.0, draw.dtype, draw.place)
    root: ndarray = _Root()(spread)
    return drawn @ root.astype(draw.dtype, copy=False) + middle.astype(draw.dtype, copy=False)


class _Root(Function):
    """The symmetric square root of a symmetric matrix.

    Computed from eigenvalues, because a triangular factor requires a nonsingular matrix. The symmetric root is unique;
    other factors depend on the choice of eigenvectors, which differs between devices.
    """

    def forward(self, *inputs: ndarray) -> ndarray:
        """Compute the root in double precision."""
        (matrix,) = inputs
        values, vectors = eigh(matrix.astype(float64, copy=False))
        # Eigenvalues below the square root of the precision count as 0; the square root of a negative one would be NaN.
        digits = finfo(matrix.dtype if "float" in matrix.dtype.name else float64).eps ** 0.5
        least = -digits * maximum(values[-1:], 0)
        roots = sqrt(where(values < least, values, maximum(values, 0)))
        self.save_for_backward(roots, vectors)
        self._kind = matrix.dtype
        return (vectors * roots) @ vectors.T

    def backward(self, *out_grads: ndarray) -> ndarray:
        """Solve for the change of the root: ``root @ change + change @ root`` is the change of the matrix."""
        (grad,) = out_grads
        roots, vectors = self.saved_tensors
        sums = roots[:, None] + roots
        inner = (vectors.T @ grad @ vectors) / where(sums > 0, sums, float("inf"))
        back = vectors @ inner @ vectors.T
        return ((back + back.T) / 2).astype(self._kind, copy=False)
