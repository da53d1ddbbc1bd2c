"""Functional forms of layers and losses."""

from __future__ import annotations

from forerun import npx
from forerun._dialect import losses
from forerun._missing import module_getattr
from forerun.paddle._functions import tanh
from forerun.paddle._tensor import Tensor
from forerun.paddle.nn._functions import FUNCTIONS as _FUNCTIONS

__all__ = ["cross_entropy", "dropout", "l1_loss", "linear", "mse_loss", "relu", "sigmoid", "softmax", "tanh"]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by a matrix of shape (inputs, outputs) and add a bias.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.linear(paddle.ones((1, 2)), paddle.ones((2, 3))).numpy()
    array([[2., 2., 2.]], dtype=float32)
    """
    product = x @ weight
    return product if bias is None else product + bias


def relu(x: Tensor) -> Tensor:
    """Replace negative elements by zero.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.relu(paddle.to_tensor([-1.0, 2.0])).numpy()
    array([0., 2.], dtype=float32)
    """
    return x._run(npx.relu, x)


def sigmoid(x: Tensor) -> Tensor:
    """Apply the logistic function to every element.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.sigmoid(paddle.zeros([1])).item()
    0.5
    """
    return x._run(npx.sigmoid, x)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Compute the softmax along a dimension.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.softmax(paddle.zeros([2])).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return x._run(lambda array: npx.softmax(array, axis=axis), x)


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Replace elements by zero with probability ``p`` and scale the rest up, in training.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.dropout(paddle.ones([2]), training=False).numpy()
    array([1., 1.], dtype=float32)
    """
    return losses.dropout(x, p, training)


def mse_loss(input: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean of the squared differences.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.mse_loss(paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])).item()
    5.0
    """
    return losses.squared(input, label, reduction)


def l1_loss(input: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean of the absolute differences.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.l1_loss(paddle.zeros([2]), paddle.to_tensor([1.0, -3.0])).item()
    2.0
    """
    return losses.absolute(input, label, reduction)


def cross_entropy(
    input: Tensor, label: Tensor, reduction: str = "mean", soft_label: bool = False, *, ignore_index: int = -100
) -> Tensor:
    """Return the cross-entropy between scores along the last dimension and classes.

    Parameters
    ----------
    input : Tensor
        Scores of shape (rows, classes).
    label : Tensor
        One class per row, of shape (rows,) or (rows, 1); with ``soft_label``, probabilities of the shape of ``input``.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.
    soft_label : bool
        Whether ``label`` holds probabilities.
    ignore_index : int
        The class of rows to ignore.

    Examples
    --------
    >>> from forerun import paddle
    >>> round(paddle.nn.functional.cross_entropy(paddle.zeros((3, 2)), paddle.to_tensor([0, 1, 0])).item(), 4)
    0.6931
    """
    if not soft_label and label.ndim == input.ndim and label.shape[-1] == 1:
        label = label.squeeze(-1)
    return losses.cross_entropy(input, label, reduction, soft_label, ignore_index)


def gelu(x: Tensor, approximate: bool = False) -> Tensor:
    """Return ``x`` times the normal distribution's function.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.functional.gelu(paddle.zeros([1])).item()
    0.0
    """
    from forerun.paddle._borrow import lend, take
    from forerun.torch.nn import functional

    made: Tensor = take(functional.gelu(lend(x), "tanh" if approximate else "none"))
    return made


__all__ += ["gelu", *_FUNCTIONS]
globals().update(_FUNCTIONS)
__all__.sort()

__getattr__ = module_getattr(__name__, globals(), {})
