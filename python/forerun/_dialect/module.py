"""Modules: objects that hold parameters and other modules by attribute, and can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from forerun._dialect.tensor import Tensor
from forerun._forerun import ndarray
from forerun._missing import lacking

_M = TypeVar("_M", bound="Module")
# The dicts that hold what is registered.
_KINDS = ("_parameters", "_buffers", "_modules")


class Module:
    """Base class of the dialects' modules.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode; ``train`` and ``eval`` set it for this module and its children.

    Examples
    --------
    >>> from forerun.torch import nn
    >>> net = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
    >>> [name for name, parameter in net.named_parameters()]
    ['0.weight', '0.bias']
    """

    training: bool
    _parameters: dict[str, Tensor]
    _modules: dict[str, Module]
    _buffers: dict[str, Tensor | None]
    _transient: set[str]
    # The class whose instances become parameters when they are set as attributes.
    _parameter: ClassVar[type[Tensor]]
    _hints: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_buffers", {})
        object.__setattr__(self, "_modules", {})
        # The buffers that are not part of the state.
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "training", True)

    def __setattr__(self, name: str, value: Any) -> None:
        """Register parameters, modules and new values of buffers; set anything else."""
        own = self.__dict__
        if isinstance(value, (self._parameter, Module)):
            if "_parameters" not in own:
                raise AttributeError(
                    f"{type(self).__name__}.__init__ sets {name!r} before super().__init__() was called"
                )
            self._forget(name)
            own["_parameters" if isinstance(value, Tensor) else "_modules"][name] = value
        elif name in own.get("_buffers", ()) and (value is None or isinstance(value, Tensor)):
            own["_buffers"][name] = value
        else:
            for kind in ("_parameters", "_modules"):
                own.get(kind, {}).pop(name, None)
            object.__setattr__(self, name, value)

    def _forget(self, name: str) -> None:
        """Remove whatever has a name."""
        for kind in _KINDS:
            self.__dict__.get(kind, {}).pop(name, None)
        self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Find a parameter, a buffer or a module."""
        own = self.__dict__
        for kind in _KINDS:
            if name in own.get(kind, ()):
                return own[kind][name]
        names = [*dir(type(self)), *own, *(key for kind in _KINDS for key in own.get(kind, ()))]
        raise lacking(f"{type(self).__name__!r} object", name, names, self._hints)

    def __delattr__(self, name: str) -> None:
        """Remove a parameter, a buffer, a module or anything else."""
        if any(name in self.__dict__.get(kind, ()) for kind in _KINDS):
            self._forget(name)
            return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        """List the names, including parameters, buffers and modules."""
        return sorted({*object.__dir__(self), *(key for kind in _KINDS for key in self.__dict__.get(kind, ()))})

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Give this module a tensor that is no parameter: it moves with the module, and is part of its state."""
        if not isinstance(tensor, (Tensor, type(None))):
            raise TypeError(f"register_buffer: {name!r} must be a tensor or None, not a {type(tensor).__name__}")
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"register_buffer: there is an attribute {name!r} already")
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Compute the module's function."""
        return self.forward(*inputs, **options)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Compute the module's function. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the modules directly below, with their names."""
        return iter(list(self._modules.items()))

    def children(self) -> Iterator[Module]:
        """Iterate over the modules directly below."""
        return (child for _, child in self.named_children())

    def _tree(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Iterate over this module and all below, each once, with their paths."""
        seen: set[int] = set()

        def walk(path: str, module: Module) -> Iterator[tuple[str, Module]]:
            if id(module) in seen:
                return
            seen.add(id(module))
            yield path, module
            for name, child in module.named_children():
                yield from walk(f"{path}.{name}" if path else name, child)

        return walk(prefix, self)

    def _named(self, kind: str, prefix: str, recurse: bool = True, repeated: bool = False) -> Iterator[tuple[str, Any]]:
        """Iterate over the parameters or buffers here and below, each once, with their paths."""
        seen: set[int] = set()
        tree = self._tree(prefix) if recurse else iter([(prefix, self)])
        for path, module in tree:
            for name, tensor in module.__dict__[kind].items():
                if tensor is not None and (repeated or id(tensor) not in seen):
                    seen.add(id(tensor))
                    yield (f"{path}.{name}" if path else name), tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over the parameters here and below, each once, with their paths."""
        return self._named("_parameters", prefix, recurse, not remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Iterate over the buffers here and below, each once, with their paths."""
        return self._named("_buffers", prefix, recurse, not remove_duplicate)

    def _state(self, prefix: str = "") -> dict[str, Any]:
        """Return the parameters and persistent buffers by their paths, also repeated ones."""
        found: dict[str, Any] = {}
        for path, module in self._paths(prefix):
            lead = f"{path}." if path else ""
            parts = {**module._parameters, **module._buffers}
            found |= {
                lead + name: part for name, part in parts.items() if part is not None and name not in module._transient
            }
        return found

    def _paths(self, path: str) -> Iterator[tuple[str, Module]]:
        """Iterate over this module and all below, a module under each of its paths."""
        yield path, self
        for name, child in self.named_children():
            yield from child._paths(f"{path}.{name}" if path else name)

    def _move(self, change: Callable[[Any], Any]) -> None:
        """Replace the array of every parameter and buffer; the tensors stay the same objects."""
        for _, tensor in [*self._named("_parameters", ""), *self._named("_buffers", "")]:
            moved = change(tensor.detach())
            if moved._array.dtype != tensor.dtype or moved._array.device != tensor._array.device:
                asks = tensor._link is not None
                tensor._ask(False)
                tensor._array = moved._array
                tensor._ask(asks)

    def apply(self: _M, function: Callable[[Any], Any]) -> _M:
        """Call a function with every module below, then with this one."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def train(self: _M, mode: bool = True) -> _M:
        """Set training mode for this module and its children."""
        for _, module in self._tree():
            module.training = mode
        return self

    def eval(self: _M) -> _M:
        """Set evaluation mode for this module and its children."""
        return self.train(False)

    def state_dict(self) -> dict[str, Any]:
        """Return parameters and buffers by their paths, detached: they share their elements with the module."""
        return {path: tensor.detach() for path, tensor in self._state().items()}

    def _load(self, state: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Copy elements into parameters and buffers; return missing and unexpected paths."""
        own = self._state()
        for path, tensor in own.items():
            if path in state and tuple(state[path].shape) != tuple(tensor.shape):
                raise RuntimeError(
                    f"{path}: shapes differ: {tuple(state[path].shape)} is given, {tuple(tensor.shape)} is there"
                )
        for path, tensor in own.items():
            if path in state:
                value = state[path]
                given = value._array if isinstance(value, Tensor) else value
                if isinstance(given, ndarray) and given.device != tensor._array.device:
                    given = given.as_in_ctx(tensor._array.device)
                tensor._array[...] = given
        return [path for path in own if path not in state], [path for path in state if path not in own]

    def extra_repr(self) -> str:
        """Return the text between the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        """Write the module and those below it."""
        if not self._modules:
            return f"{type(self).__name__}({self.extra_repr()})"
        below = "\n".join(f"({name}): {child!r}" for name, child in self._modules.items())
        indented = "\n".join("  " + line for line in below.split("\n"))
        return f"{type(self).__name__}(\n{indented}\n)"


class Sequential(Module):
    """A sequence of modules; a mixin for a dialect's own class."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named: list[tuple[str, Any]] = list(modules[0].items())
        else:
            named = [m if isinstance(m, tuple) else (str(i), m) for i, m in enumerate(modules)]
        for name, module in named:
            if not isinstance(module, Module):
                raise TypeError(f"Sequential: {name!r} is a {type(module).__name__}, not a module")
            self._modules[str(name)] = module

    def forward(self, x: Any) -> Any:
        """Pass a value through all modules."""
        for child in self._modules.values():
            x = child(x)
        return x

    def append(self: _M, module: Module) -> _M:
        """Add a module at the end."""
        self._modules[str(len(self._modules))] = module
        return self

    def __len__(self) -> int:
        """Return the number of modules."""
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the modules."""
        return iter(list(self._modules.values()))

    def __getitem__(self, index: Any) -> Any:
        """Return one module, or some of them."""
        if isinstance(index, str):
            return self._modules[index]
        chosen = list(self._modules.values())[index]
        return type(self)(*chosen) if isinstance(index, slice) else chosen
