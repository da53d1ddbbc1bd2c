"""NumPy's settings for floating-point errors, which have no effect on asynchronous ops."""

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
    """Return the settings of :func:`seterr`, which have no effect.

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
    """Accept settings for floating-point errors and return the former ones. They have no effect.

    Ops run after their call, fused and on several threads, so there is no call at which to warn.
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
    """Return the function set by :func:`seterrcall`.

    Examples
    --------
    >>> from forerun import np
    >>> np.geterrcall()
    """
    found: Callable[..., Any] | None = _called[0]
    return found


def seterrcall(func: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Accept a function for floating-point errors and return the former one. It is never called: see :func:`seterr`.

    Examples
    --------
    >>> from forerun import np
    >>> np.seterrcall(None)
    """
    former = geterrcall()
    _called[0] = func
    return former


class errstate(ContextDecorator):
    """Accept settings for floating-point errors inside a block. They have no effect: see :func:`seterr`.

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
        """Save the former settings."""
        self._former.append(seterr(*self._told))

    def __exit__(self, *_: object) -> None:
        """Restore the former settings."""
        seterr(**self._former.pop())
