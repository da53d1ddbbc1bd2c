"""Recurrent layers, which scan whole sequences at once, and cells, which compute one step.

Examples
--------
>>> from forerun import np
>>> from forerun.gluon import rnn
>>> layer = rnn.LSTM(8, num_layers=2)
>>> layer.initialize()
>>> layer(np.ones((5, 3, 4))).shape
(5, 3, 8)
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.rnn import rnn_cell
from forerun.gluon.rnn.cells import (
    GRUCell,
    HybridRecurrentCell,
    LSTMCell,
    LSTMPCell,
    RecurrentCell,
    RNNCell,
)
from forerun.gluon.rnn.convolutional import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)
from forerun.gluon.rnn.layers import GRU, LSTM, RNN
from forerun.gluon.rnn.modifiers import (
    BidirectionalCell,
    DropoutCell,
    HybridSequentialRNNCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    VariationalDropoutCell,
    ZoneoutCell,
)

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "LSTMPCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "VariationalDropoutCell",
    "ZoneoutCell",
    "rnn_cell",
]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
