"""Exchange with other libraries on an NVIDIA device. Run by hand on such a machine, with PyTorch and CuPy installed.

``python -m pytest tests/gpu/python``
"""

from __future__ import annotations

import gc
import os
import pickle
from typing import Any

import numpy
import pytest

import forerun
from forerun import np, npx

if npx.num_gpus() == 0 or os.environ.get("FORERUN_SIM_GPUS"):
    pytest.skip("there is no NVIDIA device", allow_module_level=True)

GPU = npx.gpu(0)
DTYPES = [name for name in np.__array_namespace_info__().dtypes() if name != "uint64"]


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


def samples(dtype: str) -> list[numpy.ndarray]:
    whole = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
    return [whole, whole.T, whole[:, ::2, 1:], whole[1, 2, 3, ...], whole[:0], whole[1:, 2:, 3:]]


def live() -> int:
    gc.collect()
    npx.waitall()
    return forerun.memory_stats(device=GPU)["live"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_reads_what_goes_out(torch: Any, dtype: str) -> None:
    for sample in samples(dtype):
        x = np.array(sample, device=GPU)
        assert x.__dlpack_device__() == (2, 0)
        seen = torch.from_dlpack(x)
        assert seen.device.type == "cuda" and tuple(seen.shape) == sample.shape
        numpy.testing.assert_array_equal(seen.cpu().numpy(), sample)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_comes_in_from_torch(torch: Any, dtype: str) -> None:
    for sample in samples(dtype):
        given = torch.from_numpy(numpy.ascontiguousarray(sample)).cuda()
        if sample.ndim == 3:
            given = given.permute(2, 0, 1)
            sample = sample.transpose(2, 0, 1)
        x = np.from_dlpack(given)
        assert x.device == GPU and x.dtype == dtype
        given.zero_()
        torch.cuda.synchronize()
        numpy.testing.assert_array_equal(x.asnumpy(), sample)
        assert np.from_dlpack(given, device=npx.cpu()).device == npx.cpu()


def test_work_in_flight_is_waited_for(torch: Any) -> None:
    side = torch.cuda.Stream()
    for turn in range(20):
        with torch.cuda.stream(side):
            given = torch.ones(2000, 2000, device="cuda")
            for _ in range(20):
                given = given @ given * (1 / 2000)
            given = given + turn
        x = np.from_dlpack(given) * 1
        assert float(x.max().item()) == float(x.min().item()) == pytest.approx(1 + turn)
        y = np.ones((2000, 2000), device=GPU)
        for _ in range(20):
            y = y @ y * (1 / 2000)
        with torch.cuda.stream(side):
            seen = torch.from_dlpack(y + turn).sum()
        assert seen.item() == pytest.approx(4e6 * (1 + turn), rel=1e-3)


def test_what_went_out_stays(torch: Any) -> None:
    x = np.arange(100_000, device=GPU)
    seen = torch.from_dlpack(x)
    x += 1
    x[:] = 7
    del x
    churn = [np.zeros((100_000,), device=GPU) + i for i in range(50)]
    npx.waitall()
    assert len(churn) == 50 and bool((seen == torch.arange(100_000, device="cuda")).all())


def test_a_kernel_still_reads_what_was_let_go(torch: Any) -> None:
    for turn in range(30):
        x = np.full((4_000_000,), float(turn), dtype="float32", device=GPU)
        seen = torch.from_dlpack(x)
        slow = torch.ones(3000, 3000, device="cuda")
        for _ in range(10):
            slow = slow @ slow * (1 / 3000)
        total = (seen * slow[0, 0]).sum()
        del seen, x
        np.full((4_000_000,), -1.0, dtype="float32", device=GPU).wait_to_read()
        assert total.item() == pytest.approx(4e6 * turn, rel=1e-3)


def test_nothing_leaks_in_either_order(torch: Any) -> None:
    before = live()
    for turn in range(100):
        x = np.ones((1_000_000,), device=GPU) * turn
        seen = torch.from_dlpack(x)
        if turn % 2:
            del x
            assert seen[-1].item() == turn
            del seen
        else:
            del seen
            assert x[-1].item() == turn
            del x
        assert live() <= before + (1 << 20), turn


def test_versions_copies_and_streams(torch: Any) -> None:
    x = np.arange(1000, device=GPU)
    for stream in [None, -1, 1, 2, torch.cuda.current_stream().cuda_stream or 1]:
        assert x.__dlpack__(stream=stream, max_version=(1, 0)) is not None
    with pytest.raises(ValueError, match="stream"):
        x.__dlpack__(stream=0)
    written = torch.utils.dlpack.from_dlpack(x.__dlpack__())
    written += 1
    torch.cuda.synchronize()
    assert x.tolist() == list(range(1000))
    on_host = numpy.from_dlpack(x, device="cpu")
    assert on_host.tolist() == list(range(1000))
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(dl_device=(1, 0), max_version=(1, 0), copy=False)
    assert not hasattr(np.ones((2,), device=npx.cpu()), "__cuda_array_interface__")


def test_cupy_both_ways(cupy: Any) -> None:
    for dtype in DTYPES:
        for sample in samples(dtype):
            x = np.array(sample, device=GPU)
            numpy.testing.assert_array_equal(cupy.asnumpy(cupy.from_dlpack(x)), sample)
            back = np.from_dlpack(cupy.asarray(sample))
            assert back.device == GPU
            numpy.testing.assert_array_equal(back.asnumpy(), sample)


def test_the_cuda_array_interface(cupy: Any) -> None:
    for dtype in DTYPES:
        for sample in samples(dtype):
            x = np.array(sample, device=GPU)
            interface = x.__cuda_array_interface__
            assert interface["version"] == 3 and interface["shape"] == sample.shape
            assert interface["data"][1] is True and interface["typestr"] == sample.dtype.str
            # CuPy rejects null addresses.
            if sample.size:
                numpy.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(x)), sample)
            else:
                assert interface["data"][0] == 0
    x = np.arange(100_000, device=GPU)
    seen = cupy.asarray(x)
    x += 1
    churn = [np.zeros((100_000,), device=GPU) + i for i in range(50)]
    npx.waitall()
    assert len(churn) == 50 and cupy.asnumpy(seen).tolist() == list(range(100_000))
    before = live()
    for _ in range(100):
        x = np.ones((1_000_000,), device=GPU)
        assert x.__cuda_array_interface__["shape"] == (1_000_000,)
        del x
    assert live() <= before + (1 << 20)


def test_pickles_come_back_to_the_device() -> None:
    x = np.arange(1000, device=GPU).reshape(10, 100)
    for protocol in (2, 5):
        back = pickle.loads(pickle.dumps(x.T, protocol))
        assert back.device == GPU
        numpy.testing.assert_array_equal(back.asnumpy(), x.T.asnumpy())
