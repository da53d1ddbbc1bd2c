# peers: numpy torch
"""Training steps and inference of small networks beside PyTorch's.

``cargo xtask bench networks --release [ROUNDS] [WORKLOAD ...]``. ``lstm``, ``gru``: a language model of two recurrent
layers of 256 units over 35 steps of 64 sequences, plain SGD with clipped gradients. ``transformer``: 4 layers, 256
numbers, 8 heads over 32 sequences of 128 tokens, Adam; PyTorch's with its fused attention. ``mlp``: ten dense layers of
128 units, batches of 64. ``lenet``: batches of 256 images of 28 x 28. ``resnet``: ResNet-18, batches of 16 images of
96 x 96, SGD with momentum. Every run takes several steps without a barrier and the same number with the loss read each
time, and prints the peak of resident memory above that before the first step. ``torch compiled`` runs network and loss
under ``torch.compile``. ``infer``: ResNet-18, the small MLP and the transformer on one image, row or sequence, with a
wait after each call.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Bench, Make, Run, main, measure, show

now = time.perf_counter
STEPS, WORDS = 3, 1000
LAYERS, WIDTH, HEADS, SEQUENCES, TOKENS = 4, 256, 8, 32, 128


def tokens(shape: tuple[int, int]) -> tuple[Any, Any]:
    import numpy

    drawn = numpy.random.default_rng(1).integers(0, WORDS, (*shape, 2)).astype("int64")
    return drawn[..., 0].copy(), drawn[..., 1].reshape(-1).copy()


def resident(field: str) -> float:
    """Return a figure of this process's memory in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1e3


def both_ways(step: Callable[[], Any], read: Callable[[Any], Any], steps: int = STEPS) -> Run:
    before = resident("VmRSS")

    def timed(each: bool) -> float:
        start, kept = now(), []
        for _ in range(steps):
            kept.append(step())
            if each:
                read(kept[-1])
        read(kept[-1])
        return (now() - start) / steps

    def run() -> dict[str, float]:
        times = {"no barrier": timed(False), "loss read each step": timed(True)}
        return {**times, "peak memory, MB": resident("VmHWM") - before}

    return run


def torch_training(
    net: Any, x: Any, y: Any, optimizer: Any, compiled: bool, steps: int = STEPS, clip: bool = False
) -> Run:
    import torch

    def forward(x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(net(x), y)

    loss = torch.compile(forward) if compiled else forward

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        out = loss(x, y)
        out.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return out

    return both_ways(step, lambda out: out.item(), steps)


def forerun_language(kind: str) -> Run:
    from forerun import autograd, gluon, np, npx

    net = gluon.nn.HybridSequential()
    layer = getattr(gluon.rnn, kind.upper())(256, num_layers=2)
    net.add(gluon.nn.Embedding(WORDS, 256), layer, gluon.nn.Dense(WORDS, flatten=False))
    net.initialize()
    x, y = map(np.array, tokens((35, 64)))
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})

    def step() -> Any:
        with autograd.record():
            out = loss(net(x).reshape(-1, WORDS), y).mean()
        out.backward()
        gradients = [parameter.grad() for parameter in net.collect_params().values()]
        gluon.utils.clip_global_norm(gradients, 1.0, check_isfinite=False)
        trainer.step(1)
        return out

    step()
    return both_ways(step, lambda out: (out.item(), npx.waitall()))


def torch_language(kind: str, compiled: bool) -> Run:
    import torch
    from torch import nn

    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.out = nn.Embedding(WORDS, 256), nn.Linear(256, WORDS)
            self.layer = getattr(nn, kind.upper())(256, 256, 2)

        def forward(self, x: Any) -> Any:
            return self.out(self.layer(self.words(x))[0]).reshape(-1, WORDS)

    net = Language()
    x, y = map(torch.tensor, tokens((35, 64)))
    return torch_training(net, x, y, torch.optim.SGD(net.parameters(), 1.0), compiled, clip=True)


