# peers: torch
"""The convolutions of ResNet-18 beside PyTorch: forward, and both gradients, in float32.

``cargo xtask bench convolutions --release [ROUNDS]``: medians of interleaved rounds, each the best of several calls,
peers in processes of their own; and GFLOP/s. Images are 1 x 96 x 96 in batches of 16.
"""

from __future__ import annotations

import statistics

import numpy
from _harness import Bench, Run, best_of, main, measure

BATCH, REPEATS = 16, 8
# Channels, filters, extent of the data, kernel, stride, padding.
SHAPES = [
    (1, 64, 96, 7, 2, 3),
    (64, 64, 24, 3, 1, 1),
    (64, 128, 24, 3, 2, 1),
    (64, 128, 24, 1, 2, 0),
    (128, 128, 12, 3, 1, 1),
    (128, 256, 12, 3, 2, 1),
    (128, 256, 12, 1, 2, 0),
    (256, 256, 6, 3, 1, 1),
    (256, 512, 6, 3, 2, 1),
    (256, 512, 6, 1, 2, 0),
    (512, 512, 3, 3, 1, 1),
]


def extent(shape: tuple[int, ...]) -> int:
    """Return the extent of the result."""
    _, _, size, kernel, stride, padding = shape
    return (size + 2 * padding - kernel) // stride + 1


def operands(shape: tuple[int, ...]) -> list[numpy.ndarray]:
    """Draw data, weight and what flows back."""
    channels, filters, size, kernel, _, _ = shape
    made = extent(shape)
    generator = numpy.random.default_rng(0)
    shapes = [(BATCH, channels, size, size), (filters, channels, kernel, kernel), (BATCH, filters, made, made)]
    return [generator.standard_normal(s).astype("float32") for s in shapes]


def forerun(shape: tuple[int, ...]) -> Run:
    """Prepare ours."""
    from forerun import _forerun, np

    _, _, size, kernel, stride, padding = shape
    x, w, g = (np.array(a) for a in operands(shape))
    window = {"stride": [stride] * 2, "padding": [padding] * 2, "dilation": [1, 1], "groups": 1}

    def call(name: str, inputs: list[np.ndarray], extents: list[int]) -> None:
        _forerun.routine(name, inputs, extents=extents, channels_last=False, **window).wait_to_read()

    calls = {
        "forward": lambda: call("convolution", [x, w], []),
        "data": lambda: call("convolution_transpose", [g, w], [size] * 2),
        "weight": lambda: call("convolution_weight", [g, x], [kernel] * 2),
    }
    return lambda: {name: best_of(REPEATS, run) for name, run in calls.items()}


def torch(shape: tuple[int, ...]) -> Run:
    """Prepare PyTorch's."""
    import torch

    _, _, _, _, stride, padding = shape
    x, w, g = (torch.from_numpy(a) for a in operands(shape))
    window = [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1
    back = torch.ops.aten.convolution_backward
    calls = {
        "forward": lambda: torch.ops.aten.convolution(x, w, None, *window),
        "data": lambda: back(g, x, w, None, *window, [True, False, False]),
        "weight": lambda: back(g, x, w, None, *window, [False, True, False]),
    }
    return lambda: {name: best_of(REPEATS, run) for name, run in calls.items()}


BENCH: Bench = {
    " ".join(map(str, shape)): {
        "forerun": lambda shape=shape: forerun(shape),
        "torch": lambda shape=shape: torch(shape),
    }
    for shape in SHAPES
}


def report(rounds: int) -> None:
    """Print the table."""
    print("channels filters extent kernel stride padding: milliseconds of ours, of PyTorch, ratio, GFLOP/s of ours")
    for shape in SHAPES:
        results = measure(__file__, BENCH, " ".join(map(str, shape)), rounds)
        work = 2 * BATCH * extent(shape) ** 2 * shape[0] * shape[1] * shape[3] ** 2
        for metric in ("forward", "data", "weight"):
            ours, theirs = (statistics.median(results[peer][metric]) for peer in ("forerun", "torch"))
            name = " ".join(f"{number:4}" for number in shape)
            figures = f"{ours * 1e3:8.3f} {theirs * 1e3:8.3f} {ours / theirs:6.2f} {work / ours / 1e9:7.0f}"
            print(f"{name}  {metric:8} {figures}", flush=True)


if __name__ == "__main__":
    main(__file__, BENCH, report)
