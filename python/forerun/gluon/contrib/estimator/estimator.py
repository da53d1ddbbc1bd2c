"""The training loop."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from forerun import npx
from forerun._forerun import Device
from forerun.gluon.block import Block
from forerun.gluon.contrib.estimator.batch_processor import BatchProcessor
from forerun.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    listed_metrics,
)
from forerun.gluon.data import DataLoader
from forerun.gluon.loss import Loss, SoftmaxCrossEntropyLoss
from forerun.gluon.metric import Accuracy, EvalMetric
from forerun.gluon.metric import Loss as LossMetric
from forerun.gluon.trainer import Trainer

__all__ = ["Estimator"]

_Handlers = Sequence[EventHandler] | EventHandler | None


class Estimator:
    """Trains a network, and calls event handlers on the way.

    A batch submits its ops without a wait. The loop waits where a handler reads a metric or writes a file.

    Parameters
    ----------
    net
        The network; it is initialised if it is not yet.
    loss
        The loss.
    train_metrics, val_metrics
        A metric or several. By default, the loss, and the accuracy if the loss is a
        :class:`~forerun.gluon.loss.SoftmaxCrossEntropyLoss`; for validation, copies of the training metrics.
    initializer
        Initialises the network.
    trainer
        Updates the parameters; by default SGD with a learning rate of 0.001.
    device
        A device or several; by default ``gpu(0)`` if there is one.
    val_net, val_loss
        The network and the loss for validation, if they are others.
    batch_processor
        An object with ``fit_batch`` and ``evaluate_batch``; by default a :class:`BatchProcessor`.

    Attributes
    ----------
    logger
        A :class:`logging.Logger` that writes to the standard output. All handlers use it.

    Examples
    --------
    >>> from forerun import gluon
    >>> from forerun.gluon.contrib.estimator import Estimator
    >>> net = gluon.nn.Dense(2)
    >>> net.initialize()
    >>> trainer = gluon.Trainer(net.collect_params(), "adam")
    >>> estimator = Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
    >>> [metric.name for metric in estimator.train_metrics]
    ['training L2Loss']
    """

    max_epoch: int | None
    max_batch: int | None
    batch_axis: int

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Any = None,
        trainer: Trainer | None = None,
        device: Sequence[Device] | Device | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        for each in (loss, val_loss):
            if each is not None and not isinstance(each, Loss):
                raise ValueError(f"Estimator: a loss must be a gluon.loss.Loss, not {each!r}")
        self.net = net
        self.loss = loss
        self.val_net = net if val_net is None else val_net
        self.val_loss = loss if val_loss is None else val_loss
        self._train_metrics = listed_metrics(train_metrics)
        self._val_metrics = listed_metrics(val_metrics)
        self._name_metrics()
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.device = _devices(device)
        self._initialize(initializer)
        self.trainer = self._checked_trainer(trainer)
        for name in ("fit_batch", "evaluate_batch") if batch_processor is not None else ():
            if not callable(getattr(batch_processor, name, None)):
                raise ValueError(f"Estimator: the batch processor has no method {name}")
        self.batch_processor = BatchProcessor() if batch_processor is None else batch_processor

    def _name_metrics(self) -> None:
        """Add the default metrics, and say in the names what each metric measures."""
        if not self._train_metrics:
            if isinstance(self.loss, SoftmaxCrossEntropyLoss):
                self._train_metrics.append(Accuracy())
            self._train_metrics.append(LossMetric(type(self.loss).__name__))
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            if "training" in metric.name:
                metric.name = metric.name.replace("training", "validation")
            else:
                metric.name = f"validation {metric.name}"

    def _initialize(self, initializer: Any) -> None:
        for parameter in self.net.collect_params().values():
            try:
                parameter.list_device()
            except RuntimeError:
                given = {} if initializer is None else {"init": initializer}
                self.net.initialize(device=self.device, **given)
                return
        if initializer is not None:
            text = "Network already fully initialized: the initializer is not used; see force_reinit of initialize"
            warnings.warn(f"Estimator: {text}", stacklevel=3)

    def _checked_trainer(self, trainer: Trainer | None) -> Trainer:
        if trainer is None:
            warnings.warn("Estimator: No trainer specified: SGD with a learning rate of 0.001 is used", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"Estimator: trainer must be a gluon.Trainer, not {trainer!r}")
        return trainer

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of validation."""
        return self._val_metrics

    def evaluate(self, val_data: DataLoader, batch_axis: int = 0, event_handlers: _Handlers = None) -> None:
        """Compute the metrics of validation.

        Parameters
        ----------
        val_data
            Pairs of data and labels.
        batch_axis
            The axis of the samples.
        event_handlers
            Handlers, in addition to the default ones.
        """
        _check_loader("evaluate", val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        for begin in epoch_begin:
            begin.epoch_begin(self)
        for batch in val_data:
            for first in batch_begin:
                first.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for last in batch_end:
                last.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for end in epoch_end:
            end.epoch_end(self)

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: _Handlers = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train.

        Parameters
        ----------
        train_data, val_data
            Pairs of data and labels.
        epochs, batches
            When to stop; one of the two.
        event_handlers
            Handlers, in addition to the default ones. A handler with a lower ``priority`` is called first.
        batch_axis
            The axis of the samples.
        """
        _check_loader("fit", train_data)
        if (not epochs) == (not batches):
            raise ValueError(f"fit: either epochs or batches is needed, got {epochs} and {batches}")
        self.max_epoch = epochs
        self.max_batch = batches
        self.batch_axis = batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(handlers)
        for starting in train_begin:
            starting.train_begin(self)
        stopping = False
        while not stopping:
            for begin in epoch_begin:
                begin.epoch_begin(self)
            for batch in train_data:
                for first in batch_begin:
                    first.batch_begin(self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                # Every handler is called, also after one that stops.
                if any([last.batch_end(self, batch=batch, pred=pred, label=label, loss=loss) for last in batch_end]):
                    break
            stopping = any([end.epoch_end(self) for end in epoch_end])
        for finishing in train_end:
            finishing.train_end(self)

    def _prepare_default_handlers(self, val_data: Any, event_handlers: _Handlers) -> list[EventHandler]:
        given = _listed(event_handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has(given, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if not _has(given, MetricHandler):
            added.append(MetricHandler(self.train_metrics))
        if val_data is not None and not _has(given, ValidationHandler):
            added.append(ValidationHandler(val_data, self.evaluate))
        if not _has(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return _merged(given, added, [*self.train_metrics, *self.val_metrics])

    def _prepare_default_validation_handlers(self, event_handlers: _Handlers) -> list[EventHandler]:
        given = _listed(event_handlers)
        added: list[EventHandler] = []
        if not _has(given, MetricHandler):
            added.append(MetricHandler(self.val_metrics))
        if not _has(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return _merged(given, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers: Sequence[EventHandler]) -> tuple[list[Any], ...]:
        """Return the handlers of each event."""
        events = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)
        return tuple([each for each in event_handlers if isinstance(each, event)] for event in events)


def _devices(given: Sequence[Device] | Device | None) -> list[Device]:
    """Return the devices; raise if one does not exist."""
    count = npx.num_gpus()
    if given is None:
        if count > 1:
            warnings.warn("Estimator: gpu(0) is used; device=[npx.gpu(0), npx.gpu(1)] would use two", stacklevel=3)
        return [npx.gpu(0)] if count else [npx.cpu()]
    devices = [given] if isinstance(given, Device) else given
    if not isinstance(devices, (list, tuple)) or not all(isinstance(device, Device) for device in devices):
        raise ValueError(f"Estimator: device must be a device or a list of devices, not {given!r}")
    for device in devices:
        if device.device_type == "gpu" and device.device_id >= count:
            raise AssertionError(f"Estimator: {device} does not exist; there are {count} GPUs")
    return list(devices)


def _check_loader(name: str, data: Any) -> None:
    if not isinstance(data, DataLoader):
        raise ValueError(f"{name}: data must be a gluon.data.DataLoader, not {type(data).__name__}")


def _listed(handlers: _Handlers) -> list[EventHandler]:
    found = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    for handler in found:
        if not isinstance(handler, EventHandler):
            raise ValueError(f"event_handlers: an EventHandler is needed, not {handler!r}")
    return found


def _has(handlers: Sequence[EventHandler], kind: type[EventHandler]) -> bool:
    return any(isinstance(handler, kind) for handler in handlers)


def _merged(given: list[EventHandler], added: list[EventHandler], known: list[EvalMetric]) -> list[EventHandler]:
    """Return all handlers in the order of their priorities.

    Default handlers update only the estimator's metrics, so that no other may refer to metrics of its own.
    """
    for handler in given if added else []:
        for metric in getattr(handler, "metrics", None) or []:
            if not any(metric is each for each in known):
                raise ValueError(
                    f"{type(handler).__name__} refers to {metric.name}, which is not one of the estimator's metrics;"
                    " use those of estimator.train_metrics and estimator.val_metrics"
                )
    return sorted([*given, *added], key=lambda handler: float(getattr(handler, "priority", 0)))
