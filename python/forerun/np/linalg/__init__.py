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
from forerun.np.linalg import _factor, _norms, _products, _routines, _solving
from forerun.np.linalg._factor import *  # noqa: F403
from forerun.np.linalg._norms import *  # noqa: F403
from forerun.np.linalg._products import *  # noqa: F403
from forerun.np.linalg._routines import *  # noqa: F403
from forerun.np.linalg._solving import *  # noqa: F403

__all__ = ["LinAlgError", "matrix_transpose", "tensordot", "vecdot"]
__all__ += _factor.__all__
__all__ += _norms.__all__
__all__ += _products.__all__
__all__ += _routines.__all__
__all__ += _solving.__all__


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
