"""Finding the op that made the first NaN or infinity."""

from __future__ import annotations

from types import TracebackType

from forerun import _forerun

__all__ = ["detect_nonfinite"]


class detect_nonfinite:
    """Find the first op that makes a NaN or an infinity out of finite numbers, in a ``with`` statement.

    After every op that the calling thread submits, a check of its result and its inputs is submitted too; nobody waits
    for it. What was found is raised as ``FloatingPointError`` by the next call that reads a value, or at the end of the
    statement, and names the op and its line; after that, nothing more is looked for. A backward pass is looked at like
    any other ops, and so is a hybridized block.

    Ops without inputs are not blamed, nor those that are handed a number that is not finite: ``np.full((2,), np.inf)``
    and ``np.where(mask, x, -np.inf)`` are meant. Every op is computed about three times over: use it to search.

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
    log: made a NaN or an infinity out of finite numbers, in float32 of shape (2,)
    """

    def __enter__(self) -> detect_nonfinite:
        """Start looking."""
        _forerun.start_detecting()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop looking, and raise what was found, unless something else is raised already."""
        _forerun.stop_detecting(error is None)
