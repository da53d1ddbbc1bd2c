"""PyTorch's dialect: tutorials train, their first steps equal NumPy's, and tensors behave as expected."""

from __future__ import annotations

import copy
import itertools
import pathlib
import threading
from typing import Any

import numpy
import pytest

from forerun import _forerun, engine, np, torch
from forerun.torch import nn
from forerun.torch.utils.data import DataLoader, TensorDataset

RNG = numpy.random.default_rng(7)


def mlp(inputs: int, hidden: int, outputs: int) -> Any:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def weights_of(net: Any) -> list[numpy.ndarray]:
    """Return the weights in the reference's shape: (inputs, outputs)."""
    return [parameter.detach().numpy().T for parameter in net.parameters()]


def same(tensors: Any, arrays: Any) -> None:
    for tensor, array in zip(tensors, arrays, strict=True):
        numpy.testing.assert_allclose(tensor.detach().numpy().T, array, rtol=2e-4, atol=2e-6)


def test_linear_regression_by_hand() -> None:
    torch.manual_seed(3)
    true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
    X = torch.randn(200, 2)
    y = torch.mm(X, true_w.reshape(-1, 1)).reshape(-1) + true_b
    w = torch.normal(0, 0.01, size=(2, 1)).requires_grad_()
    b = torch.zeros(1, requires_grad=True)
    x64, y64 = X.numpy().astype("float64"), y.numpy().astype("float64")
    w64, b64 = w.detach().numpy().astype("float64"), numpy.zeros(1)

    losses = []
    for step in range(60):
        loss = ((torch.matmul(X, w) + b).reshape(-1) - y).square().mean()
        loss.backward()
        if step < 5:
            apart = (x64 @ w64 + b64).reshape(-1) - y64
            w64 = w64 - 0.1 * (2 * x64.T @ apart / len(y64)).reshape(-1, 1)
            b64 = b64 - 0.1 * 2 * apart.mean()
        with torch.no_grad():
            for parameter in (w, b):
                parameter -= 0.1 * parameter.grad
                parameter.grad.zero_()
        if step < 5:
            numpy.testing.assert_allclose(w.detach().numpy(), w64, rtol=1e-4)
            numpy.testing.assert_allclose(b.detach().numpy(), b64, rtol=1e-4)
        losses.append(loss.item())
    assert all(later < earlier for earlier, later in itertools.pairwise(losses))
    numpy.testing.assert_allclose(w.detach().numpy().reshape(-1), true_w.numpy(), atol=1e-3)
    numpy.testing.assert_allclose(b.item(), true_b, atol=1e-3)


def test_sgd_with_momentum_decay_and_a_changing_rate(reference: Any) -> None:
    net, loss = mlp(3, 8, 2), nn.MSELoss()
    expected = reference(weights_of(net))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    x, y = RNG.normal(size=(16, 3)), RNG.normal(size=(16, 2))
    X, Y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    velocities = [numpy.zeros_like(weight) for weight in expected.weights]
    for step in range(6):
        rate = 0.1 if step < 3 else 0.02
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        value = loss(net(X), Y)
        value.backward()
        loss64, gradients = expected.squares(x, y)
        assert value.item() == pytest.approx(loss64, rel=1e-4)
        same([parameter.grad for parameter in net.parameters()], gradients)
        optimizer.step()
        for weight, gradient, velocity in zip(expected.weights, gradients, velocities, strict=True):
            velocity *= 0.9
            velocity += gradient + 0.01 * weight
            weight -= rate * velocity
        same(net.parameters(), expected.weights)


def test_adam_takes_numpys_steps(reference: Any) -> None:
    net = mlp(3, 8, 4)
    expected = reference(weights_of(net))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=0.1)
    x, classes = RNG.normal(size=(16, 3)), RNG.integers(0, 4, size=16)
    X, Y = torch.tensor(x, dtype=torch.float32), torch.tensor(classes)
    moments = [(numpy.zeros_like(weight), numpy.zeros_like(weight)) for weight in expected.weights]
    for step in range(1, 6):
        optimizer.zero_grad()
        value = nn.CrossEntropyLoss()(net(X), Y)
        value.backward()
        optimizer.step()
        loss64, gradients = expected.entropy(x, classes)
        assert value.item() == pytest.approx(loss64, rel=1e-4)
        for weight, gradient, (mean, square) in zip(expected.weights, gradients, moments, strict=True):
            gradient = gradient + 0.1 * weight
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            weight -= 0.01 * (mean / (1 - 0.9**step)) / (numpy.sqrt(square / (1 - 0.999**step)) + 1e-8)
        same(net.parameters(), expected.weights)


