"""Blocks that add losses of their own, such as divergences of latent variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from forerun.gluon.block import Block
from forerun.gluon.hybrid import HybridBlock

__all__ = ["StochasticBlock", "StochasticSequential"]

_Forward = TypeVar("_Forward", bound=Callable[..., Any])


class StochasticBlock(HybridBlock):
    """A block whose ``forward`` may call ``add_loss``; ``losses`` has what the last call added.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> class Sample(probability.StochasticBlock):
    ...     @probability.StochasticBlock.collectLoss
    ...     def forward(self, loc):
    ...         normal = probability.Normal(loc, 1.0)
    ...         self.add_loss(probability.kl_divergence(normal, probability.Normal(0.0, 1.0)))
    ...         return normal.sample()
    >>> net = Sample()
    >>> net(np.ones((2,))).shape
    (2,)
    >>> net.losses
    [array([0.5, 0.5])]
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._losses: list[Any] = []
        self._added: list[Any] = []

    def add_loss(self, loss: Any) -> None:
        """Add a loss; for ``forward``."""
        self._added.append(loss)

    @staticmethod
    def collectLoss(func: _Forward) -> _Forward:
        """Decorate a ``forward`` that adds losses."""

        @wraps(func)
        def collecting(self: StochasticBlock, *inputs: Any, **named: Any) -> Any:
            self._added.clear()
            out = func(self, *inputs, **named)
            added = list(self._added)
            self._added.clear()
            return out, added

        collecting._collects = True  # type: ignore[attr-defined]
        return collecting  # type: ignore[return-value]

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Run the block, and set ``losses``."""
        if not getattr(type(self).forward, "_collects", False):
            kind = type(self).__name__
            raise ValueError(f"{kind}: forward must be decorated with StochasticBlock.collectLoss")
        out, added = super().__call__(*inputs, **named)
        # Not an attribute of the computation, which would have to be traced again.
        self.__dict__["_losses"] = list(added)
        return out

    @property
    def losses(self) -> list[Any]:
        """The losses that the last call added."""
        return self._losses


class StochasticSequential(StochasticBlock):
    """Blocks in a sequence; ``losses`` has a list for each stochastic block.

    Examples
    --------
    >>> from forerun.gluon import nn, probability
    >>> net = probability.StochasticSequential()
    >>> net.add(nn.Dense(2), nn.Dense(1))
    >>> len(net)
    2
    """

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    @StochasticBlock.collectLoss
    def forward(self, x: Any, *more: Any) -> Any:
        """Run the blocks in order."""
        for block in self._children.values():
            x = block(x, *more)
            more = ()
            if isinstance(x, (tuple, list)):
                x, more = x[0], tuple(x[1:])
            if isinstance(block, StochasticBlock):
                self.add_loss(block.losses)
        return (x, *more) if more else x

    def __getitem__(self, key: int | slice) -> Any:
        """Return a block, or a sequence of blocks for a slice."""
        found = list(self._children.values())[key]
        if not isinstance(found, list):
            return found
        net = type(self)()
        net.add(*found)
        return net

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._children)
