"""Comparisons of gradients, for ``mxnet.test_utils``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.random as rnd

import forerun.mxnet as mx
from forerun import autograd
from forerun._forerun import Device, ndarray
from forerun.mxnet._comparisons import Tolerance, assert_almost_equal, default_numeric_eps, host

__all__ = [
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_symbolic_backward",
    "check_symbolic_forward",
]


def check_numeric_gradient(
    sym: Callable[..., Any],
    location: Sequence[Any] | Mapping[str, Any],
    aux_states: Any = None,
    numeric_eps: float | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Device | None = None,
    dtype: Any = np.float32,
) -> None:
    """Compare the gradients of a function or block with finite differences.

    Parameters
    ----------
    sym
        A function of arrays, a block, or an expression of ``mx.sym``.
    location
        The arguments: arrays, or a mapping from names of parameters or variables to arrays.
    numeric_eps
        The step of the differences.
    rtol, atol
        Tolerances, as for :func:`assert_almost_equal`.
    grad_nodes
        The indices, or names, of the arguments whose gradients are compared; all by default.
    use_forward_train
        Whether the differences are taken in training mode.
    ctx, dtype
        The device and dtype of the arguments.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.test_utils.check_numeric_gradient(lambda x, y: x * y, [mx.np.ones((2,)), mx.np.ones((2,))])
    """
    if aux_states is not None:
        raise ValueError("check_numeric_gradient: blocks keep their own auxiliary states")
    named = list(location) if isinstance(location, Mapping) else None
    given = list(location.values()) if isinstance(location, Mapping) else list(location)
    if named is None and isinstance(sym, mx.sym.Symbol):
        named = sym.list_arguments()
    values = [host(value).astype(dtype) for value in given]

    def outputs(arrays: list[ndarray]) -> ndarray:
        if isinstance(sym, mx.sym.Symbol):
            value: ndarray = sym.eval(**dict(zip(named or (), arrays, strict=True)))[0]
            return value
        result: Any = sym(**dict(zip(named, arrays, strict=True))) if named else sym(*arrays)
        first: ndarray = result[0] if isinstance(result, (list, tuple)) else result
        return first

    arrays = [mx.np.array(value, dtype=dtype, ctx=ctx) for value in values]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        out = outputs(arrays)
    weights = rnd.uniform(0.1, 1.1, out.shape).astype(dtype)
    out.backward(mx.np.array(weights, dtype=dtype, ctx=ctx))
    step = default_numeric_eps()[np.dtype(dtype)] if numeric_eps is None else numeric_eps
    wanted = list(named or range(len(values))) if grad_nodes is None else list(grad_nodes)
    for number, (array, value) in enumerate(zip(arrays, values, strict=True)):
        name = named[number] if named else number
        if name not in wanted:
            continue
        expected = np.zeros(value.shape, "float64")
        around = [mx.np.array(each, dtype=dtype, ctx=ctx) for each in values]
        for place in np.ndindex(value.shape):
            sides = []
            for sign in (0.5, -0.5):
                around[number][place] = value[place] + sign * step
                with autograd.train_mode() if use_forward_train else autograd.predict_mode():
                    sides.append(outputs(around))
            around[number][place] = value[place]
            above, below = (host(side).astype("float64") for side in sides)
            expected[place] = ((above - below) * weights).sum() / step
        names = (f"numeric gradient of {name}", f"gradient of {name}")
        assert_almost_equal(expected.astype(dtype), array.grad, rtol, atol, names)


def check_symbolic_forward(
    sym: Any,
    location: Sequence[Any] | Mapping[str, Any],
    expected: Sequence[Any] | Mapping[str, Any],
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Any = None,
    ctx: Device | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[Any]:
    """Compare the outputs of an expression with NumPy arrays, and return them.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x = mx.sym.Variable("x")
    >>> mx.test_utils.check_symbolic_forward(x + 1, [[1.0, 2.0]], [[2.0, 3.0]])
    [array([2., 3.])]
    """
    outputs = sym.eval(**_placed(sym, location, ctx, dtype))
    wanted = list(expected.values()) if isinstance(expected, Mapping) else list(expected)
    for output, value in zip(outputs, wanted, strict=True):
        assert_almost_equal(value, output, rtol, atol, ("expected", "output"), equal_nan)
    return list(outputs)


def check_symbolic_backward(
    sym: Any,
    location: Sequence[Any] | Mapping[str, Any],
    out_grads: Sequence[Any] | None,
    expected: Sequence[Any] | Mapping[str, Any],
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Device | None = None,
    grad_stypes: Any = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[Any]:
    """Compare the gradients of an expression with NumPy arrays, and return them.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x = mx.sym.Variable("x")
    >>> mx.test_utils.check_symbolic_backward(x * 3, [[1.0, 2.0]], [[1.0, 1.0]], [[3.0, 3.0]])
    [array([3., 3.])]
    """
    arrays = _placed(sym, location, ctx, dtype)
    grads = {name: mx.np.zeros_like(array) for name, array in arrays.items()}
    bound = sym.bind(ctx, arrays, grads, grad_req)
    bound.forward(is_train=True)
    heads = None if out_grads is None else [mx.np.array(host(each), dtype=dtype, ctx=ctx) for each in out_grads]
    bound.backward(heads)
    wanted = expected if isinstance(expected, Mapping) else dict(zip(sym.list_arguments(), expected, strict=False))
    for name, value in wanted.items():
        assert_almost_equal(value, bound.grad_dict[name], rtol, atol, ("expected", f"gradient of {name}"), equal_nan)
    return [grad for grad in bound.grad_arrays if grad is not None]


def _placed(sym: Any, location: Any, ctx: Device | None, dtype: Any) -> dict[str, ndarray]:
    given = location if isinstance(location, Mapping) else dict(zip(sym.list_arguments(), location, strict=True))
    return {name: mx.np.array(host(value), dtype=dtype, ctx=ctx) for name, value in given.items()}


def check_gluon_hybridize_consistency(
    net_builder: Callable[[], Any],
    data_l: Sequence[ndarray],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Compare the outputs and gradients of a block with and without ``hybridize``, and its outputs with a function.

    Parameters
    ----------
    net_builder
        Makes the block.
    data_l
        The inputs.
    numpy_func
        A function of NumPy arrays that gives the same outputs.
    test_grad
        Whether to compare gradients of the inputs.
    rtol, atol
        Tolerances.
    """
    weights: dict[str, Any] | None = None
    outputs, gradients = [], []
    for hybridize in (False, True):
        for record in (False, True) if test_grad else (False,):
            net = net_builder()
            net.initialize() if weights is None else net.load_dict(weights)
            if hybridize:
                net.hybridize()
            data = [array.copy() for array in data_l]
            if record:
                for array in data:
                    array.attach_grad()
                with autograd.record():
                    out = net(*data)
                out.backward(out)
                gradients.append([host(array.grad) for array in data])
            else:
                out = net(*data)
            if weights is None:
                weights = {name: parameter.data() for name, parameter in net.collect_params().items()}
            outputs.append(host(out))
    for other in outputs[1:]:
        assert_almost_equal(other, outputs[0], rtol=rtol, atol=atol)
    for others in gradients[1:]:
        for one, other in zip(others, gradients[0], strict=True):
            assert_almost_equal(one, other, rtol=rtol, atol=atol)
    if numpy_func is not None:
        expected = numpy_func(*[host(array) for array in data_l])
        assert_almost_equal(outputs[0], expected, rtol=rtol, atol=atol)
