"""Random tensors and generators.

Tensors are drawn on the engine's stream of this thread, or on a generator's own. Orders of data sets are drawn on the
host, so that shuffling does not wait.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from forerun import np, npx
from forerun.torch._creation import made, shape_of
from forerun.torch._place import DeviceLike, device, to_device
from forerun.torch._tensor import Tensor

__all__ = [
    "Generator", "bernoulli", "default_generator", "initial_seed", "manual_seed", "multinomial", "normal", "poisson",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed",
]  # fmt: skip


class Generator:
    """A source of random numbers of its own.

    Examples
    --------
    >>> from forerun import torch
    >>> a = torch.rand(2, generator=torch.Generator().manual_seed(1))
    >>> b = torch.rand(2, generator=torch.Generator().manual_seed(1))
    >>> torch.equal(a, b)
    True
    """

    def __init__(self, device: DeviceLike = "cpu") -> None:
        self._device = device
        self.manual_seed(0)

    @property
    def device(self) -> device:
        """The device, which has no effect: the same streams serve every device."""
        return device("cpu") if self._device is None else device(str(self._device))

    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator; return it."""
        self._seed = int(seed) & (2**64 - 1)
        self.host = random.Random(self._seed)
        self._state = np.random.RandomState(self._seed % 2**63)
        return self

    def seed(self) -> int:
        """Seed the generator arbitrarily; return the seed."""
        self.manual_seed(random.SystemRandom().getrandbits(63))
        return self._seed

    def initial_seed(self) -> int:
        """Return the last seed."""
        return self._seed

    def drawing(self) -> AbstractContextManager[Any]:
        """Return a ``with`` block whose random tensors come from this generator."""
        return self._state._drawing()


class _Default(Generator):
    """The generator of functions that are given none: the thread's stream of the engine."""

    def manual_seed(self, seed: int) -> Generator:
        self._seed = int(seed) & (2**64 - 1)
        self.host = random.Random(self._seed)
        return self

    def drawing(self) -> AbstractContextManager[Any]:
        return nullcontext()


default_generator: Generator = _Default()


def manual_seed(seed: int) -> Generator:
    """Seed the random numbers of this thread and the order of shuffled batches.

    Examples
    --------
    >>> from forerun import torch
    >>> generator = torch.manual_seed(1)
    >>> x = torch.randn(2)
    >>> generator = torch.manual_seed(1)
    >>> (x == torch.randn(2)).all()
    tensor(True)
    """
    npx.seed(int(seed) % 2**63)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the random numbers arbitrarily; return the seed.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.seed() == torch.initial_seed()
    True
    """
    number = random.SystemRandom().getrandbits(63)
    manual_seed(number)
    return number


def initial_seed() -> int:
    """Return the last seed.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.manual_seed(5).initial_seed(), torch.initial_seed()
    (5, 5)
    """
    return default_generator.initial_seed()


@contextmanager
def _on(generator: Generator | None) -> Iterator[None]:
    with (generator or default_generator).drawing():
        yield


def randn(
    *args: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw elements from the standard normal distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randn(size=(2, 3)).shape, torch.randn(2, 3).shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    with _on(generator):
        drawn = np.random.normal(size=shape_of(args, size), dtype=dtype, device=to_device(device))
    return made(drawn, requires_grad, out)


def rand(
    *args: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Draw elements from the uniform distribution over [0, 1).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.rand(2, 3).shape
    torch.Size([2, 3])
    """
    with _on(generator):
        drawn = np.random.uniform(size=shape_of(args, size), dtype=dtype, device=to_device(device))
    return made(drawn, requires_grad, out)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = np.int64,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw integers from ``low`` up to, excluding, ``high``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randint(5, (2, 3)).shape, torch.randint(0, 5, (2,)).shape
    (torch.Size([2, 3]), torch.Size([2]))
    """
    if high is None:
        low, high = 0, low
    elif size is None:
        low, high, size = 0, low, high
    kind = np.int64 if dtype is None or np.isdtype(dtype, "real floating") else dtype
    with _on(generator):
        drawn = np.random.randint(low, high, size, kind, device=to_device(device))
    return made(drawn if dtype in (None, kind) else drawn.astype(dtype), requires_grad)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: DeviceLike = None,
) -> Tensor:
    """Draw elements from normal distributions, whose parameters may be tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.normal(0, 0.01, (2, 3)).shape, torch.normal(torch.zeros(4), 1.0).shape
    (torch.Size([2, 3]), torch.Size([4]))
    """
    with _on(generator):
        if size is None:
            shapes = [value.shape for value in (mean, std) if isinstance(value, Tensor)]
            like = next((value for value in (mean, std) if isinstance(value, Tensor)), None)
            place = to_device(device) if like is None else like._array.device
            drawn = np.random.normal(size=np.broadcast_shapes(*shapes), dtype=dtype, device=place)
            parts = [value._array if isinstance(value, Tensor) else value for value in (mean, std)]
            return made(drawn * parts[1] + parts[0])
        return made(np.random.normal(mean, std, size, dtype, device=to_device(device)))


def _alike(input: Tensor, dtype: Any, device: DeviceLike) -> dict[str, Any]:
    return {"dtype": input.dtype if dtype is None else dtype, "device": input.device if device is None else device}


def randn_like(input: Tensor, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Draw a tensor of another's shape from the standard normal distribution, on its device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randn_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    return randn(size=input.shape, requires_grad=requires_grad, **_alike(input, dtype, device))


def rand_like(input: Tensor, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Draw a tensor of another's shape from the uniform distribution over [0, 1), on its device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.rand_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    return rand(size=input.shape, requires_grad=requires_grad, **_alike(input, dtype, device))


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, dtype: Any = None, device: DeviceLike = None
) -> Tensor:
    """Draw a tensor of another's shape with integers, on its device and in its dtype.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randint_like(torch.ones(2), 5).dtype == torch.float32
    True
    """
    ends = (0, low) if high is None else (low, high)
    return randint(*ends, tuple(input.shape), **_alike(input, dtype, device))


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = np.int64, device: DeviceLike = None) -> Tensor:
    """Return the integers below ``n`` in random order.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    with _on(generator), to_device(device):
        return made(np.random.permutation(n).astype(dtype, copy=False))


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Draw ones with the given probabilities, zeros otherwise.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    chances = input._array if p is None else p
    with _on(generator):
        drawn = np.random.uniform(size=input.shape, device=input._array.device)
    return made((drawn < chances).astype(input.dtype))


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw from Poisson distributions with the given rates.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
    """
    with _on(generator):
        return made(np.random.poisson(input._array).astype(input.dtype))


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Draw the indices of weights, with probabilities proportional to them, from each row.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1)
    tensor([1])
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"multinomial: needs one or two dimensions, got {tuple(input.shape)}")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(f"multinomial: {num_samples} draws without replacement from {input.shape[-1]} weights")
    # The largest of independent exponential races: log(weight) plus Gumbel noise.
    rows = tuple(input.shape) if not replacement else (*input.shape[:-1], num_samples, input.shape[-1])
    with _on(generator):
        noise = np.random.gumbel(size=rows).as_in_ctx(input._array.device)
    scores = np.log(input._array)
    if replacement:
        return made(np.argmax(np.expand_dims(scores, -2) + noise, -1))
    return Tensor._of(scores + noise).topk(num_samples, -1).indices
