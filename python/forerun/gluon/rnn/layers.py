"""Recurrent layers: all steps of a sequence in one scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import _forerun, np
from forerun._forerun import ndarray
from forerun._recurrent import GATES, lengths_of
from forerun._types import DTypeLike
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter
from forerun.init import Initializer

__all__ = ["GRU", "LSTM", "RNN"]


class _Layer(HybridBlock):
    """Base class of recurrent layers."""

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: Sequence[str | Initializer | None],
        projection_size: int | None,
        dtype: DTypeLike,
        use_sequence_length: bool,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        name = type(self).__name__
        if layout not in ("TNC", "NTC"):
            raise ValueError(f"{name}: layout must be TNC or NTC, not {layout}")
        if hidden_size < 1 or num_layers < 1:
            raise ValueError(f"{name}: needs hidden units and layers, got {hidden_size} and {num_layers}")
        if not 0 <= dropout < 1:
            raise ValueError(f"{name}: dropout must be at least 0 and below 1, got {dropout}")
        self._mode = mode
        self._hidden_size = hidden_size
        self._num_layers = num_layers
        self._layout = layout
        self._dropout = dropout
        self._directions = 2 if bidirectional else 1
        self._input_size = input_size
        self._projection_size = projection_size
        self._use_sequence_length = use_sequence_length
        width, state = GATES[mode] * hidden_size, projection_size or hidden_size
        i2h_weight, h2h_weight, i2h_bias, h2h_bias, h2r_weight = initializers
        for layer in range(num_layers):
            given = input_size if layer == 0 else state * self._directions
            for way in "lr"[: self._directions]:
                own: list[tuple[str, tuple[int, ...], str | Initializer | None]] = [
                    ("i2h_weight", (width, given), i2h_weight),
                    ("h2h_weight", (width, state), h2h_weight),
                    ("i2h_bias", (width,), i2h_bias),
                    ("h2h_bias", (width,), h2h_bias),
                ]
                if projection_size:
                    own.append(("h2r_weight", (projection_size, hidden_size), h2r_weight))
                for part, shape, init in own:
                    place = f"{way}{layer}_{part}"
                    made = Parameter(place, shape=shape, dtype=dtype, init=init, allow_deferred_init=True)
                    setattr(self, place, made)

    def __repr__(self) -> str:
        """Write the extents and settings."""
        text = f"{type(self).__name__}({self._input_size or None} -> {self._hidden_size}, {self._layout}"
        if self._num_layers != 1:
            text += f", num_layers={self._num_layers}"
        if self._dropout != 0:
            text += f", dropout={self._dropout}"
        if self._directions == 2:
            text += ", bidirectional"
        return text + ")"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        count = self._num_layers * self._directions
        widths = [self._projection_size or self._hidden_size]
        if self._mode == "lstm":
            widths.append(self._hidden_size)
        return [{"shape": (count, batch_size, width), "__layout__": "LNC"} for width in widths]

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

    def infer_shape(self, inputs: ndarray, *_: Any) -> None:
        """Infer the number of inputs from the data."""
        self._input_size = inputs.shape[-1]
        width = GATES[self._mode] * self._hidden_size
        for way in "lr"[: self._directions]:
            getattr(self, f"{way}0_i2h_weight").shape = (width, self._input_size)

    def forward(self, inputs: ndarray, states: Any = None, sequence_length: ndarray | None = None) -> Any:
        """Compute the layer: the outputs and, if states were given, a list of the last states.

        Parameters
        ----------
        inputs
            The inputs, in the order that ``layout`` says.
        states
            The begin states, an array or a list of them; zeros if not given.
        sequence_length
            The number of steps of each sequence, with ``use_sequence_length``.
        """
        name = type(self).__name__
        if inputs.ndim != 3:
            raise ValueError(f"{name}: inputs must have the axes {', '.join(self._layout)}, got shape {inputs.shape}")
        if self._use_sequence_length and sequence_length is None:
            raise ValueError(f"{name}: use_sequence_length needs sequence_length")
        given = [states] if isinstance(states, ndarray) else list(states or ())
        expected = 2 if self._mode == "lstm" else 1
        if states is not None and len(given) != expected:
            raise ValueError(f"{name}: needs {expected} states, got {len(given)}")
        x = inputs.swapaxes(0, 1) if self._layout == "NTC" else inputs
        parts = ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"] + ["h2r_weight"] * bool(self._projection_size)
        weights = [
            [getattr(self, f"{way}{layer}_{part}").data() for part in parts]
            for layer in range(self._num_layers)
            for way in "lr"[: self._directions]
        ]
        lengths = lengths_of(x, sequence_length) if self._use_sequence_length else None
        begin = [*given, None, None]
        made = _forerun.recurrent(
            x,
            weights,
            self._mode,
            self._directions == 2,
            self._dropout,
            _forerun.is_training(),
            begin[0],
            begin[1],
            lengths,
            states is not None,
        )
        y = made[0].swapaxes(0, 1) if self._layout == "NTC" else made[0]
        return y if states is None else (y, made[1:])


class RNN(_Layer):
    """A recurrent layer: ``h' = activation(W_i x + b_i + W_h h + b_h)``.

    Inputs have the shape ``(steps, batch, inputs)`` and outputs ``(steps, batch, directions * hidden_size)``; with the
    layout ``NTC`` batch and steps change places. A state has the shape ``(num_layers * directions, batch,
    hidden_size)``. Parameters of layer 0 are ``l0_i2h_weight``, ``l0_h2h_weight``, ``l0_i2h_bias`` and ``l0_h2h_bias``;
    those of the other direction begin with ``r``.

    Parameters
    ----------
    hidden_size
        The number of hidden units.
    num_layers
        The number of layers; each reads the outputs of the one before.
    activation
        ``"relu"`` or ``"tanh"``.
    layout
        The order of the axes of inputs and outputs: ``"TNC"`` or ``"NTC"`` (T steps, N sequences, C numbers).
    dropout
        The probability of dropping an output between two layers while training.
    bidirectional
        Whether every layer also runs from the last step to the first; outputs of both directions are concatenated.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initialisers of the parameters.
    input_size
        The number of inputs; inferred at the first call if 0.
    dtype
        The dtype of the parameters.
    use_sequence_length
        Whether calls give the number of steps of each sequence. Outputs beyond it are zero, and the last state is the
        one at the end of the sequence.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> layer = rnn.RNN(4, activation="tanh")
    >>> layer.initialize()
    >>> output, states = layer(np.ones((5, 2, 3)), layer.begin_state(batch_size=2))
    >>> output.shape, states[0].shape
    ((5, 2, 4), (1, 2, 4))
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: str | Initializer | None = None,
        h2h_weight_initializer: str | Initializer | None = None,
        i2h_bias_initializer: str | Initializer = "zeros",
        h2h_bias_initializer: str | Initializer = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        **arguments: Any,
    ) -> None:
        if activation not in ("relu", "tanh"):
            raise ValueError(f"RNN: activation must be 'relu' or 'tanh', not '{activation}'")
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, None
        super().__init__(
            f"rnn_{activation}", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers,
            None, dtype, use_sequence_length, **arguments,
        )  # fmt: skip


