"""Attention within a sliding window: against plain loops, gradients, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from differences import check_gradients

from forerun import _sliding, autograd, np, npx

CASES = [(3, True, [1, 2]), (3, False, [2, 1]), (0, True, [1, 1]), (9, True, [3, 1]), (2, False, [4, 7])]


def sides(w: int, symmetric: bool) -> range:
    return range(-w, w + 1 if symmetric else 1)


def scores(q: Any, k: Any, steps: list[int], w: int, symmetric: bool) -> Any:
    batch, length, heads, _ = q.shape
    made = numpy.zeros((batch, length, heads, len(sides(w, symmetric))))
    for b, i, h in numpy.ndindex(batch, length, heads):
        for j, side in enumerate(sides(w, symmetric)):
            if 0 <= i + side * steps[h] < length:
                made[b, i, h, j] = q[b, i, h] @ k[b, i + side * steps[h], h]
    return made


def contexts(s: Any, v: Any, steps: list[int], w: int, symmetric: bool) -> Any:
    made = numpy.zeros(v.shape)
    for b, i, h, j in numpy.ndindex(*s.shape):
        place = i + sides(w, symmetric)[j] * steps[h]
        if 0 <= place < v.shape[1]:
            made[b, i, h] += s[b, i, h, j] * v[b, place, h]
    return made


def draw(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("together", [1, 1 << 22])
@pytest.mark.parametrize(("w", "symmetric", "steps"), CASES)
def test_against_loops(w: int, symmetric: bool, steps: list[int], together: int, monkeypatch: Any) -> None:
    # A small limit gathers one position at a time.
    monkeypatch.setattr(_sliding, "_MOST_GATHERED", together)
    q, k = draw(2, 8, 2, 3), draw(2, 8, 2, 3, seed=1)
    how: dict[str, Any] = {"w": w, "symmetric": symmetric}
    got = npx.sldwin_atten_score(np.array(q), np.array(k), np.array(steps), **how)
    want = scores(q, k, steps, w, symmetric)
    assert got.shape == want.shape and got.dtype == "float64"
    numpy.testing.assert_allclose(got.asnumpy(), want, atol=1e-12)
    s = draw(*want.shape, seed=2)
    got = npx.sldwin_atten_context(np.array(s), np.array(k), np.array(steps), **how)
    numpy.testing.assert_allclose(got.asnumpy(), contexts(s, k, steps, w, symmetric), atol=1e-12)


@pytest.mark.parametrize(("w", "symmetric", "steps"), CASES)
def test_masks(w: int, symmetric: bool, steps: list[int]) -> None:
    lengths = [8, 5, 0]
    shape = (3, 8, 2, len(sides(w, symmetric)))
    want = numpy.zeros(shape)
    for b, i, h, j in numpy.ndindex(*shape):
        place = i + sides(w, symmetric)[j] * steps[h]
        want[b, i, h, j] = i < lengths[b] and 0 <= place < lengths[b]
    score = np.zeros(shape, dtype="float16")
    got = npx.sldwin_atten_mask_like(score, np.array(steps), np.array(lengths), w=w, symmetric=symmetric)
    assert got.dtype == "float16"
    numpy.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("symmetric", [True, False])
def test_gradients(symmetric: bool) -> None:
    steps, how = np.array([1, 2]), {"w": 2, "symmetric": symmetric}
    q, k = draw(1, 5, 2, 2), draw(1, 5, 2, 2, seed=1)
    s = draw(1, 5, 2, 5 if symmetric else 3, seed=2)
    check_gradients(lambda q, k: npx.sldwin_atten_score(q, k, steps, **how), [q, k])
    check_gradients(lambda s, v: npx.sldwin_atten_context(s, v, steps, **how), [s, k])


def test_what_lies_beyond_does_not_count() -> None:
    k = np.array(draw(1, 4, 1, 2))
    k[0, 0] = numpy.inf
    score = npx.sldwin_atten_score(np.ones((1, 4, 1, 2), dtype="float64"), k, np.array([1]), w=1)
    assert not np.isfinite(score[0, 0, 0, 1]) and score[0, 3, 0, 2] == 0 and np.isfinite(score[0, 2:]).all()
    context = npx.sldwin_atten_context(np.full((1, 4, 1, 3), numpy.nan)[..., :3], k, np.array([5]), w=1)
    assert context.shape == (1, 4, 1, 2)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, d: npx.sldwin_atten_score(x[0], x[0], d), "query must have shape .* got \\(4, 2, 3\\)"),
        (lambda x, d: npx.sldwin_atten_score(x, x[:, 1:], d), "query of shape \\(1, 4, 2, 3\\) does not fit key"),
        (lambda x, d: npx.sldwin_atten_score(x, x, d[:1]), "one integer for each of 2 heads, got int64 \\(1,\\)"),
        (lambda x, d: npx.sldwin_atten_score(x, x, d * 0.5), "one integer for each of 2 heads, got float"),
        (lambda x, d: npx.sldwin_atten_score(x, x, d, w=-1), "w must not be negative, got -1"),
        (lambda x, d: npx.sldwin_atten_context(x, x, d, w=2), "score must have shape \\(1, 4, 2, 5\\)"),
        (lambda x, d: npx.sldwin_atten_mask_like(x, d, d[:1], w=2), "does not fit windows of 5 positions"),
        (lambda x, d: npx.sldwin_atten_mask_like(x, d, d, w=1), "valid_length must have shape \\(1,\\), got \\(2,\\)"),
    ],
)
def test_bad_input(call: Callable[[np.ndarray, np.ndarray], object], text: str) -> None:
    x, d = np.ones((1, 4, 2, 3)), np.array([1, 2])
    with pytest.raises(ValueError, match="sldwin_atten_.*" + text):
        call(x, d)
    assert npx.sldwin_atten_score(x, x, d, w=1)[0, 1, 0].tolist() == [3, 3, 3]


def test_sync_batch_norm_is_batch_norm_on_one_device() -> None:
    x = np.array(draw(4, 3, 2))
    ones, zeros = np.ones((3,), dtype="float64"), np.zeros((3,), dtype="float64")
    made = []
    for norm in (npx.sync_batch_norm, npx.batch_norm):
        mean, var = zeros.copy(), ones.copy()
        with autograd.record():
            made.append((norm(x, ones, zeros, mean, var, output_mean_var=True), mean, var))
    for ours, theirs in zip([*made[0][0], *made[0][1:]], [*made[1][0], *made[1][1:]], strict=True):
        assert (ours == theirs).all()
    with pytest.raises(ValueError, match="sync_batch_norm: ndev must be 1, got 2"):
        npx.sync_batch_norm(x, ones, zeros, zeros, ones, ndev=2)
