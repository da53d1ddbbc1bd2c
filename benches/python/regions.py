# peers: torch torchvision
"""Bilinear samples, regions and deformed convolutions beside PyTorch and torchvision, in float32.

``cargo xtask bench regions --release [ROUNDS]``: medians of interleaved rounds, each the best of several calls, peers
in processes of their own. ``forward`` is the function, ``both`` the function and its gradients.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy
from _harness import Bench, Run, best_of, main, measure

REPEATS = 5
# Shapes of images, and what is done with them.
WORKLOADS: dict[str, tuple[int, int, int, int]] = {
    "resize 8x3x224x224 to 448": (8, 3, 224, 224),
    "resize 8x64x56x56 to 112": (8, 64, 56, 56),
    "grid_sample 8x3x224x224": (8, 3, 224, 224),
    "grid_sample 8x64x56x56": (8, 64, 56, 56),
    "roi_align 256 of 2x256x50x50": (2, 256, 50, 50),
    "deform 2x64x56x56": (2, 64, 56, 56),
}
REGIONS = 256


def drawn(*shape: int, seed: int = 0, low: float = -1, high: float = 1) -> numpy.ndarray:
    return numpy.random.default_rng(seed).uniform(low, high, shape).astype("float32")


def rois(images: int, size: int) -> numpy.ndarray:
    """Draw regions of a quarter of the image on average, sorted by image."""
    corners = drawn(REGIONS, 2, low=0, high=size * 0.5)
    extents = drawn(REGIONS, 2, seed=1, low=2, high=size * 0.5)
    numbers = (numpy.arange(REGIONS) * images // REGIONS).astype("float32")
    return numpy.concatenate([numbers[:, None], corners, corners + extents], 1)


def inputs(name: str) -> list[numpy.ndarray]:
    """Return the differentiable inputs of a workload."""
    batch, channels, height, width = WORKLOADS[name]
    x = drawn(batch, channels, height, width)
    if name.startswith("grid_sample"):
        return [x, drawn(batch, height, width, 2, seed=1)]
    if name.startswith("deform"):
        return [x, drawn(batch, 18, height, width, seed=1), drawn(64, channels, 3, 3, seed=2)]
    return [x]


def forerun(name: str) -> Run:
    """Prepare ours."""
    from forerun import autograd, np, npx

    arrays = [np.array(each) for each in inputs(name)]
    size, kind = WORKLOADS[name][2], name.split()[0]
    regions = np.array(rois(WORKLOADS[name][0], size))
    calls: dict[str, Callable[..., Any]] = {
        "resize": lambda x: npx.bilinear_resize(x, height=2 * size, width=2 * size, align_corners=False),
        "grid_sample": lambda x, grid: npx.grid_sample(x, grid, align_corners=False),
        "roi_align": lambda x: npx.roi_align(x, regions, (7, 7), 1.0, 2),
        "deform": lambda x, moves, w: npx.deformable_convolution(x, moves, w, pad=1),
    }
    for array in arrays:
        array.attach_grad()
    head = np.ones(calls[kind](*arrays).shape, dtype="float32")

    def forward() -> None:
        calls[kind](*arrays).wait_to_read()

    def both() -> None:
        with autograd.record():
            y = calls[kind](*arrays)
        y.backward(head)
        for array in arrays:
            array.grad.wait_to_read()

    return lambda: {"forward": best_of(REPEATS, forward), "both": best_of(REPEATS, both)}


def torch(name: str) -> Run:
    """Prepare PyTorch's and torchvision's."""
    import torch
    import torchvision

    arrays = [torch.from_numpy(each) for each in inputs(name)]
    size, kind = WORKLOADS[name][2], name.split()[0]
    regions = torch.from_numpy(rois(WORKLOADS[name][0], size))
    functional = torch.nn.functional
    calls: dict[str, Callable[..., Any]] = {
        "resize": lambda x: functional.interpolate(x, (2 * size, 2 * size), mode="bilinear", align_corners=False),
        "grid_sample": lambda x, grid: functional.grid_sample(x, grid, align_corners=False),
        "roi_align": lambda x: torchvision.ops.roi_align(x, regions, (7, 7), 1.0, 2),
        "deform": lambda x, moves, w: torchvision.ops.deform_conv2d(x, moves, w, padding=1),
    }
    head = torch.ones_like(calls[kind](*arrays))

    def forward() -> None:
        with torch.no_grad():
            calls[kind](*arrays)

    def both() -> None:
        for array in arrays:
            array.requires_grad_()
        torch.autograd.grad(calls[kind](*arrays), arrays, head)

    return lambda: {"forward": best_of(REPEATS, forward), "both": best_of(REPEATS, both)}


BENCH: Bench = {
    name: {"forerun": lambda name=name: forerun(name), "torch": lambda name=name: torch(name)} for name in WORKLOADS
}


def report(rounds: int) -> None:
    """Print the table."""
    print("workload: milliseconds of ours, of PyTorch or torchvision, ratio")
    for name in WORKLOADS:
        results = measure(__file__, BENCH, name, rounds)
        for metric in ("forward", "both"):
            ours, theirs = (statistics.median(results[peer][metric]) for peer in ("forerun", "torch"))
            print(f"{name:30} {metric:8} {ours * 1e3:8.2f} {theirs * 1e3:8.2f} {ours / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    main(__file__, BENCH, report)
