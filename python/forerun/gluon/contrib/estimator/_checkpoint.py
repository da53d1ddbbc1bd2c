"""The handler that writes checkpoints."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

from forerun.gluon.contrib.estimator.event_handler import BatchEnd, EpochEnd, TrainBegin, _Monitor
from forerun.gluon.hybrid import HybridBlock

if TYPE_CHECKING:
    from forerun.gluon.contrib.estimator.estimator import Estimator

__all__ = ["CheckpointHandler"]


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes parameters and the state of the trainer to ``PREFIX-epochEbatchB.params`` and ``.states``.

    The graph of a hybridized network is written to ``PREFIX-symbol.json``.

    Parameters
    ----------
    model_dir
        The folder; it is created.
    model_prefix
        The beginning of the names of the files.
    monitor
        A metric of the estimator, for ``save_best``.
    verbose
        Whether to write log lines.
    save_best
        Whether to keep the checkpoint with the best value as ``PREFIX-best``.
    mode
        ``"max"`` or ``"min"``: what is better; ``"auto"``: more, if the name of the metric contains acc or f1.
    epoch_period, batch_period
        After how many epochs, and after how many batches, to write.
    max_checkpoints
        How many checkpoints to keep besides the best; older ones are deleted.
    resume_from_checkpoint
        Whether to load the newest checkpoint of the folder, and train for the rest of the epochs or batches.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: Any = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        os.makedirs(model_dir, exist_ok=True)
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.monitor = monitor
        self.verbose = verbose
        self.save_best = save_best
        self._monitor = _Monitor("CheckpointHandler", monitor, mode) if save_best else None
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.current_batch = 0
        self.current_epoch = 0
        # The last epoch and batch of the checkpoint from which the training was resumed.
        self.trained_epoch = -1
        self.trained_batch = -1
        self._symbol_saved = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Start to count, and load a checkpoint if asked to."""
        self.current_epoch = 0
        self.current_batch = 0
        self._symbol_saved = False
        if self._monitor is not None:
            self._monitor.best = -self._monitor.sign * math.inf
        if self.resume_from_checkpoint:
            if bool(estimator.max_batch) != bool(self.batch_period) or bool(estimator.max_epoch) != bool(
                self.epoch_period
            ):
                raise AssertionError(
                    "CheckpointHandler: to resume, checkpoints must be written by epoch for a training by epochs, and"
                    " by batch for a training by batches; set the other period to None"
                )
            self._resume(estimator)

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count a batch, and write if it is time."""
        # A network whose shapes were unknown before the first batch is traced in the second.
        if self.current_batch < 2 and not self._symbol_saved:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count an epoch, and write if it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save(estimator)
        self.current_epoch += 1

    def _path(self, name: str) -> str:
        return os.path.join(self.model_dir, name)

    def _save(self, estimator: Estimator) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._write(estimator, name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in (".params", ".states"):
                if os.path.exists(self._path(oldest + ending)):
                    os.remove(self._path(oldest + ending))
        self._log(estimator, f"saving model at {self.model_dir} with prefix: {name}")
        if self._monitor is None:
            return
        metric, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(f"CheckpointHandler: {metric} has no value; the best is not saved", stacklevel=2)
        elif self._monitor.improved(value):
            self._write(estimator, f"{self.model_prefix}-best")
            self._log(estimator, f"{metric} improved from {self._monitor.best:.5f} to {value:.5f}")
            self._monitor.best = value
        else:
            self._log(estimator, f"{metric} did not improve from {self._monitor.best:.5f}")

    def _log(self, estimator: Estimator, text: str) -> None:
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", self.current_epoch, text)

    def _write(self, estimator: Estimator, name: str) -> None:
        estimator.net.save_parameters(self._path(f"{name}.params"))
        estimator.trainer.save_states(self._path(f"{name}.states"))

    def _save_symbol(self, estimator: Estimator) -> None:
        """Write the graph of a hybridized network; its parameters are those of the checkpoints."""
        net, name = estimator.net, f"{self.model_prefix}-symbol.json"
        if not isinstance(net, HybridBlock) or net._example is None:
            if self.current_batch == 1:
                estimator.logger.info("%s is not saved: the network is not hybridized", name)
            return
        self._symbol_saved = True
        with tempfile.TemporaryDirectory() as folder:
            try:
                symbol, _ = net.export(os.path.join(folder, "net"))
            except ValueError as error:
                estimator.logger.info("%s is not saved: %s", name, error)
                return
            shutil.move(symbol, self._path(name))

    def _resume(self, estimator: Estimator) -> None:
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = [match for match in map(pattern.fullmatch, os.listdir(self.model_dir)) if match]
        found = sorted((int(match[1]), int(match[2])) for match in matches)
        unit, limit = ("epoch", estimator.max_epoch) if estimator.max_epoch else ("batch", estimator.max_batch)
        if not found or limit is None:
            self.trained_epoch = self.trained_batch = -1
            estimator.logger.info("CheckpointHandler: no checkpoint found, training from scratch")
            return
        self.saved_checkpoints = [f"{self.model_prefix}-epoch{epoch}batch{batch}" for epoch, batch in found]
        self.trained_epoch, self.trained_batch = found[-1]
        done = (self.trained_epoch if unit == "epoch" else self.trained_batch) + 1
        if done >= limit:
            raise ValueError(
                f"CheckpointHandler: the checkpoint in {self.model_dir} has all {limit} {unit}s already; set"
                " resume_from_checkpoint=False to train from scratch"
            )
        name = self._path(self.saved_checkpoints[-1])
        for ending in (".params", ".states"):
            if not os.path.exists(name + ending):
                raise AssertionError(f"CheckpointHandler: {name}{ending} does not exist")
        estimator.net.load_parameters(f"{name}.params", estimator.device)
        estimator.trainer.load_states(f"{name}.states")
        if unit == "epoch":
            estimator.max_epoch = limit - done
        else:
            estimator.max_batch = limit - done
        text = "CheckpointHandler: resumed from epoch %d batch %d, training for another %d"
        estimator.logger.warning(text, self.trained_epoch, self.trained_batch, limit - done)
