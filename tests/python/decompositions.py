"""NumPy references for linear algebra and Fourier transforms, and comparisons of their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

# NumPy's names of the scales of forward and inverse transforms.
SCALES = (["backward", "forward", "ortho"], ["forward", "backward", "ortho"])


def fourier(x: Any, axis: int, back: bool, scale: int) -> Any:
    return (numpy.fft.ifft if back else numpy.fft.fft)(x, axis=axis, norm=SCALES[back][scale])


def adjoint(x: Any) -> Any:
    return numpy.conj(numpy.swapaxes(x, -1, -2))


def packed(*results: Any) -> Any:
    return numpy.concatenate([numpy.ravel(result) for result in results])


def triangular(a: Any, b: Any, lower: bool, transposed: bool, unit: bool) -> Any:
    half = numpy.tril(a) if lower else numpy.triu(a)
    rows = numpy.arange(a.shape[-1])
    if unit:
        half[..., rows, rows] = 1
    return numpy.linalg.solve(numpy.swapaxes(half, -1, -2) if transposed else half, b)


def reconstructed(op: str, sample: dict[str, Any], found: numpy.ndarray) -> numpy.ndarray:
    """Convert a packed decomposition to a form that does not depend on the signs of its vectors."""
    if op not in ("qr", "svd", "eigh", "eig", "eigvals"):
        return found
    (*lead, m, n) = sample["inputs"][0]["shape"]
    wide = found.astype("complex128" if found.dtype.kind == "c" else "float64")
    if op == "eigvals":
        # For conjugate pairs, rounding decides which real part is larger.
        order = numpy.lexsort((wide.imag, wide.real.round(4)))
        return numpy.take_along_axis(found, order, -1)
    least = min(m, n)
    left, right = (m, n) if sample.get("args", {}).get("complete") else (least, least)
    shapes = {"qr": [(m, left), (left, n)], "svd": [(m, left), (least,), (right, n)], "eigh": [(n,), (n, n)]}
    shapes["eig"] = shapes["eigh"]
    taken, start = [], 0
    for shape in shapes[op]:
        size = math.prod((*lead, *shape))
        taken.append(wide[start : start + size].reshape(*lead, *shape))
        start += size
    assert start == len(found)
    if op == "qr":
        q, r = taken
        values = [abs(numpy.triu(r)), numpy.tril(r, -1), q @ r, adjoint(q) @ q]
    elif op == "svd":
        u, s, vh = taken
        values = [s, (u[..., :least] * s[..., None, :]) @ vh[..., :least, :], adjoint(u) @ u, vh @ adjoint(vh)]
    elif op == "eig":
        w, v = taken
        values = [numpy.sort(w.real, -1), (v * w[..., None, :]) @ numpy.linalg.inv(v), (abs(v) ** 2).sum(-2)]
    else:
        w, v = taken
        values = [w, (v * w[..., None, :]) @ adjoint(v), adjoint(v) @ v]
    return packed(*values).astype(found.dtype)


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "fft": fourier,
    "rfft": lambda x, axis, scale: numpy.fft.rfft(x, axis=axis, norm=SCALES[0][scale]),
    "irfft": lambda x, axis, n, scale: numpy.fft.irfft(x, n, axis, SCALES[1][scale]),
    "slogdet": lambda x: numpy.stack(numpy.linalg.slogdet(x)),
    "solve_triangular": triangular,
    "qr": lambda x, complete: packed(*numpy.linalg.qr(x, "complete" if complete else "reduced")),
    "svd": lambda x, complete: packed(*numpy.linalg.svd(x, full_matrices=complete)),
    "eigh": lambda x, upper: packed(*numpy.linalg.eigh(x, "LU"[upper])),
    "eig": lambda x: packed(*(part + 0j for part in numpy.linalg.eig(x))),
    "eigvals": lambda x: numpy.linalg.eigvals(x) + 0j,
    "eigvalsh": lambda x, upper: numpy.linalg.eigvalsh(x, "LU"[upper]),
}
