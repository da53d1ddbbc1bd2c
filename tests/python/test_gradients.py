"""Functions for layers: their gradients, and the same bits however they run.

Gradients of the first and second order are compared with finite differences in float64. Values and gradients have the
same bits whatever is fused, whichever engine runs, and with any number of workers. The catalogue's own ops have such
tests in Rust.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
from differences import check_gradients

from forerun import autograd, np, npx


class Case(NamedTuple):
    """A function of differentiable inputs."""

    call: Callable[..., Any]
    inputs: list[Any]
    # Whether there is a second derivative.
    second: bool = True


def draw(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    return numpy.random.default_rng(seed).uniform(low, high, shape)


def apart(*shape: int, seed: int = 0) -> Any:
    """Return numbers of which no two are close, so that no maximum changes."""
    size = int(numpy.prod(shape))
    return (numpy.random.default_rng(seed).permutation(size) * 0.37 - 0.18 * size).reshape(shape) / 3


def whole(values: Any) -> np.ndarray:
    return np.array(values, dtype="int64")


def boxes(count: int, seed: int = 0) -> Any:
    ends = draw(count, 2, 2, seed=seed, low=0, high=1)
    ends.sort(1)
    return ends.reshape(count, 4)


def joined(arrays: Any) -> np.ndarray:
    """Return all elements of several arrays."""
    return np.concatenate([array.reshape(-1) for array in arrays])


def recurrent(mode: str, layers: int = 1, bidirectional: bool = False, lengths: bool = False) -> Case:
    gates, states, units, size = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode], 2, 3, 2
    sides = 2 if bidirectional else 1
    count = sum(
        sides * gates * units * ((size if layer == 0 else sides * units) + units + 2) for layer in range(layers)
    )
    state = draw(layers * sides, states, units, seed=2)
    inputs = [draw(4, states, size), draw(count, seed=1), state]

    def call(x: np.ndarray, parameters: np.ndarray, state: np.ndarray, cell: np.ndarray | None = None) -> np.ndarray:
        ends = whole([4, 2]) if lengths else None
        return joined(
            npx.rnn(
                x, parameters, state, cell, ends, mode, units, layers, bidirectional, True, use_sequence_length=lengths
            )
        )

    return Case(call, [*inputs, draw(*state.shape, seed=3)] if mode == "lstm" else inputs, second=False)


IMAGES, ANCHORS = draw(2, 4, 6, 5), boxes(3, seed=4).reshape(1, 3, 4)
ROIS = np.array([[0, 0.3, 0.6, 3.1, 4.2], [1, 1.2, 0.1, 4.3, 3.3], [-1, 0, 0, 1, 1]], dtype="float64")
PLACES = draw(2, 2, 3, 2, seed=5, low=-0.9, high=0.9)
LENGTHS = np.array([3, 1], dtype="float64")

CASES: dict[str, Case] = {
    "activation gelu": Case(lambda x: npx.leaky_relu(x, act_type="gelu"), [draw(3, 4)]),
    "adaptive_avg_pool2d": Case(lambda x: npx.adaptive_avg_pool2d(x, (4, 2)), [IMAGES]),
    "batch_dot": Case(lambda a, b: npx.batch_dot(a, b, True, True), [draw(2, 3, 4), draw(2, 5, 3, seed=1)]),
    "batch_norm": Case(
        lambda x, g, b: npx.batch_norm(x, g, b, np.zeros((4,), "float64"), np.ones((4,), "float64"), fix_gamma=False),
        [draw(3, 4, 2), draw(4, seed=1), draw(4, seed=2)],
    ),
    "bilinear_resize": Case(lambda x: npx.bilinear_resize(x, height=4, width=7), [IMAGES]),
    "bilinear_resize, areas": Case(lambda x: npx.bilinear_resize(x, height=3, width=8, align_corners=False), [IMAGES]),
    "bilinear_sampler": Case(npx.bilinear_sampler, [IMAGES, PLACES], second=False),
    "bilinear_sampler, images": Case(lambda x: npx.bilinear_sampler(x, np.array(PLACES)), [IMAGES]),
    "box_decode": Case(
        lambda x: npx.box_decode(x, np.array(ANCHORS), 0.1, 0.1, 0.2, 0.2), [draw(2, 3, 4, low=-0.3, high=0.3)]
    ),
    "box_iou": Case(npx.box_iou, [boxes(3), boxes(4, seed=1)]),
    "box_nms": Case(lambda x: npx.box_nms(x, 0.3), [numpy.concatenate([apart(5, 2) + 9, boxes(5)], 1)]),
    "cond": Case(lambda x: npx.cond(np.array(True), lambda x: x * x, lambda x: -x, [x]), [draw(3)]),
    "convolution": Case(
        lambda x, w, b: npx.convolution(x, w, b, stride=2, pad=1), [IMAGES, draw(6, 4, 3, 3, seed=1), draw(6, seed=2)]
    ),
    "convolution, depthwise, dilated": Case(
        lambda x, w: npx.convolution(x, w, pad=2, dilate=2, num_group=4, no_bias=True),
        [IMAGES, draw(8, 1, 3, 3, seed=1)],
    ),
    "convolution, channels last": Case(
        lambda x, w: npx.convolution(x, w, num_group=2, no_bias=True, layout="NWC"),
        [draw(2, 7, 4), draw(6, 3, 2, seed=1)],
    ),
    "convolution, three dimensions": Case(
        lambda x, w: npx.convolution(x, w, stride=2, pad=1, no_bias=True),
        [draw(1, 2, 3, 4, 3), draw(2, 2, 2, 3, 2, seed=1)],
    ),
    "ctc_loss": Case(lambda x: npx.ctc_loss(x, np.array([[1, 2], [3, 3]])), [draw(5, 2, 4)], second=False),
    "deconvolution": Case(
        lambda x, w: npx.deconvolution(x, w, stride=2, pad=1, adj=1, num_group=2),
        [draw(2, 4, 3, 2), draw(4, 3, 3, 3, seed=1)],
    ),
    "deconvolution, one dimension": Case(
        lambda x, w: npx.deconvolution(x, w, stride=3, dilate=2), [draw(2, 3, 4), draw(3, 2, 3, seed=1)]
    ),
    "deformable_convolution": Case(
        lambda x, m, w: npx.deformable_convolution(x, m, w, pad=1, num_deformable_group=2),
        [draw(1, 2, 3, 3), draw(1, 16, 4, 4, seed=1) * 0.4 + 0.05, draw(2, 2, 2, 2, seed=2)],
        second=False,
    ),
    "deformable_convolution, data and weight": Case(
        lambda x, w: npx.deformable_convolution(x, np.array(draw(1, 8, 2, 2, seed=1) * 0.4, dtype=x.dtype), w),
        [draw(1, 2, 3, 3), draw(2, 2, 2, 2, seed=2)],
    ),
    "dropout": Case(lambda x: seeded(lambda: npx.dropout(x, 0.5, mode="always")), [draw(4, 5)]),
    "embedding": Case(lambda w: npx.embedding(whole([[1, 0, 1], [2, 1, 1]]), w) ** 2, [draw(3, 2)]),
    "foreach": Case(
        lambda x, s: joined(npx.foreach(lambda step, state: (step * state, state + step * step), x, s)[:2]),
        [draw(3, 2), draw(2, seed=1)],
    ),
    "fully_connected": Case(
        lambda x, w, b: npx.fully_connected(x, w, b, num_hidden=2), [draw(3, 4), draw(2, 4, seed=1), draw(2, seed=2)]
    ),
    "grid_generator, affine": Case(lambda x: npx.grid_generator(x, "affine", (2, 3)) ** 2, [draw(2, 6)]),
    "grid_generator, warp": Case(lambda x: npx.grid_generator(x, "warp") ** 2, [draw(1, 2, 3, 2)]),
    "grid_sample": Case(npx.grid_sample, [IMAGES, PLACES], second=False),
    "grid_sample, images": Case(
        lambda x: npx.grid_sample(x, np.array(PLACES * 1.5), padding_mode="reflection"), [IMAGES]
    ),
    "group_norm": Case(lambda x, g, b: npx.group_norm(x, g, b, 2), [draw(2, 4, 3), draw(4, seed=1), draw(4, seed=2)]),
    "im2col": Case(lambda x: npx.im2col(x, (2, 3), (2, 1), (1, 1), (0, 1)) ** 2, [IMAGES[:1]]),
    "instance_norm": Case(npx.instance_norm, [draw(2, 3, 4), draw(3, seed=1), draw(3, seed=2)]),
    "interleaved_matmul_selfatt_qk": Case(lambda x: npx.interleaved_matmul_selfatt_qk(x, 2), [draw(3, 2, 12)]),
    "interleaved_matmul_encdec_valatt": Case(
        lambda kv, a: npx.interleaved_matmul_encdec_valatt(kv, a, 2), [draw(3, 2, 8), draw(4, 2, 3, seed=1)]
    ),
    "layer_norm": Case(npx.layer_norm, [draw(3, 4), draw(4, seed=1), draw(4, seed=2)]),
    "masked_softmax": Case(
        lambda x: npx.masked_softmax(x, np.array([[1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]])), [draw(3, 4)]
    ),
    "masked_log_softmax": Case(lambda x: npx.masked_log_softmax(x, np.array([[1, 1, 1, 1]])), [draw(3, 4)]),
    "multibox_detection": Case(
        lambda p, d: npx.multibox_detection(p, d, np.array(ANCHORS, dtype=p.dtype), clip=False, nms_threshold=1.0),
        [draw(1, 3, 3, low=0.2, high=0.9), draw(1, 12, seed=1) * 0.2],
    ),
    "pick": Case(lambda x: npx.pick(x, np.array([1, 3, 0])) ** 2, [draw(3, 4)]),
    "pooling, average": Case(lambda x: npx.pooling(x, 3, 2, 1, "avg", "full", count_include_pad=False), [IMAGES]),
    "pooling, Lp": Case(lambda x: npx.pooling(x, 2, 2, pool_type="lp", p_value=3), [IMAGES + 2]),
    "pooling, maximum": Case(lambda x: npx.pooling(x, 3, 2, 1) ** 2, [apart(2, 3, 6, 5)]),
    "rms_norm": Case(npx.rms_norm, [draw(3, 4), draw(4, seed=1)]),
    "rnn": recurrent("rnn_tanh"),
    "rnn, gru of two layers and directions": recurrent("gru", 2, True),
    "rnn, lstm": recurrent("lstm"),
    "rnn, lstm of lengths": recurrent("lstm", 1, True, lengths=True),
    "roi_align": Case(lambda x: npx.roi_align(x, ROIS, (2, 3), 0.9, 2) ** 2, [IMAGES]),
    "roi_align, position sensitive": Case(
        lambda x: npx.roi_align(x, ROIS, (2, 2), 1.0, -1, position_sensitive=True, aligned=True) ** 2, [IMAGES]
    ),
    "roi_pooling": Case(lambda x: npx.roi_pooling(x, ROIS, (2, 2), 1.0) ** 2, [apart(2, 2, 6, 5)]),
    "scaled_dot_product_attention": Case(
        lambda q, k, v: npx.scaled_dot_product_attention(q, k, v, is_causal=True),
        [draw(2, 3, 4), draw(2, 5, 4, seed=1), draw(2, 5, 2, seed=2)],
    ),
    "scaled_dot_product_attention, mask": Case(
        lambda q, k, v: npx.scaled_dot_product_attention(
            q, k, v, np.array([[True, False, True], [False] * 3, [True] * 3])
        ),
        [draw(2, 2, 3, 2), draw(2, 2, 3, 2, seed=1), draw(2, 2, 3, 1, seed=2)],
    ),
    "sequence_last": Case(lambda x: npx.sequence_last(x, LENGTHS, True) ** 2, [draw(3, 2, 2)]),
    "sequence_mask": Case(lambda x: npx.sequence_mask(x, LENGTHS, True, -1.0) ** 2, [draw(3, 2, 2)]),
    "sequence_reverse": Case(lambda x: npx.sequence_reverse(x, LENGTHS, True) ** 2, [draw(3, 2, 2)]),
    "sldwin_atten_context": Case(
        lambda s, v: npx.sldwin_atten_context(s, v, whole([1, 2]), 1), [draw(1, 4, 2, 3), draw(1, 4, 2, 2, seed=1)]
    ),
    "sldwin_atten_score": Case(
        lambda q, k: npx.sldwin_atten_score(q, k, whole([1, 2]), 2, False), [draw(1, 4, 2, 2), draw(1, 4, 2, 2, seed=1)]
    ),
    "spatial_transformer, images": Case(
        lambda x: npx.spatial_transformer(x, np.array(draw(2, 6, seed=3)), (3, 2)), [IMAGES]
    ),
    "topk": Case(lambda x: npx.topk(x, 1, 2, "value") ** 2, [apart(3, 4)]),
    "while_loop": Case(
        lambda x: joined(
            npx.while_loop(lambda i, s: i < 3, lambda i, s: (s * x, (i + 1, s * s)), (np.array(0), x), 4)[:1]
        ),
        [draw(2)],
    ),
}


def seeded(call: Callable[[], Any]) -> Any:
    np.random.seed(3)
    return call()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_gradients(case: Case) -> None:
    check_gradients(case.call, case.inputs, case.second)


def results() -> dict[str, Any]:
    """Return the values and gradients of every function, in both float dtypes, of inputs that several threads share."""
    made = {}
    for name, case in CASES.items():
        for dtype in ("float32", "float64"):
            arrays = [np.array(x, dtype=dtype) for x in case.inputs]
            for array in arrays:
                array.attach_grad()
            with autograd.record():
                # Chains around the function give the planner something to fuse.
                y = case.call(*[array * 1.5 - 0.25 for array in arrays])
                y = y if y.dtype == dtype else y.astype(dtype)
                loss = (y * y + y).sum()
            loss.backward()
            for n, array in enumerate([y, *(array.grad for array in arrays)]):
                made[f"{name}.{dtype}.{n}"] = array.asnumpy()
    return made


MODES = {
    "synchronous": {"FORERUN_ENGINE": "sync"},
    "random order": {"FORERUN_ENGINE": "seeded:5"},
    "unfused": {"FORERUN_FUSE": "0"},
    "one worker": {"FORERUN_NUM_THREADS": "1"},
    "four workers": {"FORERUN_NUM_THREADS": "4"},
}


@pytest.fixture(scope="module")
def mine() -> dict[str, Any]:
    return results()


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_bits_do_not_depend_on_how_it_runs(
    mode: dict[str, str], mine: dict[str, Any], tmp_path: pathlib.Path, once: None
) -> None:
    file = tmp_path / "results.npz"
    subprocess.run([sys.executable, __file__, str(file)], env={**os.environ, **mode}, check=True)
    other = numpy.load(file)
    assert set(mine) == set(other.files) and len(mine) > 4 * len(CASES) - 1
    for name, result in mine.items():
        assert result.tobytes() == other[name].tobytes(), name


if __name__ == "__main__":
    with npx.gpu(0) if os.environ.get("FORERUN_TEST_DEVICE") == "gpu" else npx.cpu():
        numpy.savez(sys.argv[1], **results())
