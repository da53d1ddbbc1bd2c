"""Finding the op that made the first NaN or infinity."""

from __future__ import annotations

from types import TracebackType

from forerun import _forerun

__all__ = ["detect_nonfinite"]


class detect_nonfinite:
    """Find the first op that makes a NaN or an infinity out of finite numbers, in a ``with`` statement.

    For every op that the calling thread submits, a check of its result and its inputs is submitted too, without waiting
    for it. The next call that reads a value, or the end of the statement, raises ``FloatingPointError`` with the op and
    its line. After the first error nothing more is checked. Backward passes and hybridized blocks are checked like all
    other ops.

    Ops without inputs, and ops that are given a non-finite number, are not reported: ``np.full((2,), np.inf)`` and
    ``np.where(mask, x, -np.inf)`` are intentional. Programs run about three times slower: use it for debugging.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> x = np.zeros((2,))
    >>> try:
    ...     with forerun.detect_nonfinite():
    ...         y = np.log(x) * 0 + 1
    ... except FloatingPointError as error:
    ...     print(str(error).splitlines()[0])
    log: produced a NaN or an infinity from finite numbers, in float32 of shape (2,)
    """

    def __enter__(self) -> detect_nonfinite:
        """Start checking."""
        _forerun.start_detecting()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop checking, and raise the error that was found, unless another exception is active."""
        _forerun.stop_detecting(error is None)
