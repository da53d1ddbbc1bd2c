"""Fourier transforms and their frequencies.

Names, arguments and results follow NumPy and the array API standard. Single precision stays single: float32 becomes
complex64, float64 complex128; integers and half floats become the default float first.
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.np.fft._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from forerun.np.fft._grids import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from forerun.np.fft._lines import fft, hfft, ifft, ihfft, irfft, rfft

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def __dir__() -> list[str]:
    return __all__


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
