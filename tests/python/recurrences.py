"""Recurrent scans, their gradients, and losses over alignments, computed with NumPy step by step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy

GATES = (1, 1, 4, 3)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + numpy.exp(-x))


def recurrent_scan(
    gates: Any, h0: Any, c0: Any, weight: Any, bias: Any, projection: Any, lengths: Any, mode: int, reverse: bool
) -> Any:
    """Scan forward; the parts of the result lie one after another."""
    steps, batch, width = gates.shape
    hidden = width // GATES[mode]
    states = numpy.zeros((steps + 1, batch, h0.shape[1]))
    cells, saved = numpy.zeros((steps, batch, hidden)), numpy.zeros((steps, batch, 4, hidden))
    h, c = h0, c0 if mode == 2 else numpy.zeros((batch, hidden))
    states[steps if reverse else 0] = h0
    for t in range(steps)[:: -1 if reverse else 1]:
        own = h @ weight.T + bias
        live = (t < lengths if lengths.size else numpy.ones(batch, bool))[:, None]
        if mode < 2:
            new = numpy.maximum(gates[t] + own, 0) if mode == 0 else numpy.tanh(gates[t] + own)
        elif mode == 2:
            i, f, g, o = numpy.split(gates[t] + own, 4, 1)
            i, f, g, o = sigmoid(i), sigmoid(f), numpy.tanh(g), sigmoid(o)
            cell = f * c + i * g
            new = o * numpy.tanh(cell)
            new = new @ projection.T if projection.size else new
            c = numpy.where(live, cell, c)
            saved[t] = numpy.stack([i, f, g, o], 1)
        else:
            (xr, xz, xn), (hr, hz, hn) = numpy.split(gates[t], 3, 1), numpy.split(own, 3, 1)
            r, z = sigmoid(xr + hr), sigmoid(xz + hz)
            n = numpy.tanh(xn + r * hn)
            new = (1 - z) * n + z * h
            saved[t] = numpy.stack([r, z, n, hn], 1)
        h = numpy.where(live, new, h)
        saved[t] = numpy.where(live[:, None], saved[t], 0)
        states[t if reverse else t + 1], cells[t] = h, c
    parts = [states] + [cells] * (mode == 2) + [saved] * (mode >= 2)
    return numpy.concatenate([part.ravel() for part in parts])


def recurrent_scan_back(
    packed: Any,
    c0: Any,
    weight: Any,
    projection: Any,
    lengths: Any,
    dh: Any,
    dc: Any,
    dgates: Any,
    mode: int,
    reverse: bool,
    steps: int,
    batch: int,
) -> Any:
    """Scan backward over full sequences; the parts of the result lie one after another."""
    assert not lengths.size
    hidden, state = len(weight) // GATES[mode], weight.shape[1]
    sizes = [(steps + 1) * batch * state, steps * batch * hidden * (mode == 2)]
    states = packed[: sizes[0]].reshape(steps + 1, batch, state)
    cells = packed[sizes[0] : sum(sizes)].reshape(-1, batch, hidden)
    saved = packed[sum(sizes) :].reshape(-1, batch, 4, hidden)

    def flow(x: Any, *shape: int) -> Any:
        return x.reshape(shape) if x.size else numpy.zeros(shape)

    dh, dc = flow(dh, steps, batch, state), flow(dc, steps, batch, hidden)
    dsaved = flow(dgates, steps, batch, 4, hidden)
    to_inputs = numpy.zeros((steps, batch, len(weight)))
    to_states, to_projected = to_inputs.copy(), numpy.zeros((steps, batch, state))
    h, c = numpy.zeros((batch, state)), numpy.zeros((batch, hidden))
    for t in range(steps)[:: 1 if reverse else -1]:
        h, c, past = h + dh[t], c + dc[t], 0.0
        after, before = (states[t], states[t + 1]) if reverse else (states[t + 1], states[t])
        to_projected[t] = h
        units = h @ projection if projection.size else h
        if mode < 2:
            to_inputs[t] = to_states[t] = units * ((after > 0) if mode == 0 else 1 - after**2)
        elif mode == 2:
            i, f, g, o = saved[t].transpose(1, 0, 2)
            first = t == (steps - 1 if reverse else 0)
            former = c0 if first else cells[t + 1 if reverse else t - 1]
            squashed = numpy.tanh(cells[t])
            c = c + units * o * (1 - squashed**2)
            d = numpy.stack([c * g, c * former, c * i, units * squashed], 1) + dsaved[t]
            d *= numpy.stack([i * (1 - i), f * (1 - f), 1 - g**2, o * (1 - o)], 1)
            to_inputs[t] = to_states[t] = d.reshape(batch, -1)
            c = c * f
        else:
            r, z, n, hn = saved[t].transpose(1, 0, 2)
            dn = (units * (1 - z) + dsaved[t][:, 2]) * (1 - n**2)
            dz = (units * (before - n) + dsaved[t][:, 1]) * z * (1 - z)
            dr = (dn * hn + dsaved[t][:, 0]) * r * (1 - r)
            to_inputs[t] = numpy.concatenate([dr, dz, dn], 1)
            to_states[t] = numpy.concatenate([dr, dz, dn * r + dsaved[t][:, 3]], 1)
            past = units * z
        h = to_states[t] @ weight + past
    parts = [to_inputs] + [to_states] * (mode == 3) + [to_projected] * bool(projection.size) + [h] + [c] * (mode == 2)
    return numpy.concatenate([part.ravel() for part in parts])


def ctc_loss(data: Any, labels: Any, data_lengths: Any, label_lengths: Any, blank: int) -> Any:
    """Sum over all paths of classes that give the labels, and over those through each class for the gradient."""
    _, batch, classes = data.shape
    losses, slopes = numpy.zeros(batch), numpy.zeros(data.shape)
    for n in range(batch):
        length, wanted = int(data_lengths[n]), labels[n, : int(label_lengths[n])].tolist()
        p = numpy.exp(data[:length, n] - data[:length, n].max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        total, through = 0.0, numpy.zeros((length, classes))
        for path in itertools.product(range(classes), repeat=length):
            merged = [c for k, c in enumerate(path) if k == 0 or c != path[k - 1]]
            if [c for c in merged if c != blank] == wanted:
                weight = math.prod(p[t, c] for t, c in enumerate(path))
                total += weight
                through[range(length), path] += weight
        losses[n] = -math.log(total) if total else math.inf
        if total:
            slopes[:length, n] = p - through / total
    return numpy.concatenate([losses, slopes.ravel()])


def attention(q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool) -> Any:
    weights, sums = attention_weights(q, k, mask, scale, causal)
    return numpy.concatenate([(weights @ v).ravel(), sums.ravel()])


def attention_weights(q: Any, k: Any, mask: Any, scale: float, causal: bool) -> tuple[Any, Any]:
    scores = scale * (q @ k.swapaxes(1, 2))
    if mask.size:
        scores = scores + numpy.repeat(mask, len(q) // len(mask), 0)
    if causal:
        scores = numpy.where(numpy.tri(*scores.shape[1:], dtype=bool), scores, -numpy.inf)
    sums = numpy.log(numpy.exp(scores).sum(-1))
    return numpy.exp(scores - sums[..., None]), sums


def attention_back(
    q: Any, k: Any, v: Any, mask: Any, packed: Any, grad: Any, sums_grad: Any, scale: float, causal: bool
) -> Any:
    made, sums = packed[: q.size // q.shape[2] * v.shape[2]], packed[q.size // q.shape[2] * v.shape[2] :]
    shape = (*q.shape[:2], v.shape[2])
    flow, sums = grad.reshape(shape), sums.reshape(q.shape[:2])
    scores = scale * (q @ k.swapaxes(1, 2))
    if causal:
        scores = numpy.where(numpy.tri(*scores.shape[1:], dtype=bool), scores, -numpy.inf)
    p = numpy.exp(scores - sums[..., None])
    delta = (flow * made.reshape(shape)).sum(-1) - (sums_grad.reshape(q.shape[:2]) if sums_grad.size else 0)
    slopes = p * (flow @ v.swapaxes(1, 2) - delta[..., None]) * scale
    parts = [slopes @ k, slopes.swapaxes(1, 2) @ q, p.swapaxes(1, 2) @ flow]
    return numpy.concatenate([part.ravel() for part in parts])


RECURRENCES: dict[str, Callable[..., Any]] = {
    "attention": attention,
    "attention_back": attention_back,
    "ctc_loss": ctc_loss,
    "recurrent_scan": recurrent_scan,
    "recurrent_scan_back": recurrent_scan_back,
}
