"""Recurrent cells: one step of a recurrent network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._types import DTypeLike
from forerun.gluon.block import Block
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter
from forerun.init import Initializer

__all__ = ["GRUCell", "HybridRecurrentCell", "LSTMCell", "LSTMPCell", "RNNCell", "RecurrentCell", "steps_of"]


def steps_of(name: str, length: int, inputs: Any, layout: str) -> tuple[list[ndarray], int, int]:
    """Return a list of the inputs of each step, the axis of the steps, and the number of sequences."""
    if layout not in ("NTC", "TNC"):
        raise ValueError(f"{name}: layout must be NTC or TNC, not {layout}")
    axis = layout.index("T")
    if isinstance(inputs, ndarray):
        if inputs.ndim < 2 or inputs.shape[axis] != length:
            raise ValueError(f"{name}: inputs of shape {inputs.shape} do not have {length} steps along axis {axis}")
        return [inputs[(slice(None),) * axis + (t,)] for t in range(length)], axis, inputs.shape[1 - axis]
    if len(inputs) != length:
        raise ValueError(f"{name}: {len(inputs)} inputs do not make {length} steps")
    return list(inputs), axis, inputs[0].shape[0]


class RecurrentCell(Block):
    """Base class of cells: ``cell(inputs, states)`` returns the output of one step and a list of the new states."""

    def reset(self) -> None:
        """Reset what is kept between the steps of a sequence, such as dropout masks."""
        for child in self._children.values():
            if isinstance(child, RecurrentCell):
                child.reset()

    def infer_shape(self, *given: Any) -> None:
        """Infer shapes from ``inputs, ...``, or from MXNet's arguments ``layer, inputs, bidirectional``."""
        if not given or not isinstance(given[0], int):
            super().infer_shape(*given)
            return
        for child in self._children.values():
            if isinstance(child, RecurrentCell):
                child.infer_shape(*given)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its states are")

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] = np.zeros, **arguments: Any
    ) -> list[ndarray]:
        """Return begin states, created by ``func`` from a shape.

        Parameters
        ----------
        batch_size
            The number of sequences.
        func
            A function from a shape to an array.
        **arguments
            Passed to ``func``.
        """
        return [func(info["shape"], **arguments) for info in self.state_info(batch_size)]

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[ndarray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: ndarray | None = None,
    ) -> tuple[Any, list[ndarray]]:
        """Compute all steps of sequences: the outputs and the last states.

        Parameters
        ----------
        length
            The number of steps.
        inputs
            An array with the axes of ``layout``, or a list of the inputs of each step.
        begin_state
            The begin states; zeros if not given.
        layout
            ``"NTC"`` or ``"TNC"``.
        merge_outputs
            Whether outputs are returned as one array instead of a list; by default as the inputs are given.
        valid_length
            The number of steps of each sequence. Outputs beyond it are zero, and the last state is the one at the end
            of the sequence.
        """
        self.reset()
        merge = isinstance(inputs, ndarray) if merge_outputs is None else merge_outputs
        steps, axis, batch = steps_of(type(self).__name__, length, inputs, layout)
        states = self.begin_state(batch) if begin_state is None else list(begin_state)
        outputs, history = [], []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            history.append(states)
        return joined(outputs, history, axis, merge, valid_length)


def joined(
    outputs: list[ndarray], history: list[list[ndarray]], axis: int, merge: bool, valid_length: ndarray | None
) -> tuple[Any, list[ndarray]]:
    """Return the outputs and the last states of sequences that may end early."""
    if valid_length is None:
        return (np.stack(outputs, axis) if merge else outputs), history[-1]
    states = [npx.sequence_last(np.stack(each), valid_length, True) for each in zip(*history, strict=True)]
    masked = npx.sequence_mask(np.stack(outputs, axis), valid_length, True, axis=axis)
    if merge:
        return masked, states
    return [masked[(slice(None),) * axis + (t,)] for t in range(len(outputs))], states


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base class of cells that can be captured."""


class _Gated(HybridRecurrentCell):
    """A cell with gates that are linear in the input and in the state."""

    _gates = 1

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: str | Initializer | None = None,
        h2h_weight_initializer: str | Initializer | None = None,
        i2h_bias_initializer: str | Initializer = "zeros",
        h2h_bias_initializer: str | Initializer = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._hidden_size = hidden_size
        self._input_size = input_size
        width = self._gates * hidden_size

        def parameter(name: str, shape: tuple[int, ...], init: str | Initializer | None) -> Parameter:
            return Parameter(name, shape=shape, dtype=dtype, init=init, allow_deferred_init=True)

        self.i2h_weight = parameter("i2h_weight", (width, input_size), i2h_weight_initializer)
        self.h2h_weight = parameter("h2h_weight", (width, self._state_size()), h2h_weight_initializer)
        self.i2h_bias = parameter("i2h_bias", (width,), i2h_bias_initializer)
        self.h2h_bias = parameter("h2h_bias", (width,), h2h_bias_initializer)

    def _state_size(self) -> int:
        return self._hidden_size

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        return [{"shape": (batch_size, self._state_size()), "__layout__": "NC"}]

    def infer_shape(self, *given: Any) -> None:
        """Infer shapes from ``inputs, ...``, or from MXNet's arguments ``layer, inputs, bidirectional``."""
        if isinstance(given[0], int) and given[0] > 0:
            size = self._state_size() * (2 if given[2] else 1)
        else:
            size = given[isinstance(given[0], int)].shape[-1]
        self.i2h_weight.shape = (self._gates * self._hidden_size, size)

    def _parts(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, ndarray]:
        """Return the contributions of the input and of the state to the gates."""
        expected = self.state_info(inputs.shape[0])
        shapes = [tuple(info["shape"]) for info in expected]
        if [state.shape for state in states] != shapes:
            name, got = type(self).__name__, [state.shape for state in states]
            raise ValueError(f"{name}: states must have the shapes {shapes}, got {got}")
        return (
            npx.fully_connected(inputs, self.i2h_weight.data(), self.i2h_bias.data()),
            npx.fully_connected(states[0], self.h2h_weight.data(), self.h2h_bias.data()),
        )

    def __repr__(self) -> str:
        """Write the number of inputs and of rows of the weights."""
        shape = self.i2h_weight.shape or (0, 0)
        return f"{type(self).__name__}({shape[1] if shape[1] > 0 else None} -> {shape[0]})"


