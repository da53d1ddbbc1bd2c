"""The functions of tensors as methods: one definition has both names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np
from forerun.torch import _indexing, _joining, _linear, _pointwise, _random, _reductions, _shaping
from forerun.torch._tensor import Tensor

# Functions that take no tensor first, and are no methods.
_NOT = {
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul",
    "combinations", "einsum", "meshgrid", "numel", "permute", "reshape", "searchsorted", "tril_indices", "triu_indices",
    "view_as_complex", "view_as_real",
}  # fmt: skip


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        return self._replace(function, args, options)

    method.__name__ = method.__qualname__ = f"{function.__name__}_"
    method.__doc__ = f"Apply ``{function.__name__}`` in place."
    return method


def _drawn(name: str, draw: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, generator: Any = None, **options: Any) -> Tensor:
        with (generator or _random.default_generator).drawing():
            return self.copy_(draw(self, *args, **options))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    return method


def _normal(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Any:
    return np.random.normal(mean, std, self.shape, self.dtype, device=self._array.device)


def _uniform(self: Tensor, a: float = 0.0, b: float = 1.0, **ends: float) -> Any:
    # PyTorch calls the ends `from` and `to`, of which one is a keyword of Python.
    low, high = ends.get("from", a), ends.get("to", b)
    return np.random.uniform(low, high, self.shape, self.dtype, device=self._array.device)


def _bernoulli(self: Tensor, p: Any = 0.5) -> Any:
    chances = p._array if isinstance(p, Tensor) else p
    return np.random.uniform(size=self.shape, device=self._array.device) < chances


def _exponential(self: Tensor, lambd: float = 1.0) -> Any:
    return np.random.exponential(1 / lambd, self.shape).as_in_ctx(self._array.device)


def _integers(self: Tensor, low: int = 0, high: int | None = None) -> Any:
    ends = (0, low) if high is None and low else (low, 2**24 if high is None else high)
    return np.random.randint(*ends, self.shape, np.int64, device=self._array.device)


def attach() -> None:
    """Give the tensors their methods."""
    for module in (_pointwise, _reductions, _shaping, _indexing, _linear):
        for name in module.__all__:
            if name not in _NOT:
                setattr(Tensor, name, getattr(module, name))
    for name in ("chunk", "narrow", "select", "split", "tensor_split", "unbind"):
        setattr(Tensor, name, getattr(_joining, name))
    for module in (_pointwise, _indexing):
        for name in module.IN_PLACE:
            if f"{name}_" not in vars(Tensor):
                setattr(Tensor, f"{name}_", _in_place(getattr(module, name)))
    for name in ("cumsum", "cumprod"):
        setattr(Tensor, f"{name}_", _in_place(getattr(_reductions, name)))
    for name in ("tril", "triu"):
        setattr(Tensor, f"{name}_", _in_place(getattr(_shaping, name)))
    for name in ("addmm", "baddbmm", "addmv", "addr"):
        setattr(Tensor, f"{name}_", _in_place(getattr(_linear, name)))
    for name in ("bernoulli", "multinomial"):
        setattr(Tensor, name, getattr(_random, name))
    drawn: dict[str, tuple[Callable[..., Any], str]] = {
        "normal_": (_normal, "Draw every element from a normal distribution."),
        "uniform_": (_uniform, "Draw every element from a uniform distribution."),
        "bernoulli_": (_bernoulli, "Draw ones with a probability, zeros otherwise."),
        "exponential_": (_exponential, "Draw every element from an exponential distribution."),
        "random_": (_integers, "Draw integers from an interval, whose end is excluded."),
    }
    for name, (draw, doc) in drawn.items():
        setattr(Tensor, name, _drawn(name, draw, doc))
    for name in ("permute", "numel"):
        setattr(Tensor, name, getattr(_shaping, name))
    for other, name in (("nelement", "numel"), ("ndimension", "dim")):
        setattr(Tensor, other, getattr(Tensor, name))
