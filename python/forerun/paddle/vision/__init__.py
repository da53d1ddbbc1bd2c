"""Datasets of local files, transforms and LeNet with Paddle's names."""

from forerun._missing import module_getattr as _module_getattr
from forerun.paddle.vision import datasets, models, transforms

__all__ = ["datasets", "models", "transforms"]

__getattr__ = _module_getattr(__name__, globals(), {"ops": "forerun.npx has box_nms and roi_align"})
