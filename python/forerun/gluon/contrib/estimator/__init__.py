"""A training loop with event handlers.

Examples
--------
>>> import logging
>>> from forerun import gluon, np
>>> from forerun.gluon.contrib.estimator import Estimator
>>> net = gluon.nn.Dense(2)
>>> net.initialize("zeros")
>>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
>>> estimator = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
>>> estimator.logger.setLevel(logging.WARNING)
>>> data = gluon.data.ArrayDataset(np.array([[1.0], [-1.0]]), np.array([0, 1]))
>>> estimator.fit(gluon.data.DataLoader(data, batch_size=2), epochs=3)
>>> estimator.train_metrics[0].get()
('training accuracy', 1.0)
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.contrib.estimator import batch_processor, estimator, event_handler
from forerun.gluon.contrib.estimator.batch_processor import BatchProcessor
from forerun.gluon.contrib.estimator.estimator import Estimator
from forerun.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "batch_processor",
    "estimator",
    "event_handler",
]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
