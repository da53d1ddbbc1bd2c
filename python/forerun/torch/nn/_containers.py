"""Modules that hold others, or parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from forerun._dialect.module import Sequential as _Sequential
from forerun.torch._tensor import Parameter, Tensor
from forerun.torch.nn._module import Module

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

_L = TypeVar("_L", bound="_Listed")


class Sequential(_Sequential, Module):
    """A sequence of modules.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch import nn
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(6, 1))
    >>> net(torch.ones(4, 2, 3)).shape
    torch.Size([4, 1])
    """

    def __setitem__(self, index: int, module: Module) -> None:
        """Replace a module."""
        self._modules[list(self._modules)[index]] = module

    def __delitem__(self, index: int | slice) -> None:
        """Remove modules, and number the rest again."""
        kept = list(self._modules.values())
        del kept[index]
        self._modules.clear()
        self._modules.update({str(number): module for number, module in enumerate(kept)})

    def extend(self, modules: Iterable[Module]) -> Sequential:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Sequential:
        """Add a module before another."""
        kept = list(self._modules.values())
        kept.insert(index, module)
        self._modules.clear()
        self._modules.update({str(number): each for number, each in enumerate(kept)})
        return self


class _Listed(Module):
    """A list whose items are registered under their numbers."""

    def _items(self) -> dict[str, Any]:
        raise NotImplementedError

    def _place(self, index: int) -> str:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {count} items")
        return str(index % count)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items())

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the items."""
        return iter(list(self._items().values()))

    def __getitem__(self, index: Any) -> Any:
        """Return an item, or a list of some."""
        if isinstance(index, slice):
            return type(self)(list(self)[index])  # type: ignore[call-arg]
        return self._items()[self._place(index.__index__())]

    def __setitem__(self, index: int, value: Any) -> None:
        """Replace an item."""
        setattr(self, self._place(index), value)

    def __delitem__(self, index: int | slice) -> None:
        """Remove items, and number the rest again."""
        kept = list(self)
        del kept[index]
        self._items().clear()
        self.extend(kept)

    def __iadd__(self: _L, values: Iterable[Any]) -> _L:
        """Add items at the end."""
        return self.extend(values)

    def append(self: _L, value: Any) -> _L:
        """Add an item at the end."""
        setattr(self, str(len(self)), value)
        return self

    def extend(self: _L, values: Iterable[Any]) -> _L:
        """Add items at the end."""
        for value in values:
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> None:
        """Add an item before another."""
        kept = list(self)
        kept.insert(index, value)
        self._items().clear()
        self.extend(kept)


class ModuleList(_Listed):
    """A list of modules, whose parameters are part of the module that holds it.

    Examples
    --------
    >>> from forerun.torch import nn
    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def _items(self) -> dict[str, Any]:
        return self._modules

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        if not isinstance(module, Module):
            raise TypeError(f"ModuleList: {module!r} is not a module")
        return super().append(module)


class ParameterList(_Listed):
    """A list of parameters; tensors in it become parameters.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch import nn
    >>> weights = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(3)])
    >>> len(list(weights.parameters()))
    3
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def _items(self) -> dict[str, Any]:
        return self._parameters

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end."""
        return super().append(value if isinstance(value, Parameter) else Parameter(value))


class _Mapped(Module):
    """A dict whose items are registered under their keys."""

    def _items(self) -> dict[str, Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(list(self._items()))

    def __contains__(self, key: object) -> bool:
        """Return whether there is a key."""
        return key in self._items()

    def __getitem__(self, key: str) -> Any:
        """Return an item."""
        return self._items()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        """Add or replace an item."""
        self._items()[key] = self._checked(value)

    def __delitem__(self, key: str) -> None:
        """Remove an item."""
        del self._items()[key]

    def _checked(self, value: Any) -> Any:
        raise NotImplementedError

    def update(self, items: Any) -> None:
        """Add or replace items."""
        for key, value in items.items() if isinstance(items, (Mapping, _Mapped)) else items:
            self[key] = value

    def keys(self) -> Any:
        """Return the keys."""
        return self._items().keys()

    def values(self) -> Any:
        """Return the items."""
        return self._items().values()

    def items(self) -> Any:
        """Return keys and items."""
        return self._items().items()

    def pop(self, key: str) -> Any:
        """Remove an item and return it."""
        return self._items().pop(key)

    def clear(self) -> None:
        """Remove all items."""
        self._items().clear()


class ModuleDict(_Mapped):
    """A dict of modules, whose parameters are part of the module that holds it.

    Examples
    --------
    >>> from forerun.torch import nn
    >>> heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 3)})
    >>> [name for name, _ in heads.named_parameters()]
    ['a.weight', 'a.bias', 'b.weight', 'b.bias']
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def _items(self) -> dict[str, Any]:
        return self._modules

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, Module):
            raise TypeError(f"ModuleDict: {value!r} is not a module")
        return value


class ParameterDict(_Mapped):
    """A dict of parameters; tensors in it become parameters.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch import nn
    >>> list(nn.ParameterDict({"a": torch.ones(2)}).keys())
    ['a']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def _items(self) -> dict[str, Any]:
        return self._parameters

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise TypeError(f"ParameterDict: {value!r} is not a tensor")
        return value if isinstance(value, Parameter) else Parameter(value)
