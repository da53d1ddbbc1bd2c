"""Event handlers of the training loop.

A handler is a class that inherits from the events it handles: :class:`TrainBegin`, :class:`TrainEnd`,
:class:`EpochBegin`, :class:`EpochEnd`, :class:`BatchBegin`, :class:`BatchEnd`. A true result of ``batch_end`` or
``epoch_end`` ends the epoch or the training. Handlers with a lower ``priority`` are called first; the default is 0.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forerun.gluon.metric import CompositeEvalMetric, EvalMetric
from forerun.gluon.metric import Loss as LossMetric

if TYPE_CHECKING:
    from forerun.gluon.contrib.estimator.estimator import Estimator

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]


class EventHandler:
    """The base class of handlers."""


class TrainBegin(EventHandler):
    """Handles the beginning of the training."""

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Handle the event."""


class TrainEnd(EventHandler):
    """Handles the end of the training."""

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Handle the event."""


class EpochBegin(EventHandler):
    """Handles the beginning of an epoch."""

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Handle the event."""


class EpochEnd(EventHandler):
    """Handles the end of an epoch."""

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool | None:
        """Handle the event; return whether to end the training."""
        return False


class BatchBegin(EventHandler):
    """Handles the beginning of a batch, with the argument ``batch``."""

    def batch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Handle the event."""


class BatchEnd(EventHandler):
    """Handles the end of a batch, with the arguments ``batch``, ``pred``, ``label`` and ``loss``."""

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool | None:
        """Handle the event; return whether to end the epoch."""
        return False


def listed_metrics(metrics: Any) -> list[EvalMetric]:
    """Return metrics as a list, without composite ones."""
    if isinstance(metrics, CompositeEvalMetric):
        return [each for metric in metrics.metrics for each in listed_metrics(metric)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    found = list(metrics or [])
    if not all(isinstance(metric, EvalMetric) for metric in found):
        raise ValueError(f"metrics must be metrics of gluon.metric, not {metrics!r}")
    return found


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends the training after a number of epochs or batches, which it takes from the estimator.

    Parameters
    ----------
    max_epoch, max_batch
        The numbers.
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Start to count."""
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch
        self.current_batch = 0
        self.current_epoch = 0

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Count a batch."""
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Count an epoch."""
        self.current_epoch += 1
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Resets metrics before an epoch and updates them after each batch, without a wait.

    Parameters
    ----------
    metrics
        A metric or several.
    priority
        The priority, high enough that other handlers see updated metrics.
    """

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = listed_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Reset."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update: metrics of losses with the loss, others with labels and predictions."""
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(None, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates the network from time to time.

    Parameters
    ----------
    val_data
        The data.
    eval_fn
        The function, such as :meth:`Estimator.evaluate`.
    epoch_period, batch_period
        After how many epochs, and after how many batches.
    priority
        The priority.
    event_handlers
        Handlers of the evaluation.
    """

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Start to count."""
        self.current_batch = 0
        self.current_epoch = 0

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count a batch, and evaluate if it is time."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count an epoch, and evaluate if it is time."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)

    def _evaluate(self, estimator: Estimator) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes metrics and times to the estimator's logger. Each line with metrics waits for them.

    Parameters
    ----------
    log_interval
        ``"epoch"``, or a number of batches.
    metrics
        A metric or several.
    priority
        The priority; by default the handler is called last.
    """

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = math.inf) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ValueError(f"LoggingHandler: log_interval must be a number or 'epoch', not {log_interval!r}")
        self.metrics = listed_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self._restart()

    def _restart(self) -> None:
        self.train_start = self.epoch_start = self.batch_start = time.perf_counter()
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self.log_interval_time = 0.0

    def _values(self) -> str:
        return ", ".join(f"{name}: {value:.4f}" for metric in self.metrics for name, value in metric.get_name_value())

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Write the optimiser and the length of the training."""
        self._restart()
        kind, rate = type(estimator.trainer.optimizer).__name__, estimator.trainer.learning_rate
        estimator.logger.info("Training begin: using optimizer %s with current learning rate %.4f", kind, rate)
        count, unit = (estimator.max_epoch, "epochs") if estimator.max_epoch else (estimator.max_batch, "batches")
        estimator.logger.info("Train for %d %s.", count, unit)

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Write the time and the metrics."""
        values, seconds = self._values(), time.perf_counter() - self.train_start
        text = "Train finished using total %.3fs with %d epochs. %s"
        estimator.logger.info(text, seconds, self.current_epoch, values)

    def batch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self.batch_start = time.perf_counter()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Write the metrics, if it is time."""
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            due = self.batch_index % self.log_interval == 0
            values = self._values() if due else ""
            self.log_interval_time += time.perf_counter() - self.batch_start
            if due:
                place = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}]"
                estimator.logger.info("%s time/interval: %.3fs %s", place, self.log_interval_time, values)
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Write that an epoch begins."""
        self.epoch_start = time.perf_counter()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Write the time and the metrics of an epoch."""
        values, seconds = self._values(), time.perf_counter() - self.epoch_start
        estimator.logger.info("[Epoch %d] Finished in %.3fs, %s", self.current_epoch, seconds, values)
        self.current_epoch += 1
        self.batch_index = 0


