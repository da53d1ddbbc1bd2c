"""A hybridized block uses the current values of everything that its code reads."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy
import pytest

from forerun import np
from forerun.gluon import HybridBlock, _watched, nn

SCALE = 2.0
TABLE = {"scale": [1.0, 2.0]}


def helper(x: Any) -> Any:
    return x * SCALE


class Scaled(HybridBlock):
    """Reads its own attributes, those of its class, and the contents of some."""

    offset = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.scale: Any = 1.0
        self.notes = 0
        self.sizes = [1.0]
        self.settings = types.SimpleNamespace(factor=1.0)

    def forward(self, x: Any) -> Any:
        return x * self.scale * self.sizes[0] * self.settings.factor + self.shift()

    def shift(self) -> Any:
        return self.offset


class FromGlobals(HybridBlock):
    """Reads global variables, directly and through a function."""

    def forward(self, x: Any) -> Any:
        return helper(x) * TABLE["scale"][0]


class Outer(HybridBlock):
    """Has a child that reads attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Scaled()

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


X = np.ones((1,))


def value(net: Any) -> float:
    """Call a block twice: the first call is captured, the second replays it."""
    first, second = net(X).item(), net(X).item()
    assert first == second
    return float(first)


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_attributes() -> None:
    net = Scaled()
    net.hybridize()
    assert value(net) == 1
    net.scale = 10.0
    assert value(net) == 10
    net.scale = np.array([3.0])
    assert value(net) == 3
    net.scale = 2
    net.sizes[0] = 4.0
    assert value(net) == 8
    net.sizes = [5.0]
    assert value(net) == 10
    net.settings.factor = 0.5
    assert value(net) == 5


def test_attributes_of_children_and_of_classes() -> None:
    net = Outer()
    net.hybridize()
    assert value(net) == 2
    net.inner.scale = 10.0
    assert value(net) == 11
    net.inner.sizes.insert(0, 2.0)
    assert value(net) == 21
    try:
        Scaled.offset = 100.0
        assert value(net) == 121
    finally:
        Scaled.offset = 0.0
    assert value(net) == 21


def test_global_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    net = FromGlobals()
    net.hybridize()
    assert value(net) == 2
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert value(net) == 3
    monkeypatch.setitem(TABLE, "scale", TABLE["scale"].copy())
    assert value(net) == 3
    TABLE["scale"][0] = 4.0
    assert value(net) == 12
    monkeypatch.setitem(globals(), "helper", lambda x: x)
    assert value(net) == 4


def test_variables_of_enclosing_functions() -> None:
    factor = 2.0
    net = nn.HybridLambda(lambda F, x: x * factor)
    net.hybridize()
    assert value(net) == 2
    factor = 5.0
    assert value(net) == 5


def test_settings_of_layers() -> None:
    net = nn.LeakyReLU(0.5)
    net.hybridize()
    assert net(-X).item() == net(-X).item() == -0.5
    net._alpha = 0.25
    assert net(-X).item() == -0.25


def test_what_forward_does_not_read_costs_no_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Scaled()
    net.hybridize()
    value(net)
    monkeypatch.setattr(Scaled, "_capture", None)
    net.notes += 1
    net.scale = 1.0
    assert value(net) == 1


def test_what_cannot_be_compared_is_named() -> None:
    net = Scaled()
    net.hybridize()
    net.scale = numpy.ones((5000,), "float32")
    with pytest.warns(UserWarning, match="not captured: attribute scale of Scaled is a NumPy array of 20000"):
        net(X)
    net.scale[0] = 7
    assert net(X)[0].item() == 7


def test_what_changes_at_every_call_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    net = FromGlobals()
    net.hybridize()
    with pytest.warns(UserWarning, match="global variable SCALE of helper changes at every call"):
        for scale in range(20):
            monkeypatch.setitem(globals(), "SCALE", float(scale))
            assert net(X).item() == scale


def test_layers_of_the_package_have_nothing_to_compare() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dropout(0.5), nn.BatchNorm(), nn.LayerNorm(), nn.Dense(2))
    net.initialize()
    net(np.ones((2, 3)))
    assert _watched.watch(net._blocks()) == []
