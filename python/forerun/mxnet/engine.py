"""``mxnet.engine``: ops are planned together without being asked, so bulks change nothing."""

from __future__ import annotations

from types import TracebackType

__all__ = ["bulk", "set_bulk_size"]

_size = 15


def set_bulk_size(size: int) -> int:
    """Set the size of bulks and return the previous one. The planner determines how many ops it plans together.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> before = mx.engine.set_bulk_size(30)
    >>> mx.engine.set_bulk_size(before)
    30
    """
    global _size
    if size < 0:
        raise ValueError(f"set_bulk_size: the size must not be negative, got {size}")
    before, _size = _size, size
    return before


class _Bulk:
    """Sets the size of bulks for a ``with`` statement."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> None:
        self._before = set_bulk_size(self._size)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        set_bulk_size(self._before)


def bulk(size: int) -> _Bulk:
    """Return a context manager that sets the size of bulks.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> with mx.engine.bulk(10):
    ...     x = mx.np.ones((2,)) + 1
    >>> x
    array([2., 2.])
    """
    return _Bulk(size)
