"""Images: files, crops and sizes, random changes, and iterators over labelled images, with MXNet's names.

Images are arrays of shape (height, width, channels).
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.image import augmenters, detection, files, functions
from forerun.image.augmenters import *  # noqa: F403
from forerun.image.detection import *  # noqa: F403
from forerun.image.files import *  # noqa: F403
from forerun.image.functions import *  # noqa: F403

__all__ = ["ImageDetIter", "ImageIter"]
__all__ += augmenters.__all__
__all__ += detection.__all__
__all__ += files.__all__
__all__ += functions.__all__

if _typing.TYPE_CHECKING:
    from forerun.image.iterators import ImageDetIter, ImageIter
else:
    _missing = _module_getattr(__name__, globals(), {})

    def __getattr__(name: str) -> _typing.Any:
        """Import the iterators, which belong to MXNet's dialect, on first access."""
        if name in ("ImageDetIter", "ImageIter"):
            from forerun.image import iterators

            return getattr(iterators, name)
        return _missing(name)
