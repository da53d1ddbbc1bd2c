"""Recurrent cells whose gates are convolutions of the input and of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._images import channels_last, extents
from forerun.gluon.block import Block
from forerun.gluon.nn.convolutions import Extents, channels_first
from forerun.gluon.parameter import Parameter
from forerun.gluon.rnn.cells import HybridRecurrentCell
from forerun.init import Initializer

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _ConvCell(HybridRecurrentCell):
    """A cell with gates that are convolutions of the input and of the state."""

    _dimensions: int
    _gates: int
    # The number of states.
    _states = 1

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Extents,
        h2h_kernel: Extents,
        i2h_pad: Extents = 0,
        i2h_dilate: Extents = 1,
        h2h_dilate: Extents = 1,
        i2h_weight_initializer: str | Initializer | None = None,
        h2h_weight_initializer: str | Initializer | None = None,
        i2h_bias_initializer: str | Initializer = "zeros",
        h2h_bias_initializer: str | Initializer = "zeros",
        conv_layout: str | None = None,
        activation: str | Block = "tanh",
        **arguments: Any,
    ) -> None:
        """Make a cell. Extents are one number for all axes, or one for each.

        Parameters
        ----------
        input_shape
            The shape of the input of one step of one sequence, in the order of ``conv_layout`` without its first axis.
            The number of channels is inferred at the first call if it is 0.
        hidden_channels
            The channels of the state.
        i2h_kernel, h2h_kernel
            The kernels of the input and of the state. Those of the state are odd, and it is padded to keep its extents.
        i2h_pad
            Zeros at both ends of each axis of the input.
        i2h_dilate, h2h_dilate
            Steps between the elements of a window of the input and of the state.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
            Initialisers of the parameters.
        conv_layout
            ``"NCW"``, ``"NCHW"`` or ``"NCDHW"``, the default, or ``"NWC"``, ``"NHWC"`` or ``"NDHWC"``.
        activation
            The name of an activation, or a block.
        **arguments
            Passed to :class:`Block`.
        """
        super().__init__(**arguments)
        name, count = type(self).__name__, self._dimensions
        self._layout = channels_first(count) if conv_layout is None else conv_layout
        self._last = channels_last(name, self._layout, count)
        self._input_shape = tuple(input_shape)
        self._hidden_channels = hidden_channels
        self._activation = activation
        if len(self._input_shape) != count + 1:
            axes = ", ".join(self._layout[1:])
            raise ValueError(f"{name}: input_shape must have the axes {axes}, got {self._input_shape}")
        given = {
            "i2h_kernel": extents(i2h_kernel, 1, count),
            "h2h_kernel": extents(h2h_kernel, 1, count),
            "i2h_pad": extents(i2h_pad, 0, count),
            "i2h_dilate": extents(i2h_dilate, 1, count),
            "h2h_dilate": extents(h2h_dilate, 1, count),
        }
        for option, values in given.items():
            if len(values) != count:
                raise ValueError(f"{name}: {option} must have {count} numbers, got {values}")
        i2h, h2h, pad, dilate, h2h_steps = given.values()
        if any(extent % 2 == 0 for extent in h2h):
            raise ValueError(f"{name}: h2h_kernel must be odd, got {h2h}")
        axes_of_input = self._input_shape[:-1] if self._last else self._input_shape[1:]
        numbers = zip(axes_of_input, i2h, pad, dilate, strict=True)
        self._axes = tuple(x + 2 * p - d * (k - 1) for x, k, p, d in numbers)
        if any(extent < 1 for extent in self._axes):
            raise ValueError(f"{name}: i2h_kernel {i2h} does not fit an input of shape {self._input_shape}")
        h2h_pad = tuple(d * (k - 1) // 2 for k, d in zip(h2h, h2h_steps, strict=True))
        self._i2h = {"kernel": i2h, "pad": pad, "dilate": dilate}
        self._h2h = {"kernel": h2h, "pad": h2h_pad, "dilate": h2h_steps}
        width, inputs = self._gates * hidden_channels, self._input_shape[-1 if self._last else 0]

        def parameter(name: str, shape: tuple[int, ...], init: str | Initializer | None) -> Parameter:
            return Parameter(name, shape=shape, init=init, allow_deferred_init=True)

        self.i2h_weight = parameter("i2h_weight", self._weight_shape(inputs, i2h), i2h_weight_initializer)
        self.h2h_weight = parameter("h2h_weight", self._weight_shape(hidden_channels, h2h), h2h_weight_initializer)
        self.i2h_bias = parameter("i2h_bias", (width,), i2h_bias_initializer)
        self.h2h_bias = parameter("h2h_bias", (width,), h2h_bias_initializer)

    def _weight_shape(self, inputs: int, kernel: tuple[int, ...]) -> tuple[int, ...]:
        width = self._gates * self._hidden_channels
        return (width, *kernel, inputs) if self._last else (width, inputs, *kernel)

    def infer_shape(self, *given: Any) -> None:
        """Infer shapes from ``inputs, ...``, or from MXNet's arguments ``layer, inputs, bidirectional``."""
        inputs = given[isinstance(given[0], int)]
        self.i2h_weight.shape = self._weight_shape(inputs.shape[-1 if self._last else 1], self._i2h["kernel"])

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        axes, channels = self._axes, self._hidden_channels
        shape = (batch_size, *axes, channels) if self._last else (batch_size, channels, *axes)
        return [{"shape": shape, "__layout__": self._layout} for _ in range(self._states)]

    def _parts(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[list[ndarray], list[ndarray]]:
        """Return what the input and the state add to each gate."""
        shapes = [info["shape"] for info in self.state_info(inputs.shape[0])]
        if [state.shape for state in states] != shapes:
            name, got = type(self).__name__, [state.shape for state in states]
            raise ValueError(f"{name}: states must have the shapes {shapes}, got {got}")

        def gates(x: ndarray, weight: Parameter, bias: Parameter, window: dict[str, Any]) -> list[ndarray]:
            width = self._gates * self._hidden_channels
            made = npx.convolution(
                x, weight.data(), bias.data(), num_filter=width, layout=self._layout, stride=None, **window
            )
            return np.split(made, self._gates, axis=-1 if self._last else 1)

        return (
            gates(inputs, self.i2h_weight, self.i2h_bias, self._i2h),
            gates(states[0], self.h2h_weight, self.h2h_bias, self._h2h),
        )

    def _activated(self, x: ndarray) -> ndarray:
        activation = self._activation
        made: ndarray = activation(x) if isinstance(activation, Block) else npx.activation(x, activation)
        return made

    def __repr__(self) -> str:
        """Write the channels, the activation and the layout."""
        inputs, width = self._input_shape[-1 if self._last else 0], self._gates * self._hidden_channels
        return f"{type(self).__name__}({inputs or None} -> {width}, {self._activation}, {self._layout})"


class _ConvRNNCell(_ConvCell):
    """``h' = activation(W_i * x + b_i + W_h * h + b_h)``."""

    _gates = 1

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        (given,), (kept,) = self._parts(inputs, states)
        output = self._activated(given + kept)
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    """``c' = sigmoid(f) c + sigmoid(i) activation(g)``, ``h' = sigmoid(o) activation(c')``."""

    _gates = 4
    _states = 2

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        enter, forget, new, leave = (given + kept for given, kept in zip(*self._parts(inputs, states), strict=True))
        cell = npx.sigmoid(forget) * states[1] + npx.sigmoid(enter) * self._activated(new)
        output = npx.sigmoid(leave) * self._activated(cell)
        return output, [output, cell]


class _ConvGRUCell(_ConvCell):
    """``h' = (1 - sigmoid(z)) n + sigmoid(z) h`` with ``n = activation(n_i + sigmoid(r) n_h)``."""

    _gates = 3

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        given, kept = self._parts(inputs, states)
        reset, update = (npx.sigmoid(given[k] + kept[k]) for k in (0, 1))
        new = self._activated(given[2] + reset * kept[2])
        output = (1 - update) * new + update * states[0]
        return output, [output]


class Conv1DRNNCell(_ConvRNNCell):
    """One step of a recurrent network over sequences.

    ``h' = activation(W_i * x + b_i + W_h * h + b_h)``, where ``*`` is a convolution.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv1DRNNCell((2, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 8)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 8), 1)
    """

    _dimensions = 1


class Conv2DRNNCell(_ConvRNNCell):
    """One step of a recurrent network over images.

    ``h' = activation(W_i * x + b_i + W_h * h + b_h)``, where ``*`` is a convolution.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv2DRNNCell((2, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 8, 8)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 8, 8), 1)
    """

    _dimensions = 2


class Conv3DRNNCell(_ConvRNNCell):
    """One step of a recurrent network over volumes.

    ``h' = activation(W_i * x + b_i + W_h * h + b_h)``, where ``*`` is a convolution.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv3DRNNCell((2, 4, 4, 4), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 4, 4, 4)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 4, 4, 4), 1)
    """

    _dimensions = 3


class Conv1DLSTMCell(_ConvLSTMCell):
    """One step of long short-term memory over sequences.

    The gates are those of :class:`LSTMCell`, with convolutions in place of products; the states are ``h`` and ``c``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv1DLSTMCell((2, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 8)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 8), 2)
    """

    _dimensions = 1


class Conv2DLSTMCell(_ConvLSTMCell):
    """One step of long short-term memory over images.

    The gates are those of :class:`LSTMCell`, with convolutions in place of products; the states are ``h`` and ``c``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv2DLSTMCell((2, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 8, 8)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 8, 8), 2)
    """

    _dimensions = 2


class Conv3DLSTMCell(_ConvLSTMCell):
    """One step of long short-term memory over volumes.

    The gates are those of :class:`LSTMCell`, with convolutions in place of products; the states are ``h`` and ``c``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv3DLSTMCell((2, 4, 4, 4), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 4, 4, 4)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 4, 4, 4), 2)
    """

    _dimensions = 3


class Conv1DGRUCell(_ConvGRUCell):
    """One step of gated recurrent units over sequences.

    The gates are those of :class:`GRUCell`, with convolutions in place of products.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv1DGRUCell((2, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 8)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 8), 1)
    """

    _dimensions = 1


class Conv2DGRUCell(_ConvGRUCell):
    """One step of gated recurrent units over images.

    The gates are those of :class:`GRUCell`, with convolutions in place of products.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv2DGRUCell((2, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 8, 8)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 8, 8), 1)
    """

    _dimensions = 2


class Conv3DGRUCell(_ConvGRUCell):
    """One step of gated recurrent units over volumes.

    The gates are those of :class:`GRUCell`, with convolutions in place of products.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.Conv3DGRUCell((2, 4, 4, 4), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((1, 2, 4, 4, 4)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 4, 4, 4, 4), 1)
    """

    _dimensions = 3
