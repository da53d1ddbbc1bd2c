"""Devices in the dialects of other frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import forerun.mxnet as mx
from forerun import d2l, npx, paddle, torch
from forerun.d2l import mxnet as d2l_mxnet
from forerun.d2l import paddle as d2l_paddle
from forerun.d2l import torch as d2l_torch


@pytest.fixture(autouse=True)
def leave_no_choice() -> Iterator[None]:
    yield
    torch.cuda.set_device(0)
    paddle.set_device("cpu")


def test_torch_names_devices() -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    x = torch.ones(2, device="cuda:1")
    assert x.device == torch.device("cuda:1") and x.is_cuda
    assert repr(x) == "tensor([1., 1.], device='cuda:1')"
    assert x.to("cuda").device == x.cuda(0).device == torch.device("cuda", 0)
    assert x.to("cuda:1") is x and x.to("cuda:1", copy=True) is not x
    assert x.cpu().device == torch.device("cpu") and not x.cpu().is_cuda
    assert torch.tensor([1.0]).to(x, non_blocking=True).device == x.device
    with pytest.raises(TypeError, match=r"numpy: the tensor lives on cuda:1: use cpu\(\)\.numpy\(\)"):
        x.numpy()
    assert x.cpu().numpy().tolist() == [1.0, 1.0]
    assert torch.tensor(x).device == torch.zeros_like(x).device == torch.randn_like(x).device == x.device
    assert torch.zeros_like(x, device="cpu").device == torch.device("cpu")
    with pytest.raises(ValueError, match=r"operands are on gpu\(1\) and cpu\(0\)"):
        x + torch.ones(2)


MADE: dict[str, Any] = {
    "randn": lambda at: torch.randn(2, 3, device=at),
    "rand": lambda at: torch.rand(size=(2, 3), device=at),
    "randint": lambda at: torch.randint(9, (4,), device=at),
    "normal": lambda at: torch.normal(0, 1, (3,), device=at),
    "zeros": lambda at: torch.zeros(3, device=at),
    "ones": lambda at: torch.ones((3,), device=at),
    "full": lambda at: torch.full((3,), 2.5, device=at),
    "arange": lambda at: torch.arange(4, device=at),
    "linspace": lambda at: torch.linspace(0, 1, 5, device=at),
    "eye": lambda at: torch.eye(3, device=at),
    "tensor": lambda at: torch.tensor([1, 2], device=at),
}


@pytest.mark.parametrize("how", MADE)
def test_torch_makes_tensors_there(how: str) -> None:
    torch.manual_seed(3)
    there = MADE[how](torch.device("cuda:1"))
    torch.manual_seed(3)
    here = MADE[how](None)
    assert (there.device, here.device) == (torch.device("cuda:1"), torch.device("cpu"))
    assert there.tolist() == here.tolist()


def test_torch_chooses_a_gpu() -> None:
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device("cuda:1")
    assert torch.cuda.current_device() == 1
    assert torch.ones(1, device="cuda").device == torch.ones(1).cuda().device == torch.device("cuda:1")
    assert torch.ones(1).device == torch.device("cpu")
    with torch.cuda.device(0):
        assert torch.ones(1).cuda().device == torch.device("cuda:0")
    assert torch.cuda.current_device() == 1
    with pytest.raises(RuntimeError, match="no device gpu"), torch.cuda.device(5):
        pass
    with pytest.raises(ValueError, match="set_device: cpu is not a GPU"):
        torch.cuda.set_device("cpu")
    torch.cuda.synchronize("cuda:1")


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_torch_trains_there(kind: str) -> None:
    from forerun.torch import nn

    x = numpy.random.default_rng(1).normal(size=(32, 4)).astype("float32")
    y = x.sum(1, keepdims=True)

    def weights(device: str) -> list[Any]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1)).to(device)
        assert all(str(parameter.device) == device for parameter in net.parameters())
        optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.05)
        data = torch.utils.data.TensorDataset(torch.tensor(x, device=device), torch.tensor(y, device=device))
        for inputs, wanted in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            nn.MSELoss()(net(inputs), wanted).backward()
            optimizer.step()
        assert str(next(iter(net.parameters())).grad.device) == device
        return [parameter.tolist() for parameter in net.parameters()]

    assert weights("cpu") == weights("cuda:0") == weights("cuda:1")
    net = nn.Linear(2, 2).cuda(1)
    assert net.double().weight.device == torch.device("cuda:1") and net.float().cpu().weight.device.type == "cpu"


def test_paddle_names_and_chooses_devices() -> None:
    assert paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count() == 2
    x = paddle.to_tensor([1.0, 2.0], place=paddle.CUDAPlace(1))
    assert x.place == paddle.CUDAPlace(1) and "place=Place(gpu:1)" in repr(x)
    assert x.cpu().place == paddle.CPUPlace() and x.to("gpu:0").place == paddle.CUDAPlace(0) == x.cuda(0).place
    assert x.to("float64").dtype == paddle.float64 and x.to(paddle.CPUPlace(), "int32").place == paddle.CPUPlace()
    assert x.to("gpu:1") is x
    assert paddle.set_device("gpu:1") == paddle.get_device() == "gpu:1"
    for made in (paddle.ones([2]), paddle.randn([2]), paddle.to_tensor([1.0]), paddle.arange(3), paddle.eye(2)):
        assert made.place == paddle.CUDAPlace(1)
    layer = paddle.nn.Linear(2, 3)
    assert layer.weight.place == paddle.CUDAPlace(1)
    layer(paddle.ones([1, 2])).sum().backward()
    assert layer.weight.grad.place == paddle.CUDAPlace(1)
    assert paddle.to_tensor([1.0]).cuda().place == paddle.CUDAPlace(1)
    layer.to("gpu:0")
    assert layer.weight.place == paddle.CUDAPlace(0) and not layer.weight.stop_gradient
    assert paddle.set_device("cpu") == "cpu" and paddle.ones([2]).place == paddle.CPUPlace()
    paddle.device.cuda.synchronize()


def test_mxnet_names_devices_in_both_generations() -> None:
    assert mx.num_gpus() == mx.context.num_gpus() == 2
    assert mx.gpu(1) == mx.context.gpu(1) == mx.device.gpu(1) == mx.Context("gpu", 1) == mx.Device("gpu", 1)
    assert mx.cpu_pinned() == mx.cpu() == mx.current_context()
    x = mx.np.ones((2,), ctx=mx.gpu(1))
    assert x.ctx == x.context == x.device == mx.gpu(1)
    assert repr(x) == "array([1., 1.], device=gpu(1))"
    with mx.gpu(0):
        assert (
            mx.np.array([1]).ctx == mx.np.arange(3).ctx == mx.np.full((2,), 1).ctx == mx.current_context() == mx.gpu(0)
        )
        assert mx.np.array(x).ctx == mx.gpu(0), "a new array is on the current device, whatever it is made of"
        assert mx.np.array(x, ctx=mx.cpu(1)).ctx == mx.cpu(1)
        assert mx.np.zeros_like(x).ctx == mx.gpu(1)
    assert mx.np.array([1, 2], None, mx.gpu(0)).ctx == mx.np.random.normal(size=(2,), ctx=mx.gpu(0)).ctx == mx.gpu(0)
    npx.waitall()  # What was dropped above goes back when its copy has passed.
    assert mx.gpu_memory_info(0) == npx.gpu_memory_info(0)
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize(ctx=[mx.gpu(0), mx.gpu(1)])
    assert net(x.reshape(1, 2)).ctx == mx.gpu(1)


def test_the_books_helpers_try_gpus() -> None:
    assert d2l.try_gpu() == d2l_mxnet.try_gpu(0) == npx.gpu(0) and d2l.try_gpu(2) == npx.cpu()
    assert d2l.try_all_gpus() == [npx.gpu(0), npx.gpu(1)]
    assert d2l_torch.try_gpu(1) == torch.device("cuda:1") and d2l_torch.try_gpu(2) == torch.device("cpu")
    assert d2l_torch.try_all_gpus() == [torch.device("cuda:0"), torch.device("cuda:1")]
    assert d2l_paddle.try_gpu(1) == paddle.CUDAPlace(1) and d2l_paddle.try_gpu(2) == paddle.CPUPlace()
    assert d2l_paddle.try_all_gpus() == [paddle.CUDAPlace(0), paddle.CUDAPlace(1)]