class LSTM(_Layer):
    """A layer of long short-term memory.

    With gates ``i, f, g, o``, each ``W_i x + b_i + W_h h + b_h``: ``c' = sigmoid(f) c + sigmoid(i) tanh(g)`` and ``h' =
    sigmoid(o) tanh(c')``; with a projection, ``h' = W_r (sigmoid(o) tanh(c'))``. Shapes and names are those of
    :class:`RNN`. The gates follow each other in weights and biases, which have ``4 * hidden_size`` rows. There are two
    states: ``h``, ``(num_layers * directions, batch, hidden_size or projection_size)``, and ``c``, ``(num_layers *
    directions, batch, hidden_size)``. The projection is ``l0_h2r_weight``.

    Parameters
    ----------
    hidden_size, num_layers, layout, dropout, bidirectional, input_size, dtype, use_sequence_length
        As for :class:`RNN`.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, h2r_weight_initializer
        Initialisers of the parameters.
    projection_size
        The size to which hidden units are projected, or ``None``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> layer = rnn.LSTM(4, layout="NTC", bidirectional=True)
    >>> layer.initialize()
    >>> layer(np.ones((2, 5, 3))).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: str | Initializer | None = None,
        h2h_weight_initializer: str | Initializer | None = None,
        i2h_bias_initializer: str | Initializer = "zeros",
        h2h_bias_initializer: str | Initializer = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: str | Initializer | None = None,
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        **arguments: Any,
    ) -> None:
        initializers = (
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            h2r_weight_initializer,
        )  # fmt: skip
        super().__init__(
            "lstm", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, projection_size,
            dtype, use_sequence_length, **arguments,
        )  # fmt: skip


class GRU(_Layer):
    """A layer of gated recurrent units.

    With ``r = sigmoid(...)``, ``z = sigmoid(...)`` and ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))``: ``h' = (1 - z)
    n + z h``. Shapes and names are those of :class:`RNN`. The gates ``r, z, n`` follow each other in weights and
    biases, which have ``3 * hidden_size`` rows.

    Parameters
    ----------
    hidden_size, num_layers, layout, dropout, bidirectional, input_size, dtype, use_sequence_length
        As for :class:`RNN`.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initialisers of the parameters.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> layer = rnn.GRU(4, num_layers=2)
    >>> layer.initialize()
    >>> layer(np.ones((5, 2, 3))).shape
    (5, 2, 4)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: str | Initializer | None = None,
        h2h_weight_initializer: str | Initializer | None = None,
        i2h_bias_initializer: str | Initializer = "zeros",
        h2h_bias_initializer: str | Initializer = "zeros",
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        **arguments: Any,
    ) -> None:
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, None
        super().__init__(
            "gru", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, None, dtype,
            use_sequence_length, **arguments,
        )  # fmt: skip
