"""What NumPy gives for the routines of linear algebra and Fourier transforms, and how their results are compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

# What NumPy calls the scales of a transform forward, and back.
SCALES = (["backward", "forward", "ortho"], ["forward", "backward", "ortho"])


def joined(x: Any) -> Any:
    return x[..., 0] + 1j * x[..., 1]


def in_pairs(x: Any) -> Any:
    return numpy.stack([x.real, x.imag], -1)


def fourier(x: Any, words: Any) -> Any:
    axis, back, scale = words
    return in_pairs((numpy.fft.ifft if back else numpy.fft.fft)(joined(x), axis=axis, norm=SCALES[back][scale]))


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
    if op == "eigvals":
        return in_pairs(numpy.sort(joined(found.astype("float64")), -1)).astype(found.dtype)
    least = min(m, n)
    left, right = (m, n) if sample["args"]["words"][0] and op != "eigh" else (least, least)
    shapes = {"qr": [(m, left), (left, n)], "svd": [(m, left), (least,), (right, n)], "eigh": [(n,), (n, n)]}
    shapes["eig"] = [(n, 2), (n, n, 2)]
    taken, start = [], 0
    for shape in shapes[op]:
        size = math.prod((*lead, *shape))
        taken.append(found[start : start + size].reshape(*lead, *shape).astype("float64"))
        start += size
    assert start == len(found)
    if op == "qr":
        q, r = taken
        values = [abs(numpy.triu(r)), numpy.tril(r, -1), q @ r, numpy.swapaxes(q, -1, -2) @ q]
    elif op == "svd":
        u, s, vh = taken
        products = [numpy.swapaxes(u, -1, -2) @ u, vh @ numpy.swapaxes(vh, -1, -2)]
        values = [s, (u[..., :least] * s[..., None, :]) @ vh[..., :least, :], *products]
    elif op == "eig":
        w, v = (joined(part) for part in taken)
        product = (v * w[..., None, :]) @ numpy.linalg.inv(v)
        values = [numpy.sort(w.real, -1), product.real, product.imag, (abs(v) ** 2).sum(-2)]
    else:
        w, v = taken
        values = [w, (v * w[..., None, :]) @ numpy.swapaxes(v, -1, -2), numpy.swapaxes(v, -1, -2) @ v]
    return packed(*values).astype(found.dtype)


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "fft": fourier,
    "rfft": lambda x, words: in_pairs(numpy.fft.rfft(x, axis=words[0], norm=SCALES[0][words[1]])),
    "irfft": lambda x, words: numpy.fft.irfft(joined(x), words[1], words[0], SCALES[1][words[2]]),
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
    "eig": lambda x, words: packed(*(in_pairs(part + 0j) for part in numpy.linalg.eig(x))),
    "eigvals": lambda x, words: in_pairs(numpy.linalg.eigvals(x) + 0j),
    "eigvalsh": lambda x, words: numpy.linalg.eigvalsh(x, "LU"[words[0]]),
}