def test_a_classifier_learns_from_shuffled_batches() -> None:
    torch.manual_seed(5)
    centres = torch.tensor([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
    labels = torch.arange(300) - 3 * (torch.arange(300) // 3)
    points = torch.randn(300, 2) * 0.4 + torch.tensor(numpy.tile(centres.numpy(), (100, 1)))
    batches = DataLoader(TensorDataset(points, labels), batch_size=50, shuffle=True)
    net, loss = mlp(2, 16, 3), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)

    def accuracy() -> float:
        with torch.no_grad():
            return (net(points).argmax(dim=1) == labels).float().mean().item()

    epochs = []
    for _ in range(8):
        total = torch.zeros(1)
        for X, y in batches:
            value = loss(net(X), y)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            total += value.detach()
        epochs.append(total.item() / len(batches))
    assert epochs[-1] < epochs[0] / 4
    assert accuracy() > 0.95


def test_gradients_are_none_then_add_up_then_none_again() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    assert x.grad is None
    (x * x).sum().backward()
    (x * x).sum().backward()
    numpy.testing.assert_array_equal(x.grad.numpy(), [4, 8])
    assert unused.grad is None
    kept = x.grad
    torch.optim.SGD([x, unused], lr=1.0).zero_grad()
    assert x.grad is None
    (3 * x).sum().backward()
    numpy.testing.assert_array_equal(x.grad.numpy(), [3, 3])
    numpy.testing.assert_array_equal(kept.numpy(), [4, 8])
    torch.optim.SGD([x], lr=1.0).zero_grad(set_to_none=False)
    numpy.testing.assert_array_equal(x.grad.numpy(), [0, 0])


def test_gradients_may_be_cleared_between_forward_and_backward() -> None:
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    y = (x * 5).sum()
    x.grad = None
    y.backward()
    numpy.testing.assert_array_equal(x.grad.numpy(), [5, 5])


def test_an_optimiser_leaves_alone_what_has_no_gradient() -> None:
    used, unused = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([used, unused], lr=0.5, weight_decay=0.5)
    used.sum().backward()
    optimizer.step()
    assert (used.item(), unused.item()) == (0.25, 1.0)


def test_who_asks_for_gradients() -> None:
    x = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    assert not plain.requires_grad
    assert (x + plain).requires_grad
    assert not (x > 0).requires_grad
    assert not x.detach().requires_grad
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad

    @torch.no_grad()
    def double(t: torch.Tensor) -> Any:
        return t * 2

    assert not double(x).requires_grad
    assert torch.is_grad_enabled()
    assert torch.stack([plain, x]).requires_grad
    assert x.is_leaf
    assert not (x * 2).is_leaf


def test_a_detached_tensor_is_a_constant_and_may_become_a_leaf() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    (x * x.detach()).sum().backward()
    assert x.grad.item() == 3.0
    leaf = (x * 2).detach().requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.grad.item() == 12.0
    assert x.grad.item() == 3.0


def test_the_tape_of_the_engine_is_left_as_it_was() -> None:
    x = torch.ones(2, requires_grad=True)
    assert not _forerun.is_recording()
    y = x * 2
    assert not _forerun.is_recording()
    array = np.ones((2,))
    array.attach_grad()
    with pytest.raises(ValueError, match="tape"):
        (array * 2).sum().backward()
    y.sum().backward()
    with pytest.raises(ValueError):
        x + torch.ones(3)
    assert not _forerun.is_recording()


def test_threads_have_modes_of_their_own() -> None:
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_errors_of_gradients() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="no_grad"):
        x += 1
    with pytest.raises(RuntimeError, match=r"shape \(2,\) needs a gradient"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="requires gradients"):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError, match="int64"):
        torch.tensor([1], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"detach\(\)"):
        (x * 2).requires_grad = False
    with pytest.raises(RuntimeError, match=r"needs 3 x 3 dimensions, got \(1,\) x \(1,\)"):
        torch.bmm(torch.ones(1), torch.ones(1))
    (x * 2).backward(torch.tensor([1.0, 10.0]))
    numpy.testing.assert_array_equal(x.grad.numpy(), [2, 20])


def test_a_graph_kept_can_be_walked_twice() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(ValueError, match="freed"):
        y.backward()


