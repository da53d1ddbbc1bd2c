"""Gradients of the PyTorch dialect beyond `backward`: `grad`, functions with their own gradients, hooks."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from forerun import torch
from forerun.torch import nn


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_grad_of_leaves_and_of_tensors_on_the_way() -> None:
    x = leaf(2.0, 3.0)
    middle = x * x
    out = (middle * 3).sum()
    of_middle, of_x = torch.autograd.grad(out, [middle, x])
    assert of_middle.tolist() == [3, 3] and of_x.tolist() == [12, 18]
    assert x.grad is None


def test_unused_inputs() -> None:
    x, unused = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="allow_unused"):
        torch.autograd.grad((x * 2).sum(), [x, unused])
    assert torch.autograd.grad((x * 2).sum(), [x, unused], allow_unused=True)[1] is None
    assert torch.autograd.grad((x * 2).sum(), [x, unused], materialize_grads=True)[1].tolist() == [0]


def test_gradients_of_gradients() -> None:
    x = leaf(2.0)
    first = torch.autograd.grad(x**4, x, create_graph=True)[0]
    second = torch.autograd.grad(first, x, create_graph=True)[0]
    third = torch.autograd.grad(second, x)[0]
    assert [first.item(), second.item(), third.item()] == [32, 48, 48]


def test_a_penalty_on_gradients_trains() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    x = torch.randn(16, 2, requires_grad=True)
    sizes = []
    for _ in range(40):
        gradient = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        loss = ((gradient.norm(dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sizes.append(loss.item())
    assert sizes[-1] < sizes[0] / 4


class Cube(torch.autograd.Function):
    """A cube whose gradient is its own."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        ctx.save_for_backward(x)
        ctx.scale = scale
        assert ctx.needs_input_grad == (x.requires_grad, False)
        return x**3 * scale

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2 * ctx.scale, None


def test_functions_with_their_own_gradients() -> None:
    x = leaf(2.0)
    Cube.apply(x, 2.0).sum().backward()
    assert x.grad.tolist() == [24]
    first = torch.autograd.grad(Cube.apply(x, 1.0), x, create_graph=True)[0]
    assert torch.autograd.grad(first, x)[0].tolist() == [12]
    with torch.no_grad():
        assert not Cube.apply(x, 1.0).requires_grad


def test_functions_with_several_outputs_and_a_separate_context() -> None:
    class Parts(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2, x * 3, x > 0

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.seen = len(output)

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any, mask: Any) -> Any:
            assert ctx.seen == 3 and mask is None
            return a * 2 + b * 3

    x = leaf(1.0)
    a, b, mask = Parts.apply(x)
    assert not mask.requires_grad
    (a * 10 + b).backward()
    assert x.grad.tolist() == [23]


def test_hooks_on_tensors() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    seen: list[Any] = []
    handle = y.register_hook(lambda grad: seen.append(grad.tolist()))
    x.register_hook(lambda grad: grad * 10)
    y.retain_grad()
    (y * y).sum().backward()
    assert seen == [[6, 12]] and y.grad.tolist() == [6, 12] and x.grad.tolist() == [180, 360]
    handle.remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [210, 390] and len(seen) == 1


def test_hooks_on_modules() -> None:
    net = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[2.0, 3.0]]))
    calls: list[Any] = []
    handles = [
        net.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,)),
        net.register_forward_hook(lambda module, inputs, output: output * 10),
        net.register_full_backward_hook(
            lambda module, grad_input, grad_output: calls.append((grad_input[0].tolist(), grad_output[0].tolist()))
        ),
    ]
    x = torch.zeros(1, 2, requires_grad=True)
    out = net(x)
    assert out.item() == 50
    out.sum().backward()
    assert calls == [([[20.0, 30.0]], [[1.0]])]
    for handle in handles:
        handle.remove()
    assert net(torch.zeros(1, 2)).item() == 0


def test_the_graph_can_be_printed() -> None:
    x = leaf(0.5)
    y = torch.sin(x) + 1
    assert "Backward" in repr(y) and y.grad_fn is not None and x.grad_fn is None
    (before,) = y.grad_fn.next_functions
    assert before[0].name() == "SinBackward"
    assert before[0].next_functions[0][0].variable is x


def test_inference_mode_and_its_forms() -> None:
    @torch.inference_mode()
    def with_parentheses(x: Any) -> Any:
        return x * 2

    @torch.no_grad
    def without(x: Any) -> Any:
        return x * 2

    x = leaf(1.0)
    assert not with_parentheses(x).requires_grad and not without(x).requires_grad and (x * 2).requires_grad
    with torch.inference_mode(False):
        assert (x * 2).requires_grad


def test_derivatives_of_functions() -> None:
    x = torch.tensor([1.0, 2.0])
    jacobian = torch.autograd.functional.jacobian(lambda a, b: a * b.sum(), (x, x))
    numpy.testing.assert_array_equal(jacobian[0].numpy(), [[3, 0], [0, 3]])
    numpy.testing.assert_array_equal(jacobian[1].numpy(), [[1, 1], [2, 2]])
    hessian = torch.autograd.functional.hessian(lambda a: (a**2).prod(), x)
    numpy.testing.assert_array_equal(hessian.numpy(), [[8, 8], [8, 2]])


def test_clipping_does_not_wait_and_is_right() -> None:
    import forerun

    x, y = leaf(3.0), leaf(4.0)
    (x * x / 2 + y * y / 2).sum().backward()
    with forerun.no_sync("error"):
        total = torch.nn.utils.clip_grad_norm_([x, y], 1.0)
    assert total.item() == pytest.approx(5.0)
    assert [x.grad.item(), y.grad.item()] == pytest.approx([0.6, 0.8], rel=1e-5)
    torch.nn.utils.clip_grad_value_([x, y], 0.7)
    assert y.grad.item() == pytest.approx(0.7)
