"""Initialisers of parameters.

An initialiser writes into an array. A custom class defines ``_init_weight(name, data)``.

Examples
--------
>>> from forerun import init
>>> from forerun.gluon import nn
>>> net = nn.Dense(2, in_units=3)
>>> net.initialize(init.Constant(0.5))
>>> net.weight.data()
array([[0.5, 0.5, 0.5],
       [0.5, 0.5, 0.5]])
"""

from __future__ import annotations

import json
import math
import re
import typing as _typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from forerun import _forerun
from forerun._forerun import ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun._recurrent import GATES
from forerun._types import ArrayLike

__all__ = [
    "Bilinear",
    "Constant",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "RNNFused",
    "Uniform",
    "Xavier",
    "Zero",
    "create",
    "register",
]

_Class = TypeVar("_Class", bound="type[Initializer]")
_BY_NAME: dict[str, type[Initializer]] = {}
# Distributions of random numbers; the last two are the same.
_KINDS = ("uniform", "gaussian", "normal")


def register(cls: _Class) -> _Class:
    """Register a class by its name in lower case.

    Examples
    --------
    >>> from forerun import init, np
    >>> @init.register
    ... class Half(init.Initializer):
    ...     def _init_weight(self, name, data):
    ...         data[:] = 0.5
    >>> x = np.zeros((2,))
    >>> init.create("half")("weight", x)
    >>> x
    array([0.5, 0.5])
    """
    _BY_NAME[cls.__name__.lower()] = cls
    return cls


def create(initializer: str | Initializer, **arguments: Any) -> Initializer:
    """Return an initialiser by its name, the one given, or the one that :meth:`Initializer.dumps` wrote.

    Examples
    --------
    >>> from forerun import init
    >>> init.create("xavier")
    Xavier(rnd_type='uniform', factor_type='avg', magnitude=3)
    >>> init.create(init.Normal(0.5).dumps())
    Normal(sigma=0.5)
    """
    if not isinstance(initializer, str):
        if arguments:
            raise ValueError(f"{initializer!r} already exists: arguments cannot be given")
        return initializer
    name = initializer
    if name.startswith("["):
        name, arguments = json.loads(initializer)
    cls = _BY_NAME.get(name.lower())
    if cls is None:
        raise ValueError(f"unknown initialiser {name!r}; available: {', '.join(sorted(_BY_NAME))}")
    return cls(**arguments)


class InitDesc(str):
    """The name of a parameter, with attributes.

    Parameters
    ----------
    name
        The name.
    attrs
        Attributes. ``"__init__"`` is the parameter's own initialiser, or its name.
    global_init
        The initialiser of the network.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.ones((2,))
    >>> init.Normal()(init.InitDesc("bias", {"__init__": "ones"}), x)
    >>> x
    array([1., 1.])
    """

    attrs: dict[str, Any]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: Mapping[str, Any] | None = None, global_init: Initializer | None = None
    ) -> InitDesc:
        """Make a name."""
        made = super().__new__(cls, name)
        made.attrs = dict(attrs or {})
        made.global_init = global_init
        return made


def _one_of(name: str, option: str, value: str, values: Sequence[str]) -> str:
    if value not in values:
        raise ValueError(f"{name}: {option} must be {' or '.join(map(repr, values))}, not {value!r}")
    return value


def _not_negative(name: str, option: str, value: float) -> float:
    if not value >= 0:
        raise ValueError(f"{name}: {option} must not be negative, got {value}")
    return value


class Initializer:
    """Base class of initialisers.

    Called with the name of a parameter and its array, it chooses by the end of the name: a bias, a beta or a running
    mean is set to zero, a gamma or a running variance to one; all others are initialised by ``_init_weight``.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.ones((2,))
    >>> init.Normal()("dense0_bias", x)
    >>> x
    array([0., 0.])
    """

    def __init__(self, **arguments: Any) -> None:
        self._arguments = arguments

    def __call__(self, name: str, data: ndarray) -> None:
        """Initialise an array according to the name of its parameter."""
        own = name.attrs.get("__init__") if isinstance(name, InitDesc) else None
        if own:
            create(own)._init_weight(name, data)
        elif name.endswith(("bias", "beta", "running_mean", "moving_mean")):
            data[...] = 0
        elif name.endswith(("gamma", "running_var", "moving_var")):
            data[...] = 1
        else:
            self._init_weight(name, data)

    def _init_weight(self, name: str, data: ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _init_weight")

    def dumps(self) -> str:
        """Return the name and the arguments as JSON, which :func:`create` reads."""
        return json.dumps([type(self).__name__.lower(), self._arguments])

    def __repr__(self) -> str:
        """Return the class and its arguments."""
        arguments = getattr(self, "_arguments", {})
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


@register
class Zero(Initializer):
    """Zeros.

    Examples
    --------
    >>> from forerun import init
    >>> init.Zero()
    Zero()
    """

    def _init_weight(self, name: str, data: ndarray) -> None:
        data[...] = 0


@register
class One(Initializer):
    """Ones.

    Examples
    --------
    >>> from forerun import init
    >>> init.One()
    One()
    """

    def _init_weight(self, name: str, data: ndarray) -> None:
        data[...] = 1


@register
class Constant(Initializer):
    """One number everywhere, or an array of the parameter's shape.

    Examples
    --------
    >>> from forerun import init
    >>> init.Constant(2)
    Constant(value=2)
    """

    def __init__(self, value: ArrayLike) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, data: ndarray) -> None:
        data[...] = self.value


