"""Sequences of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import np
from forerun._missing import module_getattr
from forerun.torch._creation import tensor
from forerun.torch._joining import stack
from forerun.torch._tensor import Tensor

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
]


class PackedSequence:
    """Sequences with their lengths, for recurrent layers.

    The sequences stay padded: the layers stop at each one's length. ``data`` and ``batch_sizes`` are computed as
    PyTorch lays them out, for sequences in order of falling length; they wait for the lengths.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(torch.ones(3, 2, 1), [3, 1]).batch_sizes
    tensor([2, 1, 1])
    """

    def __init__(self, padded: Tensor, lengths: Tensor, batch_first: bool) -> None:
        self.padded, self.lengths, self.batch_first = padded, lengths, batch_first

    @property
    def batch_sizes(self) -> Tensor:
        """The number of sequences that reach each step."""
        lengths = self.lengths.tolist()
        return tensor([sum(length > step for length in lengths) for step in range(max(lengths))])

    @property
    def data(self) -> Tensor:
        """The elements of all sequences, step by step."""
        lengths = self.lengths.tolist()
        order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        steps = self.padded.transpose(0, 1) if self.batch_first else self.padded
        rows = [(step, row) for step in range(max(lengths)) for row in order if lengths[row] > step]
        first, second = (np.array([pair[side] for pair in rows], np.int64) for side in (0, 1))
        return steps[first, second]

    def to(self, *targets: Any, **named: Any) -> PackedSequence:
        """Return the sequences on another device or in another dtype."""
        return PackedSequence(self.padded.to(*targets, **named), self.lengths, self.batch_first)


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, filled up to the longest.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    given = list(sequences)
    longest = max(sequence.shape[0] for sequence in given)
    filled = []
    for sequence in given:
        missing = longest - sequence.shape[0]
        around = (0, missing) if padding_side == "right" else (missing, 0)
        sides = [around] + [(0, 0)] * (sequence.dim() - 1)
        filled.append(Tensor._run(lambda x, s=sides: np.pad(x, s, constant_values=padding_value), sequence))
    return stack(filled, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded batch.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.utils.rnn.unpad_sequence(torch.ones(2, 2), torch.tensor([2, 1]))
    [tensor([1., 1.]), tensor([1.])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [rows[number][:count] for number, count in enumerate(counts)]


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Combine padded sequences with their lengths. Waits for lengths in a tensor if they must be sorted.

    Examples
    --------
    >>> from forerun import torch
    >>> packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1), [3, 1])
    >>> packed.data.shape
    torch.Size([4, 1])
    """
    counts = lengths if isinstance(lengths, Tensor) else tensor(list(lengths))
    if enforce_sorted:
        listed = counts.tolist()
        if listed != sorted(listed, reverse=True):
            raise RuntimeError("pack_padded_sequence: lengths must fall; or set enforce_sorted=False")
    return PackedSequence(input, counts.long(), batch_first)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Combine sequences of different lengths.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)]).data
    tensor([1., 1., 1.])
    """
    return pack_padded_sequence(
        pad_sequence(sequences), [sequence.shape[0] for sequence in sequences], False, enforce_sorted
    )


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return padded sequences and their lengths. Waits for the longest.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([torch.ones(2), torch.ones(1)]))[1]
    tensor([2, 1])
    """
    steps = sequence.padded.transpose(0, 1) if sequence.batch_first else sequence.padded
    longest = max(sequence.lengths.tolist()) if total_length is None else total_length
    steps = steps[:longest]
    if longest > steps.shape[0]:
        sides = [(0, longest - steps.shape[0])] + [(0, 0)] * (steps.dim() - 1)
        steps = Tensor._run(lambda x: np.pad(x, sides), steps)
    shape = (longest, -1) + (1,) * (steps.dim() - 2)
    inside = np.less(np.arange(longest)[:, None], sequence.lengths._array).reshape(*shape)
    made = Tensor._run(lambda x: np.where(inside, x, padding_value).astype(x.dtype), steps)
    return (made.transpose(0, 1) if batch_first else made), sequence.lengths


__getattr__ = module_getattr(__name__, globals(), {})
