"""Checks of values that do not wait."""

from __future__ import annotations

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike

__all__ = ["constraint_check"]


def constraint_check(condition: ArrayLike, msg: str = "a constraint is violated") -> ndarray:
    """Return True if all elements of the condition are true.

    The check does not wait. If it fails, reading the result raises ``ValueError``, and so does reading anything that
    is computed from it: ``x * constraint_check(x > 0, "x must be positive")`` is a checked ``x``.

    Parameters
    ----------
    condition
        Booleans, of any shape.
    msg
        The text of the error.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array([1.0, 2.0])
    >>> x * npx.constraint_check(x > 0, "x must be positive")
    array([1., 2.])
    >>> y = x * npx.constraint_check(x > 1, "x must be above 1")  # does not wait
    >>> y.item(0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: constraint_check: x must be above 1
    ...
    """
    condition = to_array(condition).all()
    text = to_array(list(msg.encode()), "uint8", condition.device)
    return _forerun.routine("constraint_check", [condition, text])