@register
class Uniform(Initializer):
    """Uniformly distributed numbers between ``-scale`` and ``scale``.

    Examples
    --------
    >>> from forerun import init
    >>> init.Uniform(0.1)
    Uniform(scale=0.1)
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = _not_negative("Uniform", "scale", scale)

    def _init_weight(self, name: str, data: ndarray) -> None:
        _forerun.initialize(name, data, "uniform", self.scale)


@register
class Normal(Initializer):
    """Normally distributed numbers around zero with standard deviation ``sigma``.

    Examples
    --------
    >>> from forerun import init
    >>> init.Normal(sigma=0.5)
    Normal(sigma=0.5)
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = _not_negative("Normal", "sigma", sigma)

    def _init_weight(self, name: str, data: ndarray) -> None:
        _forerun.initialize(name, data, "normal", self.sigma)


@register
class Xavier(Initializer):
    """Random numbers whose scale keeps the size of activations and gradients about the same from layer to layer.

    The scale is ``sqrt(magnitude / factor)``: the bound of uniform numbers, or the standard deviation of normal
    numbers.

    Parameters
    ----------
    rnd_type
        ``"uniform"`` or ``"gaussian"``.
    factor_type
        The factor: the number of inputs (``"in"``), of outputs (``"out"``), or their mean (``"avg"``).
    magnitude
        The magnitude.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.zeros((100, 200))
    >>> init.Xavier()("weight", x)
    >>> bool(np.abs(x).max() <= 0.02**0.5)
    True
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        name = type(self).__name__
        self.rnd_type = _one_of(name, "rnd_type", rnd_type, _KINDS)
        self.factor_type = _one_of(name, "factor_type", factor_type, ("avg", "in", "out"))
        self.magnitude = _not_negative(name, "magnitude", float(magnitude))

    def _init_weight(self, name: str, data: ndarray) -> None:
        _forerun.initialize(name, data, "xavier", self.magnitude, self.rnd_type, self.factor_type)


@register
class MSRAPrelu(Xavier):
    """Normally distributed numbers for layers followed by a leaky ReLU.

    Examples
    --------
    >>> from forerun import init
    >>> init.MSRAPrelu(slope=0.0).magnitude
    2.0
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._arguments = {"factor_type": factor_type, "slope": slope}


@register
class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, whichever are shorter, times a scale.

    Dimensions after the first are merged.

    Parameters
    ----------
    scale
        The factor.
    rand_type
        The distribution of the matrix that is made orthogonal: ``"uniform"`` or ``"normal"``.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.zeros((2, 3))
    >>> init.Orthogonal(scale=2)("weight", x)
    >>> np.allclose(x @ x.T, 4 * np.eye(2), atol=1e-5)
    True
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = _one_of("Orthogonal", "rand_type", rand_type, _KINDS)

    def _init_weight(self, name: str, data: ndarray) -> None:
        _forerun.initialize(name, data, "orthogonal", self.scale, self.rand_type)


@register
class Bilinear(Initializer):
    """Weights of a transposed convolution that interpolates images.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.zeros((1, 1, 2, 2))
    >>> init.Bilinear()("weight", x)
    >>> x
    array([[[[1., 0.],
             [0., 0.]]]])
    """

    def _init_weight(self, name: str, data: ndarray) -> None:
        _forerun.initialize(name, data, "bilinear")


