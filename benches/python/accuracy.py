# peers: numpy torch
"""Accuracy after training beside PyTorch's: the same networks, data, optimiser, steps and initial distributions.

``cargo xtask bench accuracy --release [SEEDS] [TASK ...]``, by default five seeds. ``digits``: LeNet on synthetic
digits. ``language``: a character language model with an LSTM. ``copy``: a transformer that copies tokens. The Forerun
networks and the data are those of ``examples/python``. Both libraries read the same batches in the same order; their
initial weights are different draws from one distribution, so results differ from seed to seed. The table gives for each
task the mean over the seeds of the accuracy on new data and of the last training losses, and the difference in points.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "python"))

from _data import CHARACTERS, copies, digits, sentences, windows

Batch = tuple[Any, Any]
#: Initial standard deviation of the transformer's position embedding.
POSITIONS = 0.3
LENGTH, TOKENS = 8, 10


class Result(NamedTuple):
    """What one training run ends with."""

    accuracy: float
    loss: float
    seconds: float


class Task(NamedTuple):
    """One comparison: what both libraries train on, and how each builds its network."""

    batch: Callable[[int, int], Batch]
    test: Callable[[int], Batch]
    steps: int
    learning_rate: float
    forerun: Callable[[], Any]
    torch: Callable[[], Any]


def batches(task: Task, seed: int) -> Iterator[Batch]:
    for step in range(task.steps):
        yield task.batch(seed, step)


def with_forerun(task: Task, seed: int) -> Result:
    from forerun import autograd, gluon, np, npx

    npx.seed(seed)
    start = time.perf_counter()
    net, loss, losses = task.forerun(), gluon.loss.SoftmaxCrossEntropyLoss(), []
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": task.learning_rate})
    for x, labels in batches(task, seed):
        with autograd.record():
            mean = loss(net(np.array(x)), np.array(labels)).mean()
        mean.backward()
        trainer.step(1)
        losses.append(mean)
    x, labels = task.test(seed)
    accuracy = (net(np.array(x)).argmax(axis=-1).asnumpy() == labels).mean()
    last = statistics.mean(one.item() for one in losses[-20:])
    return Result(100 * float(accuracy), last, time.perf_counter() - start)


def with_torch(task: Task, seed: int) -> Result:
    import torch

    torch.manual_seed(seed)
    start = time.perf_counter()
    net, losses = task.torch(), []
    for name, parameter in net.named_parameters():
        if name == "positions":
            torch.nn.init.normal_(parameter, 0, POSITIONS)
        elif parameter.dim() > 1:
            torch.nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias") or ".bias_" in name:
            torch.nn.init.zeros_(parameter)
    optimizer = torch.optim.Adam(net.parameters(), task.learning_rate)
    for x, labels in batches(task, seed):
        optimizer.zero_grad(set_to_none=True)
        scores = net(torch.from_numpy(x))
        mean = torch.nn.functional.cross_entropy(scores.flatten(0, -2), torch.from_numpy(labels).flatten())
        mean.backward()
        optimizer.step()
        losses.append(mean.detach())
    x, labels = task.test(seed)
    net.eval()
    with torch.no_grad():
        accuracy = (net(torch.from_numpy(x)).argmax(-1).numpy() == labels).mean()
    last = statistics.mean(one.item() for one in losses[-20:])
    return Result(100 * float(accuracy), last, time.perf_counter() - start)


def forerun_lenet() -> Any:
    import lenet

    return lenet.network()


def torch_lenet() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def forerun_language() -> Any:
    import language

    return language.network()


def torch_language() -> Any:
    from torch import nn

    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            count = len(CHARACTERS)
            self.embedding, self.lstm, self.out = nn.Embedding(count, 32), nn.LSTM(32, 64), nn.Linear(64, count)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(self.embedding(x))[0])

    return Language()


def forerun_transformer() -> Any:
    import transformer

    return transformer.network(LENGTH, TOKENS)


def torch_transformer() -> Any:
    import torch
    from torch import nn
    from torch.nn import functional

    units, heads = 32, 4

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.proj = (nn.Linear(units, units) for _ in range(4))
            self.up, self.down = nn.Linear(units, 2 * units), nn.Linear(2 * units, units)
            self.norm1, self.norm2 = nn.LayerNorm(units), nn.LayerNorm(units)

        def forward(self, h: Any) -> Any:
            x = self.norm1(h)
            q, k, v = (
                layer(x).unflatten(-1, (heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
            )
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + self.proj(a.transpose(1, 2).flatten(-2))
            return h + self.down(functional.gelu(self.up(self.norm2(h))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(TOKENS + 1, units)
            self.positions = nn.Parameter(torch.empty(2 * LENGTH, units))
            self.layers = nn.Sequential(Layer(), Layer())
            self.norm, self.out = nn.LayerNorm(units), nn.Linear(units, TOKENS)

        def forward(self, x: Any) -> Any:
            return self.out(self.norm(self.layers(self.embedding(x) + self.positions)[:, LENGTH:]))

    return Transformer()


TEXT = sentences(20_000, seed=1)
NEW_TEXT = sentences(5_000, seed=2)
TASKS = {
    "digits": Task(
        lambda seed, step: digits(numpy, 64, 10_000 * seed + step),
        lambda seed: digits(numpy, 2000, 10_000 * seed + 9_999),
        400,
        1e-3,
        forerun_lenet,
        torch_lenet,
    ),
    "language": Task(
        lambda seed, step: windows(numpy, TEXT, 24, 32, 10_000 * seed + step),
        lambda seed: windows(numpy, NEW_TEXT, 24, 256, 10_000 * seed + 9_999),
        400,
        0.01,
        forerun_language,
        torch_language,
    ),
    "copy": Task(
        lambda seed, step: copies(numpy, 64, LENGTH, TOKENS, 10_000 * seed + step),
        lambda seed: copies(numpy, 1000, LENGTH, TOKENS, 10_000 * seed + 9_999),
        300,
        3e-3,
        forerun_transformer,
        torch_transformer,
    ),
}


def main() -> None:
    import torch

    # With one thread, a busy machine does not slow it down at the barriers of its thread pool.
    torch.set_num_threads(1)
    given = [word for word in sys.argv[1:] if word in TASKS] or list(TASKS)
    seeds = next((int(word) for word in sys.argv[1:] if word.isdigit()), 5)
    for name in given:
        task = TASKS[name]
        results: dict[str, list[Result]] = {"forerun": [], "torch": []}
        print(f"\n{name}: {task.steps} steps of Adam, {seeds} seeds")
        for seed in range(1, seeds + 1):
            for library, run in (("forerun", with_forerun), ("torch", with_torch)):
                one = run(task, seed)
                results[library].append(one)
                print(
                    f"  seed {seed}  {library:8} accuracy {one.accuracy:6.2f} %  loss {one.loss:.4f}"
                    f"  {one.seconds:5.1f} s",
                    flush=True,
                )
        means = {}
        for library, runs in results.items():
            accuracies = [one.accuracy for one in runs]
            means[library] = statistics.mean(accuracies)
            spread = statistics.stdev(accuracies) if seeds > 1 else 0.0
            loss = statistics.mean(one.loss for one in runs)
            print(f"  mean    {library:8} accuracy {means[library]:6.2f} % +- {spread:.2f}  loss {loss:.4f}")
        print(f"  difference {means['forerun'] - means['torch']:+.2f} points")


if __name__ == "__main__":
    main()
