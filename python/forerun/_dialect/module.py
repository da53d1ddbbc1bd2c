"""Modules: objects that hold parameters and other modules by attribute, and can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from forerun._dialect.tensor import Tensor
from forerun._missing import lacking

_M = TypeVar("_M", bound="Module")


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
    _children: dict[str, Module]
    # The class whose instances become parameters when they are set as attributes.
    _parameter: ClassVar[type[Tensor]]
    _hints: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_children", {})
        object.__setattr__(self, "training", True)

    def __setattr__(self, name: str, value: Any) -> None:
        """Register parameters and modules; set anything else."""
        own = self.__dict__
        if isinstance(value, (self._parameter, Module)) and "_parameters" not in own:
            raise AttributeError(f"{type(self).__name__}.__init__ sets {name!r} before super().__init__() was called")
        for kind in ("_parameters", "_children"):
            own.get(kind, {}).pop(name, None)
        if isinstance(value, (self._parameter, Module)):
            own.pop(name, None)
            own["_parameters" if isinstance(value, Tensor) else "_children"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Find a parameter or a module."""
        own = self.__dict__
        for kind in ("_parameters", "_children"):
            if name in own.get(kind, {}):
                return own[kind][name]
        names = [*dir(type(self)), *own, *own.get("_parameters", {}), *own.get("_children", {})]
        raise lacking(f"{type(self).__name__!r} object", name, names, self._hints)

    def __delattr__(self, name: str) -> None:
        """Remove a parameter, a module or anything else."""
        for kind in ("_parameters", "_children"):
            if name in self.__dict__.get(kind, {}):
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Compute the module's function."""
        return self.forward(*inputs, **options)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Compute the module's function. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the modules directly below, with their names."""
        return iter(list(self._children.items()))

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

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Iterate over the parameters here and below, each once, with their paths."""
        seen: set[int] = set()
        for path, module in self._tree(prefix):
            for name, parameter in module._parameters.items():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{path}.{name}" if path else name), parameter

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
        """Return the parameters by their paths, detached: they share their elements with the module."""
        return {path: parameter.detach() for path, parameter in self.named_parameters()}

    def _load(self, state: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Copy elements into the parameters; return the paths missing from ``state`` and the unexpected ones."""
        own = dict(self.named_parameters())
        for path, parameter in own.items():
            if path in state and tuple(state[path].shape) != tuple(parameter.shape):
                raise RuntimeError(
                    f"{path}: shapes differ: {tuple(state[path].shape)} is given, {tuple(parameter.shape)} is there"
                )
        for path, parameter in own.items():
            if path in state:
                value = state[path]
                parameter._array[...] = value._array if isinstance(value, Tensor) else value
        return [path for path in own if path not in state], [path for path in state if path not in own]

    def extra_repr(self) -> str:
        """Return the text between the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        """Write the module and those below it."""
        if not self._children:
            return f"{type(self).__name__}({self.extra_repr()})"
        below = "\n".join(f"({name}): {child!r}" for name, child in self._children.items())
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
            self._children[str(name)] = module

    def forward(self, x: Any) -> Any:
        """Pass a value through all modules."""
        for child in self._children.values():
            x = child(x)
        return x

    def append(self: _M, module: Module) -> _M:
        """Add a module at the end."""
        self._children[str(len(self._children))] = module
        return self

    def __len__(self) -> int:
        """Return the number of modules."""
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the modules."""
        return iter(list(self._children.values()))

    def __getitem__(self, index: Any) -> Any:
        """Return one module, or some of them."""
        if isinstance(index, str):
            return self._children[index]
        chosen = list(self._children.values())[index]
        return type(self)(*chosen) if isinstance(index, slice) else chosen
