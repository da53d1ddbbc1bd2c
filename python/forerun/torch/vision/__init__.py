"""What programs use of torchvision: datasets of local files, transforms, image files, grids and a few networks.

``from forerun.torch import vision as torchvision`` replaces ``import torchvision``.
"""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.vision import datasets, io, models, transforms, utils

__all__ = ["datasets", "io", "models", "transforms", "utils"]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "ops": "forerun.npx has box_nms, box_iou and roi_align",
        "tv_tensors": "images are tensors and arrays",
        "set_image_backend": "images are decoded by forerun.image",
    },
)
