"""Recurrent layers and cells."""

from __future__ import annotations

from typing import Any

from forerun import _forerun
from forerun._forerun import ndarray
from forerun.torch._creation import zeros
from forerun.torch._tensor import Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn._module import Module
from forerun.torch.nn._weighted import drawn
from forerun.torch.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


class _Recurrent(Module):
    _mode: str
    _gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ValueError(f"{type(self).__name__}: dropout must be a probability, got {dropout}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        width, state = self._gates * hidden_size, proj_size or hidden_size
        bound = hidden_size**-0.5
        for layer in range(num_layers):
            given = input_size if layer == 0 else state * self._directions
            for end in self._ends:
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (width, given), "weight_hh": (width, state)}
                if bias:
                    shapes |= {"bias_ih": (width,), "bias_hh": (width,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{end}", drawn(bound, *shape, device=device, dtype=dtype))

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _ends(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each direction of each layer."""
        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.bias else [])]
        names += ["weight_hr"] if self.proj_size else []
        return [
            [getattr(self, f"{name}_l{layer}{end}") for name in names]
            for layer in range(self.num_layers)
            for end in self._ends
        ]

    def flatten_parameters(self) -> None:
        """Do nothing: the parameters need no common buffer."""

    def _outputs(self, input: Any, states: list[Tensor | None]) -> tuple[Any, list[Tensor]]:
        packed = input if isinstance(input, PackedSequence) else None
        x: Tensor = input if packed is None else packed.padded
        lengths = None if packed is None else packed.lengths._array.as_in_ctx(x._array.device)
        whole = x.dim() == 3
        if x.dim() not in (2, 3) or x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: needs a last dimension of {self.input_size}, got shape {tuple(x.shape)}"
            )
        first = self.batch_first if packed is None else packed.batch_first
        x = x if whole else x.unsqueeze(1)
        x = x.transpose(0, 1) if whole and first else x
        batch, lead = x.shape[1], self.num_layers * self._directions
        extents = [self.proj_size or self.hidden_size, self.hidden_size]
        begins = []
        for number, state in enumerate(states):
            wanted = (lead, batch, extents[number])
            begin = zeros(*wanted, dtype=x.dtype, device=x.device) if state is None else state
            begin = begin if whole or state is None else begin.unsqueeze(1)
            if tuple(begin.shape) != wanted:
                raise RuntimeError(
                    f"{type(self).__name__}: the state must have shape {wanted}, got {tuple(begin.shape)}"
                )
            begins.append(begin)
        groups = self.all_weights
        size = len(groups[0])
        gates = self._gates * self.hidden_size
        has_bias, training = self.bias, self.training and self.dropout > 0

        def computed(x: ndarray, *rest: ndarray) -> list[ndarray]:
            begun, weights = rest[: len(begins)], rest[len(begins) :]
            lists = []
            for start in range(0, len(weights), size):
                own = list(weights[start : start + size])
                if not has_bias:
                    none = _forerun.full((gates,), 0, x.dtype, x.device)
                    own = [*own[:2], none, none, *own[2:]]
                lists.append(own)
            return _forerun.recurrent(
                x, lists, self._mode, self.bidirectional, self.dropout, training, begun[0],
                begun[1] if len(begun) > 1 else None, lengths, True,
            )  # fmt: skip

        flat = [weight for group in groups for weight in group]
        out, *last = Tensor._run_many(computed, x, *begins, *flat)
        if whole:
            out = out.transpose(0, 1) if first else out
        else:
            out, last = out.squeeze(1), [state.squeeze(1) for state in last]
        if packed is not None:
            return PackedSequence(out, packed.lengths, packed.batch_first), last
        return out, last

    def extra_repr(self) -> str:
        """Return the options."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        parts += [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join(parts)


class RNN(_Recurrent):
    """A recurrent network with ``tanh`` or ``relu``: ``h = f(W_ih x + b_ih + W_hh h + b_hh)``.

    Inputs are (steps, batch, inputs), or (batch, steps, inputs) with ``batch_first``.

    Examples
    --------
    >>> from forerun import torch
    >>> out, h = torch.nn.RNN(3, 4)(torch.randn(5, 2, 3))
    >>> out.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    _gates = 1

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **options: Any) -> None:
        if len(args) > 3 and isinstance(args[3], str):
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(*args, **options)
        self.nonlinearity = nonlinearity
        self._mode = f"rnn_{nonlinearity}"

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Compute the outputs of all steps, and the last state."""
        out, (state,) = self._outputs(input, [hx])
        return out, state


class GRU(_Recurrent):
    """A network of gated recurrent units.

    Examples
    --------
    >>> from forerun import torch
    >>> out, h = torch.nn.GRU(3, 4, batch_first=True)(torch.randn(2, 5, 3))
    >>> out.shape, h.shape
    (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    _mode, _gates = "gru", 3

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Compute the outputs of all steps, and the last state."""
        out, (state,) = self._outputs(input, [hx])
        return out, state


class LSTM(_Recurrent):
    """A network with long short-term memory.

    Examples
    --------
    >>> from forerun import torch
    >>> out, (h, c) = torch.nn.LSTM(3, 4, num_layers=2)(torch.randn(5, 2, 3))
    >>> out.shape, h.shape, c.shape
    (torch.Size([5, 2, 4]), torch.Size([2, 2, 4]), torch.Size([2, 2, 4]))
    """

    _mode, _gates = "lstm", 4

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Compute the outputs of all steps, and the last states."""
        states: list[Tensor | None] = [None, None] if hx is None else list(hx)
        out, (state, cell) = self._outputs(input, states)
        return out, (state, cell)


class _Cell(Module):
    _gates: int

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        bound, width = hidden_size**-0.5, self._gates * hidden_size
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight_ih = drawn(bound, width, input_size, **place)
        self.weight_hh = drawn(bound, width, hidden_size, **place)
        self.register_parameter("bias_ih", drawn(bound, width, **place) if bias else None)
        self.register_parameter("bias_hh", drawn(bound, width, **place) if bias else None)

    def _begin(self, input: Tensor) -> Tensor:
        return zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype, device=input.device)

    def _parts(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(state, self.weight_hh, self.bias_hh)

    def extra_repr(self) -> str:
        """Return the extents."""
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """One step of :class:`RNN`.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.RNNCell(3, 4)(torch.randn(2, 3)).shape
    torch.Size([2, 4])
    """

    _gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", **place: Any
    ) -> None:
        super().__init__(input_size, hidden_size, bias, **place)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Compute the next state."""
        given, kept = self._parts(input, self._begin(input) if hx is None else hx)
        total = given + kept
        return total.tanh() if self.nonlinearity == "tanh" else total.relu()


class GRUCell(_Cell):
    """One step of :class:`GRU`.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.GRUCell(3, 4)(torch.randn(2, 3)).shape
    torch.Size([2, 4])
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Compute the next state."""
        state = self._begin(input) if hx is None else hx
        given, kept = self._parts(input, state)
        (reset, update, new), (old_reset, old_update, old_new) = given.chunk(3, -1), kept.chunk(3, -1)
        gate = (update + old_update).sigmoid()
        candidate = (new + (reset + old_reset).sigmoid() * old_new).tanh()
        return (1 - gate) * candidate + gate * state


class LSTMCell(_Cell):
    """One step of :class:`LSTM`.

    Examples
    --------
    >>> from forerun import torch
    >>> h, c = torch.nn.LSTMCell(3, 4)(torch.randn(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    _gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Compute the next states."""
        state, cell = (self._begin(input), self._begin(input)) if hx is None else hx
        given, kept = self._parts(input, state)
        enter, forget, new, leave = (given + kept).chunk(4, -1)
        cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
        return leave.sigmoid() * cell.tanh(), cell
