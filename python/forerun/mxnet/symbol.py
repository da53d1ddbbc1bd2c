"""``mxnet.symbol``: expressions of named variables, which are computed when they are bound to arrays.

An expression holds the functions of ``mxnet.nd``, ``np`` and ``npx`` that it consists of and calls them on arrays each
time: there is no separate graph. Shapes are inferred by computing with zeros.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from forerun import autograd
from forerun import np as _np
from forerun._forerun import Device, current_device, ndarray
from forerun._missing import lacking
from forerun.mxnet import name as _name

__all__ = ["Executor", "Group", "Symbol", "Variable", "var"]


def _evaluated(value: Any, given: Mapping[str, ndarray], memo: dict[int, Any]) -> Any:
    """Replace the symbols in a value by their values."""
    if isinstance(value, Symbol):
        if id(value) not in memo:
            memo[id(value)] = value._compute(given, memo)
        return memo[id(value)]
    if isinstance(value, (list, tuple)):
        return type(value)(_evaluated(each, given, memo) for each in value)
    return value


def _symbols(value: Any) -> list[Symbol]:
    if isinstance(value, Symbol):
        return [value]
    if isinstance(value, (list, tuple)):
        return [symbol for each in value for symbol in _symbols(each)]
    return []


class Symbol:
    """An expression: a variable, or a function of other expressions.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> (a * 2 + b).eval(a=mx.np.ones((2,)), b=mx.np.ones((2,)))
    [array([3., 3.])]
    """

    __array_priority__ = 1000.0

    def __init__(
        self, function: Callable[..., Any] | None, args: Sequence[Any], named: Mapping[str, Any], name: str
    ) -> None:
        self._function = function
        self._args = tuple(args)
        self._named = dict(named)
        self.name = name

    def _compute(self, given: Mapping[str, ndarray], memo: dict[int, Any]) -> Any:
        if self._function is None:
            if self.name not in given:
                raise ValueError(f"the variable {self.name!r} of the expression is given no array")
            return given[self.name]
        args = [_evaluated(each, given, memo) for each in self._args]
        named = {key: _evaluated(each, given, memo) for key, each in self._named.items()}
        return self._function(*args, **named)

    def _values(self, given: Mapping[str, ndarray]) -> list[ndarray]:
        """Return the outputs as a list."""
        made = _evaluated(self, given, {})
        return list(made) if isinstance(made, (list, tuple)) else [made]

    def list_arguments(self) -> list[str]:
        """Return the names of the variables, in the order in which the expression uses them."""
        found: dict[str, None] = {}
        seen: set[int] = set()

        def visit(symbol: Symbol) -> None:
            if id(symbol) in seen:
                return
            seen.add(id(symbol))
            if symbol._function is None:
                found[symbol.name] = None
            for each in _symbols(symbol._args) + _symbols(list(symbol._named.values())):
                visit(each)

        visit(self)
        return list(found)

    def list_auxiliary_states(self) -> list[str]:
        """Return an empty list: functions keep no states here."""
        return []

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return [f"{self.name}_output"]

    def infer_shape(self, **shapes: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the shapes of the variables, of the outputs and of states, from those of all variables."""
        names = self.list_arguments()
        outputs = self._values({key: _np.zeros(tuple(shapes[key])) for key in names})
        return [tuple(shapes[key]) for key in names], [each.shape for each in outputs], []

    def eval(self, ctx: Device | None = None, **arrays: ndarray) -> list[ndarray]:
        """Return the outputs for arrays by name."""
        return self._values(arrays)

    def bind(
        self,
        ctx: Device | None = None,
        args: Sequence[ndarray] | Mapping[str, ndarray] | None = None,
        args_grad: Sequence[ndarray] | Mapping[str, ndarray] | None = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        aux_states: Any = None,
    ) -> Executor:
        """Bind the variables to arrays, and their gradients to others."""
        names = self.list_arguments()
        return Executor(self, _by_name(names, args or {}), _by_name(names, args_grad or {}), _requests(names, grad_req))

    def simple_bind(self, ctx: Device | None = None, grad_req: Any = "write", **shapes: Any) -> Executor:
        """Bind the variables to new arrays of the given shapes."""
        place = current_device() if ctx is None else ctx
        arrays = {key: _np.zeros(tuple(shapes[key]), device=place) for key in self.list_arguments()}
        grads = {key: _np.zeros_like(array) for key, array in arrays.items()}
        return self.bind(place, arrays, grads, grad_req)

    _bind, _simple_bind = bind, simple_bind

    def as_np_ndarray(self) -> Symbol:
        """Return the expression: there is one kind of array."""
        return self

    as_nd_ndarray = as_np_ndarray

    def __getitem__(self, index: Any) -> Symbol:
        """Return an output, or a region."""
        return _call(operator.getitem, "getitem", (self, index), {})

    def __repr__(self) -> str:
        """Write the name."""
        return f"<Symbol {self.name}>"

    def __getattr__(self, method: str) -> Any:
        """Return a method of arrays as a function that makes an expression."""
        if method.startswith("__"):
            raise AttributeError(method)

        def called(*args: Any, **named: Any) -> Symbol:
            return _call(lambda x, *rest, **more: getattr(x, method)(*rest, **more), method, (self, *args), named)

        return called


