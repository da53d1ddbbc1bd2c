"""Grids of images."""

from __future__ import annotations

import math
import os
from typing import Any

from forerun import np
from forerun._missing import module_getattr
from forerun.torch._joining import stack
from forerun.torch._tensor import Tensor

__all__ = ["make_grid", "save_image"]


def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Arrange images in a grid with ``nrow`` in a row.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.vision.utils.make_grid(torch.ones(4, 3, 5, 5), nrow=2).shape
    torch.Size([3, 16, 16])
    """
    images: Tensor = stack(list(tensor)) if isinstance(tensor, (tuple, list)) else tensor
    while images.dim() < 4:
        images = images.unsqueeze(0)
    if images.shape[1] == 1:
        images = images.repeat(1, 3, 1, 1)
    if normalize:
        axes = (1, 2, 3) if scale_each else None
        low = images.amin(axes, True) if value_range is None else value_range[0]
        high = images.amax(axes, True) if value_range is None else value_range[1]
        limited = images if value_range is None else images.clamp(low, high)
        span = high - low
        images = (limited - low) / (span.clamp_min(1e-5) if isinstance(span, Tensor) else max(span, 1e-5))
    count, channels, height, width = images.shape
    if count == 1:
        return images[0]
    columns = min(nrow, count)
    rows = math.ceil(count / columns)

    def arranged(x: Any) -> Any:
        missing = rows * columns - count
        sides = [(0, missing), (0, 0), (padding, 0), (padding, 0)]
        cells = np.pad(x, sides, constant_values=pad_value)
        grid = cells.reshape(rows, columns, channels, height + padding, width + padding)
        grid = np.transpose(grid, (2, 0, 3, 1, 4)).reshape(channels, rows * (height + padding), -1)
        return np.pad(grid, [(0, 0), (0, padding), (0, padding)], constant_values=pad_value)

    return Tensor._run(arranged, images)


def save_image(tensor: Any, fp: str | os.PathLike[str], **options: Any) -> None:
    """Write a grid of images, with values between 0 and 1, to a file. Waits for it.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.vision.utils.save_image(torch.ones(4, 3, 5, 5), os.path.join(folder, "grid.png"))
    """
    from forerun.torch.vision.io import write_jpeg, write_png

    grid = (make_grid(tensor, **options).detach() * 255 + 0.5).clamp(0, 255).to(dtype="uint8")
    (write_png if os.fspath(fp).lower().endswith(".png") else write_jpeg)(grid, fp)


__getattr__ = module_getattr(__name__, globals(), {"draw_bounding_boxes": "draw with matplotlib"})
