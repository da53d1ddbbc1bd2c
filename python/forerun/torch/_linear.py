"""Products, contractions and norms."""

from __future__ import annotations

from typing import Any

from forerun import np
from forerun.torch._pointwise import into
from forerun.torch._tensor import Tensor

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cdist", "chain_matmul", "cross", "det", "dist", "dot",
    "einsum", "inner", "inverse", "kron", "logdet", "matmul", "matrix_power", "mm", "mv", "outer", "qr", "svd",
    "tensordot", "trace", "vdot",
]  # fmt: skip


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply matrices, or stacks of them.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.matmul(torch.eye(2), torch.ones(2))
    tensor([1., 1.])
    """
    return into(Tensor._run(np.matmul, input, other), out)


def _product(name: str, ranks: tuple[int, int], a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    if (a.ndim, b.ndim) != ranks:
        raise RuntimeError(f"{name}: needs {ranks[0]} x {ranks[1]} dimensions, got {tuple(a.shape)} x {tuple(b.shape)}")
    return matmul(a, b, out=out)


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply two matrices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.mm(torch.ones(1, 2), torch.ones(2, 1))
    tensor([[2.]])
    """
    return _product("mm", (2, 2), input, mat2, out)


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply two stacks of matrices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.bmm(torch.ones(3, 1, 2), torch.ones(3, 2, 1)).shape
    torch.Size([3, 1, 1])
    """
    if input.ndim == mat2.ndim == 3 and input.shape[0] != mat2.shape[0]:
        raise RuntimeError(f"bmm: the stacks differ in length: {tuple(input.shape)} x {tuple(mat2.shape)}")
    return _product("bmm", (3, 3), input, mat2, out)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Multiply a matrix and a vector.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.mv(torch.eye(2), torch.ones(2))
    tensor([1., 1.])
    """
    return _product("mv", (2, 1), input, vec)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the dot product of two vectors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.dot(torch.ones(3), torch.ones(3))
    tensor(3.)
    """
    return _product("dot", (1, 1), input, tensor)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return the dot product of two vectors, the first conjugated.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.vdot(torch.ones(3), torch.ones(3))
    tensor(3.)
    """
    return Tensor._run(np.vdot, input, other)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum products over the last dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.inner(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    return Tensor._run(np.inner, input, other)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the products of all pairs of elements of two vectors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return Tensor._run(np.outer, input, vec2)


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross product along a dimension of extent three; the first such dimension by default.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    axis = list(input.shape).index(3) if dim is None and 3 in input.shape else dim
    return Tensor._run(lambda x, y: np.cross(x, y, axis=-1 if axis is None else axis), input, other)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.kron(torch.tensor([1, 2]), torch.tensor([1, 1]))
    tensor([1, 1, 2, 2])
    """
    return Tensor._run(np.kron, input, other)


def _added(input: Any, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return scaled + (input if beta == 1 else input * beta)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.addmm(torch.ones(1, 1), torch.ones(1, 2), torch.ones(2, 1))
    tensor([[3.]])
    """
    return _added(input, mm(mat1, mat2), beta, alpha)


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * (mat @ vec)``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.addmv(torch.ones(1), torch.ones(1, 2), torch.ones(2))
    tensor([3.])
    """
    return _added(input, mv(mat, vec), beta, alpha)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * outer(vec1, vec2)``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.addr(torch.ones(1, 1), torch.ones(1), torch.ones(1))
    tensor([[2.]])
    """
    return _added(input, outer(vec1, vec2), beta, alpha)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * bmm(batch1, batch2)``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.baddbmm(torch.ones(1, 1, 1), torch.ones(1, 1, 2), torch.ones(1, 2, 1))
    tensor([[[3.]]])
    """
    return _added(input, bmm(batch1, batch2), beta, alpha)


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * sum(bmm(batch1, batch2))``, summed over the stack.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.addbmm(torch.ones(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
    tensor([[7.]])
    """
    return _added(input, bmm(batch1, batch2).sum(0), beta, alpha)


def chain_matmul(*matrices: Tensor) -> Tensor:
    """Multiply matrices in the cheapest order.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1))
    tensor([[6.]])
    """
    return Tensor._run(lambda *arrays: np.linalg.multi_dot(arrays), *matrices)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sum products over indices by Einstein's convention.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.einsum("ij,jk->ik", torch.ones(1, 2), torch.ones(2, 1))
    tensor([[2.]])
    """
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    return Tensor._run(lambda *arrays: np.einsum(equation.replace(" ", ""), *arrays), *given)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum products over several dimensions: a number of them, or two lists.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), 1).shape
    torch.Size([2, 4])
    """
    return Tensor._run(lambda x, y: np.tensordot(x, y, dims), a, b)


def trace(input: Tensor) -> Tensor:
    """Sum the diagonal of a matrix.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.trace(torch.eye(3))
    tensor(3.)
    """
    return Tensor._run(np.trace, input)


def det(input: Tensor) -> Tensor:
    """Return the determinant.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.det(torch.eye(2) * 2)
    tensor(4.)
    """
    return Tensor._run(np.linalg.det, input)


def logdet(input: Tensor) -> Tensor:
    """Return the logarithm of the determinant; NaN if it is negative.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    return det(input).log()


def inverse(input: Tensor) -> Tensor:
    """Return the inverse matrix.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.inverse(torch.eye(2) * 2)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    return Tensor._run(np.linalg.inv, input)


def matrix_power(input: Tensor, n: int) -> Tensor:
    """Multiply a matrix ``n`` times with itself.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.matrix_power(torch.eye(2) * 2, 3)
    tensor([[8., 0.],
            [0., 8.]])
    """
    return Tensor._run(lambda x: np.linalg.matrix_power(x, n), input)


def qr(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """Return the QR decomposition.

    Examples
    --------
    >>> from forerun import torch
    >>> q, r = torch.qr(torch.ones(3, 2))
    >>> q.shape, r.shape
    (torch.Size([3, 2]), torch.Size([2, 2]))
    """
    q, r = Tensor._run_many(lambda x: np.linalg.qr(x, "reduced" if some else "complete"), input)
    return q, r


def svd(input: Tensor, some: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Return the singular value decomposition ``input = u @ diag(s) @ v.T``.

    Examples
    --------
    >>> from forerun import torch
    >>> u, s, v = torch.svd(torch.eye(2) * 3)
    >>> s
    tensor([3., 3.])
    """
    u, s, vh = Tensor._run_many(lambda x: np.linalg.svd(x, full_matrices=not some), input)
    return u, s, vh.adjoint()


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the norm of a difference.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.dist(torch.tensor([3.0, 4.0]), torch.zeros(2))
    tensor(5.)
    """
    return (input - other).norm(p)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """Return the distances of all pairs of rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
