"""Layers and losses as functions."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.nn import _activations, _loss_functions, _normalizing, _windows
from forerun.torch.nn._activations import *  # noqa: F403
from forerun.torch.nn._loss_functions import *  # noqa: F403
from forerun.torch.nn._normalizing import *  # noqa: F403
from forerun.torch.nn._windows import *  # noqa: F403

__all__: list[str] = []
for _module in (_activations, _loss_functions, _normalizing, _windows):
    __all__ += _module.__all__
# PyTorch's forms that write in place.
for _name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold"):

    def _in_place(input, *args, _function=globals()[_name], **options):  # type: ignore[no-untyped-def]
        return _function(input, *args, inplace=True, **options)

    _in_place.__name__ = _in_place.__qualname__ = f"{_name}_"
    _in_place.__doc__ = f"Apply ``{_name}`` in place."
    globals()[f"{_name}_"] = _in_place
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