class _Monitor:
    """Decides whether a metric has improved."""

    def __init__(self, owner: str, monitor: Any, mode: str) -> None:
        if not isinstance(monitor, EvalMetric) or isinstance(monitor, CompositeEvalMetric):
            raise ValueError(
                f"{owner}: monitor must be one metric of estimator.train_metrics or estimator.val_metrics,"
                f" not {type(monitor).__name__}"
            )
        self.metric = monitor
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{owner}: mode {mode!r} is unknown; 'auto' is used", RuntimeWarning, stacklevel=3)
            mode = "auto"
        if mode == "auto":
            mode = "max" if any(part in monitor.name.lower() for part in ("acc", "f1")) else "min"
        self.sign = 1.0 if mode == "max" else -1.0
        self.best = -self.sign * math.inf

    def improved(self, value: float, least: float = 0.0) -> bool:
        """Whether a value is better than the best by more than ``least``."""
        return self.sign * (value - self.best) > least


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends the training when a metric no longer improves.

    Parameters
    ----------
    monitor
        A metric of the estimator.
    min_delta
        The least change that counts as an improvement.
    patience
        How many epochs without an improvement are allowed.
    mode
        ``"max"`` or ``"min"``: what is better; ``"auto"``: more, if the name of the metric contains acc or f1.
    baseline
        A value to surpass; by default that of the first epoch.
    """

    def __init__(
        self, monitor: Any, min_delta: float = 0, patience: int = 0, mode: str = "auto", baseline: float | None = None
    ) -> None:
        self._monitor = _Monitor("EarlyStoppingHandler", monitor, mode)
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self.min_delta = min_delta
        self._restart()

    def _restart(self) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self._monitor.best = -self._monitor.sign * math.inf if self.baseline is None else self.baseline

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Start to compare."""
        self._restart()

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Compare, which waits for the metric."""
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(f"EarlyStoppingHandler: {name} has no value", RuntimeWarning, stacklevel=2)
        elif self._monitor.improved(value, self.min_delta):
            self._monitor.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Write why the training ended."""
        if self.stopped_epoch > 0:
            text = "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving"
            estimator.logger.info(text, self.stopped_epoch, self.monitor.name)


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters after each batch.

    Parameters
    ----------
    priority
        The priority, before metrics are updated.
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update."""
        losses = kwargs["loss"] if isinstance(kwargs["loss"], (list, tuple)) else [kwargs["loss"]]
        estimator.trainer.step(sum(loss.shape[0] for loss in losses))


# The checkpoint handler has a file of its own, and belongs to this module by name.
from forerun.gluon.contrib.estimator._checkpoint import CheckpointHandler  # noqa: E402
