"""Linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun._missing import module_getattr
from forerun.torch import _linear
from forerun.torch._reductions import norm as _elements_norm
from forerun.torch._tensor import Tensor

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensorsolve",
    "vector_norm",
]


def _one(name: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    def computed(*inputs: Any, **options: Any) -> Tensor:
        return Tensor._run(function, *inputs, **options)

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = f"Compute ``numpy.linalg.{name}`` of matrices or stacks of them."
    return computed


def _many(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*inputs: Any, **options: Any) -> Any:
        return tuple(Tensor._run_many(lambda *arrays: function(*arrays, **options), *inputs))

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = f"Compute ``numpy.linalg.{name}`` of matrices or stacks of them; return its results as tensors."
    return computed


def _multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Multiply matrices in the cheapest order."""
    return _linear.chain_matmul(*tensors)


def _vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the norm of all elements, or of those along dimensions."""
    return _elements_norm(x, ord, dim, keepdim)


def _matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """Return the norm of matrices."""
    return Tensor._run(lambda x: np.linalg.norm(x, ord, tuple(dim), keepdim), A)


def _norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the norm of all elements, or with ``ord`` that of vectors or matrices."""
    if ord is None:
        return _elements_norm(A, 2, dim, keepdim)
    if (dim is None and A.dim() == 2) or (isinstance(dim, (tuple, list)) and len(dim) == 2):
        return _matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim)
    return _elements_norm(A, ord, dim, keepdim)


cholesky = _one("cholesky", np.linalg.cholesky)
cond = _one("cond", np.linalg.cond)
cross = _linear.cross
det = _linear.det
eig = _many("eig", np.linalg.eig)
eigh = _many("eigh", np.linalg.eigh)
eigvals = _one("eigvals", np.linalg.eigvals)
eigvalsh = _one("eigvalsh", np.linalg.eigvalsh)
inv = _linear.inverse
lstsq = _many("lstsq", np.linalg.lstsq)
matmul = _linear.matmul
matrix_power = _linear.matrix_power
matrix_rank = _one("matrix_rank", np.linalg.matrix_rank)
multi_dot = _multi_dot
pinv = _one("pinv", np.linalg.pinv)
qr = _many("qr", np.linalg.qr)
slogdet = _many("slogdet", np.linalg.slogdet)
solve = _one("solve", np.linalg.solve)
svd = _many("svd", np.linalg.svd)
svdvals = _one("svdvals", np.linalg.svdvals)
tensorsolve = _one("tensorsolve", np.linalg.tensorsolve)
vector_norm = _vector_norm
matrix_norm = _matrix_norm
norm = _norm

__getattr__ = module_getattr(__name__, globals(), {})