def _operator(function: Callable[..., Any], swapped: bool = False) -> Callable[..., Symbol]:
    def method(self: Symbol, *others: Any) -> Symbol:
        operands = (*others, self) if swapped else (self, *others)
        return _call(function, function.__name__, operands, {})

    return method


for _each in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(Symbol, f"__{_each}__", _operator(getattr(operator, _each)))
    setattr(Symbol, f"__r{_each}__", _operator(getattr(operator, _each), swapped=True))
for _each in ("lt", "le", "gt", "ge", "neg", "abs"):
    setattr(Symbol, f"__{_each}__", _operator(getattr(operator, _each)))


class Executor:
    """An expression whose variables are bound to arrays.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x = mx.sym.Variable("x")
    >>> bound = (x * x).simple_bind(x=(2,))
    >>> bound.arg_dict["x"][:] = 3
    >>> bound.forward(is_train=True)
    [array([9., 9.])]
    >>> bound.backward()
    >>> bound.grad_dict["x"]
    array([6., 6.])
    """

    def __init__(
        self, symbol: Symbol, args: dict[str, ndarray], grads: dict[str, ndarray], requests: dict[str, str]
    ) -> None:
        missing = [key for key in symbol.list_arguments() if key not in args]
        if missing:
            raise ValueError(f"bind: no arrays are given for {', '.join(missing)}")
        self._symbol = symbol
        self.arg_dict = args
        self.grad_dict = {key: grads[key] for key in grads if requests[key] != "null"}
        self.aux_dict: dict[str, ndarray] = {}
        self.outputs: list[ndarray] = []
        wanted = list(self.grad_dict)
        autograd.mark_variables(
            [args[key] for key in wanted], [self.grad_dict[key] for key in wanted], [requests[key] for key in wanted]
        )

    @property
    def arg_arrays(self) -> list[ndarray]:
        """The arrays of the variables, in order."""
        return [self.arg_dict[key] for key in self._symbol.list_arguments()]

    @property
    def grad_arrays(self) -> list[ndarray | None]:
        """The gradients of the variables, in order."""
        return [self.grad_dict.get(key) for key in self._symbol.list_arguments()]

    def forward(self, is_train: bool = False, **arrays: Any) -> list[ndarray]:
        """Compute the outputs; arrays given by name are written into the bound ones before."""
        for key, array in arrays.items():
            self.arg_dict[key][...] = array
        if is_train:
            with autograd.record():
                self.outputs = self._symbol._values(self.arg_dict)
        else:
            with autograd.pause():
                self.outputs = self._symbol._values(self.arg_dict)
        return self.outputs

    def backward(self, out_grads: ndarray | Sequence[ndarray] | None = None) -> None:
        """Compute the gradients, after ``forward(is_train=True)``."""
        autograd.backward(self.outputs, out_grads)


def _by_name(names: Sequence[str], given: Any) -> dict[str, Any]:
    return dict(given) if isinstance(given, Mapping) else dict(zip(names, given, strict=True))


def _requests(names: Sequence[str], given: Any) -> dict[str, str]:
    if isinstance(given, str):
        return dict.fromkeys(names, given)
    return {**dict.fromkeys(names, "null"), **_by_name(names, given)}


def Variable(name: str, *args: Any, **named: Any) -> Symbol:
    """Return a variable: an expression that is given an array by name.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.sym.Variable("x").list_arguments()
    ['x']
    """
    if not isinstance(name, str):
        raise TypeError(f"Variable: the name must be a string, not {type(name).__name__}")
    return Symbol(None, (), {}, name)


var = Variable


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """Return an expression with several outputs.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x = mx.sym.Variable("x")
    >>> mx.sym.Group([x, x + 1]).eval(x=mx.np.ones((1,)))
    [array([1.]), array([2.])]
    """
    return _call(lambda *values: list(values), "group", tuple(symbols), {})


def _call(function: Callable[..., Any], hint: str, args: Sequence[Any], named: Mapping[str, Any]) -> Symbol:
    options = {key: value for key, value in named.items() if key not in ("name", "attr")}
    return Symbol(function, args, options, _name.current().get(named.get("name"), hint))


class _Functions:
    """The functions of a module, as functions that make expressions."""

    _Symbol = Symbol

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            return _Functions(found)
        if not callable(found):
            return found

        def called(*args: Any, **named: Any) -> Symbol:
            return _call(found, name, args, named)

        called.__name__ = name
        return called


class _internal:
    """The base class of symbols, under its own name."""

    SymbolBase = Symbol


def make_loss(data: Symbol, **named: Any) -> Symbol:
    """Return the expression itself: every output has a gradient."""
    return data


def __getattr__(name: str) -> Any:
    """Return a function of ``mxnet.nd``, or the namespaces ``np``, ``npx``, ``random`` and others."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from forerun.mxnet import ndarray as nd
    from forerun.mxnet import numpy, numpy_extension
    from forerun.mxnet.ndarray._names import hints

    spaces = {"np": numpy, "numpy": numpy, "npx": numpy_extension, "numpy_extension": numpy_extension}
    if name in spaces:
        return _Functions(spaces[name])
    try:
        return getattr(_Functions(nd), name)
    except AttributeError:
        raise lacking(f"module {__name__!r}", name, [*dir(nd), *__all__], hints) from None
