"""Layers and losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from forerun import _forerun
from forerun._dialect.module import Module
from forerun._dialect.module import Sequential as _Sequential
from forerun.paddle._functions import zeros
from forerun.paddle._place import PlaceLike
from forerun.paddle._tensor import Parameter, Tensor
from forerun.paddle.nn import functional as F

_L = TypeVar("_L", bound="Layer")


class Layer(Module):
    """An object that holds parameters and other layers by attribute, and can be called.

    Examples
    --------
    >>> from forerun import paddle
    >>> from forerun.paddle import nn
    >>> class Twice(nn.Layer):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return self.layer(self.layer(x))
    >>> Twice()(paddle.ones((1, 2))).shape
    [1, 2]
    """

    _parameter = Parameter

    def parameters(self) -> list[Parameter]:
        """Return the parameters here and below."""
        return [parameter for _, parameter in self.named_parameters()]

    def sublayers(self, include_self: bool = False) -> list[Module]:
        """Return the layers below."""
        return [layer for _, layer in self._tree()][0 if include_self else 1 :]

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        """Put a layer below this one under a name."""
        setattr(self, name, sublayer)
        return sublayer

    def add_parameter(self, name: str, parameter: Parameter) -> Parameter:
        """Give this layer a parameter under a name."""
        setattr(self, name, parameter)
        return parameter

    def create_parameter(self, shape: Any, dtype: Any = None, is_bias: bool = False) -> Parameter:
        """Create a parameter: zeros for a bias, otherwise Xavier-initialised."""
        made = Parameter(zeros(shape, dtype))
        if not is_bias and len(shape) >= 2:
            _forerun.initialize("parameter", made._array, "xavier", 3.0)
        return made

    def to(self: _L, device: PlaceLike = None, dtype: Any = None, blocking: Any = False) -> _L:
        """Move the parameters to a device or a dtype; they stay the same objects."""
        self._move(lambda tensor: tensor.to(device=device, dtype=dtype))
        return self

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Set the parameters' gradients to zero, or drop them."""
        for parameter in self.parameters():
            parameter.clear_grad(set_to_zero)

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Copy elements into the parameters; return the missing and the unexpected paths."""
        return self._load(state_dict)


class Sequential(_Sequential, Layer):
    """Layers one after the other.

    Examples
    --------
    >>> from forerun import paddle
    >>> from forerun.paddle import nn
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(6, 1))
    >>> net(paddle.ones((4, 2, 3))).shape
    [4, 1]
    """


class Linear(Layer):
    """An affine function of the last dimension.

    Parameters
    ----------
    in_features, out_features : int
        Extents of the last dimension before and after.
    bias_attr : bool, optional
        ``False`` omits the bias.

    Examples
    --------
    >>> from forerun import paddle
    >>> layer = paddle.nn.Linear(3, 2)
    >>> layer(paddle.ones((4, 3))).shape, layer.weight.shape, layer.bias.shape
    ([4, 2], [3, 2], [2])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias_attr: bool | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = self.create_parameter([in_features, out_features])
        self.bias = None if bias_attr is False else self.create_parameter([out_features], is_bias=True)

    def forward(self, input: Tensor) -> Tensor:
        """Multiply by the weight and add the bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the extents."""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.weight.dtype.name}"


class ReLU(Layer):
    """Replace negative elements by zero.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.ReLU()(paddle.to_tensor([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function."""
        return F.relu(x)


class Tanh(Layer):
    """The hyperbolic tangent of every element.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Tanh()(paddle.zeros([1])).item()
    0.0
    """

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function."""
        return F.tanh(x)


class Sigmoid(Layer):
    """The logistic function of every element.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Sigmoid()(paddle.zeros([1])).item()
    0.5
    """

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function."""
        return F.sigmoid(x)


class Dropout(Layer):
    """Dropout: zero random elements in training mode.

    Examples
    --------
    >>> from forerun import paddle
    >>> layer = paddle.nn.Dropout(0.5)
    >>> layer.eval()(paddle.ones([2])).numpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}"


class Flatten(Layer):
    """Merge several dimensions into one.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Flatten()(paddle.ones((2, 3, 4))).shape
    [2, 12]
    """

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input: Tensor) -> Tensor:
        """Reshape."""
        return input.flatten(self.start_axis, self.stop_axis)


class _Loss(Layer):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class MSELoss(_Loss):
    """The mean of the squared differences.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.MSELoss()(paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])).item()
    5.0
    """

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        """Compute the loss."""
        return F.mse_loss(input, label, self.reduction)


class L1Loss(_Loss):
    """The mean of the absolute differences.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.L1Loss()(paddle.zeros([2]), paddle.to_tensor([1.0, -3.0])).item()
    2.0
    """

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        """Compute the loss."""
        return F.l1_loss(input, label, self.reduction)


class CrossEntropyLoss(_Loss):
    """Cross-entropy between scores and classes.

    Examples
    --------
    >>> from forerun import paddle
    >>> round(paddle.nn.CrossEntropyLoss()(paddle.zeros((3, 2)), paddle.to_tensor([0, 1, 0])).item(), 4)
    0.6931
    """

    def __init__(self, ignore_index: int = -100, reduction: str = "mean", soft_label: bool = False) -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index
        self.soft_label = soft_label

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        """Compute the loss."""
        return F.cross_entropy(input, label, self.reduction, self.soft_label, ignore_index=self.ignore_index)
