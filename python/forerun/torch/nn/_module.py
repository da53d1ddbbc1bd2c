"""Modules with PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from forerun._dialect.module import Module as _Module
from forerun._dialect.module import Sequential as _Sequential
from forerun.torch._tensor import Parameter

_M = TypeVar("_M", bound="Module")


class Differences(NamedTuple):
    """Missing and unexpected paths of a state."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(_Module):
    """An object that holds parameters and other modules by attribute, and can be called.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(torch.ones(1) * 3)
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(torch.ones(2)).detach()
    tensor([3., 3.])
    """

    _parameter = Parameter

    def parameters(self) -> Iterator[Parameter]:
        """Iterate over the parameters here and below."""
        return (parameter for _, parameter in self.named_parameters())

    def modules(self) -> Iterator[_Module]:
        """Iterate over this module and all below."""
        return (module for _, module in self._tree())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, _Module]]:
        """Iterate over this module and all below, with their paths."""
        return self._tree(prefix)

    def add_module(self, name: str, module: Module) -> None:
        """Put a module below this one under a name."""
        setattr(self, name, module)

    def register_parameter(self, name: str, param: Parameter) -> None:
        """Give this module a parameter under a name."""
        setattr(self, name, param)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or set them to zero."""
        for parameter in self.parameters():
            parameter._clear_grad(set_to_none)

    def requires_grad_(self: _M, requires_grad: bool = True) -> _M:
        """Set whether all parameters require gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def to(self: _M, *targets: Any, **named: Any) -> _M:
        """Move the parameters to a device or a dtype; they stay the same objects."""
        for parameter in self.parameters():
            moved = parameter.detach().to(*targets, **named)
            if moved._array.dtype != parameter.dtype or moved._array.device != parameter._array.device:
                asks = parameter.requires_grad
                parameter._ask(False)
                parameter._array = moved._array
                parameter._ask(asks)
        return self

    def cuda(self: _M, device: Any = None) -> _M:
        """Move the parameters to a GPU."""
        return self.to("cuda" if device is None else device)

    def cpu(self: _M) -> _M:
        """Move the parameters to the host."""
        return self.to("cpu")

    def double(self: _M) -> _M:
        """Make the parameters float64."""
        return self.to(dtype="float64")

    def float(self: _M) -> _M:
        """Make the parameters float32."""
        return self.to(dtype="float32")

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Differences:
        """Copy elements into the parameters."""
        paths = dict(self.named_parameters())
        missing = [path for path in paths if path not in state_dict]
        unexpected = [path for path in state_dict if path not in paths]
        if strict and (missing or unexpected):
            raise RuntimeError(f"load_state_dict: missing {missing}, unexpected {unexpected}")
        self._load(state_dict)
        return Differences(missing, unexpected)


class Sequential(_Sequential, Module):
    """A sequence of modules.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch import nn
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(6, 1))
    >>> net(torch.ones(4, 2, 3)).shape
    (4, 1)
    """
