"""Functional forms of layers and losses."""

from __future__ import annotations

import warnings

from forerun import np, npx
from forerun._dialect import losses
from forerun._missing import module_getattr
from forerun.torch._functions import log_softmax, relu, sigmoid, softmax, tanh
from forerun.torch._tensor import Tensor

__all__ = [
    "cross_entropy",
    "dropout",
    "l1_loss",
    "linear",
    "log_softmax",
    "mse_loss",
    "one_hot",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by the transpose of a matrix of shape (outputs, inputs) and add a bias.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    product = input @ weight.T
    return product if bias is None else product + bias


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Replace elements by zero with probability ``p`` and scale the rest up, in training.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    return losses.dropout(input, p, training)


def one_hot(tensor: Tensor, num_classes: int) -> Tensor:
    """Encode every class as a one-hot row.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.one_hot(torch.tensor([1, 0]), 2)
    tensor([[0, 1],
            [1, 0]])
    """
    return Tensor._run(lambda array: npx.one_hot(array, num_classes).astype(np.int64), tensor)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean of the squared differences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.mse_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(5.)
    """
    _warn_of_broadcast("mse_loss", input, target)
    return losses.squared(input, target, reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean of the absolute differences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.l1_loss(torch.zeros(2), torch.tensor([1.0, -3.0]))
    tensor(2.)
    """
    _warn_of_broadcast("l1_loss", input, target)
    return losses.absolute(input, target, reduction)


def cross_entropy(input: Tensor, target: Tensor, reduction: str = "mean", *, ignore_index: int = -100) -> Tensor:
    """Return the cross-entropy between scores, ``input``, and classes.

    Parameters
    ----------
    input : Tensor
        Scores of shape (rows, classes), or (classes,).
    target : Tensor
        One class index per row, or probabilities of the shape of ``input``. An invalid class raises ``IndexError`` when
        the loss is read.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.
    ignore_index : int
        The class of rows to ignore.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(3, 2), torch.tensor([0, 1, 0]))
    tensor(0.6931)
    """
    if input.ndim not in (1, 2):
        raise ValueError(f"cross_entropy: needs scores of shape (rows, classes), got {input.shape}")
    chances = target.shape == input.shape and target.dtype.name.startswith("float")
    return losses.cross_entropy(input, target, reduction, chances, ignore_index)


def _warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        message = f"{name}: shapes differ and are broadcast: {input.shape} and {target.shape}"
        warnings.warn(message, UserWarning, stacklevel=3)


__getattr__ = module_getattr(__name__, globals(), {})
