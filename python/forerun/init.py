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

import math
import typing as _typing
from typing import Any, TypeVar

from forerun import np
from forerun._forerun import ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun._types import ArrayLike

__all__ = [
    "Constant",
    "Initializer",
    "MSRAPrelu",
    "Normal",
    "One",
    "Uniform",
    "Xavier",
    "Zero",
    "create",
    "register",
]

_Class = TypeVar("_Class", bound="type[Initializer]")
_BY_NAME: dict[str, type[Initializer]] = {}


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
    """Return an initialiser by its name, or the one given.

    Examples
    --------
    >>> from forerun import init
    >>> init.create("xavier")
    Xavier(rnd_type='uniform', factor_type='avg', magnitude=3)
    """
    if not isinstance(initializer, str):
        return initializer
    cls = _BY_NAME.get(initializer.lower())
    if cls is None:
        raise ValueError(f"unknown initialiser {initializer!r}; available: {', '.join(sorted(_BY_NAME))}")
    return cls(**arguments)


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
        if name.endswith(("bias", "beta", "running_mean", "moving_mean")):
            data[:] = 0
        elif name.endswith(("gamma", "running_var", "moving_var")):
            data[:] = 1
        else:
            self._init_weight(name, data)

    def _init_weight(self, name: str, data: ndarray) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _init_weight")

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
        data[:] = 0


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
        data[:] = 1


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
        data[:] = self.value


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
        self.scale = scale

    def _init_weight(self, name: str, data: ndarray) -> None:
        data[:] = np.random.uniform(-self.scale, self.scale, data.shape, data.dtype)


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
        self.sigma = sigma

    def _init_weight(self, name: str, data: ndarray) -> None:
        data[:] = np.random.normal(0.0, self.sigma, data.shape, data.dtype)


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
        if rnd_type not in ("uniform", "gaussian"):
            raise ValueError(f"Xavier: rnd_type is 'uniform' or 'gaussian', not {rnd_type!r}")
        if factor_type not in ("in", "out", "avg"):
            raise ValueError(f"Xavier: factor_type is 'in', 'out' or 'avg', not {factor_type!r}")
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, data: ndarray) -> None:
        shape = data.shape
        if len(shape) < 2:
            raise ValueError(f"{type(self).__name__}: {name} of shape {shape} has fewer than 2 dimensions")
        receptive = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * receptive, shape[0] * receptive
        factor = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            data[:] = np.random.uniform(-scale, scale, shape, data.dtype)
        else:
            data[:] = np.random.normal(0.0, scale, shape, data.dtype)


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


# MXNet's other names for the same classes.
_BY_NAME.update(zeros=Zero, ones=One, gaussian=Normal)


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
