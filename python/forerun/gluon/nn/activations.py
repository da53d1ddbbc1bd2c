"""Layers that apply one function to every element."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter
from forerun.init import Constant, Initializer

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "SiLU", "Swish"]


class Activation(HybridBlock):
    """An activation by name: ``"relu"``, ``"sigmoid"``, ``"tanh"``, ``"softrelu"``, ``"softsign"`` and others.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.Activation("relu")(np.array([-1.0, 2.0]))
    array([0., 2.])
    """

    def __init__(self, activation: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._act_type = activation

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return npx.activation(x, act_type=self._act_type)

    def __repr__(self) -> str:
        """Write the name of the function."""
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """``x`` where it is positive, ``alpha * x`` elsewhere.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.LeakyReLU(0.5)(np.array([-1.0, 2.0]))
    array([-0.5,  2. ])
    """

    def __init__(self, alpha: float = 0.01, **arguments: Any) -> None:
        super().__init__(**arguments)
        if alpha < 0:
            raise ValueError(f"LeakyReLU: alpha must not be negative, got {alpha}")
        self._alpha = alpha

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return npx.leaky_relu(x, act_type="leaky", slope=self._alpha)

    def __repr__(self) -> str:
        """Write the slope."""
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """``x`` where it is positive, ``alpha * x`` elsewhere, with a trained ``alpha``.

    Parameters
    ----------
    alpha_initializer
        The initialiser of ``alpha``; 0.25 if not given.
    in_channels
        1 for one ``alpha``, or the number of channels (axis 1) for one each.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.PReLU()
    >>> layer.initialize()
    >>> layer(np.array([-1.0, 2.0]))
    array([-0.25,  2.  ])
    """

    def __init__(
        self, alpha_initializer: str | Initializer | None = None, in_channels: int = 1, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        init = Constant(0.25) if alpha_initializer is None else alpha_initializer
        self.alpha = Parameter("alpha", shape=(in_channels,), init=init)

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return npx.leaky_relu(x, gamma=self.alpha.data(), act_type="prelu")


class ELU(HybridBlock):
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.ELU()(np.array([0.0, 2.0]))
    array([0., 2.])
    """

    def __init__(self, alpha: float = 1.0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._alpha = alpha

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return npx.leaky_relu(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The scaled exponential linear unit, which preserves mean and variance from layer to layer.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.SELU()(np.array([1.0]))
    array([1.050701])
    """

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return npx.leaky_relu(x, act_type="selu")


class GELU(HybridBlock):
    """The Gaussian error linear unit.

    Parameters
    ----------
    approximation
        ``"erf"`` for the exact form, ``"tanh"`` for the approximation.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GELU()(np.array([0.0]))
    array([0.])
    """

    def __init__(self, approximation: str = "erf", **arguments: Any) -> None:
        super().__init__(**arguments)
        if approximation not in ("erf", "tanh"):
            raise ValueError(f"GELU: approximation is 'erf' or 'tanh', not {approximation!r}")
        self._approximation = approximation

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        if self._approximation == "tanh":
            return npx.activation(x, act_type="gelu")
        return npx.leaky_relu(x, act_type="gelu")


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.Swish(beta=2.0)(np.array([0.0]))
    array([0.])
    """

    def __init__(self, beta: float = 1.0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._beta = beta

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return x * npx.sigmoid(x if self._beta == 1.0 else x * self._beta)


class SiLU(Swish):
    """``x * sigmoid(x)``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.SiLU()(np.array([0.0]))
    array([0.])
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(1.0, **arguments)
