"""``mxnet.np.linalg``: ``forerun.np.linalg``, and functions whose arguments differ in MXNet."""

from __future__ import annotations

import math
from typing import Any

from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._missing import lacking as _lacking
from forerun.np import linalg as _linalg

__all__ = ["cholesky", "eigh", "eigvalsh", "matrix_norm", "norm", "svd", "vector_norm"]
__all__ += [name for name in dir(_linalg) if not name.startswith("_") and name not in __all__]

_ORDERS = {"inf": math.inf, "-inf": -math.inf}


def _order(ord: Any) -> Any:
    return _ORDERS.get(ord, ord) if isinstance(ord, str) else ord


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Return a norm; ``ord`` may be ``"inf"`` or ``"-inf"`` too.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.linalg.norm(mx.np.array([3, 4]))
    array(5.)
    """
    return _linalg.norm(x, _order(ord), axis, keepdims)


def vector_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Return the norm of vectors along axes, or of all elements.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.linalg.vector_norm(mx.np.ones((2, 2)))
    array(2.)
    """
    return _linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else _order(ord))


def matrix_norm(x: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False) -> ndarray:
    """Return the norm of matrices in two axes.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.linalg.matrix_norm(mx.np.ones((2, 2)))
    array(2.)
    """
    if not (isinstance(axis, tuple) and len(axis) == 2):
        raise ValueError(f"matrix_norm: axis must be a tuple of two axes, got {axis!r}")
    return _linalg.norm(x, _order(ord), axis, keepdims)


def svd(a: Any) -> Any:
    """Return the reduced singular value decomposition.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> [part.shape for part in mx.np.linalg.svd(mx.np.ones((2, 3)))]
    [(2, 2), (2,), (2, 3)]
    """
    return _linalg.svd(a, full_matrices=False)


def cholesky(a: Any, upper: bool = False) -> ndarray:
    """Return the Cholesky factor.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.linalg.cholesky(4 * mx.np.eye(1))
    array([[2.]])
    """
    return _linalg.cholesky(to_array(a), upper=upper)


def eigh(a: Any, upper: bool = False) -> Any:
    """Return the eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.linalg.eigh(2 * mx.np.eye(2))[0]
    array([2., 2.])
    """
    return _linalg.eigh(a, "U" if upper is True or upper == "U" else "L")


def eigvalsh(a: Any, upper: bool = False) -> ndarray:
    """Return the eigenvalues of symmetric matrices, of which one triangle is read.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.linalg.eigvalsh(2 * mx.np.eye(2))
    array([2., 2.])
    """
    return _linalg.eigvalsh(a, "U" if upper is True or upper == "U" else "L")


def __getattr__(name: str) -> Any:
    """Return a name of ``forerun.np.linalg``."""
    if name in __all__:
        return getattr(_linalg, name)
    raise _lacking(f"module {__name__!r}", name, __all__, {})


def __dir__() -> list[str]:
    """List the names."""
    return sorted(__all__)