def test_writing_in_place() -> None:
    x = torch.zeros(3)
    assert x.add_(2, alpha=3) is x
    x.mul_(2).sub_(1).div_(11)
    numpy.testing.assert_array_equal(x.numpy(), [1, 1, 1])
    x[1:] = 5
    x[0] += 1
    numpy.testing.assert_array_equal(x.numpy(), [2, 5, 5])
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    row = x[1:]
    row.zero_()
    numpy.testing.assert_array_equal(x.numpy(), [1, 0, 0])
    w = torch.ones(3, requires_grad=True)
    y = torch.zeros(3)
    y += w * 2
    y.sum().backward()
    numpy.testing.assert_array_equal(w.grad.numpy(), [2, 2, 2])
    w.data -= 1
    numpy.testing.assert_array_equal(w.detach().numpy(), [0, 0, 0])
    assert w.requires_grad


def test_numpy_gets_a_copy_it_may_write() -> None:
    x = torch.zeros(2)
    array = x.numpy()
    array[0] = 1
    assert x[0].item() == 0.0
    numpy.testing.assert_array_equal(numpy.ones(2) + torch.ones(2), [2, 2])
    assert isinstance(numpy.ones(2) + torch.ones(2), torch.Tensor)


def test_shapes_and_types() -> None:
    x = torch.arange(6).view(2, 3)
    assert (x.size(), x.size(1), x.dim(), x.numel(), len(x)) == ((2, 3), 3, 2, 6, 2)
    assert (x.dtype, x.float().dtype, x.to(torch.float64).dtype) == (torch.int64, torch.float32, torch.float64)
    assert x.to("cpu") is x
    assert x.cpu().device == torch.device("cpu")
    assert x.t().shape == x.T.shape == x.transpose(0, 1).shape == x.permute(1, 0).shape == (3, 2)
    assert x.unsqueeze(0).squeeze(0).flatten().shape == (6,)
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    values, places = x.max(dim=1)
    assert (values.tolist(), places.tolist(), x.max().item()) == ([2, 5], [2, 2], 5)
    assert torch.max(x, torch.full((2, 3), 2)).tolist() == [[2, 2, 2], [3, 4, 5]]
    assert x.sum(dim=0, keepdim=True).shape == (1, 3)
    assert x.float().var(dim=0).tolist() == [4.5, 4.5, 4.5]
    assert x.float().std(correction=0).item() == pytest.approx(numpy.arange(6).std())
    assert x.clamp(1, 4).tolist() == [[1, 1, 2], [3, 4, 4]]
    assert x[torch.tensor([1, 0]), :].tolist() == x[[1, 0]].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert torch.cat([x, x], dim=1).shape == (2, 6)
    assert torch.where(x > 2, x, 0).tolist() == [[0, 0, 0], [3, 4, 5]]
    assert {x: 1}[x] == 1
    assert f"{torch.ones(1).sum():.2f}" == "1.00"
    with pytest.raises(RuntimeError, match="no device gpu"):
        x.to("cuda:99")


