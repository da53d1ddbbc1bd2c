"""What a dialect says of a name it does not have: the nearest one that exists."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# Up to so many names are all told when none of them is near.
_FEW = 25


def lacking(owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> AttributeError:
    """Make the error for a name that is not there.

    Parameters
    ----------
    owner : str
        What was asked for the name, such as ``forerun.torch``.
    name : str
        The name.
    names : iterable of str
        The names there are.
    hints : mapping
        Written answers for names whose nearest neighbour would mislead.

    Examples
    --------
    >>> from forerun._dialect.missing import lacking
    >>> lacking("forerun.torch", "ranb", ["rand", "zeros"], {})
    AttributeError("forerun.torch has no 'ranb'; the nearest that exists is 'rand'")
    >>> lacking("forerun.torch", "jit", [], {"jit": "plain calls are planned and fused already"})
    AttributeError("forerun.torch has no 'jit': plain calls are planned and fused already")
    >>> lacking("forerun.torch.utils", "tensorboard", ["data"], {})
    AttributeError("forerun.torch.utils has no 'tensorboard'; it has data")
    """
    message = f"{owner} has no {name!r}"
    if name in hints:
        return AttributeError(f"{message}: {hints[name]}")
    public = [known for known in names if not known.startswith("_")]
    near = difflib.get_close_matches(name, public, n=1)
    if near:
        message += f"; the nearest that exists is {near[0]!r}"
    elif len(public) <= _FEW:
        message += f"; it has {', '.join(public)}"
    return AttributeError(message)


def module_getattr(module: str, names: Mapping[str, Any], hints: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module.

    Examples
    --------
    >>> from forerun._dialect.missing import module_getattr
    >>> module_getattr("forerun.torch", {"zeros": 0}, {})("zeroes")
    Traceback (most recent call last):
        ...
    AttributeError: forerun.torch has no 'zeroes'; the nearest that exists is 'zeros'
    """

    def getattribute(name: str) -> Any:
        # The interpreter itself asks modules for dunder names; it needs no advice.
        if name.startswith("__"):
            raise AttributeError(f"{module} has no {name!r}")
        raise lacking(module, name, names.get("__all__", names), hints)

    return getattribute