def forerun_transformer_net() -> Any:
    import numpy

    from forerun import autograd, gluon, init, np, npx
    from forerun.gluon import nn

    class Layer(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.proj = nn.Dense(3 * WIDTH, flatten=False), nn.Dense(WIDTH, flatten=False)
            self.up, self.down = nn.Dense(4 * WIDTH, flatten=False), nn.Dense(WIDTH, flatten=False)
            self.gelu = nn.GELU()
            self.ln1, self.ln2 = nn.LayerNorm(), nn.LayerNorm()

        def forward(self, h: Any, mask: Any) -> Any:
            n, t, d = h.shape
            e = d // HEADS
            split = self.qkv(self.ln1(h)).reshape(n, t, 3, HEADS, e).transpose(2, 0, 3, 1, 4)
            q, k, v = split.reshape(3, n * HEADS, t, e)
            a = npx.batch_dot(npx.softmax(npx.batch_dot(q, k, transpose_b=True) / e**0.5 + mask), v)
            h = h + self.proj(a.reshape(n, HEADS, t, e).transpose(0, 2, 1, 3).reshape(n, t, d))
            return h + self.down(self.gelu(self.up(self.ln2(h))))

    class Transformer(nn.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.emb = nn.Embedding(WORDS, WIDTH, weight_initializer=init.Normal(1.0))
            self.pos = gluon.Parameter("pos", shape=(TOKENS, WIDTH), init=init.Normal(0.02))
            self.mask = gluon.Constant(np.array(numpy.triu(numpy.full((TOKENS, TOKENS), -1e9, "float32"), 1)))
            self.layers = nn.HybridSequential()
            self.layers.add(*[Layer() for _ in range(LAYERS)])
            self.ln, self.out = nn.LayerNorm(), nn.Dense(WORDS, flatten=False)

        def forward(self, x: Any) -> Any:
            h, mask = self.emb(x) + self.pos.data(), self.mask.data()
            for layer in self.layers:
                h = layer(h, mask)
            return self.out(self.ln(h)).reshape(-1, WORDS)

    net = Transformer()
    net.initialize(init.Xavier())
    with autograd.predict_mode():
        net(np.array(tokens((1, TOKENS))[0]))
    return net


def forerun_transformer() -> Run:
    from forerun import autograd, gluon, np, npx

    net = forerun_transformer_net()
    x, y = map(np.array, tokens((SEQUENCES, TOKENS)))
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 3e-4})

    def step() -> Any:
        with autograd.record():
            out = loss(net(x), y).mean()
        out.backward()
        trainer.step(1)
        return out

    return both_ways(step, lambda out: (out.item(), npx.waitall()))


