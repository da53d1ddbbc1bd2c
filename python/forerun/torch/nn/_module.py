"""Modules with PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from forerun._dialect.link import Link
from forerun._dialect.mode import MODE
from forerun._dialect.module import Module as _Module
from forerun.torch._graph import RemovableHandle, passing
from forerun.torch._tensor import Parameter, Tensor

_M = TypeVar("_M", bound="Module")


class Differences(NamedTuple):
    """Missing and unexpected paths of a state."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        """Return PyTorch's notation."""
        if not (self.missing_keys or self.unexpected_keys):
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


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
    # Class attributes, so that a module without hooks has no dicts for them.
    _forward_pre_hooks: Mapping[int, Any] = {}
    _forward_hooks: Mapping[int, Any] = {}
    _backward_hooks: Mapping[int, Any] = {}

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Compute the module's function, and call the hooks."""
        if not (self._forward_pre_hooks or self._forward_hooks or self._backward_hooks):
            return self.forward(*inputs, **options)
        for hook, named in list(self._forward_pre_hooks.values()):
            given = hook(self, inputs, options) if named else hook(self, inputs)
            if given is not None:
                inputs, options = given if named else (given if isinstance(given, tuple) else (given,), options)
        watched = _Backward(self) if self._backward_hooks and MODE.grad else None
        if watched is not None:
            inputs = watched.inputs(inputs)
        made = self.forward(*inputs, **options)
        for hook, named in list(self._forward_hooks.values()):
            given = hook(self, inputs, options, made) if named else hook(self, inputs, made)
            made = made if given is None else given
        return made if watched is None else watched.outputs(made)

    def _hook(self, kind: str, hook: Any) -> RemovableHandle:
        hooks = self.__dict__.setdefault(kind, {})
        return RemovableHandle(hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, inputs)`` before each call; what it returns replaces the inputs."""
        return self._hook("_forward_pre_hooks", (hook, with_kwargs))

    def register_forward_hook(self, hook: Callable[..., Any], *, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, inputs, output)`` after each call; what it returns replaces the output."""
        return self._hook("_forward_hooks", (hook, with_kwargs))

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` in each backward pass.

        What it returns replaces the gradients of the inputs. Called if an input of the module requires gradients.
        """
        return self._hook("_backward_hooks", hook)

    register_backward_hook = register_full_backward_hook

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over the parameters here and below."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers here and below."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def modules(self) -> Iterator[_Module]:
        """Iterate over this module and all below."""
        return (module for _, module in self._tree())

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[Any]:
        """Iterate over this module and all below, with their paths."""
        return self._tree(prefix) if remove_duplicate else self._paths(prefix)

    def add_module(self, name: str, module: Module | None) -> None:
        """Put a module below this one under a name."""
        if not isinstance(module, (Module, type(None))):
            raise TypeError(f"add_module: {name!r} must be a module, not a {type(module).__name__}")
        if not name or "." in name:
            raise KeyError(f"add_module: a name must not be empty or contain a dot, got {name!r}")
        setattr(self, name, module)

    register_module = add_module

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Give this module a parameter under a name."""
        setattr(self, name, param)

    def get_submodule(self, target: str) -> Any:
        """Return the module at a path."""
        found: Any = self
        for name in target.split(".") if target else []:
            if name not in found._modules:
                raise AttributeError(f"get_submodule: {type(found).__name__} has no module {name!r}")
            found = found._modules[name]
        return found

    def get_parameter(self, target: str) -> Any:
        """Return the parameter at a path."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if name not in owner._parameters:
            raise AttributeError(f"get_parameter: {type(owner).__name__} has no parameter {name!r}")
        return owner._parameters[name]

    def get_buffer(self, target: str) -> Any:
        """Return the buffer at a path."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if name not in owner._buffers:
            raise AttributeError(f"get_buffer: {type(owner).__name__} has no buffer {name!r}")
        return owner._buffers[name]

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
        """Move parameters and buffers to a device or a dtype; they stay the same objects.

        Only floats change their dtype.
        """
        named.pop("memory_format", None)

        def moved(tensor: Tensor) -> Tensor:
            there = tensor.to(*targets, **named)
            if tensor.is_floating_point() or tensor.is_complex() or there.dtype == tensor.dtype:
                return there
            return tensor.to(there.device)

        self._move(moved)
        return self

    def cuda(self: _M, device: Any = None) -> _M:
        """Move parameters and buffers to a GPU."""
        return self.to("cuda" if device is None else device)

    def cpu(self: _M) -> _M:
        """Move parameters and buffers to the host."""
        return self.to("cpu")

    def double(self: _M) -> _M:
        """Make parameters and buffers float64."""
        return self.to(dtype="float64")

    def float(self: _M) -> _M:
        """Make parameters and buffers float32."""
        return self.to(dtype="float32")

    def half(self: _M) -> _M:
        """Make parameters and buffers float16."""
        return self.to(dtype="float16")

    def bfloat16(self: _M) -> _M:
        """Make parameters and buffers bfloat16."""
        return self.to(dtype="bfloat16")

    def type(self: _M, dst_type: Any) -> _M:
        """Set the dtype of parameters and buffers."""
        return self.to(dtype=dst_type)

    def share_memory(self: _M) -> _M:
        """Return the module: threads share tensors as they are."""
        return self

    def compile(self, **options: Any) -> None:
        """Do nothing: plain calls are planned and fused already."""

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Return parameters and persistent buffers by their paths; they share their elements with the module."""
        found: OrderedDict[str, Any] = OrderedDict() if destination is None else destination
        for path, tensor in self._state().items():
            found[prefix + path] = tensor if keep_vars else tensor.detach()
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Differences:
        """Copy elements into parameters and buffers.

        Parameters
        ----------
        state_dict : mapping
            Tensors by their paths.
        strict : bool
            Whether missing and unexpected paths raise.
        assign : bool
            Whether to take over dtype and device too.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: needs a dict of tensors, not a {type(state_dict).__name__}")
        own = self._state()
        missing = [path for path in own if path not in state_dict]
        unexpected = [path for path in state_dict if path not in own]
        wrong = [
            f"size mismatch for {path}: {tuple(state_dict[path].shape)} is given, {tuple(tensor.shape)} is there"
            for path, tensor in own.items()
            if path in state_dict and tuple(state_dict[path].shape) != tuple(tensor.shape)
        ]
        if strict and unexpected:
            wrong.insert(0, f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}")
        if strict and missing:
            wrong.insert(0, f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}")
        if wrong:
            lines = "".join(f"\n\t{line}" for line in wrong)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:{lines}")
        if assign:
            for path, tensor in own.items():
                if path in state_dict:
                    tensor.data = state_dict[path].detach().clone()
        else:
            self._load(state_dict)
        return Differences(missing, unexpected)


class _Backward:
    """One call of a module with backward hooks: the gradients of its inputs and outputs pass through here."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._out: tuple[Any, ...] = ()

    def inputs(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        places = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x._link is not None]
        if not places:
            return inputs

        def passed(grads: list[Any]) -> list[Any]:
            found: list[Any] = [None] * len(inputs)
            for place, grad in zip(places, grads, strict=True):
                found[place] = Tensor._of(grad)
            for hook in list(self._module._backward_hooks.values()):
                given = hook(self._module, tuple(found), self._out)
                if given is not None:
                    found = list(given) if isinstance(given, tuple) else [given]
            return [found[place]._array for place in places]

        return self._replaced(inputs, places, passed)

    def outputs(self, made: Any) -> Any:
        outputs = (made,) if isinstance(made, Tensor) else made
        if not isinstance(outputs, tuple):
            return made
        places = [place for place, x in enumerate(outputs) if isinstance(x, Tensor) and x._link is not None]
        if not places:
            return made

        def passed(grads: list[Any]) -> list[Any]:
            found: list[Any] = [None] * len(outputs)
            for place, grad in zip(places, grads, strict=True):
                found[place] = Tensor._of(grad)
            self._out = tuple(found)
            return grads

        replaced = self._replaced(outputs, places, passed)
        return replaced[0] if isinstance(made, Tensor) else replaced

    def _replaced(self, values: tuple[Any, ...], places: list[int], passed: Callable[..., Any]) -> tuple[Any, ...]:
        given = list(values)
        arrays = passing([given[place]._array for place in places], passed)
        for place, array in zip(places, arrays, strict=True):
            given[place] = Tensor._of(array, Link([values[place]._link], name=type(self._module).__name__))
        return tuple(given)
