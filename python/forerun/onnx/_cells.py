"""The ONNX nodes ``LSTM``, ``GRU`` and ``RNN``: recurrent layers of one level, in one or both directions.

With the usual activations they are the engine's recurrent layers. Others are computed step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import _forerun, np, npx
from forerun._recurrent import lengths_of
from forerun.onnx._values import Call, is_host, placed

_Function = Callable[[Any], Any]

# The gates of ONNX in the order of the engine: input, forget, cell, output; reset, update, new.
_ORDER = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}
_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


def cell(kind: str, activation: Callable[[str, float | None, float | None], _Function]) -> Call:
    """Return a recurrent node. ``activation`` makes a function from its name and two numbers."""

    def call(
        attributes: Any,
        x: Any,
        weight: Any,
        recurrence: Any,
        bias: Any = None,
        lengths: Any = None,
        *states: Any,
    ) -> list[Any]:
        layer = _Layer(kind, attributes, activation, states[2] if len(states) > 2 else None)
        x, weight, recurrence = placed(x), placed(weight), placed(recurrence)
        if attributes.get("layout", 0):
            x = x.swapaxes(0, 1)
            states = tuple(None if state is None else placed(state).swapaxes(0, 1) for state in states[:2])
        steps, batch = x.shape[:2]
        count, hidden = recurrence.shape[0], recurrence.shape[2]
        if count != layer.directions:
            raise ValueError(f"weights of {count} directions for {layer.directions}")
        if is_host(lengths):
            lengths = None if (lengths == steps).all() else placed(lengths)
        given = [states[at] if len(states) > at else None for at in range(2 if kind == "LSTM" else 1)]
        begins = [np.zeros((count, batch, hidden), dtype=x.dtype) if one is None else placed(one) for one in given]
        if bias is None:
            bias = np.zeros((count, 2 * weight.shape[1]), dtype=x.dtype)
        results = [
            layer.run(
                number, x, weight[number], recurrence[number], bias[number], [one[number] for one in begins], lengths
            )
            for number in range(count)
        ]
        outputs = np.stack([result[0] for result in results], axis=1)
        last = [np.stack([result[at] for result in results]) for at in range(1, len(begins) + 1)]
        if attributes.get("layout", 0):
            return [outputs.transpose(2, 0, 1, 3), *[one.swapaxes(0, 1) for one in last]]
        return [outputs, *last]

    return call


class _Layer:
    """One node: its directions, activations and options."""

    def __init__(self, kind: str, attributes: Any, activation: Any, peepholes: Any) -> None:
        direction = attributes.get("direction", "forward")
        if direction not in ("forward", "reverse", "bidirectional"):
            raise ValueError(f"direction {direction} is not known")
        self._kind = kind
        self._attributes = attributes
        self._backward = [direction == "reverse"] if direction != "bidirectional" else [False, True]
        self.directions = len(self._backward)
        self._peepholes = None if peepholes is None else placed(peepholes)
        usual = _USUAL[kind] * self.directions
        self._names = list(attributes.get("activations", usual))
        if len(self._names) != len(usual):
            raise ValueError(f"{len(self._names)} activations for {len(usual)}")
        self._activation = activation
        self._plain = self._names == usual or (kind == "RNN" and set(self._names) <= {"Tanh", "Relu"})
        self._plain &= peepholes is None and not attributes.get("clip", 0.0) and not attributes.get("input_forget", 0)
        self._plain &= kind != "GRU" or bool(attributes.get("linear_before_reset", 0))

    def run(
        self, number: int, x: Any, weight: Any, recurrence: Any, bias: Any, begins: Sequence[Any], lengths: Any
    ) -> list[Any]:
        """Compute one direction: the outputs, ``(steps, batch, hidden)``, and the last states."""
        backward = self._backward[number]
        x = _reversed(x, lengths) if backward else x
        if self._plain:
            made = self._fused(number, x, weight, recurrence, bias, begins, lengths)
        else:
            made = self._stepwise(number, x, weight, recurrence, bias, begins, lengths)
        return [_reversed(made[0], lengths) if backward else made[0], *made[1:]]

    def _fused(
        self, number: int, x: Any, weight: Any, recurrence: Any, bias: Any, begins: Sequence[Any], lengths: Any
    ) -> list[Any]:
        order = _ORDER[self._kind]
        first, second = np.split(bias, 2)
        weights = [_ordered(one, order) for one in (weight, recurrence, first, second)]
        mode = {"LSTM": "lstm", "GRU": "gru"}.get(self._kind) or f"rnn_{self._names[number].lower()}"
        known = None if lengths is None else lengths_of(x, lengths)
        state, *others = [one.reshape(1, *one.shape) for one in begins]
        cells = others[0] if others else None
        made = _forerun.recurrent(x, [weights], mode, False, 0.0, False, state, cells, known, True)
        return [made[0], *[one[0] for one in made[1:]]]

    def _stepwise(
        self, number: int, x: Any, weight: Any, recurrence: Any, bias: Any, begins: Sequence[Any], lengths: Any
    ) -> list[Any]:
        functions = self._functions(number)
        first, second = np.split(bias, 2)
        gates = x @ weight.T + first
        states, outputs = list(begins), []
        step = {"LSTM": self._lstm, "GRU": self._gru, "RNN": self._rnn}[self._kind]
        for at in range(x.shape[0]):
            new = step(functions, gates[at], states, recurrence, second, number)
            if lengths is not None:
                inside = (lengths > at).reshape(-1, 1)
                new = [np.where(inside, one, old) for one, old in zip(new, states, strict=True)]
            states = new
            outputs.append(new[0] if lengths is None else np.where(inside, new[0], 0))
        if not outputs:
            raise ValueError("a sequence without steps is not supported")
        return [np.stack(outputs), *states]

    def _functions(self, number: int) -> list[_Function]:
        per = len(self._names) // self.directions
        made = []
        for at in range(number * per, (number + 1) * per):
            numbers = [self._attributes.get(name, []) for name in ("activation_alpha", "activation_beta")]
            made.append(
                self._activation(self._names[at], *[given[at] if at < len(given) else None for given in numbers])
            )
        return made

    def _clipped(self, x: Any) -> Any:
        bound = self._attributes.get("clip", 0.0)
        return np.clip(x, -bound, bound) if bound else x

    def _rnn(
        self, functions: list[_Function], gates: Any, states: list[Any], recurrence: Any, bias: Any, _: int
    ) -> list[Any]:
        return [functions[0](self._clipped(gates + states[0] @ recurrence.T + bias))]

    def _gru(
        self, functions: list[_Function], gates: Any, states: list[Any], recurrence: Any, bias: Any, _: int
    ) -> list[Any]:
        f, g = functions
        (h,) = states
        zx, rx, nx = np.split(gates, 3, axis=-1)
        zw, rw, nw = np.split(recurrence, 3)
        zb, rb, nb = np.split(bias, 3)
        z = f(self._clipped(zx + h @ zw.T + zb))
        r = f(self._clipped(rx + h @ rw.T + rb))
        before = self._attributes.get("linear_before_reset", 0)
        new = g(self._clipped(nx + (r * (h @ nw.T + nb) if before else (r * h) @ nw.T + nb)))
        return [(1 - z) * new + z * h]

    def _lstm(
        self, functions: list[_Function], gates: Any, states: list[Any], recurrence: Any, bias: Any, number: int
    ) -> list[Any]:
        f, g, leave = functions
        h, c = states
        i, o, forget, new = np.split(gates + h @ recurrence.T + bias, 4, axis=-1)
        peeps = [0, 0, 0] if self._peepholes is None else np.split(self._peepholes[number], 3)
        i = f(self._clipped(i + peeps[0] * c))
        forget = 1 - i if self._attributes.get("input_forget", 0) else f(self._clipped(forget + peeps[2] * c))
        c = forget * c + i * g(self._clipped(new))
        return [f(self._clipped(o + peeps[1] * c)) * leave(c), c]


def _ordered(x: Any, order: Sequence[int]) -> Any:
    """Return gates in another order."""
    if len(order) == 1:
        return x
    parts = np.split(x, len(order))
    return np.concatenate([parts[at] for at in order])


def _reversed(x: Any, lengths: Any) -> Any:
    return x[::-1] if lengths is None else npx.sequence_reverse(x, lengths, True)
