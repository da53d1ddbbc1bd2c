"""Optimisers compared with updates in NumPy, the trainer, schedules, and norms."""

from __future__ import annotations

import math
import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import _forerun, autograd, engine, gluon, lr_scheduler, np, npx, optimizer
from forerun.gluon import nn

RANDOM = numpy.random.default_rng(7)
WEIGHTS = [RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(4,))]
GRADIENTS = [[RANDOM.normal(size=w.shape) for w in WEIGHTS] for _ in range(6)]
BATCH = 2

Rule = Callable[[numpy.ndarray, numpy.ndarray, dict[str, Any], int, float, float], numpy.ndarray]


def parameters() -> list[gluon.Parameter]:
    made = []
    for number, weight in enumerate(WEIGHTS):
        parameter = gluon.Parameter(f"w{number}", shape=weight.shape, dtype="float64")
        parameter.initialize()
        parameter.set_data(weight)
        made.append(parameter)
    return made


def push(parameters: list[gluon.Parameter], gradients: list[numpy.ndarray]) -> None:
    """Set gradients of parameters, like a backward pass."""
    with autograd.record():
        pairs = zip(parameters, gradients, strict=True)
        heads = [p.data() * np.array(g) for p, g in pairs if p.grad_req != "null"]
    autograd.backward(heads)


def sgd(momentum: float) -> Rule:
    def rule(w: numpy.ndarray, g: numpy.ndarray, state: dict[str, Any], t: int, lr: float, wd: float) -> numpy.ndarray:
        state["m"] = momentum * state.get("m", 0.0) - lr * (g + wd * w)
        return w + state["m"]

    return rule


def adam(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8) -> Rule:
    def rule(w: numpy.ndarray, g: numpy.ndarray, state: dict[str, Any], t: int, lr: float, wd: float) -> numpy.ndarray:
        g = g + wd * w
        state["m"] = b1 * state.get("m", 0.0) + (1 - b1) * g
        state["v"] = b2 * state.get("v", 0.0) + (1 - b2) * g * g
        rate = lr * math.sqrt(1 - b2**t) / (1 - b1**t)
        return w - rate * state["m"] / (numpy.sqrt(state["v"]) + epsilon)

    return rule


