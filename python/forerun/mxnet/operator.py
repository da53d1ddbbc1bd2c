"""``mxnet.operator``: operators written in Python, which ``mx.nd.Custom`` and ``mx.npx.custom`` call by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from forerun import autograd, np
from forerun._forerun import Device, ndarray

__all__ = ["CustomOp", "CustomOpProp", "custom", "get_all_registered_operators", "register"]

_REGISTERED: dict[str, Any] = {}
_Prop = TypeVar("_Prop", bound="type[CustomOpProp]")


class CustomOp:
    """An operator: subclasses define ``forward``, and ``backward`` if it has a gradient.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> class Double(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], out_grad[0] * 2)
    >>> @mx.operator.register("double")
    ... class DoubleProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Double()
    >>> mx.nd.Custom(mx.nd.ones((2,)), op_type="double")
    array([2., 2.])
    """

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[ndarray],
        out_data: list[ndarray],
        aux: list[ndarray],
    ) -> None:
        """Compute the outputs and write them with :meth:`assign`."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(
        self,
        req: list[str],
        out_grad: list[ndarray],
        in_data: list[ndarray],
        out_data: list[ndarray],
        in_grad: list[ndarray],
        aux: list[ndarray],
    ) -> None:
        """Compute the gradients of the inputs and write them with :meth:`assign`."""
        raise NotImplementedError(f"{type(self).__name__} has no backward")

    def assign(self, dst: ndarray, req: str, src: Any) -> None:
        """Write a result as asked: ``"write"``, ``"inplace"``, ``"add"`` or ``"null"``."""
        if req == "add":
            dst[...] = dst + src
        elif req in ("write", "inplace"):
            dst[...] = src
        elif req != "null":
            raise ValueError(f"assign: req must be write, inplace, add or null, got {req!r}")


class CustomOpProp:
    """The properties of an operator: the names, shapes and dtypes of its inputs and outputs.

    Parameters
    ----------
    need_top_grad
        Accepted for compatibility.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the states: the last inputs, which have no gradient and may be written."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> Sequence[Any]:
        """Return the shapes of the inputs, outputs and states."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> Sequence[Any]:
        """Return the dtypes of the inputs, outputs and states."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Return what the gradient needs; accepted for compatibility."""
        return [*out_grad, *in_data, *out_data]

    def create_operator(self, ctx: Device, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """Make the operator. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no create_operator")


def register(reg_name: str) -> Callable[[_Prop], _Prop]:
    """Return a decorator that registers the properties of an operator under a name.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> @mx.operator.register("nothing")
    ... class NothingProp(mx.operator.CustomOpProp):
    ...     pass
    >>> "nothing" in mx.operator.get_all_registered_operators()
    True
    """

    def decorate(prop: _Prop) -> _Prop:
        if not (isinstance(prop, type) and issubclass(prop, CustomOpProp)):
            raise TypeError(f"register: {prop!r} is not a subclass of CustomOpProp")
        _REGISTERED[reg_name] = prop
        return prop

    return decorate


def get_all_registered_operators() -> list[str]:
    """Return the names of the operators that :func:`register` registered.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> isinstance(mx.operator.get_all_registered_operators(), list)
    True
    """
    return sorted(_REGISTERED)


class _Call(autograd.Function):
    """One call of an operator."""

    def __init__(self, op: CustomOp, made: list[tuple[Any, Any]], states: list[ndarray], train: bool) -> None:
        self._op, self._made, self._states, self._train = op, made, states, train

    def forward(self, *inputs: ndarray) -> Any:
        outputs = [np.zeros(shape, dtype, device=inputs[0].device) for shape, dtype in self._made]
        self._op.forward(self._train, ["write"] * len(outputs), list(inputs), outputs, self._states)
        self.save_for_backward(*inputs, *outputs)
        return outputs

    def backward(self, *out_grads: ndarray) -> Any:
        count = len(self.saved_tensors) - len(self._made)
        inputs, outputs = list(self.saved_tensors[:count]), list(self.saved_tensors[count:])
        grads = [np.zeros_like(each) for each in inputs]
        self._op.backward(["write"] * count, list(out_grads), inputs, outputs, grads, self._states)
        return grads


def custom(*args: ndarray, op_type: str, name: str | None = None, **options: Any) -> Any:
    """Call an operator that :func:`register` registered.

    Parameters
    ----------
    args
        The inputs, then the states. They may be given by name too.
    op_type
        The registered name.
    name
        Accepted for compatibility.
    options
        Inputs by name; others are passed to the properties as strings.

    Returns
    -------
    ndarray or list
        The output, or several outputs.
    """
    if op_type not in _REGISTERED:
        known = ", ".join(sorted(_REGISTERED)) or "none"
        raise ValueError(f"custom: no operator {op_type!r} is registered; there are: {known}")
    arrays = {key: value for key, value in options.items() if isinstance(value, ndarray)}
    prop = _REGISTERED[op_type](**{key: str(value) for key, value in options.items() if key not in arrays})
    states = prop.list_auxiliary_states()
    given = [*args, *(arrays[each] for each in [*prop.list_arguments(), *states] if each in arrays)]
    count = len(prop.list_arguments())
    if len(given) != count + len(states):
        raise ValueError(f"custom: {op_type!r} needs {count + len(states)} arrays, got {len(given)}")
    inputs, kept = given[:count], given[count:]
    shapes = prop.infer_shape([list(each.shape) for each in inputs])[1]
    kinds = prop.infer_type([each.dtype for each in inputs])[1]
    device = inputs[0].device if inputs else np.zeros(()).device
    op = prop.create_operator(device, [each.shape for each in inputs], [each.dtype for each in inputs])
    made = [(tuple(shape), kind) for shape, kind in zip(shapes, kinds, strict=True)]
    outputs = _Call(op, made, kept, autograd.is_training())(*inputs)
    return outputs[0] if len(outputs) == 1 else outputs
