"""Activation checkpoints: less memory in training, for a second forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import _forerun
from forerun._capturing import object_to_replay
from forerun._forerun import ndarray

__all__ = ["checkpoint"]


def checkpoint(function: Callable[..., Any], *inputs: Any) -> Any:
    """Call a block or function, and keep only its inputs for backward, which calls it again.

    The intermediate results of a network take most of the memory of training. A network of blocks that are each called
    through this function keeps the inputs of the blocks, and the intermediate results of one block at a time.

    The second call gets the same random numbers, so dropout drops the same elements. It does not change running
    statistics again. Gradients have the same bits as without a checkpoint, unless an array that the function reads from
    outside, such as a parameter, is used elsewhere too: then sums are added up in another order. There is no second
    derivative. Nothing waits.

    Parameters
    ----------
    function
        A block, or a function of arrays. It returns an array, or a list or tuple of arrays, and submits the same ops in
        both calls.
    *inputs
        Its arguments. Those that are not arrays are passed on.

    Examples
    --------
    >>> from forerun import autograd, gluon, np
    >>> net = gluon.nn.Dense(2, in_units=3)
    >>> net.initialize("ones")
    >>> x = np.ones((4, 3))
    >>> with autograd.record():
    ...     y = gluon.checkpoint(net, x)
    >>> y.backward()
    >>> net.bias.grad()
    array([4., 4.])
    """
    if not _forerun.is_recording():
        return function(*inputs)
    object_to_replay("it uses gluon.checkpoint")
    places = [place for place, value in enumerate(inputs) if isinstance(value, ndarray)]
    # Without the arrays, whose values are saved apart.
    others = [None if isinstance(value, ndarray) else value for value in inputs]
    kind: Any = None

    def call(arrays: list[ndarray]) -> list[ndarray]:
        nonlocal kind
        given = list(others)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        result = function(*given)
        if isinstance(result, ndarray):
            kind = None
            return [result]
        if not isinstance(result, (list, tuple)) or not all(isinstance(one, ndarray) for one in result):
            raise TypeError(
                f"checkpoint: the function returned {type(result).__name__}, not an array or a list of them"
            )
        kind = type(result)
        return list(result)

    outputs = _forerun.checkpoint(call, [inputs[place] for place in places])
    return outputs[0] if kind is None else kind(outputs)
