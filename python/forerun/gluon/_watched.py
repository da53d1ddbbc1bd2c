"""Tracks everything that a block's code reads besides inputs and arrays, to renew a capture when it changes.

A rebound attribute is noticed when it is set, which costs a replay nothing. Everything else is compared before each
replay: global variables, variables of enclosing functions, class attributes, and the contents of lists, dictionaries
and other objects. The package's own layers read none of these.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from forerun._forerun import ndarray
from forerun.gluon.parameter import Parameter

# Larger containers and NumPy arrays are not compared before every call.
_MOST_ITEMS = 1000
_MOST_BYTES = 4096
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MISSING = object()
# Attributes that blocks use internally.
_INTERNAL = frozenset(
    {
        "_active",
        "_captured",
        "_changes",
        "_children",
        "_example",
        "_forward_hooks",
        "_forward_pre_hooks",
        "_given",
        "_kept",
        "_op_hooks",
        "_plain",
    }
    | {"_prefix", "_reg_params", "_settled", "_traced_at", "_traces", "_watched"}
)


class Incomparable(Exception):
    """The code reads something that cannot be compared between calls; the message names it."""


class Watched(NamedTuple):
    """A name in a namespace, its value, and a comparable copy of its contents, if they may change."""

    where: str
    look: Callable[[], Any]
    value: Any
    form: Any


def changed(watched: Iterable[Watched]) -> str | None:
    """Return the name of the first value that has changed."""
    for where, look, value, form in watched:
        now = look()
        if now is value and form is None:
            continue
        if not is_same(now, value) if form is None else _form(now, where) != form:
            return where
    return None


def watch(blocks: Iterable[Any]) -> list[Watched]:
    """List what the computations of blocks read."""
    found: dict[tuple[int, str], Watched] = {}
    for block in blocks:
        kind: Any = type(block)
        names, functions = _reached(kind)
        held = vars(block)
        given = {held[name] for name in names if isinstance(held.get(name), FunctionType)}
        _follow(functions | given, found)
        if _is_own(type(block)):
            continue
        owner = type(block).__name__
        for name in sorted(names - _INTERNAL):
            where = f"attribute {name} of {owner}"
            if name in held:
                # Setting an attribute of a block is detected directly, but its contents may still change.
                _add(found, where, held, name, inside_only=True)
                continue
            base = next((base for base in type(block).__mro__ if name in vars(base)), None)
            if base is not None and not _is_own(base):
                _add(found, where, vars(base), name)
    return list(found.values())


def reads(kind: Any, name: str) -> bool:
    """Return whether the computation of a kind of block reads an attribute of that name."""
    return name in _reached(kind)[0]


def is_same(one: Any, other: Any) -> bool:
    """Return whether values are the same object, or equal numbers or strings of one type."""
    return one is other or (type(one) is type(other) and type(one) in _PLAIN and repr(one) == repr(other))


@functools.lru_cache(1024)
def _reached(kind: Any) -> tuple[frozenset[str], frozenset[FunctionType]]:
    """List the attributes that ``forward`` of a class names, with all methods it reaches, and their functions."""
    names: set[str] = set()
    functions: set[FunctionType] = set()
    left = ["forward", "hybrid_forward"]
    while left:
        name = left.pop()
        method = getattr(kind, name, None)
        if isinstance(method, property):
            method = method.fget
        if isinstance(method, FunctionType) and method not in functions:
            functions.add(method)
            more = {name for code in _codes(method.__code__) for name in code.co_names} - names
            names |= more
            left += sorted(more)
    return frozenset(names), frozenset(functions)


def _follow(functions: Iterable[FunctionType], found: dict[tuple[int, str], Watched]) -> None:
    """Watch the global and enclosing variables of functions and of the functions they call."""
    seen: set[FunctionType] = set()
    left = list(functions)
    while left:
        function = left.pop()
        if function in seen or _package(function) == "forerun":
            continue
        seen.add(function)
        where = function.__qualname__
        for name in _globals_of(function.__code__):
            value = function.__globals__.get(name, _MISSING)
            # A missing name is a builtin, or the call fails.
            if value is _MISSING or isinstance(value, (ModuleType, type)):
                continue
            _add(found, f"global variable {name} of {where}", function.__globals__, name)
            if isinstance(value, FunctionType) and _package(value) == _package(function):
                left.append(value)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            look = functools.partial(getattr, cell, "cell_contents", _MISSING)
            value = look()
            found[id(cell), name] = Watched(f"variable {name} of {where}", look, value, _inside(value, where))
            if isinstance(value, FunctionType) and _package(value) == _package(function):
                left.append(value)


def _package(of: Any) -> str:
    """Return the package that a function or a class belongs to."""
    return str(of.__module__).split(".")[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@functools.lru_cache(1024)
def _globals_of(code: CodeType) -> frozenset[str]:
    instructions = (one for each in _codes(code) for one in dis.get_instructions(each))
    return frozenset(one.argval for one in instructions if one.opname == "LOAD_GLOBAL")


def _add(
    found: dict[tuple[int, str], Watched],
    where: str,
    space: Mapping[str, Any],
    name: str,
    *,
    inside_only: bool = False,
) -> None:
    value = space.get(name, _MISSING)
    inside = _inside(value, where)
    if inside is not None or not inside_only:
        found[id(space), name] = Watched(where, functools.partial(space.get, name, _MISSING), value, inside)


def _inside(value: Any, where: str) -> Any:
    """Return a comparable copy of a value's mutable contents; None for an immutable value."""
    if type(value) in _PLAIN or _is_known(value):
        return None
    return _form(value, where)