CASES: dict[str, tuple[str, dict[str, Any], Rule]] = {
    "sgd": ("sgd", {}, sgd(0.0)),
    "sgd, decay": ("sgd", {"learning_rate": 0.05, "wd": 0.3}, sgd(0.0)),
    "sgd, momentum": ("sgd", {"learning_rate": 0.05, "momentum": 0.9, "wd": 0.1}, sgd(0.9)),
    "sgd, bound": ("sgd", {"learning_rate": 0.05, "momentum": 0.5, "clip_gradient": 0.2}, sgd(0.5)),
    "sgd, scale": ("sgd", {"learning_rate": 0.05, "rescale_grad": 4.0}, sgd(0.0)),
    "adam": ("adam", {}, adam()),
    "adam, all": (
        "adam",
        {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3, "wd": 0.1, "clip_gradient": 0.3},
        adam(0.8, 0.9, 1e-3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_updates_equal_the_formulas(name: str) -> None:
    kind, arguments, rule = CASES[name]
    made = parameters()
    made[1].lr_mult, made[1].wd_mult = 0.5, 2.0
    trainer = gluon.Trainer(made, kind, arguments)
    expected = [w.copy() for w in WEIGHTS]
    states: list[dict[str, Any]] = [{}, {}]
    lr, wd = trainer.learning_rate, arguments.get("wd", 0.0)
    for t, gradients in enumerate(GRADIENTS, 1):
        push(made, gradients)
        trainer.step(BATCH)
        for i, gradient in enumerate(gradients):
            g = gradient * arguments.get("rescale_grad", 1.0) / BATCH
            if "clip_gradient" in arguments:
                g = numpy.clip(g, -arguments["clip_gradient"], arguments["clip_gradient"])
            expected[i] = rule(expected[i], g, states[i], t, lr * (1, 0.5)[i], wd * (1, 2.0)[i])
        for parameter, value in zip(made, expected, strict=True):
            numpy.testing.assert_allclose(parameter.data().asnumpy(), value, rtol=1e-9, atol=1e-12)


def test_updates_keep_the_arrays() -> None:
    made = parameters()
    arrays = [parameter.data() for parameter in made]
    trainer = gluon.Trainer(made, "adam")
    push(made, GRADIENTS[0])
    trainer.step(1)
    assert all(array is parameter.data() for array, parameter in zip(arrays, made, strict=True))


def test_shared_parameters_take_one_step() -> None:
    layer = nn.Dense(2, in_units=2, use_bias=False)
    net = nn.Sequential()
    net.add(layer, layer)
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        y = net(np.ones((1, 2))).sum()
    y.backward()
    # Each weight gets the gradient 2 from either use of the layer.
    assert layer.weight.grad().tolist() == [[4.0, 4.0], [4.0, 4.0]]
    trainer.step(1)
    assert layer.weight.data().tolist() == [[-3.0, -3.0], [-3.0, -3.0]]


def test_parameters_without_a_gradient_stay() -> None:
    made = parameters()
    made[0].grad_req = "null"
    trainer = gluon.Trainer(made, "sgd")
    push(made, GRADIENTS[0])
    trainer.step(1)
    numpy.testing.assert_array_equal(made[0].data().asnumpy(), WEIGHTS[0])
    assert not numpy.array_equal(made[1].data().asnumpy(), WEIGHTS[1])


def test_stale_gradients_are_a_mistake() -> None:
    made = parameters()
    trainer = gluon.Trainer(made, "sgd", {"learning_rate": 1.0})
    with pytest.raises(UserWarning, match="step: parameter w0 got no gradient from backward since the last step"):
        trainer.step(1)
    push(made[1:], GRADIENTS[0][1:])
    with pytest.raises(UserWarning, match="parameter w0 got no gradient"):
        trainer.step(1)
    for _ in range(2):
        # The second time there is no new gradient.
        trainer.step(1, ignore_stale_grad=True)
        numpy.testing.assert_array_equal(made[0].data().asnumpy(), WEIGHTS[0])
        numpy.testing.assert_allclose(made[1].data().asnumpy(), WEIGHTS[1] - GRADIENTS[0][1], rtol=1e-12)
    push(made, GRADIENTS[1])
    trainer.step(1)
    numpy.testing.assert_allclose(made[0].data().asnumpy(), WEIGHTS[0] - GRADIENTS[1][0], rtol=1e-12)


def test_parameters_that_wait_for_their_shape() -> None:
    used, unused = nn.Dense(1, in_units=1), nn.Dense(1)
    net = nn.Sequential()
    net.add(used, unused)
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        y = used(np.ones((1, 1)))
    y.backward()
    with pytest.raises(gluon.DeferredInitializationError, match=r"parameter 1.weight has the unknown shape"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    assert used.weight.data().item() == 0.0


def test_learning_rate() -> None:
    trainer = gluon.Trainer(parameters(), "sgd", {"learning_rate": 0.5})
    assert trainer.learning_rate == 0.5
    trainer.set_learning_rate(0.25)
    assert trainer.optimizer.learning_rate == 0.25


def test_a_schedule_sets_the_learning_rate() -> None:
    made = parameters()
    schedule = lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.8)
    trainer = gluon.Trainer(made, "sgd", {"lr_scheduler": schedule})
    rates, expected = [], [w.copy() for w in WEIGHTS]
    for gradients in GRADIENTS[:3]:
        push(made, gradients)
        trainer.step(1)
        rates.append(trainer.learning_rate)
        expected = [w - rates[-1] * g for w, g in zip(expected, gradients, strict=True)]
    assert rates == [0.8, 0.4, 0.2]
    numpy.testing.assert_allclose(made[0].data().asnumpy(), expected[0])
    with pytest.raises(UserWarning, match="the scheduler of the optimiser sets the learning rate"):
        trainer.set_learning_rate(1.0)
    assert optimizer.SGD(0.3, lr_scheduler=schedule).learning_rate == 0.3


def test_schedules() -> None:
    poly = lr_scheduler.PolyScheduler(10, base_lr=2.0, pwr=1, final_lr=1.0, warmup_steps=2, warmup_begin_lr=1.0)
    assert [poly(n) for n in (0, 1, 2, 6, 10, 11)] == [1.0, 1.5, 2.0, 1.5, 1.0, 1.0]
    constant = lr_scheduler.CosineScheduler(10, 1.0, warmup_steps=3, warmup_begin_lr=0.5, warmup_mode="constant")
    assert [constant(n) for n in (0, 2, 3)] == [0.5, 0.5, 1.0]
    floor = lr_scheduler.FactorScheduler(1, 0.1, stop_factor_lr=0.05, base_lr=1.0)
    numpy.testing.assert_allclose([floor(n) for n in (1, 2, 3, 9)], [1.0, 0.1, 0.05, 0.05])
    warm = lr_scheduler.MultiFactorScheduler([6], 0.5, base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2)
    numpy.testing.assert_allclose([warm(n) for n in (0, 2, 4, 6, 7)], [0.2, 0.6, 1.0, 1.0, 0.5])
    assert warm.get_warmup_lr(1) == warm(1)
    factor = lr_scheduler.FactorScheduler(5, 0.5, base_lr=1.0, warmup_steps=2, warmup_mode="constant")
    assert [factor(n) for n in (1, 2, 5, 6)] == [0.0, 1.0, 1.0, 0.5]


SCHEDULES: dict[str, Callable[[], lr_scheduler.LRScheduler]] = {
    "step must be increasing numbers, got [3, 2]": lambda: lr_scheduler.MultiFactorScheduler([3, 2]),
    "MultiFactorScheduler: step must be an integer of at least 1, got 0": lambda: lr_scheduler.MultiFactorScheduler(
        [0]
    ),
    "MultiFactorScheduler: factor must be at most 1": lambda: lr_scheduler.MultiFactorScheduler([3], 2.0),
    "FactorScheduler: step must be an integer of at least 1, got 0": lambda: lr_scheduler.FactorScheduler(0),
    "FactorScheduler: factor must be at most 1": lambda: lr_scheduler.FactorScheduler(1, 1.5),
    "CosineScheduler: max_update must exceed the 5 steps of warm-up, got 5": lambda: lr_scheduler.CosineScheduler(
        5, warmup_steps=5
    ),
    "PolyScheduler: max_update must be an integer of at least 1, got 0": lambda: lr_scheduler.PolyScheduler(0),
    "PolyScheduler: warmup_steps must be an integer of at least 0, got -1": lambda: lr_scheduler.PolyScheduler(
        9, warmup_steps=-1
    ),
    "CosineScheduler: warmup_begin_lr is 0.5, above": lambda: lr_scheduler.CosineScheduler(9, warmup_begin_lr=0.5),
    "CosineScheduler: warmup_mode is 'linear' or 'constant', not 'flat'": lambda: lr_scheduler.CosineScheduler(
        9, warmup_mode="flat"
    ),
}


@pytest.mark.parametrize("text", SCHEDULES)
def test_mistakes_in_schedules(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        SCHEDULES[text]()


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_states_are_saved_and_loaded(kind: str, tmp_path: pathlib.Path) -> None:
    arguments: dict[str, Any] = {"momentum": 0.9} if kind == "sgd" else {}

    def run(restart: bool) -> list[numpy.ndarray]:
        made = parameters()
        trainer = gluon.Trainer(made, kind, arguments)
        for number, gradients in enumerate(GRADIENTS):
            if restart and number == 3:
                trainer.save_states(tmp_path / "states")
                trainer = gluon.Trainer(made, kind, arguments)
                trainer.load_states(tmp_path / "states")
            push(made, gradients)
            trainer.step(BATCH)
        return [parameter.data().asnumpy() for parameter in made]

    for through, again in zip(run(False), run(True), strict=True):
        numpy.testing.assert_array_equal(through, again)


def test_states_of_another_trainer(tmp_path: pathlib.Path) -> None:
    made = parameters()
    trainer = gluon.Trainer(made, "adam")
    push(made, GRADIENTS[0])
    trainer.step(1)
    trainer.save_states(tmp_path / "states")
    with pytest.raises(ValueError, match="states of Adam, not of SGD"):
        gluon.Trainer(made, "sgd").load_states(tmp_path / "states")
    with pytest.raises(ValueError, match=r"the state of parameter 0 does not fit its shape \(4,\)"):
        gluon.Trainer(made[::-1], "adam").load_states(tmp_path / "states")
    with pytest.raises(ValueError, match="2 parameters were updated, the trainer has 1"):
        gluon.Trainer(made[:1], "adam").load_states(tmp_path / "states")


def test_states_of_another_dtype(tmp_path: pathlib.Path) -> None:
    made = parameters()
    trainer = gluon.Trainer(made, "sgd", {"momentum": 0.9})
    push(made, GRADIENTS[0])
    trainer.step(1)
    trainer.save_states(tmp_path / "states")
    arrays, notes = _forerun.load_arrays(tmp_path / "states")
    _forerun.save_arrays(tmp_path / "states", {**arrays, "1.momentum": arrays["1.momentum"].astype("int32")}, notes)
    before = trainer._states
    with pytest.raises(ValueError, match=r"momentum of parameter 1 is int32, not float(32|64)"):
        trainer.load_states(tmp_path / "states")
    assert trainer._states is before


@pytest.mark.parametrize("size", [0, -1, math.nan])
def test_sizes_of_a_batch(size: float) -> None:
    made = parameters()
    trainer = gluon.Trainer(made, "sgd")
    push(made, GRADIENTS[0])
    before = made[0].data().tolist()
    with pytest.raises(ValueError, match=r"step: .* batch_size, which must be positive, got"):
        trainer.step(size)
    assert made[0].data().tolist() == before


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="unknown optimiser 'sdg'; available: adabelief, adadelta"):
        gluon.Trainer(parameters(), "sdg")
    with pytest.raises(TypeError, match="learning_rat"):
        gluon.Trainer(parameters(), "sgd", {"learning_rat": 1})
    with pytest.raises(TypeError, match="Trainer: params are parameters, not str"):
        gluon.Trainer(["weight"], "sgd")  # type: ignore[list-item]
    with pytest.raises(ValueError, match="SGD already exists"):
        gluon.Trainer(parameters(), optimizer.SGD(), {"learning_rate": 1})


def test_clip_global_norm() -> None:
    for check in (True, False):
        arrays = [np.array([3.0, 0.0]), np.array([[4.0]])]
        assert float(gluon.utils.clip_global_norm(arrays, 1.0, check)) == 5.0
        numpy.testing.assert_allclose([*arrays[0].tolist(), arrays[1].item()], [0.6, 0.0, 0.8], rtol=1e-6)
        gluon.utils.clip_global_norm(arrays, 2.0, check)
        numpy.testing.assert_allclose(arrays[1].item(), 0.8, rtol=1e-6)
    with pytest.warns(UserWarning, match="clip_global_norm: the norm is inf"):
        gluon.utils.clip_global_norm([np.array([math.inf])], 1.0)


def test_split_data() -> None:
    x = np.arange(12).reshape(2, 6)
    parts = gluon.utils.split_data(x, 3, batch_axis=1)
    assert [part.tolist() for part in parts] == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]
    with pytest.raises(ValueError, match=r"6 samples along axis 1 .* cannot be split evenly into 4 slices"):
        gluon.utils.split_data(x, 4, batch_axis=1)
    with pytest.raises(ValueError, match="2 samples cannot be split into 3 slices"):
        gluon.utils.split_data(x, 3)
    uneven = gluon.utils.split_data(np.arange(7), 4, even_split=False)
    assert [part.tolist() for part in uneven] == [[0, 1], [2, 3], [4, 5], [6]]
    (whole,) = gluon.utils.split_and_load(numpy.ones((3, 2)), [npx.cpu()])
    assert whole.shape == (3, 2)


def test_files_are_checked_and_not_downloaded(tmp_path: pathlib.Path) -> None:
    path, sha1 = tmp_path / "data.txt", "a9993e364706816aba3e25717850c26c9cd0d89d"
    path.write_bytes(b"abc")
    assert gluon.utils.check_sha1(path, sha1) and not gluon.utils.check_sha1(path, sha1[::-1])
    url = "https://example.com/data.txt"
    assert gluon.utils.download(url, tmp_path, sha1_hash=sha1) == str(path)
    for options in ({"overwrite": True}, {"sha1_hash": sha1[::-1]}):
        with pytest.raises(
            RuntimeError, match=r"download: Forerun has no download: save https://example.com/data.txt as"
        ):
            gluon.utils.download(url, path, **options)


def test_a_network_learns() -> None:
    np.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Dense(32, activation="relu"), nn.Dense(1))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.L2Loss()
    x = np.random.normal(size=(256, 4))
    y = (x[:, 0] * x[:, 1] + x[:, 2]).reshape(-1, 1)
    losses = []
    for _ in range(200):
        with autograd.record():
            objective = loss(net(x), y)
        objective.backward()
        trainer.step(256)
        losses.append(objective.mean())
    assert losses[-1].item() < 0.1 * losses[0].item()


IN_ONE_PASS: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {}),
    ("sgd", {"momentum": 0.9}),
    ("nag", {}),
    ("dcasgd", {"momentum": 0.9}),
    ("signum", {}),
    ("adam", {}),
    ("adamw", {}),
    ("adamax", {}),
    ("nadam", {}),
    ("adabelief", {}),
    ("ftml", {}),
    ("adagrad", {}),
    ("adadelta", {}),
    ("rmsprop", {}),
    ("rmsprop", {"centered": True, "clip_weights": 5.0}),
    ("ftrl", {}),
]


