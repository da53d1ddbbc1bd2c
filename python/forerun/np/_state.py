"""NumPy's handling of floating-point errors, which asynchronous ops do not have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

__all__ = ["errstate", "geterr", "geterrcall", "seterr", "seterrcall"]

_KINDS = ("divide", "over", "under", "invalid")
_WAYS = ("ignore", "warn", "raise", "call", "print", "log")
_chosen = dict.fromkeys(_KINDS, "ignore")
_called: list[Any] = [None]


def geterr() -> dict[str, str]:
    """Give what :func:`seterr` was told last. It has no effect: see there.

    Examples
    --------
    >>> from forerun import np
    >>> np.geterr()["divide"]
    'ignore'
    """
    return dict(_chosen)


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """Accept what to do about floating-point errors, and give what was said before. Nothing is done about them.

    Ops run later than they are called, on several threads and fused, so there is no call to warn at.
    :func:`forerun.detect_nonfinite` finds the first op that makes a NaN or an infinity out of finite numbers.

    Examples
    --------
    >>> from forerun import np
    >>> former = np.seterr(all="ignore")
    """
    former = geterr()
    told = dict(zip(_KINDS, (divide, over, under, invalid), strict=True))
    for kind, way in told.items():
        wanted = all if way is None else way
        if wanted is not None:
            if wanted not in _WAYS:
                raise ValueError(f"seterr: {kind} must be one of {', '.join(_WAYS)}, got {wanted!r}")
            _chosen[kind] = wanted
    return former


def geterrcall() -> Callable[..., Any] | None:
    """Give what :func:`seterrcall` was told last.

    Examples
    --------
    >>> from forerun import np
    >>> np.geterrcall()
    """
    found: Callable[..., Any] | None = _called[0]
    return found


def seterrcall(func: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Accept a function for floating-point errors, and give the one before. It is never called: see :func:`seterr`.

    Examples
    --------
    >>> from forerun import np
    >>> np.seterrcall(None)
    """
    former = geterrcall()
    _called[0] = func
    return former


class errstate(ContextDecorator):
    """Accept what to do about floating-point errors within a block. Nothing is done about them: see :func:`seterr`.

    Examples
    --------
    >>> from forerun import np
    >>> with np.errstate(divide="ignore"):
    ...     print(np.ones(1) / 0)
    [inf]
    """

    def __init__(
        self,
        *,
        call: Callable[..., Any] | None = None,
        all: str | None = None,
        divide: str | None = None,
        over: str | None = None,
        under: str | None = None,
        invalid: str | None = None,
    ) -> None:
        self._call = call
        self._told = (all, divide, over, under, invalid)
        self._former: list[dict[str, str]] = []

    def __enter__(self) -> None:
        """Note what was said before."""
        self._former.append(seterr(*self._told))

    def __exit__(self, *_: object) -> None:
        """Say again what was said before."""
        seterr(**self._former.pop())
