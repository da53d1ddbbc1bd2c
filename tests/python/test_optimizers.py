"""Every optimiser compared with its formula in NumPy, in double precision."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, lr_scheduler, np, npx, optimizer
from forerun.gluon import nn

Numbers = numpy.ndarray
# The new weight, from the weight, the rescaled gradient, the states, the step's number, rate and decay, and the limit.
Rule = Callable[[Numbers, Numbers, dict[str, Any], int, float, float, Callable[[Numbers], Numbers]], Numbers]

RANDOM = numpy.random.default_rng(11)
WEIGHTS = [RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(4, 5))]
GRADIENTS = [[RANDOM.normal(size=w.shape) for w in WEIGHTS] for _ in range(5)]
BATCH, LR_MULT, WD_MULT = 2, (1.0, 0.5), (1.0, 3.0)


def norm(x: Numbers) -> float:
    return float(numpy.sqrt((x * x).sum()))


def sgd(momentum: float = 0.0) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        s["m"] = momentum * s.get("m", 0.0) - lr * (clip(g) + wd * w)
        return w + s["m"]

    return rule


def nag(momentum: float = 0.9) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        s["m"] = momentum * s.get("m", 0.0) - lr * g
        return w + momentum * s["m"] - lr * g

    return rule


def dcasgd(momentum: float, lamda: float) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        d = g + lamda * g * g * (w - s.get("p", w))
        s["m"] = momentum * s.get("m", 0.0) - lr * d
        s["p"] = w
        return w + s["m"]

    return rule


def signum(momentum: float, wd_lh: float) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        if not momentum:
            return (1 - lr * (wd + wd_lh)) * w - lr * numpy.sign(g)
        s["m"] = momentum * s.get("m", 0.0) - (1 - momentum) * (clip(g) + wd * w)
        return (1 - lr * wd_lh) * w + lr * numpy.sign(s["m"])

    return rule


def lars(momentum: float, eta: float, epsilon: float) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        lr *= eta * norm(w) / (norm(g) + wd * norm(w) + epsilon)
        return sgd(momentum)(w, g, s, t, lr, wd, clip)

    return rule


def moments(s: dict[str, Any], g: Any, b1: float, b2: float) -> tuple[Any, Any]:
    s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
    return s["m"], s["v"]


def adam(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        m, v = moments(s, clip(g) + wd * w, b1, b2)
        return w - lr * numpy.sqrt(1 - b2**t) / (1 - b1**t) * m / (numpy.sqrt(v) + epsilon)

    return rule


def adamw(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-6, correct: bool = True) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        m, v = moments(s, clip(g), b1, b2)
        rate = lr * numpy.sqrt(1 - b2**t) / (1 - b1**t) if correct else lr
        return w - rate * (m / (numpy.sqrt(v) + epsilon) + wd * w)

    return rule


def adamax(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        s["u"] = numpy.maximum(b2 * s.get("u", 0.0), numpy.abs(g))
        return w - lr / (1 - b1**t) * s["m"] / (s["u"] + epsilon)

    return rule


def nadam(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-8, decay: float = 0.004) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        m, v = moments(s, g, b1, b2)
        now, then = (b1 * (1 - 0.5 * 0.96 ** (n * decay)) for n in (t, t + 1))
        s["product"] = s.get("product", 1.0) * now
        mean = then * m / (1 - s["product"] * then) + (1 - now) * g / (1 - s["product"])
        return w - lr * mean / (numpy.sqrt(v / (1 - b2**t)) + epsilon)

    return rule


def adabelief(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-6, correct: bool = True) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g + wd * w)
        s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * (g - s["m"]) ** 2 + epsilon
        rate = lr * numpy.sqrt(1 - b2**t) / (1 - b1**t) if correct else lr
        return w - rate * s["m"] / (numpy.sqrt(s["v"]) + epsilon)

    return rule


def ftml(b1: float = 0.6, b2: float = 0.999, epsilon: float = 1e-8) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
        d = (1 - b1**t) / lr * (numpy.sqrt(s["v"] / (1 - b2**t)) + epsilon)
        s["z"] = b1 * s.get("z", 0.0) + (1 - b1) * g - (d - b1 * s.get("d", 0.0)) * w
        s["d"] = d
        return -s["z"] / d

    return rule


def lamb(
    b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-6, correct: bool = True, low: float = 0, high: float = 1e9
) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        m, v = moments(s, clip(g), b1, b2)
        if correct:
            m, v = m / (1 - b1**t), v / (1 - b2**t)
        d = m / (numpy.sqrt(v) + epsilon) + wd * w
        return w - lr * min(max(norm(w), low), high) / norm(d) * d

    return rule


def lans(b1: float = 0.9, b2: float = 0.999, epsilon: float = 1e-6) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g / norm(g))
        m, v = moments(s, g, b1, b2)
        root = numpy.sqrt(v / (1 - b2**t)) + epsilon
        d, e = m / (1 - b1**t) / root + wd * w, g / root + wd * w
        return w - lr * norm(w) * (b1 * d / norm(d) + (1 - b1) * e / norm(e))

    return rule


def adagrad(epsilon: float = 1e-6, rows: bool = False) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        s["h"] = s.get("h", 0.0) + ((g * g).mean(1, keepdims=True) if rows else g * g)
        return w - lr * g / (numpy.sqrt(s["h"]) + epsilon)

    return rule


def adadelta(rho: float = 0.9, epsilon: float = 1e-6) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        s["a"] = rho * s.get("a", 0.0) + (1 - rho) * g * g
        d = numpy.sqrt(s.get("b", 0.0) + epsilon) / numpy.sqrt(s["a"] + epsilon) * g
        s["b"] = rho * s.get("b", 0.0) + (1 - rho) * d * d
        return w - lr * d

    return rule


def rmsprop(rho: float = 0.9, epsilon: float = 1e-8, momentum: float | None = None, most: float = 1e9) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g = clip(g) + wd * w
        s["v"] = rho * s.get("v", 0.0) + (1 - rho) * g * g
        if momentum is None:
            return numpy.clip(w - lr * g / (numpy.sqrt(s["v"]) + epsilon), -most, most)
        s["m"] = rho * s.get("m", 0.0) + (1 - rho) * g
        s["d"] = momentum * s.get("d", 0.0) - lr * g / numpy.sqrt(s["v"] - s["m"] ** 2 + epsilon)
        return numpy.clip(w + s["d"], -most, most)

    return rule


def ftrl(lamda1: float = 0.01, beta: float = 1.0) -> Rule:
    def rule(w: Any, g: Any, s: Any, t: int, lr: float, wd: float, clip: Any) -> Any:
        g, n = clip(g), s.get("n", 0.0)
        s["z"] = s.get("z", 0.0) + g - (numpy.sqrt(n + g * g) - numpy.sqrt(n)) * w / lr
        s["n"] = n + g * g
        z = s["z"]
        return -numpy.sign(z) * numpy.maximum(numpy.abs(z) - lamda1, 0) / ((beta + numpy.sqrt(s["n"])) / lr + wd)

    return rule


def unclipped(rule: Rule) -> Rule:
    return lambda w, g, s, t, lr, wd, clip: rule(w, g, s, t, lr, wd, lambda x: x)


# A name, the options that have no decay, and the formula; with its own options if they are not the defaults.
CASES: dict[str, tuple[str, dict[str, Any], Rule]] = {
    "sgd": ("sgd", {}, sgd()),
    "sgd, momentum": ("sgd", {"momentum": 0.9}, sgd(0.9)),
    "nag": ("nag", {}, nag()),
    "nag, no momentum": ("nag", {"momentum": 0.0}, sgd()),
    "dcasgd": ("dcasgd", {}, dcasgd(0.0, 0.04)),
    "dcasgd, momentum": ("dcasgd", {"momentum": 0.8, "lamda": 0.5}, dcasgd(0.8, 0.5)),
    "signum": ("signum", {"wd_lh": 0.1}, signum(0.9, 0.1)),
    "signum, no momentum": ("signum", {"momentum": 0.0, "wd_lh": 0.1}, signum(0.0, 0.1)),
    "lars": ("lars", {}, lars(0.0, 0.001, 1e-8)),
    "lars, momentum": ("lars", {"momentum": 0.9, "eta": 0.1, "epsilon": 0.1}, lars(0.9, 0.1, 0.1)),
    "adam": ("adam", {}, adam()),
    "adam, all": ("adam", {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3}, adam(0.8, 0.9, 1e-3)),
    "adamw": ("adamw", {}, adamw()),
    "adamw, uncorrected": ("adamw", {"correct_bias": False, "epsilon": 1e-3}, adamw(epsilon=1e-3, correct=False)),
    "adamax": ("adamax", {}, adamax()),
    "nadam": ("nadam", {"schedule_decay": 0.5}, nadam(decay=0.5)),
    "adabelief": ("adabelief", {}, adabelief()),
    "adabelief, uncorrected": ("adabelief", {"correct_bias": False}, adabelief(correct=False)),
    "ftml": ("ftml", {}, ftml()),
    "lamb": ("lamb", {}, lamb()),
    "lamb, all": (
        "lamb",
        {"lower_bound": 0.5, "upper_bound": 2.0, "bias_correction": False, "beta1": 0.5},
        lamb(0.5, correct=False, low=0.5, high=2.0),
    ),
    "lans": ("lans", {}, lans()),
    "adagrad": ("adagrad", {"epsilon": 0.1}, adagrad(0.1)),
    "adadelta": ("adadelta", {}, adadelta()),
    "rmsprop": ("rmsprop", {}, rmsprop()),
    "rmsprop, centred": ("rmsprop", {"centered": True, "momentum": 0.5, "rho": 0.8}, rmsprop(0.8, momentum=0.5)),
    "rmsprop, clipped": ("rmsprop", {"clip_weights": 0.4}, rmsprop(most=0.4)),
    "rmsprop, centred and clipped": (
        "rmsprop",
        {"centered": True, "clip_weights": 0.4},
        rmsprop(momentum=0.9, most=0.4),
    ),
    "ftrl": ("ftrl", {}, ftrl()),
    "ftrl, all": ("ftrl", {"lamda1": 0.3, "beta": 0.5}, ftrl(0.3, 0.5)),
    "test": ("test", {}, unclipped(sgd())),
    "groupadagrad": ("groupadagrad", {}, adagrad(rows=True)),
}


def parameters(dtype: str = "float64") -> list[gluon.Parameter]:
    made = []
    for number, weight in enumerate(WEIGHTS):
        parameter = gluon.Parameter(f"w{number}", shape=weight.shape, dtype=dtype)
        parameter.initialize()
        parameter.set_data(np.array(weight).astype(dtype))
        parameter.lr_mult, parameter.wd_mult = LR_MULT[number], WD_MULT[number]
        made.append(parameter)
    return made


def push(made: Sequence[gluon.Parameter], gradients: Sequence[Numbers]) -> None:
    """Set gradients of parameters, like a backward pass."""
    with autograd.record():
        pairs = zip(made, gradients, strict=True)
        heads = [parameter.data() * np.array(g).astype(parameter.dtype) for parameter, g in pairs]
    autograd.backward(heads)


def expected(rule: Rule, lr: float, options: dict[str, Any], weights: list[Numbers], dtype: str) -> list[Numbers]:
    """Return the weights after all steps."""
    limit = options.get("clip_gradient")

    def clip(g: Numbers) -> Numbers:
        return g if limit is None else numpy.clip(g, -limit, limit)

    states: list[dict[str, Any]] = [{} for _ in weights]
    for t, gradients in enumerate(GRADIENTS, 1):
        for i, gradient in enumerate(gradients):
            given = np.array(gradient).astype(dtype).astype("float64").asnumpy()
            g = given * options.get("rescale_grad", 1.0) / BATCH
            rate, decay = lr * LR_MULT[i], options.get("wd", 0.0) * WD_MULT[i]
            weights[i] = rule(weights[i], g, states[i], t, rate, decay, clip)
    return weights


def trained(kind: str, options: dict[str, Any], dtype: str = "float64") -> tuple[gluon.Trainer, list[gluon.Parameter]]:
    made = parameters(dtype)
    trainer = gluon.Trainer(made, kind, options)
    for gradients in GRADIENTS:
        push(made, gradients)
        trainer.step(BATCH)
    return trainer, made


@pytest.mark.parametrize("extra", [{}, {"wd": 0.1}, {"wd": 0.1, "clip_gradient": 0.3, "rescale_grad": 2.0}])
@pytest.mark.parametrize("name", CASES)
def test_updates_equal_the_formulas(name: str, extra: dict[str, Any]) -> None:
    kind, options, rule = CASES[name]
    if kind == "groupadagrad":
        extra = {key: value for key, value in extra.items() if key != "wd"}
    options = {**options, **extra}
    trainer, made = trained(kind, options)
    wanted = expected(rule, trainer.learning_rate, options, list(WEIGHTS), "float64")
    for parameter, value in zip(made, wanted, strict=True):
        numpy.testing.assert_allclose(parameter.data().asnumpy(), value, rtol=1e-9, atol=1e-12)


def test_every_optimiser_is_tested() -> None:
    classes = {name.lower() for name in optimizer.__all__ if name[0].isupper()} - {"optimizer", "updater", "sgld"}
    assert classes == {kind for kind, _, _ in CASES.values()}


DEFAULTS = {"adadelta": 1.0, "adam": 0.001, "adamax": 0.002, "ftml": 0.0025, "ftrl": 0.1, "nag": 0.1, "lars": 0.1}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_default_rates(kind: str) -> None:
    assert optimizer.create(kind).learning_rate == DEFAULTS[kind]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_half_floats_are_updated_through_master_copies(name: str, dtype: str) -> None:
    kind, options, rule = CASES[name]
    extra = {} if kind == "groupadagrad" else {"wd": 0.1}
    trainer, made = trained(kind, {**options, **extra, "multi_precision": True}, dtype)
    begin = [np.array(weight).astype(dtype).astype("float64").asnumpy() for weight in WEIGHTS]
    wanted = expected(rule, trainer.learning_rate, extra, begin, dtype)
    for index, parameter in enumerate(made):
        (state,) = trainer._states[index].values()
        assert state[0].dtype.name == "float32" and parameter.data().dtype.name == dtype
        numpy.testing.assert_allclose(state[0].asnumpy(), wanted[index], rtol=2e-4, atol=2e-5)
        assert parameter.data().tolist() == state[0].astype(dtype).tolist()


def test_half_floats_without_master_copies_are_warned_about() -> None:
    made = parameters("float16")
    trainer = gluon.Trainer(made, "adam")
    push(made, GRADIENTS[0])
    with pytest.warns(UserWarning, match="Adam: updates in float16 lose accuracy; multi_precision=True"):
        trainer.step(1)


def test_weights_that_overflow_come_back() -> None:
    """The old weight takes no part in the update, not even as infinity times zero."""
    weight = np.full((2,), 60000.0).astype("float16")
    sgd = optimizer.SGD(1.0, multi_precision=True)
    state = sgd.create_state_multi_precision(0, weight)
    for gradient in (-60000.0, 60000.0):
        sgd.update_multi_precision([0], [weight], [np.full((2,), gradient).astype("float16")], [state])
    assert weight.tolist() == state[0].astype("float16").tolist() == [60000.0, 60000.0]


def test_langevin_noise() -> None:
    npx.seed(3)
    weight, gradient = np.zeros((100_000,)), np.full((100_000,), 2.0)
    sgld = optimizer.SGLD(0.04, wd=0.5)
    sgld.update([0], [weight], [gradient], [sgld.create_state(0, weight)])
    found = weight.asnumpy()
    assert abs(found.mean() + 0.04) < 0.005 and abs(found.std() - 0.2) < 0.005


SAVED = [*CASES, "sgld"]


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("name", SAVED)
def test_states_are_saved_and_loaded(name: str, precise: bool, tmp_path: pathlib.Path) -> None:
    kind, options, _ = CASES.get(name, (name, {}, sgd()))
    options = {**options, "multi_precision": precise}

    def run(restart: bool) -> list[Any]:
        npx.seed(1)
        made = parameters("bfloat16" if precise else "float32")
        trainer = gluon.Trainer(made, kind, options)
        for number, gradients in enumerate(GRADIENTS):
            if restart and number == 3:
                trainer.save_states(tmp_path / "states")
                trainer = gluon.Trainer(made, kind, options)
                trainer.load_states(tmp_path / "states")
            push(made, gradients)
            trainer.step(BATCH)
        return [parameter.data().tolist() for parameter in made]

    assert run(False) == run(True)


@pytest.mark.skipif(os.environ.get("FORERUN_TEST_DEVICE") == "gpu", reason="an accelerator keeps no former values")
@pytest.mark.parametrize("name", CASES)
def test_a_failed_step_is_taken_back(name: str) -> None:
    kind, options, _ = CASES[name]

    def run(broken: bool) -> list[Any]:
        made = parameters("float32")
        trainer = gluon.Trainer(made, kind, options)
        for number, gradients in enumerate(GRADIENTS):
            push(made, gradients)
            trainer.step(BATCH)
            if broken and number == 2:
                with autograd.record():
                    beyond = np.take(np.ones((1,)), np.array([1]))
                    heads = [parameter.data() * beyond for parameter in made]
                autograd.backward(heads)
                trainer.step(BATCH)
                assert trainer.restore() == 1
        arrays = [parameter.data() for parameter in made]
        for own in trainer._states.values():
            for state in own.values():
                arrays += state
        return [array.tolist() for array in arrays]

    assert run(True) == run(False)


def test_factors_by_index_and_name() -> None:
    weights = [np.zeros((1,)) for _ in range(3)]
    grads = [np.ones((1,)) for _ in range(3)]
    made = optimizer.SGD(1.0, param_idx2name={0: "a", 1: "b", 2: "c"})
    made.set_lr_mult({"b": 0.5, 2: 0.25})
    made.update([0, 1, 2], weights, grads, [()] * 3)
    assert [weight.item() for weight in weights] == [-1.0, -0.5, -0.25]
    decayed = [np.ones((1,)) for _ in range(3)]
    made = optimizer.SGD(1.0, wd=0.5, param_idx2name={0: "a", 1: "b", 2: "c"})
    made.set_wd_mult({"a": 0.0, "c": 2.0})
    made.update([0, 1, 2], decayed, [np.zeros((1,))] * 3, [()] * 3)
    assert [weight.item() for weight in decayed] == [1.0, 0.5, 0.0]


def test_factors_by_the_names_of_parameters() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(1, in_units=1), nn.Dense(1, in_units=1))
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    trainer.optimizer.set_lr_mult({"1.weight": 0.5, "bias": 0.0})
    net[0].weight.lr_mult = 2.0
    with autograd.record():
        y = net(np.ones((1, 1)))
    y.backward()
    trainer.step(1)
    assert [p.data().item() for p in (net[0].weight, net[1].weight)] == [-1.0, 0.5]
    assert [p.data().item() for p in (net[0].bias, net[1].bias)] == [0.0, 0.0]


def test_layerwise_rates_leave_out_biases() -> None:
    net = nn.Dense(2, in_units=2, bias_initializer="ones")
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), "lars", {"learning_rate": 0.5})
    with autograd.record():
        y = net(np.ones((1, 2)))
    y.backward()
    trainer.step(1)
    numpy.testing.assert_allclose(net.bias.data().asnumpy(), 0.5)
    numpy.testing.assert_allclose(net.weight.data().asnumpy(), 1 - 0.5 * 0.001, rtol=1e-6)


@pytest.mark.parametrize("kind", ["lamb", "lans", "lars"])
def test_zero_norms(kind: str) -> None:
    made = optimizer.create(kind, learning_rate=0.5)
    for begin, gradient in ((0.0, 1.0), (1.0, 0.0), (0.0, 0.0)):
        weight = np.full((2, 2), begin)
        made.update([0], [weight], [np.full((2, 2), gradient)], [made.create_state(0, weight)])
        assert numpy.isfinite(weight.asnumpy()).all()


def test_begin_num_update() -> None:
    seen = []

    class Seen(lr_scheduler.LRScheduler):
        def __call__(self, num_update: int) -> float:
            seen.append(num_update)
            return 0.5

    made = optimizer.Adam(lr_scheduler=Seen(), begin_num_update=10)
    weight = np.ones((1,))
    state = made.create_state(0, weight)
    for _ in range(2):
        made.update([0], [weight], [np.ones((1,))], [state])
    assert seen == [11, 12] and made.num_update == 12


@optimizer.register
class Halving(optimizer.Optimizer):
    """A rule written as for MXNet, with a state that is one array."""

    def create_state(self, index: int, weight: np.ndarray) -> np.ndarray:
        return np.zeros_like(weight)

    def step(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
        for index, weight, grad, state in zip(indices, weights, grads, states, strict=True):
            self._update_count(index)
            lr, wd = self._get_lr(index), self._get_wd(index)
            state += grad * self.rescale_grad / self._index_update_count[index]
            weight -= lr * (state + wd * weight)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rules_of_other_programs(dtype: str, fused: bool, tmp_path: pathlib.Path) -> None:
    options = {"learning_rate": 0.5, "wd": 0.25, "multi_precision": True, "use_fused_step": fused}
    made = parameters(dtype)
    trainer = gluon.Trainer(made, "halving", options)
    weights = [np.array(weight).astype(dtype).astype("float64").asnumpy() for weight in WEIGHTS]
    states = [numpy.zeros(weight.shape) for weight in weights]
    for t, gradients in enumerate(GRADIENTS, 1):
        push(made, gradients)
        trainer.step(BATCH)
        trainer.save_states(tmp_path / "states")
        trainer.load_states(tmp_path / "states")
        for i, gradient in enumerate(gradients):
            given = np.array(gradient).astype(dtype).astype("float64").asnumpy()
            states[i] = states[i] + given / BATCH / t
            weights[i] = weights[i] - 0.5 * LR_MULT[i] * (states[i] + 0.25 * WD_MULT[i] * weights[i])
    for index, parameter in enumerate(made):
        (state,) = trainer._states[index].values()
        found = parameter.data() if dtype == "float32" else state[0]
        numpy.testing.assert_allclose(found.asnumpy(), weights[index], rtol=1e-4, atol=1e-5)


def test_updaters() -> None:
    def run(restart: bool) -> list[Any]:
        weights = [np.array(weight) for weight in WEIGHTS]
        updater = optimizer.get_updater(optimizer.Adam())
        for number, gradients in enumerate(GRADIENTS):
            if restart and number == 3:
                states = updater.get_states()
                updater = optimizer.Updater(optimizer.Adam())
                updater.set_states(states)
            updater([0, 1], [np.array(g) for g in gradients], weights)
        return [weight.tolist() for weight in weights]

    assert run(True) == run(False)
    one = np.array(WEIGHTS[0])
    updater = optimizer.get_updater(optimizer.SGD(0.5))
    updater(7, np.array(GRADIENTS[0][0]), one)
    numpy.testing.assert_allclose(one.asnumpy(), WEIGHTS[0] - 0.5 * GRADIENTS[0][0], rtol=1e-6)
    with pytest.raises(ValueError, match="set_states: states of SGD, not of Adam"):
        optimizer.Updater(optimizer.Adam()).set_states(updater.get_states())


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "clip": (lambda: optimizer.SGD(clip_gradient=-1), "SGD: clip_gradient must be positive, got -1"),
    "beta": (lambda: optimizer.Adam(beta2=1), "Adam: beta2 must be at least 0 and below 1, got 1"),
    "weights": (lambda: optimizer.RMSProp(clip_weights=0), "RMSProp: clip_weights must be positive, got 0"),
    "rows": (
        lambda: optimizer.GroupAdaGrad().create_state(0, np.ones((3,))),
        r"GroupAdaGrad: weights must have 2 dimensions, got shape \(3,\)",
    ),
    "states": (
        lambda: optimizer.Adam().update([0], [np.ones((3,))], [np.ones((3,))], [()]),
        r"adam: a weight of shape \(3,\) needs 2 states, got 0",
    ),
    "rate": (
        lambda: optimizer.Ftrl(0.0).update([0], [np.ones(3)], [np.ones(3)], [(np.zeros(3), np.zeros(3))]),
        "ftrl: the learning rate must not be 0",
    ),
    "decay": (
        lambda: optimizer.GroupAdaGrad(wd=0.5).update([0], [np.ones((3, 2))], [np.ones((3, 2))], [(np.zeros((3, 1)),)]),
        "groupadagrad: weight decay is not supported, got 0.5",
    ),
    "count": (
        lambda: optimizer.SGD().update([0], [np.ones(3)], [], [()]),
        "sgd: 1 weights need as many gradients, states, rates, decays and counts",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    call, text = MISTAKES[name]
    with pytest.raises(ValueError, match=text):
        call()


def test_an_optimiser_without_a_rule() -> None:
    with pytest.raises(NotImplementedError, match="Optimizer has no rule: define step"):
        optimizer.Optimizer().update([0], [np.ones(2)], [np.ones(2)], [()])


def test_rmsprop_takes_the_names_of_mxnet_1() -> None:
    old = optimizer.create("rmsprop", learning_rate=0.01, gamma1=0.8, gamma2=0.5, centered=True)
    new = optimizer.create("rmsprop", learning_rate=0.01, rho=0.8, momentum=0.5, centered=True)
    assert (old.rho, old.momentum) == (new.rho, new.momentum) == (0.8, 0.5)
    assert optimizer.RMSProp(gamma1=0.7).momentum == optimizer.RMSProp().momentum
