"""Activations of ONNX, as nodes and in recurrent nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np, npx
from forerun.onnx._values import Call


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


def _leaky(kind: str, alpha: float) -> Call:
    return lambda attributes, x: npx.leaky_relu(x, act_type=kind, slope=attributes.get("alpha", alpha))


def _gelu(attributes: Any, x: Any) -> Any:
    if attributes.get("approximate", "none") == "none":
        return 0.5 * x * (1 + npx.erf(x * 0.5**0.5))
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x * x * x)))


def _celu(attributes: Any, x: Any) -> Any:
    alpha = attributes.get("alpha", 1.0)
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


def _selu(attributes: Any, x: Any) -> Any:
    alpha, gamma = attributes.get("alpha", 1.6732632423543772), attributes.get("gamma", 1.0507009873554805)
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _hard_sigmoid(attributes: Any, x: Any) -> Any:
    return np.clip(attributes.get("alpha", 0.2) * x + attributes.get("beta", 0.5), 0, 1)


def _shrink(attributes: Any, x: Any) -> Any:
    bias, bound = attributes.get("bias", 0.0), attributes.get("lambd", 0.5)
    return np.where(x < -bound, x + bias, np.where(x > bound, x - bias, np.zeros_like(x)))


def _thresholded(attributes: Any, x: Any) -> Any:
    return np.where(x > attributes.get("alpha", 1.0), x, 0)


NODES: dict[str, Call] = {
    "Celu": _celu,
    "Elu": _leaky("elu", 1.0),
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda _, x: x * np.clip(x / 6 + 0.5, 0, 1),
    "LeakyRelu": _leaky("leaky", 0.01),
    "Mish": lambda _, x: x * np.tanh(_softplus(x)),
    "PRelu": lambda _, x, slope: np.where(x > 0, x, x * slope),
    "Relu": lambda _, x: npx.relu(x),
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": lambda _, x: npx.sigmoid(x),
    "Softplus": lambda _, x: _softplus(x),
    "Softsign": lambda _, x: x / (1 + abs(x)),
    "Swish": lambda attributes, x: x * npx.sigmoid(attributes.get("alpha", 1.0) * x),
    "Tanh": lambda _, x: np.tanh(x),
    "ThresholdedRelu": _thresholded,
}
# Activations of recurrent nodes that are not nodes, with their two numbers.
_FURTHER: dict[str, Callable[[Any, float, float], Any]] = {
    "Affine": lambda x, alpha, beta: alpha * x + beta,
    "ScaledTanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
}


def activation(name: str, alpha: float | None, beta: float | None) -> Callable[[Any], Any]:
    """Return the activation of a recurrent node."""
    if name in _FURTHER:
        return lambda x: _FURTHER[name](x, 1.0 if alpha is None else alpha, 0.0 if beta is None else beta)
    if name not in NODES or name == "PRelu":
        raise ValueError(f"the activation {name} is not supported")
    numbers = {key: value for key, value in (("alpha", alpha), ("beta", beta)) if value is not None}
    return lambda x: NODES[name](numbers, x)
