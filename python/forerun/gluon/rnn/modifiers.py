"""Cells made of other cells: stacks, both directions, dropout, residual connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forerun import _forerun, np, npx
from forerun._forerun import ndarray
from forerun.gluon.rnn.cells import HybridRecurrentCell, RecurrentCell, joined, steps_of

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "HybridSequentialRNNCell",
    "ModifierCell",
    "ResidualCell",
    "SequentialRNNCell",
    "VariationalDropoutCell",
    "ZoneoutCell",
]


class SequentialRNNCell(RecurrentCell):
    """A stack of cells: each reads the output of the one before. The states are those of all cells, in order.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> stack = rnn.SequentialRNNCell()
    >>> stack.add(rnn.LSTMCell(4))
    >>> stack.add(rnn.GRUCell(3))
    >>> stack.initialize()
    >>> output, states = stack(np.ones((2, 5)), stack.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 3), 3)
    """

    def add(self, cell: RecurrentCell) -> None:
        """Add a cell on top."""
        self.register_child(cell, str(len(self._children)))

    def _cells(self) -> list[RecurrentCell]:
        return [cell for cell in self._children.values() if isinstance(cell, RecurrentCell)]

    def infer_shape(self, *given: Any) -> None:
        """Infer shapes from ``inputs, ...``, or from MXNet's arguments ``layer, inputs, bidirectional``."""
        if not given or not isinstance(given[0], int):
            super().infer_shape(*given)
            return
        for layer, cell in enumerate(self._cells()):
            cell.infer_shape(layer, *given[1:])

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._children)

    def __getitem__(self, index: int) -> RecurrentCell:
        """Return a cell by its position."""
        return self._cells()[index]

    def __iter__(self) -> Iterator[RecurrentCell]:
        """Iterate over the cells."""
        return iter(self._cells())

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] = np.zeros, **arguments: Any
    ) -> list[ndarray]:
        """Return the begin states of all cells."""
        return [state for cell in self._cells() for state in cell.begin_state(batch_size, func, **arguments)]

    def _shares(self, states: Sequence[ndarray]) -> Iterator[tuple[RecurrentCell, list[ndarray]]]:
        """Return each cell with its own states."""
        wanted = len(self.state_info())
        if len(states) != wanted:
            raise ValueError(f"{type(self).__name__}: needs {wanted} states, got {len(states)}")
        at = 0
        for cell in self._cells():
            count = len(cell.state_info())
            yield cell, list(states[at : at + count])
            at += count

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        made: list[ndarray] = []
        for cell, own in self._shares(states):
            inputs, own = cell(inputs, own)
            made += own
        return inputs, made

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[ndarray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: ndarray | None = None,
    ) -> tuple[Any, list[ndarray]]:
        """Compute all steps of sequences, cell by cell; arguments as for :meth:`RecurrentCell.unroll`."""
        self.reset()
        batch = steps_of(type(self).__name__, length, inputs, layout)[2]
        states = self.begin_state(batch) if begin_state is None else list(begin_state)
        merge = isinstance(inputs, ndarray) if merge_outputs is None else merge_outputs
        last: list[ndarray] = []
        for cell, own in self._shares(states):
            inputs, own = cell.unroll(length, inputs, own, layout, merge, valid_length)
            last += own
        return inputs, last


class HybridSequentialRNNCell(SequentialRNNCell, HybridRecurrentCell):
    """A stack of cells that can be captured; see :class:`SequentialRNNCell`."""


class ModifierCell(HybridRecurrentCell):
    """Base class of cells that change what another cell computes; parameters and states are those of the other cell."""

    def __init__(self, base_cell: RecurrentCell, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.base_cell = base_cell

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        return self.base_cell.state_info(batch_size)

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] = np.zeros, **arguments: Any
    ) -> list[ndarray]:
        """Return the begin states of the other cell."""
        return self.base_cell.begin_state(batch_size, func, **arguments)


class DropoutCell(HybridRecurrentCell):
    """Drop elements of the input while training; a cell without states.

    Parameters
    ----------
    rate
        The probability.
    axes
        Axes along which elements are dropped together.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> rnn.DropoutCell(0.5)(np.ones((2,)), [])
    (array([1., 1.]), [])
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        if not 0 <= rate < 1:
            raise ValueError(f"DropoutCell: rate must be at least 0 and below 1, got {rate}")
        self._rate = rate
        self._axes = tuple(axes)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return an empty list."""
        return []

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        return (npx.dropout(inputs, p=self._rate, axes=self._axes) if self._rate else inputs), list(states)


class ZoneoutCell(ModifierCell):
    """Keep elements of the former output and states at random while training.

    Parameters
    ----------
    base_cell
        The cell.
    zoneout_outputs, zoneout_states
        The probabilities of keeping an element of the former output and of the former states.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.ZoneoutCell(rnn.RNNCell(2), zoneout_states=0.5)
    >>> cell.initialize()
    >>> cell(np.ones((1, 3)), cell.begin_state(batch_size=1))[0].shape
    (1, 2)
    """

    def __init__(
        self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0, **arguments: Any
    ) -> None:
        super().__init__(base_cell, **arguments)
        self._zoneout_outputs = zoneout_outputs
        self._zoneout_states = zoneout_states
        self._former: ndarray | None = None

    def reset(self) -> None:
        """Forget the former output."""
        super().reset()
        self._former = None

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        output, after = self.base_cell(inputs, states)
        former = np.zeros_like(output) if self._former is None else self._former
        output = _mixed(output, former, self._zoneout_outputs)
        after = [_mixed(new, old, self._zoneout_states) for new, old in zip(after, states, strict=True)]
        self._former = output
        return output, after


