"""Transforms made of other transforms, and casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun._types import DTypeLike
from forerun.gluon.block import Block
from forerun.gluon.data import _host, _steps
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.containers import HybridSequential, Lambda, Sequential

__all__ = ["Cast", "Compose", "HybridCompose", "HybridRandomApply", "RandomApply"]


def appended(x: Any, more: tuple[Any, ...]) -> Any:
    """Return an image with the other entries of its sample, if there are any."""
    return (x, *more) if more else x


class Compose(Sequential):
    """Several transforms, one after the other.

    Parameters
    ----------
    transforms
        The transforms; other callables are accepted too.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> change = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
    >>> change(np.zeros((6, 8, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]] = ()) -> None:
        super().__init__()
        self.add(*(each if isinstance(each, Block) else Lambda(each) for each in transforms))

    def forward(self, x: Any, *more: Any) -> Any:
        """Change the image, and pass on other arguments."""
        return super().forward(x, *more)

    def _parts(self) -> list[Block]:
        return list(self)


class HybridCompose(HybridSequential):
    """Several transforms, one after the other, captured as one.

    Parameters
    ----------
    transforms
        The transforms, all of them hybrid blocks.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> change = transforms.HybridCompose([transforms.CenterCrop(4), transforms.ToTensor()])
    >>> change(np.zeros((6, 8, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms: Sequence[HybridBlock] = ()) -> None:
        super().__init__()
        for each in transforms:
            if not isinstance(each, HybridBlock):
                raise ValueError(f"HybridCompose: {each} is not a HybridBlock; use Compose")
        self.add(*transforms)
        self.hybridize()

    def forward(self, x: Any, *more: Any) -> Any:
        """Change the image, and pass on other arguments."""
        return super().forward(x, *more)

    def _parts(self) -> list[Block]:
        return list(self)


class Cast(HybridBlock):
    """A conversion to a dtype.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.Cast("float16")(np.ones((2,))).dtype
    dtype('float16')
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def forward(self, x: Any, *more: Any) -> Any:
        """Convert all arguments."""
        return appended(np.asarray(x).astype(self._dtype), tuple(np.asarray(each).astype(self._dtype) for each in more))

    # Only of one argument, as in a dataset's ``transform_first``.
    _elementwise = True


class RandomApply(Sequential):
    """Transforms that are applied, all or none, with probability ``p``. The decision is made on the host.

    Parameters
    ----------
    transforms
        A transform, or a list of them.
    p
        The probability.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomApply(lambda x: x + 1, p=1.0)(np.zeros((2,)))
    array([1., 1.])
    """

    def __init__(self, transforms: Callable[..., Any] | Sequence[Callable[..., Any]], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms if callable(transforms) else Compose(transforms)
        self.p = p

    def forward(self, x: Any, *more: Any) -> Any:
        """Change the image or not, and pass on other arguments."""
        return appended(self.transforms(x) if _host.generator().random_sample() < self.p else x, more)

    def _host_steps(self) -> list[Callable[..., Any]]:
        change = _steps.on_host(self.transforms)
        return [lambda x: change(x) if _host.generator().random_sample() < self.p else x]


class HybridRandomApply(HybridSequential):
    """A transform that is applied with probability ``p``. The decision is an op, so it can be captured.

    Parameters
    ----------
    transforms
        The transform, a hybrid block that does not change the shape.
    p
        The probability.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> flip = transforms.RandomFlipLeftRight(p=1.0)
    >>> transforms.HybridRandomApply(flip, p=0.0)(np.arange(2.0).reshape(1, 2, 1)).reshape(-1)
    array([0., 1.])
    """

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, HybridBlock):
            raise ValueError(f"HybridRandomApply: {transforms} is not a HybridBlock; use RandomApply")
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any, *more: Any) -> Any:
        """Change the image or not, and pass on other arguments."""
        toss = np.random.uniform(size=(), device=x.device) < self.p
        return appended(np.where(toss, self.transforms(x), x), more)
