"""Errors about missing names: they suggest the nearest name, or the module that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

# If no name is near, up to this many names are listed.
_FEW = 25
# The required similarity, and a stricter one if the first letters differ: `sum` is not a correction of `einsum`.
_ALIKE, _VERY_ALIKE = 0.72, 0.85
# The modules that may have a missing name, the most likely first.
_MODULES = (
    "forerun.np",
    "forerun.npx",
    "forerun.gluon.nn",
    "forerun.gluon",
    "forerun.gluon.loss",
    "forerun.np.linalg",
    "forerun.np.random",
    "forerun.np.fft",
    "forerun.autograd",
    "forerun.init",
    "forerun.optimizer",
    "forerun.lr_scheduler",
    "forerun.gluon.data",
    "forerun.gluon.utils",
    "forerun.engine",
    "forerun",
)


class MissingName(AttributeError):
    """The error for a missing name. The suggestion is computed lazily: failed lookups are frequent in imports."""

    def __init__(self, owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> None:
        super().__init__()
        self._looked = (owner, name, names, hints)

    def __str__(self) -> str:
        return _text(*self._looked)

    def __repr__(self) -> str:
        return f"AttributeError({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


def lacking(owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> AttributeError:
    """Make the error for a missing name.

    Parameters
    ----------
    owner : str
        The object that lacks the name, such as ``module 'forerun.torch'``.
    name : str
        The name.
    names : iterable of str
        The existing names.
    hints : mapping
        Suggestions for names whose nearest neighbour would mislead.

    Examples
    --------
    >>> from forerun._missing import lacking
    >>> lacking("module 'forerun.torch'", "ranb", ["rand", "zeros"], {})
    AttributeError("module 'forerun.torch' has no attribute 'ranb'; did you mean 'rand'?")
    >>> lacking("module 'forerun.torch'", "einsum", ["sum", "zeros"], {})
    AttributeError("module 'forerun.torch' has no attribute 'einsum'; forerun.np has it")
    >>> lacking("module 'forerun.torch'", "jit", [], {"jit": "plain calls are planned and fused already"})
    AttributeError("module 'forerun.torch' has no attribute 'jit': plain calls are planned and fused already")
    >>> lacking("module 'forerun.torch.utils'", "tensorboard", ["data"], {})
    AttributeError("module 'forerun.torch.utils' has no attribute 'tensorboard'; it has data")
    """
    return MissingName(owner, name, names, hints)


def _text(owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> str:
    message = f"{owner} has no attribute {name!r}"
    if name in hints:
        return f"{message}: {hints[name]}"
    # Public names only, each once, ignoring case.
    public = sorted({known for known in names if not known.startswith("_")})
    same = [known for known in public if known.lower() == name.lower()]
    if same:
        return f"{message}; did you mean {same[0]!r}?"
    for module in _MODULES:
        found = [known for known in _names_of(module) if known.lower() == name.lower()]
        if found and f"'{module}'" not in owner:
            return f"{message}; {module} has {'it' if name in found else repr(found[0])}"
    near = _nearest(name, public)
    if near is not None:
        return f"{message}; did you mean {near!r}?"
    return f"{message}; it has {', '.join(public)}" if 0 < len(public) <= _FEW else message


def _nearest(name: str, public: Iterable[str]) -> str | None:
    """Return the nearest name, if it is near enough."""
    import difflib

    folded = {known.lower(): known for known in public}
    for close in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=_ALIKE):
        alike = difflib.SequenceMatcher(None, name.lower(), close).ratio()
        if close[0] == name[0].lower() or alike >= _VERY_ALIKE:
            return folded[close]
    return None


def _names_of(module: str) -> Iterable[str]:
    import importlib

    names: Iterable[str] = importlib.import_module(module).__all__
    return names


def module_getattr(module: str, names: Mapping[str, Any], hints: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module.

    Examples
    --------
    >>> from forerun._missing import module_getattr
    >>> module_getattr("forerun.torch", {"zeros": 0}, {})("zeroes")
    Traceback (most recent call last):
        ...
    forerun._missing.MissingName: module 'forerun.torch' has no attribute 'zeroes'; did you mean 'zeros'?
    """

    def getattribute(name: str) -> Any:
        # The interpreter itself looks up dunder names, which need no suggestion.
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise lacking(f"module {module!r}", name, names.get("__all__", names), hints)

    return getattribute