def test_printing() -> None:
    assert repr(torch.ones(1, 2)) == "tensor([[1., 1.]])"
    assert repr(torch.ones(1, requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(torch.ones(1, dtype=torch.float64)) == "tensor([1.], dtype=torch.float64)"
    net = nn.Sequential(nn.Linear(2, 1, bias=False), nn.Tanh())
    assert repr(net) == ("Sequential(\n  (0): Linear(in_features=2, out_features=1, bias=False)\n  (1): Tanh()\n)")


def test_modules_hold_parameters_and_state() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.scale = nn.Parameter(torch.ones(1))
            self.drop = nn.Dropout(0.5)

        def forward(self, x: Any) -> Any:
            return self.drop(self.first(x) * self.scale)

    net, other = Net(), Net()
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias"]
    assert other.load_state_dict(net.state_dict()) == ([], [])
    x = torch.ones(4, 2)
    numpy.testing.assert_array_equal(net.eval()(x).detach().numpy(), other.eval()(x).detach().numpy())
    assert not net.drop.training
    zeros = (net.train()(torch.ones(1000, 2)) == 0).float().mean().item()
    assert 0.4 < zeros < 0.6
    with pytest.raises(RuntimeError, match="Missing key"):
        net.load_state_dict({})
    with pytest.raises(RuntimeError, match="size mismatch for scale"):
        net.load_state_dict({**net.state_dict(), "scale": torch.ones(2)})
    net.to(torch.float64)
    assert all(parameter.dtype == torch.float64 and parameter.requires_grad for parameter in net.parameters())
    with pytest.raises(AttributeError, match=r"before super\(\).__init__\(\)"):

        class Bad(nn.Module):
            def __init__(self) -> None:
                self.first = nn.Linear(2, 3)

        Bad()


def test_modules_can_be_copied() -> None:
    net = mlp(2, 3, 1)
    twin = copy.deepcopy(net)
    net(torch.ones(1, 2)).sum().backward()
    torch.optim.SGD(net.parameters(), lr=1.0).step()
    assert all(parameter.grad is None and parameter.requires_grad for parameter in twin.parameters())
    assert (net[2].bias != twin[2].bias).all()
    with pytest.raises(RuntimeError, match="only a leaf"):
        copy.deepcopy(net(torch.ones(1, 2)))


def test_batches() -> None:
    rows = TensorDataset(torch.arange(10), torch.arange(10) * 2)
    assert [x.tolist() for x, _ in DataLoader(rows, batch_size=4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(DataLoader(rows, batch_size=4, drop_last=True)) == 2
    torch.manual_seed(1)
    first = [(x.tolist(), y.tolist()) for x, y in DataLoader(rows, batch_size=3, shuffle=True)]
    torch.manual_seed(1)
    assert first == [(x.tolist(), y.tolist()) for x, y in DataLoader(rows, batch_size=3, shuffle=True)]
    assert sorted(itertools.chain.from_iterable(x for x, _ in first)) == list(range(10))
    assert all(y == [2 * i for i in x] for x, y in first)
    pairs = [(numpy.float32(i), i) for i in range(3)]
    x, y = next(iter(DataLoader(pairs, batch_size=3)))
    assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
    with pytest.raises(ValueError, match=r"\[2, 3\]"):
        TensorDataset(torch.ones(2), torch.ones(3))


def test_losses_reduce_as_asked_and_warn_of_broadcasts() -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    assert nn.functional.mse_loss(x, y, reduction="none").tolist() == [4.0, 9.0]
    assert nn.MSELoss(reduction="sum")(x, y).item() == 13.0
    assert nn.L1Loss()(x, y).item() == 2.5
    with pytest.warns(UserWarning, match="broadcast"):
        nn.functional.mse_loss(x, y.reshape(2, 1))
    with pytest.raises(ValueError, match="reduction"):
        nn.MSELoss(reduction="average")(x, y)
    scores = torch.tensor([[1.0, 2.0, 0.5]])
    hard = nn.functional.cross_entropy(scores, torch.tensor([1]))
    soft = nn.functional.cross_entropy(scores, torch.tensor([[0.0, 1.0, 0.0]]))
    assert hard.item() == pytest.approx(soft.item())
    with pytest.raises(ValueError, match=r"\(1, 3\) and \(2,\)"):
        nn.functional.cross_entropy(scores, torch.tensor([1, 1]))


@pytest.mark.parametrize(
    ("owner", "name", "advice"),
    [
        (torch, "zeroes", "'zeros'"),
        (torch, "jit", "fused already"),
        (torch.cuda, "synchronise", "'synchronize'"),
        (nn, "Linearr", "'Linear'"),
        (nn, "DeformableConvolution", "forerun.gluon.nn has it"),
        (torch.ones(1), "storage", r"numpy\(\)"),
        (nn.functional, "mse_los", "'mse_loss'"),
        (torch.optim, "Adamm", "'Adam'"),
        (torch.ones(1), "requires_gradd", "'requires_grad'"),
        (nn.Linear(1, 1), "weights", "'weight'"),
    ],
)
def test_what_lacks_names_the_nearest(owner: Any, name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(owner, name)


def test_waiting_for_a_device_that_is_not_there_waits_for_all() -> None:
    a = torch.randn(300, 300)
    for _ in range(5):
        a = torch.mm(a, a) / 300
    torch.cuda.synchronize()
    torch.cuda.synchronize("cuda:7")
    assert torch.cuda.is_available() == (torch.cuda.device_count() > 0)


def test_records_name_the_users_line() -> None:
    with engine.graph() as graph:
        nn.Linear(3, 2)(torch.ones(4, 3)).sum()
    assert {pathlib.Path(submission.file).name for submission in graph} == {"test_dialect_torch.py"}