class RNNCell(_Gated):
    """One step of a recurrent network: ``h' = activation(W_i x + b_i + W_h h + b_h)``.

    Parameters
    ----------
    hidden_size
        The number of hidden units.
    activation
        The name of an activation.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initialisers of the parameters.
    input_size
        The number of inputs; inferred at the first call if 0.
    dtype
        The dtype of the parameters.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4)
    """

    def __init__(self, hidden_size: int, activation: str = "tanh", *initializers: Any, **arguments: Any) -> None:
        super().__init__(hidden_size, *initializers, **arguments)
        self._activation = activation

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        given, kept = self._parts(inputs, states)
        output = npx.activation(given + kept, self._activation)
        return output, [output]


class LSTMCell(_Gated):
    """One step of long short-term memory; see :class:`LSTM`. The states are ``h`` and ``c``.

    Parameters
    ----------
    hidden_size
        The number of hidden units.
    activation, recurrent_activation
        The activations of the new cell and state, and of the gates.
    **arguments
        The other arguments of :class:`RNNCell`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.LSTMCell(4)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, np.ones((2, 5, 3)))
    >>> outputs.shape, len(states)
    ((2, 5, 4), 2)
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        *initializers: Any,
        activation: str = "tanh",
        recurrent_activation: str = "sigmoid",
        **arguments: Any,
    ) -> None:
        super().__init__(hidden_size, *initializers, **arguments)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        cells = {"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
        return [*super().state_info(batch_size), cells]

    def _step(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, ndarray]:
        given, kept = self._parts(inputs, states)
        enter, forget, new, leave = np.split(given + kept, 4, axis=1)
        gate, squash = self._recurrent_activation, self._activation
        cell = npx.activation(forget, gate) * states[1] + npx.activation(enter, gate) * npx.activation(new, squash)
        return npx.activation(leave, gate) * npx.activation(cell, squash), cell

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        output, cell = self._step(inputs, states)
        return output, [output, cell]


class LSTMPCell(LSTMCell):
    """One step of long short-term memory whose state is a projection of the hidden units; see :class:`LSTM`.

    Parameters
    ----------
    hidden_size
        The number of hidden units.
    projection_size
        The size of the projected state.
    h2r_weight_initializer
        The initialiser of the projection.
    **arguments
        The other arguments of :class:`RNNCell`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.LSTMPCell(4, 2)
    >>> cell.initialize()
    >>> output, (state, memory) = cell(np.ones((1, 3)), cell.begin_state(batch_size=1))
    >>> state.shape, memory.shape
    ((1, 2), (1, 4))
    """

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        *initializers: Any,
        h2r_weight_initializer: str | Initializer | None = None,
        **arguments: Any,
    ) -> None:
        # `_state_size` reads it while the base class is initialised, before the block can have attributes.
        self.__dict__["_projection_size"] = projection_size
        super().__init__(hidden_size, *initializers, **arguments)
        shape = (projection_size, hidden_size)
        dtype = arguments.get("dtype", "float32")
        self.h2r_weight = Parameter("h2r_weight", shape=shape, dtype=dtype, init=h2r_weight_initializer)

    def _state_size(self) -> int:
        return int(self.__dict__["_projection_size"])

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        hidden, cell = self._step(inputs, states)
        output = npx.fully_connected(hidden, self.h2r_weight.data(), no_bias=True)
        return output, [output, cell]


class GRUCell(_Gated):
    """One step of gated recurrent units; see :class:`GRU`.

    Parameters
    ----------
    hidden_size
        The number of hidden units.
    activation, recurrent_activation
        The activations of the new state and of the gates.
    **arguments
        The other arguments of :class:`RNNCell`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.GRUCell(4)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4)
    """

    _gates = 3

    def __init__(
        self,
        hidden_size: int,
        *initializers: Any,
        activation: str = "tanh",
        recurrent_activation: str = "sigmoid",
        **arguments: Any,
    ) -> None:
        super().__init__(hidden_size, *initializers, **arguments)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        given, kept = (np.split(part, 3, axis=1) for part in self._parts(inputs, states))
        reset, update = (npx.activation(given[k] + kept[k], self._recurrent_activation) for k in (0, 1))
        new = npx.activation(given[2] + reset * kept[2], self._activation)
        output = (1 - update) * new + update * states[0]
        return output, [output]
