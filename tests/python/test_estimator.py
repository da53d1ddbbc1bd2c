"""The estimator trains, calls its handlers in order, resumes from checkpoints, and waits only where they read."""

from __future__ import annotations

import logging
import math
import pathlib
import warnings
from typing import Any

import numpy
import pytest

import forerun
from forerun import gluon, init, np, npx
from forerun.gluon import nn
from forerun.gluon.contrib import estimator as contrib
from forerun.gluon.contrib.estimator import Estimator


def loader(samples: int = 32, batch: int = 8) -> gluon.data.DataLoader:
    random = numpy.random.default_rng(0)
    x = random.normal(size=(samples, 4)).astype("float32")
    return gluon.data.DataLoader(gluon.data.ArrayDataset(np.array(x), np.array((x[:, 0] > 0) * 1)), batch_size=batch)


def made(hybrid: bool = False, **options: Any) -> Estimator:
    npx.seed(1)
    net: Any = nn.HybridSequential() if hybrid else nn.Sequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    if hybrid:
        net.hybridize()
    net.initialize(init.Xavier(), ctx=options.get("device"))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    found = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **options)
    found.logger.handlers.clear()
    return found


class Quiet(contrib.LoggingHandler):
    """Reads nothing."""

    def _values(self) -> str:
        return ""


def test_it_learns_without_a_wait() -> None:
    estimator = made()
    data = loader()
    handlers = [Quiet(metrics=estimator.train_metrics)]
    with forerun.no_sync("error"):
        estimator.fit(data, epochs=1, event_handlers=handlers)
    first = dict(metric.get() for metric in estimator.train_metrics)
    estimator.fit(data, epochs=20, event_handlers=handlers)
    last = dict(metric.get() for metric in estimator.train_metrics)
    assert [*first] == ["training accuracy", "training SoftmaxCrossEntropyLoss"]
    assert last["training SoftmaxCrossEntropyLoss"] < first["training SoftmaxCrossEntropyLoss"] / 2
    assert last["training accuracy"] > 0.9
    # The metrics of the last epoch only.
    assert estimator.train_metrics[0].num_inst == 32


def test_validation_has_metrics_of_its_own() -> None:
    estimator = made()
    estimator.fit(loader(), loader(16), epochs=2, event_handlers=[Quiet(metrics=estimator.train_metrics)])
    assert estimator.val_metrics[0].name == "validation accuracy"
    assert estimator.val_metrics[0].num_inst == 16 and estimator.train_metrics[0].num_inst == 32
    estimator.evaluate(loader(8))
    assert estimator.val_metrics[0].num_inst == 8


def test_devices_share_a_batch() -> None:
    alone, both = made(), made(device=[npx.cpu(0), npx.cpu(1)])
    for estimator in (alone, both):
        # The parameters are drawn in the first batch.
        npx.seed(2)
        estimator.fit(loader(30, 7), epochs=1)
    assert both.train_metrics[0].num_inst == 30
    assert both.train_metrics[1].get()[1] == pytest.approx(alone.train_metrics[1].get()[1], rel=1e-4)


def test_events_come_in_order_and_may_stop() -> None:
    events: list[str] = []

    class Recorder(
        contrib.TrainBegin,
        contrib.EpochBegin,
        contrib.BatchBegin,
        contrib.BatchEnd,
        contrib.EpochEnd,
        contrib.TrainEnd,
    ):
        def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            events.append("train begin")

        def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            events.append("train end")

        def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            events.append("epoch begin")

        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            events.append("epoch end")
            return events.count("epoch end") == 2

        def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            assert kwargs["batch"][0].shape == (8, 4)
            events.append("batch begin")

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            assert kwargs["pred"][0].shape == (8, 2) and kwargs["loss"][0].shape == (8,)
            events.append("batch end")
            return events.count("batch end") == 2

    made().fit(loader(24), epochs=9, event_handlers=Recorder())
    batch = ["batch begin", "batch end"]
    first, second = ["epoch begin", *batch * 2, "epoch end"], ["epoch begin", *batch * 3, "epoch end"]
    assert events == ["train begin", *first, *second, "train end"]


def test_batches_may_limit_the_training() -> None:
    estimator = made()
    stopping = contrib.StoppingHandler()
    estimator.fit(loader(), batches=6, event_handlers=[stopping])
    assert stopping.current_batch == 6 and stopping.current_epoch == 2
    with pytest.raises(ValueError, match="either epochs or batches"):
        estimator.fit(loader())
    with pytest.raises(ValueError, match="either epochs or batches"):
        estimator.fit(loader(), epochs=1, batches=1)


