"""Blocks composed of other blocks or of functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon.block import Block
from forerun.gluon.functions import F
from forerun.gluon.hybrid import HybridBlock

__all__ = [
    "Concatenate",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "Lambda",
    "Sequential",
]

_Self = TypeVar("_Self", bound="_Listed")
_Joined = TypeVar("_Joined", bound="Concatenate")


class _Listed(Block):
    """A block whose children are a list."""

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        """Iterate over the blocks."""
        return iter(self._children.values())

    def __getitem__(self: _Self, key: int | slice) -> Any:
        """Return one block, or a container of some."""
        chosen = list(self._children.values())[key]
        if isinstance(chosen, Block):
            return chosen
        part = self._empty()
        part.add(*chosen)
        return part

    def _empty(self: _Self) -> _Self:
        return type(self)()


class Sequential(_Listed):
    """A sequence of blocks.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> net = nn.Sequential()
    >>> net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    >>> net.initialize()
    >>> net(np.ones((3, 5))).shape
    (3, 2)
    >>> net
    Sequential(
      (0): Dense(5 -> 4, Activation(relu))
      (1): Dense(4 -> 2, linear)
    )
    """

    def forward(self, x: Any, *more: Any) -> Any:
        """Call the blocks in turn; additional arguments go to the first block only."""
        for block in self._children.values():
            x = block(x, *more)
            more = ()
            if isinstance(x, (tuple, list)):
                x, *rest = x
                more = tuple(rest)
        return (x, *more) if more else x


class HybridSequential(Sequential, HybridBlock):
    """A sequence of blocks that can be captured as one.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4), nn.Dense(2))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(np.ones((3, 5))).shape
    (3, 2)
    """


class Concatenate(_Listed):
    """Call every block on the same input and concatenate the results along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> both = nn.Concatenate(axis=1)
    >>> both.add(nn.Identity(), nn.Lambda(lambda x: x * 2))
    >>> both(np.ones((1, 2)))
    array([[1., 1., 2., 2.]])
    """

    def __init__(self, axis: int = -1, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.axis = axis

    def _empty(self: _Joined) -> _Joined:
        return type(self)(self.axis)

    def forward(self, x: Any) -> ndarray:
        """Call every block and concatenate the results."""
        return np.concatenate([block(x) for block in self._children.values()], axis=self.axis)


class HybridConcatenate(Concatenate, HybridBlock):
    """Call every block on the same input and concatenate the results, captured as one.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> both = nn.HybridConcatenate(axis=0)
    >>> both.add(nn.Identity(), nn.Identity())
    >>> both(np.ones((1, 2))).shape
    (2, 2)
    """


class Lambda(Block):
    """A function as a block: a callable, or the name of one in ``np`` or ``npx``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.Lambda("tanh")(np.array([0.0]))
    array([0.])
    """

    def __init__(self, function: str | Callable[..., Any], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._function: Callable[..., Any]
        if isinstance(function, str):
            self._function = _named(function)
            self._title = function
        else:
            self._function = function
            self._title = getattr(function, "__name__", type(function).__name__)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Call the function."""
        return self._function(*inputs, **named)

    def __repr__(self) -> str:
        """Write the name of the function."""
        return f"{type(self).__name__}({self._title})"


class HybridLambda(HybridBlock):
    """A function as a block that can be captured: a name, or a callable.

    A callable whose first parameter is named ``F`` is given the namespace of functions there, as in MXNet 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.HybridLambda(lambda F, x: F.relu(x) + 1)(np.array([-1.0]))
    array([1.])
    """

    def __init__(self, function: str | Callable[..., Any], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._function: Callable[..., Any]
        self._takes_functions = False
        if isinstance(function, str):
            self._function = _named(function)
            self._title = function
        else:
            self._function = function
            self._takes_functions = _takes_functions(function)
            self._title = getattr(function, "__name__", type(function).__name__)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Call the function."""
        if self._takes_functions:
            return self._function(F, *inputs, **named)
        return self._function(*inputs, **named)

    def __repr__(self) -> str:
        """Write the name of the function."""
        return f"{type(self).__name__}({self._title})"


class Identity(HybridBlock):
    """Return the input.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> x = np.ones((2,))
    >>> nn.Identity()(x) is x
    True
    """

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x


def _takes_functions(function: Callable[..., Any]) -> bool:
    """Return whether the first parameter is named ``F``."""
    try:
        return next(iter(inspect.signature(function).parameters), None) == "F"
    except ValueError:
        return False


def _named(name: str) -> Callable[..., Any]:
    for module in (npx, np):
        found = getattr(module, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    raise ValueError(f"no function {name!r} in np or npx")
