"""Parameters taken together."""

from __future__ import annotations

from typing import Any

from forerun._missing import module_getattr
from forerun.paddle._borrow import lend, take
from forerun.paddle._tensor import Tensor
from forerun.torch.nn import utils

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Any) -> Tensor:
    """Return the elements of parameters, one after another.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.utils.parameters_to_vector([paddle.ones([1]), paddle.zeros([2])]).shape
    [3]
    """
    made: Tensor = take(utils.parameters_to_vector(lend(list(parameters))))
    return made


def vector_to_parameters(vec: Tensor, parameters: Any) -> None:
    """Write the elements of a vector into parameters, one after another.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.zeros([2, 1])
    >>> paddle.nn.utils.vector_to_parameters(paddle.ones([2]), [w])
    >>> w.sum().item()
    2.0
    """
    at = 0
    for parameter in parameters:
        parameter.set_value(vec.detach()[at : at + parameter.size].reshape(parameter.shape))
        at += parameter.size


__getattr__ = module_getattr(__name__, globals(), {})
