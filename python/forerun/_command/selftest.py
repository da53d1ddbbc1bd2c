"""The self-test of ``forerun doctor``: small programs on a device and on the host, or on the host and in NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from forerun import autograd, np, npx
from forerun._forerun import Device

#: After this time no further check starts.
SECONDS = 10.0

#: A program: it gets a NumPy-like module and arrays, and returns an array.
Program = Callable[..., Any]


class Check(NamedTuple):
    """A program, its inputs, and how far two results may differ, relative to the largest element."""

    name: str
    program: Program
    inputs: tuple[Any, ...]
    allowed: float
    expected: Callable[[], Any] | None = None
    """What NumPy would give, for programs that it cannot run."""


class Outcome(NamedTuple):
    """What a check found: the difference, or the error; neither if it did not run."""

    name: str
    off: float | None
    error: str | None
    allowed: float


def checks() -> list[Check]:
    """Return the checks."""
    rng = numpy.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=numpy.float32)

    x, y = normal(300, 200), normal(300, 200)
    square = normal(48, 48)
    spd = square @ square.T + 48 * numpy.eye(48, dtype=numpy.float32)
    whole = rng.integers(-50, 50, (500, 40))
    places = rng.integers(0, 300, 77)
    image, filters = normal(2, 3, 16, 16), normal(4, 3, 3, 3)
    return [
        Check("pointwise chain", lambda m, x, y: m.tanh(x) * y + x * 2 - y / 3, (x, y), 1e-5),
        Check("reductions", lambda m, x: m.concatenate([x.sum(axis=0), x.max(axis=1), x.mean(axis=1)]), (x,), 1e-5),
        Check("matrix product", lambda m, x, y: m.matmul(x, y.T), (x, y), 1e-5),
        Check("integers", lambda m, a: (a * 7 - 3) // 5 % 11, (whole,), 0),
        Check("sort", lambda m, x: m.sort(x, axis=1), (x,), 0),
        Check("cumulative sum", lambda m, x: m.cumsum(x, axis=0), (x,), 1e-5),
        Check("take", lambda m, x, i: m.take(x, i, axis=0), (x, places), 0),
        Check("views", lambda m, x: x[::3, 5:-5][:, ::-1].T + 0, (x,), 0),
        Check("half precision", lambda m, x: (x * 2 + 1).astype("float16") * 3, (x,), 2e-3),
        Check("solve", lambda m, a, b: m.linalg.solve(a, b), (spd, normal(48, 3)), 1e-4),
        Check("singular values", lambda m, a: m.linalg.svd(a, compute_uv=False), (square,), 1e-4),
        Check("Fourier transform", lambda m, x: m.abs(m.fft.rfft(x, axis=1)), (x,), 1e-4),
        Check(
            "convolution",
            lambda m, x, w: npx.convolution(x, w, no_bias=True, kernel=(3, 3), num_filter=4),
            (image, filters),
            1e-4,
            lambda: _correlated(image, filters),
        ),
        Check("softmax", lambda m, x: npx.softmax(x, axis=-1), (x,), 1e-5, lambda: _softmax(x)),
        Check("gradient", lambda m, x: _gradient(x), (x,), 1e-5, lambda: 2 * x * numpy.cos(x**2)),
    ]


def run(every: list[Check], device: Device | None) -> Iterator[Outcome]:
    """Run the checks on a device against the host, or on the host against NumPy."""
    start = time.perf_counter()
    for check in every:
        if time.perf_counter() - start > SECONDS:
            yield Outcome(check.name, None, None, check.allowed)
            continue
        try:
            yield Outcome(check.name, _difference(check, device), None, check.allowed)
        except Exception as error:
            text = str(error).splitlines()
            yield Outcome(check.name, None, f"{type(error).__name__}: {text[0] if text else ''}", check.allowed)


def _difference(check: Check, device: Device | None) -> float:
    got = _on(check, device or npx.cpu(0))
    if device is not None:
        expected = _on(check, npx.cpu(0))
    elif check.expected is not None:
        expected = check.expected()
    else:
        expected = check.program(numpy, *check.inputs)
    if got.shape != expected.shape:
        raise ValueError(f"shape {got.shape} instead of {expected.shape}")
    if numpy.array_equal(got, expected):
        return 0.0
    apart = numpy.abs(got.astype(numpy.float64) - expected)
    # A NaN is as wrong as can be.
    return float(numpy.nan_to_num(apart, nan=numpy.inf).max() / max(numpy.abs(expected).max(), 1e-30))


def _on(check: Check, device: Device) -> Any:
    inputs = [np.array(each, dtype=each.dtype, device=device) for each in check.inputs]
    with device:
        return check.program(np, *inputs).asnumpy()


def _gradient(x: Any) -> Any:
    x.attach_grad()
    with autograd.record():
        loss = np.sin(x**2).sum()
    loss.backward()
    return x.grad


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _correlated(image: Any, filters: Any) -> Any:
    windows = numpy.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
    return numpy.einsum("nchwij,kcij->nkhw", windows, filters)