def _is_known(value: Any) -> bool:
    """Return whether a value is compared by identity: arrays, blocks, code, and objects without contents."""
    if isinstance(value, (ndarray, Parameter, FunctionType, MethodType, ModuleType, type)) or value is _MISSING:
        return True
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return False
    if hasattr(value, "_reg_params"):
        return True
    if hasattr(value, "__array_interface__"):
        return False
    # Settings are objects with plain values; other contents of objects are ignored.
    inside = (list, tuple, dict, set, frozenset, *_PLAIN)
    held = getattr(value, "__dict__", None)
    return _is_own(type(value)) or not held or not all(isinstance(item, inside) for item in held.values())


def _is_own(kind: type[Any]) -> bool:
    return _package(kind) == "forerun"


def _form(value: Any, where: str) -> Any:
    """Return a comparable copy of a value's contents."""
    left = [_MOST_ITEMS]

    def form(value: Any, above: tuple[int, ...]) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Incomparable(f"{where} has more than {_MOST_ITEMS} items, too many to compare at every call")
        kind = type(value)
        if kind in _PLAIN:
            # Compare type and sign: 1 == True and 0.0 == -0.0, and NaN differs from itself.
            return kind, repr(value) if kind in (float, complex) else value
        if id(value) in above:
            return "above", above.index(id(value))
        above = (*above, id(value))
        if isinstance(value, (list, tuple)):
            return kind, tuple([form(item, above) for item in value])
        if isinstance(value, dict):
            return kind, tuple([(form(key, above), form(item, above)) for key, item in value.items()])
        if isinstance(value, (set, frozenset)):
            return kind, frozenset([form(item, above) for item in value])
        if _is_known(value):
            return "this", _Same(value)
        if hasattr(value, "__array_interface__"):
            if value.nbytes > _MOST_BYTES:
                raise Incomparable(f"{where} is a NumPy array of {value.nbytes} bytes, too many to compare each time")
            return kind, str(value.dtype), value.shape, value.tobytes()
        return kind, _Same(value), form(vars(value), above)

    return form(value, ())


class _Same:
    """Compare an object by identity and keep it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value
