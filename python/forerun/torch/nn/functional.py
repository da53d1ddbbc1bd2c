"""Layers and losses as functions."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.nn import _activations, _loss_functions, _normalizing, _windows
from forerun.torch.nn._activations import *  # noqa: F403
from forerun.torch.nn._loss_functions import *  # noqa: F403
from forerun.torch.nn._normalizing import *  # noqa: F403
from forerun.torch.nn._windows import *  # noqa: F403

__all__: list[str] = []
for _module in (_activations, _loss_functions, _normalizing, _windows):
    __all__ += _module.__all__


def _written(name: str) -> _Callable[..., _Any]:
    function = globals()[name]

    def in_place(input: _Any, *args: _Any, **options: _Any) -> _Any:
        return function(input, *args, inplace=True, **options)

    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"Apply ``{name}`` in place."
    return in_place


# PyTorch's forms that write in place.
for _name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold"):
    globals()[f"{_name}_"] = _written(_name)
    __all__ += [f"{_name}_"]
__all__.sort()

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "max_unpool2d": "max pooling returns no indices",
        "fractional_max_pool2d": "use max_pool2d or adaptive_max_pool2d",
        "multi_head_attention_forward": "use nn.MultiheadAttention, or scaled_dot_product_attention",
    },
)