@pytest.mark.parametrize("hybrid", [False, True])
def test_checkpoints_are_kept_and_resumed(tmp_path: pathlib.Path, hybrid: bool) -> None:
    folder = str(tmp_path / "models")
    estimator = made(hybrid)
    metric = estimator.train_metrics[1]
    saving = contrib.CheckpointHandler(folder, "net", metric, save_best=True, max_checkpoints=2)
    estimator.fit(loader(), epochs=4, event_handlers=[saving])
    found = {path.name for path in (tmp_path / "models").iterdir()}
    kept = {f"net-{name}.{end}" for name in ("best", "epoch2batch12", "epoch3batch16") for end in ("params", "states")}
    assert found == kept | ({"net-symbol.json"} if hybrid else set())
    other = made(hybrid)
    resuming = contrib.CheckpointHandler(folder, "net", max_checkpoints=2, resume_from_checkpoint=True)
    other.fit(loader(), epochs=6, event_handlers=[resuming])
    assert other.max_epoch == 2 and (tmp_path / "models" / "net-epoch5batch24.params").exists()
    # The same as without the interruption.
    whole = made(hybrid)
    whole.fit(loader(), epochs=6)
    for name, parameter in other.net.collect_params().items():
        assert (parameter.data() == whole.net.collect_params()[name].data()).all(), name
    with pytest.raises(ValueError, match="all 6 epochs already"):
        other.fit(loader(), epochs=6, event_handlers=[resuming])
    if hybrid:
        again = gluon.SymbolBlock.imports(f"{folder}/net-symbol.json", ["data"], f"{folder}/net-best.params")
        assert again(np.ones((3, 4))).shape == (3, 2)


def test_training_stops_early() -> None:
    estimator = made()
    loss = estimator.train_metrics[1]

    class Rising(contrib.EpochEnd):
        """Makes the loss rise from the third epoch on, before it is compared."""

        priority = -1
        epoch = 0

        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self.epoch += 1
            loss.sum_metric = np.array(float(abs(self.epoch - 3)))
            loss.num_inst = 1

    stopping = contrib.EarlyStoppingHandler(loss, patience=2)
    estimator.fit(loader(), epochs=20, event_handlers=[Rising(), stopping])
    assert stopping.stopped_epoch == 4 and stopping.current_epoch == 5
    better = contrib.EarlyStoppingHandler(estimator.train_metrics[0])
    assert better._monitor.sign > 0
    with pytest.raises(ValueError, match="monitor must be one metric"):
        contrib.EarlyStoppingHandler("accuracy")


def test_the_log_has_the_metrics(caplog: pytest.LogCaptureFixture) -> None:
    estimator = made()
    estimator.logger.addHandler(caplog.handler)
    estimator.fit(loader(), epochs=1, event_handlers=[contrib.LoggingHandler(2, estimator.train_metrics)])
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0].startswith("Training begin: using optimizer Adam with current learning rate 0.0500")
    assert [line.split(" time")[0] for line in lines if "interval" in line] == [
        "[Epoch 0][Batch 0][Samples 8]",
        "[Epoch 0][Batch 2][Samples 24]",
    ]
    assert "training accuracy: " in lines[-1] and lines[-1].startswith("Train finished")


def test_wrong_arguments_are_named() -> None:
    net, loss = nn.Dense(2), gluon.loss.L2Loss()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"loss": "mse"}, "a loss must be a gluon.loss.Loss"),
        ({"train_metrics": "acc"}, "metrics must be metrics"),
        ({"trainer": "sgd"}, "trainer must be a gluon.Trainer"),
        ({"device": "cpu"}, "device must be a device"),
        ({"batch_processor": 1}, "no method fit_batch"),
    ]
    for options, text in cases:
        with pytest.raises(ValueError, match=text):
            Estimator(net, **{"loss": loss, "trainer": trainer, **options})
    estimator = Estimator(net, loss, trainer=trainer)
    with pytest.raises(ValueError, match=r"data must be a gluon\.data\.DataLoader, not list"):
        estimator.fit([np.ones(2)], epochs=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="which is not one of the estimator's metrics"):
        estimator.fit(loader(), epochs=1, event_handlers=[contrib.LoggingHandler(metrics=gluon.metric.MAE())])
    with pytest.warns(UserWarning, match="No trainer specified"):
        Estimator(net, loss)
    with pytest.warns(UserWarning, match="already fully initialized"):
        Estimator(net, loss, trainer=trainer, initializer=init.Zero())


def test_other_batches_have_another_processor() -> None:
    class Reconstruct(contrib.BatchProcessor):
        def fit_batch(self, estimator: Any, train_batch: Any, batch_axis: int = 0) -> Any:
            return super().fit_batch(estimator, (train_batch, train_batch), batch_axis)

    net = nn.Dense(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = Estimator(net, gluon.loss.L2Loss(), batch_processor=Reconstruct())
    estimator.logger.setLevel(logging.WARNING)
    estimator.fit(gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((4, 3))), batch_size=2), epochs=1)
    assert math.isfinite(estimator.train_metrics[0].get()[1])
