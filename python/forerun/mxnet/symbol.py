"""``mxnet.symbol``: the class that programs test for with ``isinstance``. Nothing is an instance of it.

Blocks are captured by ``hybridize()``; there are no symbolic graphs to build by hand.
"""

from __future__ import annotations

from typing import Any

from forerun._missing import lacking as _lacking

__all__ = ["Symbol"]


class Symbol:
    """A symbolic expression. There are none.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> isinstance(mx.np.ones((1,)), mx.sym.Symbol)
    False
    """

    def __new__(cls, *args: Any, **named: Any) -> Symbol:
        """Raise an error that names the alternative."""
        raise TypeError("Symbol: there are no symbolic graphs; hybridize() captures blocks")


class _internal:
    """The base class of symbols, under its own name."""

    SymbolBase = Symbol


def __getattr__(name: str) -> Any:
    """Raise an error that names the alternative."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    hint = "there are no symbolic graphs; write a HybridBlock and call hybridize()"
    raise _lacking(f"module {__name__!r}", name, __all__, {name: hint})
