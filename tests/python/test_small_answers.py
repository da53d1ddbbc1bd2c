"""Small results that were once wrong or incomplete."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest

import forerun
from forerun import gluon, np, npx, paddle, torch
from forerun.mxnet import np as mxnp


def test_integers_have_all_their_bits() -> None:
    np.random.seed(7)
    for high in (2**33, 2**53 + 1, 2**62, 2**63 - 1, 3 * 2**61):
        x = np.random.randint(0, high, (20000,)).asnumpy()
        assert x.min() >= 0 and x.max() < high
        assert abs(float(x.mean()) / high - 0.5) < 0.02
        for bit in range(8):
            assert abs(float((x >> bit & 1).mean()) - 0.5) < 0.02
        assert abs(float((x % 3 == 2).mean()) - 1 / 3) < 0.02
    wide = np.random.randint(0, 2**64, (20000,), "uint64").asnumpy()
    assert abs(float((wide >= 2**63).mean()) - 0.5) < 0.02 and len(set(wide.tolist())) == 20000
    whole = np.random.randint(-(2**63), 2**63, (20000,)).asnumpy()
    assert abs(float((whole < 0).mean()) - 0.5) < 0.02
    far = np.random.randint(2**62, 2**62 + 4, (1000,)).asnumpy()
    assert set((far - 2**62).tolist()) == {0, 1, 2, 3}
    top = np.random.randint(2**64 - 3, 2**64, (1000,), "uint64")
    assert set(top.tolist()) == {2**64 - 3, 2**64 - 2, 2**64 - 1}
    for low, high, dtype in ((0, 2**64, "int64"), (0, 257, "uint8"), (-1, 1, "uint32"), (0, 3, "bool")):
        with pytest.raises(ValueError, match=f"does not fit in {dtype}"):
            np.random.randint(low, high, (2,), dtype)


def test_a_histogram_of_what_is_not_finite() -> None:
    for values in ([float("nan"), 1.0], numpy.array([1.0, numpy.inf])):
        for function in (np.histogram, np.histogram_bin_edges):
            with pytest.raises(ValueError, match="is not finite"):
                function(values)
            result = function(np.array(values))
            with pytest.raises(ValueError, match="bins must"):
                (result if isinstance(result, np.ndarray) else result[1]).tolist()
    counts, edges = np.histogram(np.array([float("nan"), 1.0, 2.0]), range=(0, 2))
    assert counts.sum().item() == 2 and edges.size == 11


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sinc_of_the_smallest(dtype: str) -> None:
    tiny = numpy.nextafter(numpy.zeros(1, dtype), numpy.ones(1, dtype))
    values = numpy.concatenate([tiny, -tiny, tiny * 3, [0, 1e-30, 1e-10, 1e-8, 1e-5]]).astype(dtype)
    numpy.testing.assert_allclose(np.sinc(np.array(values)).asnumpy(), numpy.sinc(values), rtol=1e-6)


def test_rounding_to_more_digits_than_there_are() -> None:
    x = np.array([1.25, -3.5])
    assert round(x, 400).tolist() == np.round(x, 309).tolist() == [1.25, -3.5]
    assert np.round(x, -400).tolist() == [0, 0]
    assert np.round(np.array([7]), -400).tolist() == [0]


def test_one_index_names_an_element_of_the_flattened_array() -> None:
    x = np.arange(6).reshape(2, 3)
    assert [x.item(place) for place in range(-6, 6)] == [*range(6), *range(6)]
    assert x.T.item(1) == 3 and x.item(1, 2) == 5
    for wrong in (100, 6, -7):
        with pytest.raises(IndexError, match=f"item: index {wrong} is out of bounds for an array of 6 elements"):
            x.item(wrong)
    assert np.array(3).item(0) == 3


def test_a_failed_write_names_restore() -> None:
    x = np.arange(3)
    x[np.array([7])] = 1
    with pytest.raises(IndexError, match=r"restore\(\) returns the array to its value before the failed write"):
        x.tolist()
    x.restore()
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(IndexError) as caught:
        np.take(np.arange(3), np.array([7])).tolist()
    assert "restore" not in str(caught.value)


def test_articles() -> None:
    x = np.arange(3)
    with pytest.raises(TypeError, match="cannot write a result of float32 into an array of int64 in place"):
        x += 0.5


def test_a_trainer_wants_parameters() -> None:
    with pytest.raises(TypeError, match=r"not the Dense itself: pass its collect_params\(\)"):
        gluon.Trainer(gluon.nn.Dense(2), "sgd")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not int"):
        gluon.Trainer(3, "sgd")  # type: ignore[arg-type]


def test_one_bfloat16_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    x = np.array(1.5, "bfloat16")
    assert repr(x) == "array(1.5, dtype=bfloat16)" and str(x) == "1.5"
    assert x.asnumpy().shape == () and x.asnumpy().item() == 1.5
    assert float(x) == x.item() == x.tolist() == 1.5 and f"{x:.2f}" == "1.50"
    assert numpy.asarray(x).tolist() == 1.5
    assert repr(np.array([1.5], "bfloat16").sum()) == "array(1.5, dtype=bfloat16)"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_layers_of_the_dialects_are_pickled(protocol: int) -> None:
    for net in (torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()), paddle.nn.Linear(2, 3)):
        loaded = pickle.loads(pickle.dumps(net, protocol))
        for one, other in zip(net.parameters(), loaded.parameters(), strict=True):
            assert type(one) is type(other) and one is not other
            assert one.tolist() == other.tolist()
            assert (one.grad, other.grad) == (None, None)
    x = pickle.loads(pickle.dumps(torch.tensor([1.0, 2.0], requires_grad=True), protocol))
    (x * x).sum().backward()
    assert x.requires_grad and x.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        pickle.dumps(x * 2, protocol)
    assert copy.copy(torch.ones(2)).tolist() == [1, 1]


def test_floats_name_elements_for_mxnet() -> None:
    features = mxnp.arange(12).reshape(4, 3)
    assert features[mxnp.array([2, 0])].tolist() == [[6, 7, 8], [0, 1, 2]]
    assert features[mxnp.array([1, 2]), mxnp.array([0, 2])].tolist() == [3, 8]
    assert mxnp.take(features, mxnp.array([3, 1]), axis=0).tolist() == [[9, 10, 11], [3, 4, 5]]
    assert features.take(mxnp.array([5.0])).tolist() == [5]
    assert features[mxnp.array([True, False, True, False])].tolist() == [[0, 1, 2], [6, 7, 8]]
    assert mxnp.array([[True, False]]).dtype == "bool" and mxnp.array([True, 2]).dtype == "float32"
    features[mxnp.array([0])] = 0
    assert features[0].tolist() == [0, 0, 0]
    late = features[mxnp.array([9])]
    with pytest.raises(IndexError, match="index 9"):
        late.tolist()


def test_floats_name_no_elements_for_numpy() -> None:
    with pytest.raises(IndexError, match="integer"):
        np.arange(3)[np.array([1.0])]
    with pytest.raises(TypeError, match="integers"):
        np.take(np.arange(3), np.array([1.0]))


def test_dialects_are_found_when_they_are_asked_for() -> None:
    program = (
        "import sys, forerun\n"
        "heavy = [name for name in ('mxnet', 'torch', 'gluon', 'paddle', 'd2l') if f'forerun.{name}' in sys.modules]\n"
        "assert not heavy, heavy\n"
        "forerun.mxnet.install()\n"
        "from mxnet import np\n"
        "assert np.ones((2,)).sum().item() == 2\n"
        "forerun.mxnet.uninstall()\n"
        "print(forerun.torch.ones(1).item(), forerun.paddle.ones([1]).item(), forerun.gluon.nn.__name__, forerun.d2l)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert {"mxnet", "torch", "paddle", "gluon", "d2l"} <= set(dir(forerun))


def test_an_index_on_another_device(run: Any) -> None:
    ran = run(
        """
        from forerun import np, npx
        x, idx = np.arange(3), np.array([1], device=npx.gpu(0))
        for index in (idx, np.ones((3,), dtype="bool", device=npx.gpu(0))):
            try:
                x[index]
            except ValueError as error:
                print(error)
        """,
        FORERUN_SIM_GPUS="1",
    )
    assert ran.stdout.count("as_in_ctx") == 2, ran.stdout + ran.stderr


def test_a_file_that_is_refused_is_read_at_the_users_line(tmp_path: Any) -> None:
    path = tmp_path / "twice"
    text = (
        b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    )
    digits = b'{"x":{"dtype":"F32","shape":[1' + b"0" * 80 + b'],"data_offsets":[0,4]}}'
    for header, wrong in ((text, "twice"), (digits, "expected usize")):
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        with pytest.raises(ValueError, match=wrong) as caught:
            npx.load(path)
        assert f"read at {__file__}" in str(caught.value), str(caught.value)
