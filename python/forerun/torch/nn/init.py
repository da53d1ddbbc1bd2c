"""Initialisers: each function writes into a tensor, without recording gradients."""

from __future__ import annotations

from forerun import _forerun
from forerun._missing import module_getattr
from forerun.torch._gradmode import no_grad
from forerun.torch._tensor import Tensor

__all__ = ["constant_", "normal_", "ones_", "uniform_", "xavier_uniform_", "zeros_"]


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every element to one value.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.constant_(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Set every element to zero.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.zeros_(torch.ones(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Set every element to one.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.ones_(torch.zeros(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Draw every element from a normal distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.normal_(torch.zeros(2), mean=3, std=0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.normal_(mean, std)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Draw every element from a uniform distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> bool((torch.nn.init.uniform_(torch.zeros(2), 3, 4) >= 3).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill a weight with Xavier-uniform random numbers.

    Examples
    --------
    >>> from forerun import torch
    >>> bool((torch.nn.init.xavier_uniform_(torch.zeros(2, 4)).abs() <= 1).all())
    True
    """
    _forerun.initialize("tensor", tensor._array, "xavier", 3 * gain * gain)
    return tensor


__getattr__ = module_getattr(__name__, globals(), {})
