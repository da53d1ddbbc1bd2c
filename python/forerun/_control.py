"""Loops and branches over arrays, which run as plain Python code; part of ``npx``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import _forerun
from forerun._forerun import ndarray

__all__ = ["cond", "foreach", "while_loop"]


def _stacked(rows: list[Any]) -> Any:
    """Stack arrays, or the arrays at each position of lists; ``None`` means no outputs."""
    if rows[0] is None:
        return []
    if isinstance(rows[0], ndarray):
        return _forerun.stack(rows, 0)
    return [_stacked(list(each)) for each in zip(*rows, strict=True)]


def _at(data: Any, step: int) -> Any:
    return data[step] if isinstance(data, ndarray) else [_at(each, step) for each in data]


def _steps(data: Any) -> int:
    while not isinstance(data, ndarray):
        if not data:
            raise ValueError("foreach: needs data to loop over")
        data = data[0]
    return int(data.shape[0])


def foreach(
    body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Call a function on each step of the data and the states so far; stack its outputs.

    Parameters
    ----------
    body
        A function of the data of one step and the states; it returns outputs and new states.
    data
        An array, or a list of arrays; steps lie along the first axis.
    init_states
        The first states.
    name
        Accepted for compatibility with MXNet. Ignored.

    Returns
    -------
    The outputs of all steps, stacked along a new first axis, and the last states.

    Examples
    --------
    >>> from forerun import np, npx
    >>> sums, last = npx.foreach(lambda x, so_far: (so_far + x, so_far + x), np.array([1.0, 2.0, 3.0]), np.array(0.0))
    >>> sums, last
    (array([1., 3., 6.]), array(6.))
    """
    outputs, states = [], init_states
    for step in range(_steps(data)):
        output, states = body(_at(data, step), states)
        outputs.append(output)
    return (_stacked(outputs) if outputs else []), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Sequence[Any] | ndarray,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Call a function while a condition on the loop variables holds; stack its outputs.

    The condition is read at every iteration, so each one waits for it.

    Parameters
    ----------
    cond
        A function of the loop variables that returns whether to continue.
    func
        A function of the loop variables that returns outputs, or None, and new loop variables.
    loop_vars
        The first loop variables: a list, or one array.
    max_iterations
        The largest number of iterations.
    name
        Accepted for compatibility with MXNet. Ignored.

    Returns
    -------
    The outputs, stacked along a new first axis and padded with zeros to ``max_iterations``, and the last variables.

    Examples
    --------
    >>> from forerun import np, npx
    >>> outputs, (n,) = npx.while_loop(lambda n: n < 3, lambda n: (n * n, [n + 1]), [np.array(0.0)], max_iterations=5)
    >>> outputs, n
    (array([0., 1., 4., 0., 0.]), array(3.))
    """
    if max_iterations is None:
        raise ValueError("while_loop: max_iterations must be given")
    outputs: list[Any] = []
    single = isinstance(loop_vars, ndarray)
    variables: Any = [loop_vars] if single else list(loop_vars)
    while len(outputs) < max_iterations and bool(cond(*variables)):
        output, variables = func(*variables)
        if isinstance(variables, ndarray):
            variables = [variables]
        outputs.append(output)
    last = variables[0] if single and len(variables) == 1 else variables
    return (_padded(_stacked(outputs), max_iterations) if outputs else []), last


def _padded(stacked: Any, length: int) -> Any:
    """Pad the first axis with zeros."""
    if not isinstance(stacked, ndarray):
        return [_padded(each, length) for each in stacked]
    missing = length - stacked.shape[0]
    if missing == 0:
        return stacked
    zeros = _forerun.full((missing, *stacked.shape[1:]), 0, stacked.dtype, stacked.device)
    return _forerun.concatenate([stacked, zeros], 0)


def cond(
    pred: Any, then_func: Callable[..., Any], else_func: Callable[..., Any], inputs: Any = (), name: str = "cond"
) -> Any:
    """Call one of two functions, depending on a condition, which is read immediately.

    Parameters
    ----------
    pred
        The condition, or a function of the inputs that returns it.
    then_func, else_func
        Functions of the inputs.
    inputs
        An array, or a list of arrays.
    name
        Accepted for compatibility with MXNet. Ignored.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array(3.0)
    >>> npx.cond(x > 2, lambda x: x * 2, lambda x: x, [x])
    array(6.)
    """
    given = [inputs] if isinstance(inputs, ndarray) else list(inputs)
    chosen = pred(*given) if callable(pred) else pred
    return then_func(*given) if bool(chosen) else else_func(*given)
