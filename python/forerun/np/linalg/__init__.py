"""Linear algebra on matrices, or stacks of matrices in the last two dimensions.

Names, arguments and results follow NumPy and the array API standard. Integers become the default float; complex
matrices are supported throughout. Every function returns immediately; a matrix that is singular, not positive definite
or without a decomposition raises ``LinAlgError`` when the result is read.
"""

from __future__ import annotations

import typing as _typing

from forerun._forerun import LinAlgError
from forerun._missing import module_getattr as _module_getattr
from forerun.np._products import tensordot, vecdot
from forerun.np._shapes import matrix_transpose
from forerun.np.linalg._factor import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from forerun.np.linalg._norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from forerun.np.linalg._products import cross, diagonal, matmul, multi_dot, outer, trace
from forerun.np.linalg._solving import (
    det,
    inv,
    lstsq,
    matrix_power,
    pinv,
    slogdet,
    solve,
    solve_triangular,
    tensorinv,
    tensorsolve,
)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
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
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    return __all__


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