@register
class LSTMBias(Initializer):
    """Zeros, but for the bias of an LSTM's forget gate.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.ones((8,))
    >>> init.LSTMBias(1.0)._init_weight("i2h_bias", x)
    >>> x
    array([0., 0., 1., 1., 0., 0., 0., 0.])
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, data: ndarray) -> None:
        _forerun.initialize(name, data, "lstm_bias", self.forget_bias)


@register
class RNNFused(Initializer):
    """Initialisers of the parts of the parameter vector of :func:`npx.rnn`.

    Parameters
    ----------
    mode
        ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
    num_layers, state_size
        The numbers of layers and of hidden units.
    bidirectional
        Whether every layer also runs backwards.
    projection_size
        What the hidden units of an LSTM are projected to.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer
        Initialisers of the weights; uniform numbers if not given.
    i2h_bias_initializer, h2h_bias_initializer
        Initialisers of the biases; zeros if not given.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.ones((2 * 1 * (3 + 1) + 2 * 2 * 1,))
    >>> init.RNNFused("rnn_tanh", 1, 2, i2h_weight_initializer="ones", h2h_weight_initializer=init.Constant(2))("x", x)
    >>> x
    array([1., 1., 1., 1., 2., 2., 2., 2., 0., 0., 0., 0.])
    """

    def __init__(
        self,
        mode: str,
        num_layers: int,
        state_size: int,
        bidirectional: bool = False,
        projection_size: int | None = None,
        i2h_weight_initializer: str | Initializer | None = None,
        h2h_weight_initializer: str | Initializer | None = None,
        i2h_bias_initializer: str | Initializer | None = None,
        h2h_bias_initializer: str | Initializer | None = None,
        h2r_weight_initializer: str | Initializer | None = None,
    ) -> None:
        super().__init__(
            mode=mode,
            num_layers=num_layers,
            state_size=state_size,
            bidirectional=bidirectional,
            projection_size=projection_size,
        )
        self.mode = _one_of("RNNFused", "mode", mode, tuple(GATES))
        for option, number in (("num_layers", num_layers), ("state_size", state_size)):
            if number < 1:
                raise ValueError(f"RNNFused: {option} must be at least 1, got {number}")
        if projection_size and mode != "lstm":
            raise ValueError(f"RNNFused: projection_size needs the mode 'lstm', not {mode!r}")
        self.num_layers = num_layers
        self.state_size = state_size
        self.directions = 2 if bidirectional else 1
        self.projection_size = projection_size
        self._weights = (i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer)
        self._biases = (i2h_bias_initializer, h2h_bias_initializer)

    def _parts(self, inputs: int) -> Iterator[tuple[Initializer, tuple[int, ...]]]:
        """Return the initialiser and the shape of each part, in order."""
        width, state = GATES[self.mode] * self.state_size, self.projection_size or self.state_size
        weights = [create("uniform" if init is None else init) for init in self._weights]
        biases = [create("zeros" if init is None else init) for init in self._biases]
        for layer in range(self.num_layers):
            given = state * self.directions if layer else inputs
            for _ in range(self.directions):
                yield weights[0], (width, given)
                yield weights[1], (width, state)
                if self.projection_size:
                    yield weights[2], (self.projection_size, self.state_size)
        for _ in range(self.num_layers * self.directions):
            yield biases[0], (width,)
            yield biases[1], (width,)

    def _init_weight(self, name: str, data: ndarray) -> None:
        fixed = sum(math.prod(shape) for _, shape in self._parts(0))
        per_input = self.directions * GATES[self.mode] * self.state_size
        inputs, rest = divmod(data.size - fixed, per_input)
        if data.ndim != 1 or inputs < 1 or rest:
            raise ValueError(
                f"RNNFused: {name!r} of shape {data.shape} does not hold {fixed} numbers and a multiple of {per_input}"
            )
        at = 0
        for init, shape in self._parts(inputs):
            part = _forerun.full(shape, 0, data.dtype, data.device)
            init._init_weight(name, part)
            data[at : at + part.size] = part.reshape(-1)
            at += part.size


@register
class Mixed(Initializer):
    """Several initialisers: each is used where its pattern is the first that matches the name.

    Parameters
    ----------
    patterns
        Regular expressions.
    initializers
        One for each.

    Examples
    --------
    >>> from forerun import init, np
    >>> mixed = init.Mixed(["embedding", ".*"], [init.One(), init.Constant(2)])
    >>> x = np.zeros((2,))
    >>> mixed("embedding.weight", x)
    >>> x
    array([1., 1.])
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Initializer]) -> None:
        super().__init__(patterns=patterns, initializers=initializers)
        if len(patterns) != len(initializers):
            raise ValueError(f"Mixed: {len(patterns)} patterns need as many initializers, got {len(initializers)}")
        self.map = [(re.compile(pattern), chosen) for pattern, chosen in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, data: ndarray) -> None:
        """Initialise an array by the first pattern that matches the name."""
        self._chosen(name)(name, data)

    def _init_weight(self, name: str, data: ndarray) -> None:
        self._chosen(name)._init_weight(name, data)

    def _chosen(self, name: str) -> Initializer:
        for pattern, chosen in self.map:
            if pattern.match(name):
                return chosen
        raise ValueError(f"Mixed: no pattern matches {name!r}; the last one may be '.*'")


@register
class Load(Initializer):
    """Arrays by name, and another initialiser for names that are not there.

    Parameters
    ----------
    param
        Arrays by the names of parameters.
    default_init
        The initialiser of the others.

    Examples
    --------
    >>> from forerun import init, np
    >>> x = np.zeros((2,))
    >>> init.Load({"weight": np.array([1.0, 2.0])})("weight", x)
    >>> x
    array([1., 2.])
    """

    def __init__(self, param: Mapping[str, ArrayLike], default_init: Initializer | None = None) -> None:
        super().__init__()
        # Files of MXNet mark arguments and auxiliary states by a prefix.
        self.param = {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in param.items()}
        self.default_init = default_init

    def __call__(self, name: str, data: ndarray) -> None:
        """Initialise an array by the one of its name."""
        self._init_weight(name, data)

    def _init_weight(self, name: str, data: ndarray) -> None:
        if name in self.param:
            data[...] = self.param[name]
        elif self.default_init is not None:
            self.default_init(name, data)
        else:
            raise ValueError(f"Load: no array is called {name!r}, and there is no default_init")


# MXNet's other names for the same classes.
_BY_NAME.update(zeros=Zero, ones=One, gaussian=Normal)


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