def _mixed(new: ndarray, old: ndarray, p: float) -> ndarray:
    """Return the new elements, each replaced by the old one with probability ``p`` while training."""
    if p == 0 or not _forerun.is_training():
        return new
    return np.where(npx.dropout(np.ones_like(new), p=p) != 0, new, old)


class ResidualCell(ModifierCell):
    """Add the input to the output of a cell.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.ResidualCell(rnn.GRUCell(3))
    >>> cell.initialize()
    >>> cell(np.ones((2, 3)), cell.begin_state(batch_size=2))[0].shape
    (2, 3)
    """

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        output, after = self.base_cell(inputs, states)
        return output + inputs, after


class VariationalDropoutCell(ModifierCell):
    """Drop the same elements at every step of a sequence while training.

    Parameters
    ----------
    base_cell
        The cell.
    drop_inputs, drop_states, drop_outputs
        The probabilities of dropping elements of inputs, of the first state and of outputs.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.VariationalDropoutCell(rnn.LSTMCell(2), drop_inputs=0.5)
    >>> cell.initialize()
    >>> cell.unroll(3, np.ones((1, 3, 4)))[0].shape
    (1, 3, 2)
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
        **arguments: Any,
    ) -> None:
        super().__init__(base_cell, **arguments)
        self._rates = {"inputs": drop_inputs, "states": drop_states, "outputs": drop_outputs}
        self._masks: dict[str, ndarray] = {}

    def reset(self) -> None:
        """Forget the masks."""
        super().reset()
        self._masks = {}

    def _masked(self, what: str, x: ndarray) -> ndarray:
        if self._rates[what] == 0:
            return x
        if what not in self._masks:
            self._masks[what] = npx.dropout(np.ones_like(x), p=self._rates[what])
        return x * self._masks[what]

    def forward(self, inputs: ndarray, states: Sequence[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Compute one step."""
        first, *rest = states
        output, after = self.base_cell(self._masked("inputs", inputs), [self._masked("states", first), *rest])
        return self._masked("outputs", output), after


class BidirectionalCell(HybridRecurrentCell):
    """Two cells, one from the first step to the last and one from the last to the first; it can only be unrolled.

    Parameters
    ----------
    l_cell, r_cell
        The cells.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import rnn
    >>> cell = rnn.BidirectionalCell(rnn.LSTMCell(2), rnn.LSTMCell(3))
    >>> cell.initialize()
    >>> cell.unroll(4, np.ones((1, 4, 5)))[0].shape
    (1, 4, 5)
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.l_cell = l_cell
        self.r_cell = r_cell

    def infer_shape(self, *given: Any) -> None:
        """Infer shapes from ``inputs, ...``, or from MXNet's arguments ``layer, inputs, bidirectional``."""
        super().infer_shape(*((*given[:2], True) if isinstance(given[0], int) else given))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of each state."""
        return self.l_cell.state_info(batch_size) + self.r_cell.state_info(batch_size)

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] = np.zeros, **arguments: Any
    ) -> list[ndarray]:
        """Return the begin states of both cells."""
        left = self.l_cell.begin_state(batch_size, func, **arguments)
        return left + self.r_cell.begin_state(batch_size, func, **arguments)

    def forward(self, *_: Any) -> Any:
        """Raise: a step of both directions needs the whole sequence."""
        raise NotImplementedError("BidirectionalCell cannot be called on one step: use unroll")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[ndarray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: ndarray | None = None,
    ) -> tuple[Any, list[ndarray]]:
        """Compute all steps of sequences; arguments as for :meth:`RecurrentCell.unroll`."""
        self.reset()
        merge = isinstance(inputs, ndarray) if merge_outputs is None else merge_outputs
        steps, axis, batch = steps_of(type(self).__name__, length, inputs, layout)
        states = self.begin_state(batch) if begin_state is None else list(begin_state)
        count = len(self.l_cell.state_info())
        forward, left = self.l_cell.unroll(length, steps, states[:count], layout, False, valid_length)
        turned = _reversed(steps, valid_length)
        backward, right = self.r_cell.unroll(length, turned, states[count:], layout, False, valid_length)
        both = zip(forward, _reversed(backward, valid_length), strict=True)
        outputs = [np.concatenate(pair, axis=-1) for pair in both]
        return joined(outputs, [left + right], axis, merge, None)


def _reversed(steps: list[ndarray], valid_length: ndarray | None) -> list[ndarray]:
    """Return the steps of each sequence from its last to its first."""
    if valid_length is None:
        return steps[::-1]
    turned = npx.sequence_reverse(np.stack(steps), valid_length, True)
    return [turned[t] for t in range(len(steps))]
