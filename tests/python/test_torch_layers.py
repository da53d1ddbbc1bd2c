"""Layers, losses, optimisers and schedules of the PyTorch dialect against formulas in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from forerun import torch
from forerun.torch import nn

F = nn.functional
RNG = numpy.random.default_rng(11)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def close(made: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    numpy.testing.assert_allclose(made.detach().numpy(), expected, rtol=rtol, atol=atol)


def softmax(x: Any, axis: int = -1) -> Any:
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_convolution_and_its_transpose() -> None:
    x, w, b = draw(2, 3, 6, 5), draw(4, 3, 3, 2), draw(4)
    padded = numpy.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    expected = numpy.zeros((2, 4, 3, 6), "float32")
    for i in range(3):
        for j in range(6):
            expected[:, :, i, j] = numpy.einsum("nchw,fchw->nf", padded[:, :, 2 * i : 2 * i + 3, j : j + 2], w) + b
    X, W = torch.tensor(x), torch.tensor(w)
    close(F.conv2d(X, W, torch.tensor(b), stride=(2, 1), padding=1), expected)
    # The transposed convolution is the gradient of the convolution for its input.
    y = draw(2, 4, 4, 4)
    X.requires_grad_()
    (F.conv2d(X, W) * torch.tensor(y)).sum().backward()
    close(F.conv_transpose2d(torch.tensor(y), W), X.grad.numpy())


@pytest.mark.parametrize("mode", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling(mode: str, ceil_mode: bool) -> None:
    x = draw(1, 2, 7)
    count = math.ceil(5 / 2) + 1 if ceil_mode else 5 // 2 + 1
    windows = [x[:, :, 2 * i : 2 * i + 2] for i in range(count)]
    reduced = [window.max(-1) if mode == "max" else window.mean(-1) for window in windows]
    pool = F.max_pool1d if mode == "max" else F.avg_pool1d
    close(pool(torch.tensor(x), 2, ceil_mode=ceil_mode), numpy.stack(reduced, -1))


def test_adaptive_pooling() -> None:
    x = draw(2, 3, 7)
    cuts = [(i * 7 // 3, -(-(i + 1) * 7 // 3)) for i in range(3)]
    close(F.adaptive_avg_pool1d(torch.tensor(x), 3), numpy.stack([x[..., a:b].mean(-1) for a, b in cuts], -1))
    close(F.adaptive_max_pool1d(torch.tensor(x), 3), numpy.stack([x[..., a:b].max(-1) for a, b in cuts], -1))


def test_batch_norm_follows_the_unbiased_variance() -> None:
    layer = nn.BatchNorm1d(3, momentum=0.25)
    x = draw(8, 3, 4)
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    close(layer(torch.tensor(x)), (x - mean[:, None]) / numpy.sqrt(variance[:, None] + 1e-5))
    close(layer.running_mean, 0.25 * mean)
    close(layer.running_var, 0.75 + 0.25 * x.var((0, 2), ddof=1))
    assert layer.num_batches_tracked.item() == 1
    running = layer.running_mean.numpy(), layer.running_var.numpy()
    expected = (x - running[0][:, None]) / numpy.sqrt(running[1][:, None] + 1e-5)
    close(layer.eval()(torch.tensor(x)), expected)
    with pytest.raises(ValueError, match="more than one element"):
        nn.BatchNorm1d(3)(torch.zeros(1, 3))


def test_attention_with_masks() -> None:
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = draw(2, 3, 4)
    hidden = numpy.array([[False, False, True], [False, False, False]])
    out, weights = layer(*[torch.tensor(x)] * 3, key_padding_mask=torch.tensor(hidden))
    w, b = layer.in_proj_weight.detach().numpy(), layer.in_proj_bias.detach().numpy()
    q, k, v = numpy.split(x @ w.T + b, 3, -1)
    heads = []
    for h in range(2):
        part = slice(2 * h, 2 * h + 2)
        scores = q[..., part] @ k[..., part].transpose(0, 2, 1) / math.sqrt(2)
        heads.append(softmax(numpy.where(hidden[:, None], -numpy.inf, scores)))
    close(weights, sum(heads) / 2)
    joined = numpy.concatenate([heads[h] @ v[..., 2 * h : 2 * h + 2] for h in range(2)], -1)
    wo, bo = layer.out_proj.weight.detach().numpy(), layer.out_proj.bias.detach().numpy()
    close(out, joined @ wo.T + bo)
    close(
        layer(*[torch.tensor(x)] * 3, key_padding_mask=torch.tensor(hidden), need_weights=False)[0], joined @ wo.T + bo
    )


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_are_their_cells_unrolled(kind: str) -> None:
    layer, cell = getattr(nn, kind)(3, 4), getattr(nn, f"{kind}Cell")(3, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x = torch.tensor(draw(5, 2, 3))
    out, last = layer(x)
    state: Any = None
    for step in range(5):
        state = cell(x[step], state)
        close(out[step], (state[0] if kind == "LSTM" else state).detach().numpy())
    close(last[0] if kind == "LSTM" else last, out[-1:].detach().numpy())


def test_sequences_of_different_lengths() -> None:
    layer = nn.LSTM(3, 4, bidirectional=True)
    x = torch.tensor(draw(5, 2, 3))
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 3])
    out, lengths = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
    assert lengths.tolist() == [5, 3]
    close(out[:3, 1], layer(x[:3, 1])[0].detach().numpy())
    assert (out[3:, 1] == 0).all()
    assert packed.batch_sizes.tolist() == [2, 2, 2, 1, 1]


def test_cross_entropy_with_weights_and_smoothing() -> None:
    x, classes, w = draw(4, 3), numpy.array([0, 2, -100, 1]), numpy.array([1.0, 2.0, 4.0], "float32")
    logs = numpy.log(softmax(x))
    kept = [0, 1, 3]
    rows = [0.9 * -w[classes[i]] * logs[i, classes[i]] + 0.1 / 3 * -(w * logs[i]).sum() for i in kept]
    made = F.cross_entropy(torch.tensor(x), torch.tensor(classes), weight=torch.tensor(w), label_smoothing=0.1)
    close(made, sum(rows) / w[classes[kept]].sum())
    images, marks = draw(2, 3, 4, 5), RNG.integers(0, 3, (2, 4, 5))
    logs = numpy.log(softmax(images, 1))
    expected = -numpy.take_along_axis(logs, marks[:, None], 1)[:, 0]
    close(F.cross_entropy(torch.tensor(images), torch.tensor(marks), reduction="none"), expected)
    module = nn.CrossEntropyLoss(torch.tensor(w)).to(torch.float64)
    assert module.weight.dtype == torch.float64


def test_losses_that_could_overflow() -> None:
    x = torch.tensor([1000.0, -1000.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, torch.tensor([0.0, 0.0]), reduction="none")
    assert loss.tolist() == [1000, 0]
    loss.sum().backward()
    assert x.grad.tolist() == [1, 0]
    assert F.softplus(torch.tensor([1000.0])).item() == 1000
    assert F.logsigmoid(torch.tensor([-1000.0])).item() == -1000


def minimise(make: Any, steps: int) -> Any:
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = make([w])
    for _ in range(steps):
        optimizer.zero_grad()
        (w * w * torch.tensor([1.0, 3.0])).sum().backward()
        optimizer.step()
    return w.detach().numpy()


def test_nesterov_and_dampening() -> None:
    for nesterov, dampening in ((True, 0.0), (False, 0.5)):
        w, v = numpy.array([1.0, -2.0]), None
        for _ in range(4):
            g = 2 * w * [1, 3] + 0.1 * w
            v = g if v is None else 0.9 * v + (1 - dampening) * g
            w = w - 0.05 * (g + 0.9 * v if nesterov else v)
        made = minimise(
            lambda p, n=nesterov, d=dampening: torch.optim.SGD(
                p, lr=0.05, momentum=0.9, nesterov=n, dampening=d, weight_decay=0.1
            ),
            4,
        )
        numpy.testing.assert_allclose(made, w, rtol=1e-5)


def test_adamw_decays_weights_by_themselves() -> None:
    w, m, s = numpy.array([1.0, -2.0]), 0.0, 0.0
    for step in range(1, 6):
        g = 2 * w * [1, 3]
        w = w * (1 - 0.1 * 0.2)
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        w = w - 0.1 * (m / (1 - 0.9**step)) / (numpy.sqrt(s / (1 - 0.999**step)) + 1e-8)
    numpy.testing.assert_allclose(minimise(lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.2), 5), w, rtol=1e-4)


def test_rmsprop_with_momentum_and_centering() -> None:
    w, s, a, v = numpy.array([1.0, -2.0]), 0.0, 0.0, 0.0
    for _ in range(5):
        g = 2 * w * [1, 3]
        s, a = 0.99 * s + 0.01 * g * g, 0.99 * a + 0.01 * g
        v = 0.9 * v + g / (numpy.sqrt(s - a * a) + 1e-8)
        w = w - 0.01 * v
    made = minimise(lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.9, centered=True), 5)
    numpy.testing.assert_allclose(made, w, rtol=1e-4)


def test_optimisers_refuse_what_makes_no_sense() -> None:
    w = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="more than one group"):
        torch.optim.SGD([{"params": [w]}, {"params": [w]}])
    with pytest.raises(ValueError, match="leaves"):
        torch.optim.SGD([w * 2])
    with pytest.raises(TypeError, match="'speed'"):
        torch.optim.SGD([{"params": [w], "speed": 1}])
    with pytest.raises(ValueError, match="nesterov"):
        torch.optim.SGD([w], nesterov=True)
    with pytest.raises(ValueError, match="other groups"):
        torch.optim.SGD([w]).load_state_dict(torch.optim.SGD([w, torch.ones(1, requires_grad=True)]).state_dict())


def rates(make: Any, count: int = 8, **options: Any) -> list[float]:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, **options)
    scheduler = make(optimizer)
    found = []
    for _ in range(count):
        found.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return found


def test_schedules() -> None:
    s = torch.optim.lr_scheduler
    assert rates(lambda o: s.StepLR(o, 3, 0.5)) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]
    assert rates(lambda o: s.MultiStepLR(o, [2, 5], 0.5)) == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]
    cosine = [(1 + math.cos(math.pi * t / 4)) / 2 for t in range(8)]
    numpy.testing.assert_allclose(rates(lambda o: s.CosineAnnealingLR(o, 4)), cosine, atol=1e-12)
    linear = [0.5 + 0.125 * min(t, 4) for t in range(8)]
    numpy.testing.assert_allclose(rates(lambda o: s.LinearLR(o, 0.5, total_iters=4)), linear)
    both = rates(lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.5)], [2]), 5)
    numpy.testing.assert_allclose(both, [0.1, 0.1, 1.0, 0.5, 0.25])
    cycle = rates(lambda o: s.OneCycleLR(o, 1.0, total_steps=9), 9, momentum=0.9)
    assert max(cycle) == pytest.approx(1.0, rel=0.1) and cycle[0] == pytest.approx(1 / 25) and cycle[-1] < 1e-4


def test_a_plateau_reduces_the_rate() -> None:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    for loss in (3.0, 2.0, 2.0, 2.0, torch.tensor(2.0), 2.0):
        scheduler.step(loss)
    assert optimizer.param_groups[0]["lr"] == 0.25
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    other.load_state_dict(scheduler.state_dict())
    assert other.best == 2.0


def test_containers_hold_what_they_are_given() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.append(nn.ReLU()).extend([nn.Linear(1, 2)])
    layers.insert(0, nn.Identity())
    assert [type(layer).__name__ for layer in layers] == ["Identity", "Linear", "ReLU", "Linear"]
    del layers[0]
    assert len(layers) == 3 and len(layers[1:]) == 2 and isinstance(layers[-1], nn.Linear)
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.Linear(1, 1)
    assert list(table) == ["a", "b"] and "a" in table and len(list(table.parameters())) == 4
    weights = nn.ParameterList([torch.ones(1)])
    weights.append(torch.zeros(1))
    assert [name for name, _ in weights.named_parameters()] == ["0", "1"]
    for bad in (nn.ModuleList, nn.ModuleDict):
        with pytest.raises(TypeError, match="not a module"):
            bad([3] if bad is nn.ModuleList else {"a": 3})


def test_buffers_move_and_belong_to_the_state() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))
            self.register_buffer("cache", torch.zeros(1), persistent=False)
            self.register_buffer("none", None)

    counter = Counter()
    counter.seen = torch.ones(2)
    assert list(counter.state_dict()) == ["seen"] and [name for name, _ in counter.named_buffers()] == ["seen", "cache"]
    counter.double()
    assert counter.seen.dtype == counter.cache.dtype == torch.float64
    with pytest.raises(TypeError, match="must be a tensor"):
        counter.register_buffer("bad", 3)
    with pytest.raises(KeyError, match="already"):
        counter.register_buffer("forward", torch.ones(1))


def test_a_state_may_be_loaded_in_part() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    result = net.load_state_dict({"0.weight": torch.ones(2, 2), "more": torch.ones(1)}, strict=False)
    assert result.unexpected_keys == ["more"] and "1.running_var" in result.missing_keys
    assert (net[0].weight == 1).all()
    with pytest.raises(RuntimeError, match=r"Missing key(.|\n)*Unexpected key"):
        net.load_state_dict({"more": torch.ones(1)})


def test_halves_and_named_parts() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1))).half()
    assert next(net.parameters()).dtype == torch.float16
    assert [name for name, _ in net.named_modules()] == ["", "0", "1", "1.0", "1.1"]
    assert net.get_submodule("1.1") is net[1][1] and net.get_parameter("1.1.weight") is net[1][1].weight
    seen: list[str] = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Sequential"]
