"""Recurrent networks over packed parameters; part of ``npx``."""

from __future__ import annotations

from typing import Any

from forerun import _forerun
from forerun._convert import to_array, truncated
from forerun._forerun import ndarray
from forerun._types import ArrayLike

__all__ = ["rnn"]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def rnn(
    data: ArrayLike,
    parameters: ArrayLike,
    state: ArrayLike,
    state_cell: ArrayLike | None = None,
    sequence_length: ArrayLike | None = None,
    mode: str = "lstm",
    state_size: int = 0,
    num_layers: int = 1,
    bidirectional: bool = False,
    state_outputs: bool = False,
    p: float = 0.0,
    use_sequence_length: bool = False,
    projection_size: int | None = None,
) -> Any:
    """Compute a recurrent network of one or more layers.

    Parameters
    ----------
    data
        The inputs, ``(steps, batch, inputs)``.
    parameters
        All parameters in one vector: first the weights of every layer and direction (from the inputs, from the state
        and, with ``projection_size``, the projection), then their biases (of the inputs, of the state). The order of
        the gates is input, forget, cell, output in an LSTM, and reset, update, new in a GRU.
    state
        The begin states, ``(num_layers * directions, batch, state)``.
    state_cell
        The begin states of the cells of an LSTM, ``(num_layers * directions, batch, state_size)``.
    sequence_length
        The number of steps of each sequence, with ``use_sequence_length``. Outputs beyond it are zero, and the last
        state is the one at the end of the sequence.
    mode
        ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
    state_size
        The number of hidden units.
    num_layers
        The number of layers.
    bidirectional
        Whether every layer also runs from the last step to the first; outputs of both directions are concatenated.
    state_outputs
        Whether to return the last states too.
    p
        The probability of dropping an output between two layers while training.
    use_sequence_length
        Whether to use ``sequence_length``.
    projection_size
        The size to which an LSTM projects its hidden units.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x, state = np.ones((3, 1, 2)), np.zeros((1, 1, 4))
    >>> weights = np.zeros((4 * (2 + 4 + 1 + 1),))
    >>> y, last = npx.rnn(x, weights, state, mode="rnn_tanh", state_size=4, state_outputs=True)
    >>> y.shape, last.shape
    ((3, 1, 4), (1, 1, 4))
    """
    if mode not in GATES:
        raise ValueError(f"rnn: mode must be one of {', '.join(GATES)}, not {mode}")
    if projection_size and mode != "lstm":
        raise ValueError(f"rnn: only an LSTM has a projection, not {mode}")
    if state_size < 1 or num_layers < 1:
        raise ValueError(f"rnn: needs hidden units and layers, got {state_size} and {num_layers}")
    x = to_array(data)
    if x.ndim != 3:
        raise ValueError(f"rnn: data must have the axes step, sequence and input, got shape {x.shape}")
    packed = to_array(parameters, None, x.device)
    directions = 2 if bidirectional else 1
    weights = split(packed, mode, x.shape[2], state_size, projection_size or 0, num_layers, directions)
    made = _forerun.recurrent(
        x,
        weights,
        mode,
        bidirectional,
        p,
        _forerun.is_training(),
        to_array(state, None, x.device),
        None if state_cell is None else to_array(state_cell, None, x.device),
        lengths_of(x, sequence_length) if use_sequence_length else None,
        state_outputs,
    )
    return made if state_outputs else made[0]


def lengths_of(x: ndarray, sequence_length: ArrayLike | None) -> ndarray | None:
    """Return the lengths of sequences as integers on the device of the data."""
    if sequence_length is None:
        return None
    return truncated(sequence_length, x.device)


def split(
    packed: ndarray, mode: str, inputs: int, hidden: int, projection: int, layers: int, directions: int
) -> list[list[ndarray]]:
    """Split a vector of parameters into those of each direction of each layer."""
    width, state = GATES[mode] * hidden, projection or hidden
    shapes = []
    for layer in range(layers):
        given = inputs if layer == 0 else state * directions
        own = [(width, given), (width, state)] + ([(projection, hidden)] if projection else [])
        shapes += [own] * directions
    wanted = sum(a * b for own in shapes for a, b in own) + 2 * width * len(shapes)
    if packed.shape != (wanted,):
        raise ValueError(f"rnn: parameters must have shape ({wanted},), not {packed.shape}")
    at = 0

    def cut(*shape: int) -> ndarray:
        nonlocal at
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        at += size
        return packed[at - size : at].reshape(*shape)

    matrices = [[cut(*shape) for shape in own] for own in shapes]
    return [[own[0], own[1], cut(width), cut(width), *own[2:]] for own in matrices]
