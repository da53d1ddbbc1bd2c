"""Fourier transforms and their frequencies.

Names, arguments and results follow NumPy and the array API standard. Single precision stays single: float32 becomes
complex64, float64 complex128; integers and half floats become the default float first.
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.np.fft import _frequencies, _grids, _lines
from forerun.np.fft._frequencies import *  # noqa: F403
from forerun.np.fft._grids import *  # noqa: F403
from forerun.np.fft._lines import *  # noqa: F403

__all__ = [*_frequencies.__all__, *_grids.__all__, *_lines.__all__]


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
