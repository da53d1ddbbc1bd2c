"""Initialisers: each function writes into a tensor, without recording gradients, and returns it."""

from __future__ import annotations

import math
from typing import Any

from forerun import _forerun, np
from forerun._missing import module_getattr
from forerun.torch._gradmode import no_grad
from forerun.torch._tensor import Tensor

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal", "kaiming_normal_", "kaiming_uniform",
    "kaiming_uniform_", "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal",
    "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip


def _set(tensor: Tensor, value: Any) -> Tensor:
    with no_grad():
        return tensor.copy_(value)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every element to one value.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.constant_(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    return _set(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Set every element to zero.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.zeros_(torch.ones(2))
    tensor([0., 0.])
    """
    return _set(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Set every element to one.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.ones_(torch.zeros(2))
    tensor([1., 1.])
    """
    return _set(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """Write the identity into a matrix.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.eye_(torch.zeros(1, 2))
    tensor([[1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_: needs a matrix, got shape {tuple(tensor.shape)}")
    return _set(tensor, np.eye(tensor.shape[0], tensor.shape[1], dtype=tensor.dtype, device=tensor._array.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Write filters that pass channels on.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.dirac_(torch.ones(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if not 3 <= tensor.dim() <= 5:
        raise ValueError(f"dirac_: needs filters of one to three axes, got shape {tuple(tensor.shape)}")
    import numpy

    values = numpy.zeros(tuple(tensor.shape), "float32")
    share = tensor.shape[0] // groups
    middle = tuple(extent // 2 for extent in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(share, tensor.shape[1])):
            place = (group * share + channel, channel, *middle)
            values[place] = 1
    return _set(tensor, Tensor._of(_forerun.from_numpy(values)))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Draw every element from a normal distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.normal_(torch.zeros(2), mean=3, std=0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Draw every element from a uniform distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> bool((torch.nn.init.uniform_(torch.zeros(2), 3, 4) >= 3).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Draw every element from a normal distribution limited to ``[a, b]``.

    Examples
    --------
    >>> from forerun import torch
    >>> bool((torch.nn.init.trunc_normal_(torch.zeros(100)).abs() <= 2).all())
    True
    """

    def share(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    low, high = share((a - mean) / std), share((b - mean) / std)
    with no_grad():
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain that keeps the variance through an activation.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.calculate_gain("relu")
    1.4142135623730951
    """
    slope = 0.01 if param is None else param
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "leaky_relu": math.sqrt(2.0 / (1 + slope**2)), "selu": 0.75}
    plain = {"linear", "sigmoid", *(f"conv{way}{rank}d" for way in ("", "_transpose") for rank in (1, 2, 3))}
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity not in plain:
        raise ValueError(
            f"calculate_gain: unknown activation {nonlinearity!r}; it is one of {', '.join(sorted(gains))}"
        )
    return 1.0


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(f"an initialiser by fans needs at least two dimensions, got shape {tuple(tensor.shape)}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from the uniform distribution that keeps the variance of activations and gradients.

    Examples
    --------
    >>> from forerun import torch
    >>> bool((torch.nn.init.xavier_uniform_(torch.zeros(2, 4)).abs() <= 1).all())
    True
    """
    inputs, outputs = _fans(tensor)
    bound = gain * math.sqrt(6.0 / (inputs + outputs))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from the normal distribution that keeps the variance of activations and gradients.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.xavier_normal_(torch.zeros(2, 4)).shape
    torch.Size([2, 4])
    """
    inputs, outputs = _fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (inputs + outputs)), generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming: mode is 'fan_in' or 'fan_out', not {mode!r}")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Draw from the uniform distribution that keeps the variance through rectified units.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.kaiming_uniform_(torch.zeros(2, 4)).shape
    torch.Size([2, 4])
    """
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Draw from the normal distribution that keeps the variance through rectified units.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.kaiming_normal_(torch.zeros(2, 4)).shape
    torch.Size([2, 4])
    """
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Write a random orthogonal matrix.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.nn.init.orthogonal_(torch.zeros(2, 4))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-5)
    True
    """
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    flat = normal_(Tensor._of(np.zeros((rows, columns))), generator=generator)._array
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diag(r))
    made = q.T if rows < columns else q
    return _set(tensor, Tensor._of(made.reshape(*tensor.shape) * gain))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Draw a matrix from a normal distribution with a share of zeros in each column.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.init.sparse_(torch.zeros(4, 2), 0.5).count_nonzero(0)
    tensor([2, 2])
    """
    if tensor.dim() != 2:
        raise ValueError(f"sparse_: needs a matrix, got shape {tuple(tensor.shape)}")
    zeros = math.ceil(sparsity * tensor.shape[0])
    normal_(tensor, 0.0, std, generator)
    rank = np.argsort(np.argsort(np.random.uniform(size=tensor.shape), 0), 0)
    return _set(tensor, Tensor._of(np.where(rank < zeros, 0.0, tensor._array.detach())))


# PyTorch's old names.
xavier_uniform, xavier_normal = xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal = kaiming_uniform_, kaiming_normal_

__getattr__ = module_getattr(__name__, globals(), {})