@pytest.mark.parametrize(("kind", "arguments"), IN_ONE_PASS)
def test_updates_are_made_in_place_by_plans_that_are_kept(kind: str, arguments: dict[str, Any]) -> None:
    """A step allocates almost nothing, and changing rates need no new plan."""
    weights = [np.random.normal(size=(200, 300)), np.random.normal(size=(5000,))]
    grads = [np.random.normal(size=w.shape) for w in weights]
    made = optimizer.create(kind, wd=0.1, **arguments)
    states = [made.create_state(index, weight) for index, weight in enumerate(weights)]

    def step(count: int) -> None:
        made.set_learning_rate(0.01 / count)
        made.update([0, 1], weights, grads, states)
        npx.waitall()

    for count in range(1, 4):
        step(count)
    before, allocated = engine.stats(), forerun.memory_stats(0)["allocated"]
    for count in range(4, 24):
        step(count)
    after = engine.stats()
    if os.environ.get("FORERUN_ENGINE") != "sync":
        # Without fusion, intermediates of the update are arrays for a moment. And a worker that starts an update before
        # this thread has released the old weight needs a new buffer.
        assert forerun.memory_stats(0)["allocated"]["count"] - allocated["count"] < 40
        # Without fusion, records run inline, without a plan.
        assert after["plan_misses"] - before["plan_misses"] < after["plan_hits"] - before["plan_hits"]
    assert after["donated"] > before["donated"]
