"""Questions about tensors and dtypes, defaults, and what has no effect here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import _forerun, np
from forerun.torch._place import DeviceLike, from_device, to_device
from forerun.torch._place import device as Device
from forerun.torch._tensor import Tensor

__all__ = [
    "are_deterministic_algorithms_enabled", "can_cast", "compile", "finfo", "get_default_device", "get_default_dtype",
    "get_num_threads", "iinfo", "is_complex", "is_floating_point", "is_nonzero", "is_tensor", "promote_types",
    "result_type", "set_default_device", "set_default_dtype", "set_float32_matmul_precision", "set_num_threads",
    "use_deterministic_algorithms",
]  # fmt: skip

finfo = np.finfo
iinfo = np.iinfo


def is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Return whether the elements are floats.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_floating_point(torch.ones(1)), torch.is_floating_point(torch.tensor(1))
    (True, False)
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Return whether the elements are complex numbers.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_complex(torch.ones(1))
    False
    """
    return input.is_complex()


def is_nonzero(input: Tensor) -> bool:
    """Return whether the only element is nonzero. Waits.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_nonzero(torch.tensor([2.0]))
    True
    """
    if input.numel() != 1:
        raise RuntimeError(f"is_nonzero: needs one element, got shape {tuple(input.shape)}")
    return bool(input)


def result_type(*operands: Any) -> Any:
    """Return the dtype of an operation on tensors and numbers.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.result_type(torch.tensor([1]), 1.5).name
    'float32'
    """
    return np.result_type(*[operand._array if isinstance(operand, Tensor) else operand for operand in operands])


def promote_types(type1: Any, type2: Any) -> Any:
    """Return the dtype of an operation on two dtypes.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.promote_types(torch.int32, torch.float32).name
    'float32'
    """
    return np.promote_types(type1, type2)


def can_cast(from_: Any, to: Any) -> Any:
    """Return whether elements of a dtype may become those of another in place.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.can_cast(torch.float32, torch.int32)
    False
    """
    return np.can_cast(from_, to, "same_kind")


def get_default_dtype() -> Any:
    """Return the dtype of new float tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.get_default_dtype().name
    'float32'
    """
    return _forerun.default_float()


def set_default_dtype(d: Any) -> None:
    """Set the dtype of new float tensors of the whole process: float32 or float64.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.set_default_dtype(torch.float32)
    """
    name = _forerun.dtype(d).name
    if name not in ("float32", "float64"):
        raise TypeError(f"set_default_dtype: float32 or float64, not {name}")
    _forerun.set_default_float(name == "float64")


def get_default_device() -> Device:
    """Return the device of new tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.get_default_device()
    device(type='cpu')
    """
    return from_device(_forerun.current_device())


def set_default_device(device: DeviceLike) -> None:
    """Set the device of this thread's new tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.set_default_device("cpu")
    """
    _forerun.set_device(to_device("cpu" if device is None else device))


def get_num_threads() -> int:
    """Return the number of worker threads.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.get_num_threads() > 0
    True
    """
    return _forerun.num_threads()


def set_num_threads(num: int) -> None:
    """Set the number of worker threads.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.set_num_threads(torch.get_num_threads())
    """
    _forerun.set_num_threads(num)


def compile(model: Any = None, **options: Any) -> Any:
    """Return the model itself: plain calls are planned and fused already.

    Examples
    --------
    >>> from forerun import torch
    >>> net = torch.nn.Linear(2, 1)
    >>> torch.compile(net) is net
    True
    """
    if model is None:
        same: Callable[[Any], Any] = lambda given: given  # noqa: E731
        return same
    return model


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Do nothing: results are always reproducible.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.use_deterministic_algorithms(True)
    """


def are_deterministic_algorithms_enabled() -> bool:
    """Return True: results are always reproducible.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.are_deterministic_algorithms_enabled()
    True
    """
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """Set whether products of float32 matrices on GPUs may use TensorFloat-32: ``"high"`` and ``"medium"`` allow it.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"set_float32_matmul_precision: 'highest', 'high' or 'medium', not {precision!r}")
    for number in range(_forerun.num_gpus()):
        _forerun.set_tf32(_forerun.Device("gpu", number), precision != "highest")