def torch_transformer_net() -> Any:
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, h: Any) -> Any:
            n, t, d = h.shape
            q, k, v = self.qkv(self.ln1(h)).view(n, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + self.proj(a.transpose(1, 2).reshape(n, t, d))
            return h + self.down(functional.gelu(self.up(self.ln2(h))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.pos = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(TOKENS, WIDTH) * 0.02)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.ln, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

        def forward(self, x: Any) -> Any:
            h = self.emb(x) + self.pos
            for layer in self.layers:
                h = layer(h)
            return self.out(self.ln(h)).reshape(-1, WORDS)

    return Transformer()


def torch_transformer(compiled: bool) -> Run:
    import torch

    net = torch_transformer_net()
    x, y = map(torch.tensor, tokens((SEQUENCES, TOKENS)))
    return torch_training(net, x, y, torch.optim.Adam(net.parameters(), 3e-4), compiled)


# Batch, shape of one input, classes, learning rate, momentum, steps of a run.
IMAGES: dict[str, tuple[int, tuple[int, ...], int, float, float, int]] = {
    "mlp": (64, (128,), 128, 0.1, 0.0, 50),
    "lenet": (256, (1, 28, 28), 10, 0.5, 0.0, 8),
    "resnet": (16, (1, 96, 96), 10, 0.01, 0.9, 3),
}
WIDTHS = (64, 128, 256, 512)
INFERENCE = ("mlp", "resnet", "transformer")


def images(kind: str, batch: int) -> tuple[Any, Any]:
    import numpy

    _, shape, classes, *_ = IMAGES[kind]
    random = numpy.random.default_rng(1)
    return random.standard_normal((batch, *shape)).astype("float32"), random.integers(0, classes, batch)


def forerun_net(kind: str) -> Any:
    from forerun import init, npx
    from forerun.gluon import nn

    class Residual(nn.HybridBlock):
        def __init__(self, channels: int, strides: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2D(channels, kernel_size=3, padding=1, strides=strides)
            self.conv2 = nn.Conv2D(channels, kernel_size=3, padding=1)
            self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=strides) if strides > 1 else None
            self.bn1, self.bn2 = nn.BatchNorm(), nn.BatchNorm()

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(npx.relu(self.bn1(self.conv1(x)))))
            return npx.relu(y + (x if self.conv3 is None else self.conv3(x)))

    net = nn.HybridSequential()
    if kind == "mlp":
        net.add(*[nn.Dense(128, activation="relu") for _ in range(9)], nn.Dense(128))
    elif kind == "lenet":
        net.add(nn.Conv2D(6, kernel_size=5, padding=2, activation="sigmoid"), nn.AvgPool2D(2, 2))
        net.add(nn.Conv2D(16, kernel_size=5, activation="sigmoid"), nn.AvgPool2D(2, 2))
        net.add(nn.Dense(120, activation="sigmoid"), nn.Dense(84, activation="sigmoid"), nn.Dense(10))
    else:
        net.add(nn.Conv2D(64, kernel_size=7, strides=2, padding=3), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.MaxPool2D(3, 2, 1))
        net.add(*[Residual(c, 2 if c > 64 and first else 1) for c in WIDTHS for first in (True, False)])
        net.add(nn.GlobalAvgPool2D(), nn.Dense(10))
    net.initialize(init.Xavier())
    return net


def torch_net(kind: str) -> Any:
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, before: int, channels: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, channels, 3, stride, 1)
            self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1)
            self.conv3 = nn.Conv2d(before, channels, 1, stride) if stride > 1 else None
            self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(nn.functional.relu(self.bn1(self.conv1(x)))))
            return nn.functional.relu(y + (x if self.conv3 is None else self.conv3(x)))

    if kind == "mlp":
        return nn.Sequential(*[m for _ in range(9) for m in (nn.Linear(128, 128), nn.ReLU())], nn.Linear(128, 128))
    if kind == "lenet":
        first = [nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Sigmoid()]
        last = [nn.Linear(400, 120), nn.Sigmoid(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10)]
        return nn.Sequential(*first, nn.AvgPool2d(2), nn.Flatten(), *last)
    pairs = [(max(c // 2, 64) if first else c, c, 2 if c > 64 and first else 1) for c in WIDTHS for first in (1, 0)]
    head = [nn.Conv2d(1, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    blocks = [Residual(*pair) for pair in pairs]
    return nn.Sequential(*head, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def forerun_images(kind: str) -> Run:
    from forerun import autograd, gluon, np, npx

    batch, _, _, rate, momentum, steps = IMAGES[kind]
    net, (x, y) = forerun_net(kind), map(np.array, images(kind, batch))
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    net(x)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "momentum": momentum})

    def step() -> Any:
        with autograd.record():
            out = loss(net(x), y).mean()
        out.backward()
        trainer.step(1)
        return out

    return both_ways(step, lambda out: (out.item(), npx.waitall()), steps)


def torch_images(kind: str, compiled: bool) -> Run:
    import torch

    batch, _, _, rate, momentum, steps = IMAGES[kind]
    net, (x, y) = torch_net(kind), map(torch.tensor, images(kind, batch))
    return torch_training(net, x, y, torch.optim.SGD(net.parameters(), rate, momentum), compiled, steps)


def inference(calls: dict[str, Callable[[], Any]]) -> Run:
    def timed(call: Callable[[], Any], times: int) -> float:
        start = now()
        for _ in range(times):
            call()
        return (now() - start) / times

    return lambda: {kind: timed(call, 200 if kind == "mlp" else 5) for kind, call in calls.items()}


def forerun_inference() -> Run:
    from forerun import np

    def call(kind: str) -> Callable[[], Any]:
        words = kind == "transformer"
        net = forerun_transformer_net() if words else forerun_net(kind)
        x = np.array(tokens((1, TOKENS))[0] if words else images(kind, 1)[0])
        return lambda: net(x).wait_to_read()

    return inference({kind: call(kind) for kind in INFERENCE})


def torch_inference() -> Run:
    import torch

    def call(kind: str) -> Callable[[], Any]:
        words = kind == "transformer"
        net = (torch_transformer_net() if words else torch_net(kind)).eval()
        x = torch.tensor(tokens((1, TOKENS))[0] if words else images(kind, 1)[0])

        def run() -> None:
            with torch.no_grad():
                net(x)

        return run

    return inference({kind: call(kind) for kind in INFERENCE})


TRAINING: dict[str, tuple[Make, Callable[[bool], Run]]] = {
    **{kind: (partial(forerun_images, kind), partial(torch_images, kind)) for kind in IMAGES},
    **{kind: (partial(forerun_language, kind), partial(torch_language, kind)) for kind in ("lstm", "gru")},
    "transformer": (forerun_transformer, torch_transformer),
}
BENCH: Bench = {
    **{
        name: {"forerun": ours, "torch": partial(theirs, False), "torch compiled": partial(theirs, True)}
        for name, (ours, theirs) in TRAINING.items()
    },
    "infer": {"forerun": forerun_inference, "torch": torch_inference},
}


def report(rounds: int) -> None:
    chosen = [name for name in sys.argv[1:] if name in BENCH] or list(BENCH)
    for workload in chosen:
        show(workload, measure(__file__, BENCH, workload, rounds), 1e-3, "ms")


if __name__ == "__main__":
    main(__file__, BENCH, report)
