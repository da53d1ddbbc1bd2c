"""Basic layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun._sparse import dense_instead
from forerun._types import DTypeLike
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.activations import Activation
from forerun.gluon.parameter import Parameter
from forerun.init import Initializer

__all__ = ["Dense", "Dropout", "Embedding", "Flatten"]


class Dense(HybridBlock):
    """A fully connected layer: ``activation(x @ weight.T + bias)``.

    Parameters
    ----------
    units
        The number of outputs.
    activation
        The name of an activation, or ``None``.
    use_bias
        Whether to add a bias.
    flatten
        Whether to flatten all dimensions but the first; otherwise the last one is transformed.
    dtype
        The dtype of the parameters.
    weight_initializer, bias_initializer
        Initialisers of the parameters.
    in_units
        The number of inputs; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.Dense(2, activation="relu")
    >>> layer
    Dense(-1 -> 2, Activation(relu))
    >>> layer.initialize("ones")
    >>> layer(np.ones((1, 3)))
    array([[3., 3.]])
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: DTypeLike = "float32",
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        in_units: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._units = units
        self._flatten = flatten
        self.weight = Parameter(
            "weight", shape=(units, in_units), dtype=dtype, init=weight_initializer, allow_deferred_init=True
        )
        self.bias = (
            Parameter("bias", shape=(units,), dtype=dtype, init=bias_initializer, allow_deferred_init=True)
            if use_bias
            else None
        )
        self.act = None if activation is None else Activation(activation)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the number of inputs from the data."""
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        bias = self.bias
        y = npx.fully_connected(
            x,
            self.weight.data(),
            None if bias is None else bias.data(),
            num_hidden=self._units,
            no_bias=bias is None,
            flatten=self._flatten,
        )
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        """Write the numbers of inputs and outputs and the activation."""
        shape = self.weight.shape or ()
        return f"{type(self).__name__}({shape[1]} -> {shape[0]}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """Set each element to zero with probability ``rate`` in training mode, and scale the others up.

    Parameters
    ----------
    rate
        The probability.
    axes
        Axes along which elements are dropped together.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import autograd, np
    >>> from forerun.gluon import nn
    >>> layer = nn.Dropout(0.5)
    >>> layer(np.ones((3,)))
    array([1., 1., 1.])
    >>> with autograd.train_mode():
    ...     y = layer(np.ones((1000,)))
    >>> bool(((y == 0) | (y == 2)).min())
    True
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        if not 0 <= rate < 1:
            raise ValueError(f"Dropout: rate must be at least 0 and below 1, got {rate}")
        self._rate = rate
        self._axes = tuple(axes)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.dropout(x, p=self._rate, axes=self._axes) if self._rate > 0 else x

    def __repr__(self) -> str:
        """Write the rate."""
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Map integers to vectors: index ``i`` selects row ``i`` of the weight.

    Parameters
    ----------
    input_dim
        The number of different integers.
    output_dim
        The length of the vectors.
    dtype
        The dtype of the vectors.
    weight_initializer
        The initialiser of the weight.
    sparse_grad
        Accepted for compatibility with MXNet: it warns, and gradients are dense.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.Embedding(10, 4)
    >>> layer.initialize()
    >>> layer(np.array([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: str | Initializer | None = None,
        sparse_grad: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        dense_instead("Embedding", sparse_grad=sparse_grad)
        self._input_dim = input_dim
        self._output_dim = output_dim
        self.weight = Parameter("weight", shape=(input_dim, output_dim), dtype=dtype, init=weight_initializer)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.embedding(x, self.weight.data())

    def __repr__(self) -> str:
        """Write the dimensions and the dtype."""
        return f"{type(self).__name__}({self._input_dim} -> {self._output_dim}, {self.weight.dtype.name})"


class Flatten(HybridBlock):
    """Flatten all dimensions but the first.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.Flatten()(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        # Not -1, which is ambiguous for empty arrays.
        return x.reshape(x.shape[0], math.prod(x.shape[1:]))

    def __repr__(self) -> str:
        """Write the class."""
        return type(self).__name__
