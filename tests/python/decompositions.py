"""What NumPy gives for the routines of linear algebra and Fourier transforms, and how their results are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

# What NumPy calls the scales of a transform forward, and back.
SCALES = (["backward", "forward", "ortho"], ["forward", "backward", "ortho"])


def fourier(x: Any, words: Any) -> Any:
    axis, back, scale = words
    return (numpy.fft.ifft if back else numpy.fft.fft)(x, axis=axis, norm=SCALES[back][scale])


def adjoint(x: Any) -> Any:
    return numpy.conj(numpy.swapaxes(x, -1, -2))


def packed(*results: Any) -> Any:
    return numpy.concatenate([numpy.ravel(result) for result in results])


def triangular(a: Any, b: Any, words: Any) -> Any:
    lower, transposed, unit = words
    half = numpy.tril(a) if lower else numpy.triu(a)
    rows = numpy.arange(a.shape[-1])
    if unit:
        half[..., rows, rows] = 1
    return numpy.linalg.solve(numpy.swapaxes(half, -1, -2) if transposed else half, b)


def reconstructed(op: str, sample: dict[str, Any], found: numpy.ndarray) -> numpy.ndarray:
    """Show a packed decomposition through what does not depend on the signs of its vectors."""
    if op not in ("qr", "svd", "eigh", "eig", "eigvals"):
        return found
    (*lead, m, n) = sample["inputs"][0]["shape"]
    wide = found.astype("complex128" if found.dtype.kind == "c" else "float64")
    if op == "eigvals":
        # Of two that mirror each other, rounding decides which real part is the larger.
        order = numpy.lexsort((wide.imag, wide.real.round(4)))
        return numpy.take_along_axis(found, order, -1)
    least = min(m, n)
    left, right = (m, n) if sample["args"]["words"][0] and op != "eigh" else (least, least)
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
    "rfft": lambda x, words: numpy.fft.rfft(x, axis=words[0], norm=SCALES[0][words[1]]),
    "irfft": lambda x, words: numpy.fft.irfft(x, words[1], words[0], SCALES[1][words[2]]),
    "cholesky": lambda x, words: numpy.linalg.cholesky(x, upper=bool(words[0])),
    "det": lambda x, words: numpy.linalg.det(x),
    "slogdet": lambda x, words: numpy.stack(numpy.linalg.slogdet(x)),
    "inv": lambda x, words: numpy.linalg.inv(x),
    "solve": lambda a, b, words: numpy.linalg.solve(a, b),
    "solve_triangular": triangular,
    "qr": lambda x, words: packed(*numpy.linalg.qr(x, "complete" if words[0] else "reduced")),
    "svd": lambda x, words: packed(*numpy.linalg.svd(x, full_matrices=bool(words[0]))),
    "svdvals": lambda x, words: numpy.linalg.svd(x, compute_uv=False),
    "eigh": lambda x, words: packed(*numpy.linalg.eigh(x, "LU"[words[0]])),
    "eig": lambda x, words: packed(*(part + 0j for part in numpy.linalg.eig(x))),
    "eigvals": lambda x, words: numpy.linalg.eigvals(x) + 0j,
    "eigvalsh": lambda x, words: numpy.linalg.eigvalsh(x, "LU"[words[0]]),
}
