"""Blocking calls: a report by source line, and a context that forbids them."""

from __future__ import annotations

import warnings
from types import SimpleNamespace, TracebackType
from typing import Literal, NamedTuple

from forerun import _forerun
from forerun._tables import Column, as_html, as_text, milliseconds, place

__all__ = ["Blocker", "Blockers", "SyncWarning", "Waiting", "blockers", "last_wait", "no_sync", "reset_blockers"]


class SyncWarning(UserWarning):
    """Warn that a call waited inside ``no_sync("warn")``."""


class Waiting(NamedTuple):
    """One wait. Times are in seconds."""

    file: str
    """The file of the line that waited; empty if it is not known."""
    line: int
    call: str
    """The call that waited."""
    op: str
    """The op whose value it waited for; empty for a wait for everything and for a hold."""
    op_file: str
    op_line: int
    parked: float
    """How long it did nothing."""
    helped: float
    """How long it ran tasks."""
    time: float
    """How long it took, planning included."""


# Not a dataclass, because `dataclasses` is slow to import.
class Blocker(SimpleNamespace):
    """All waits of one call at one line. Times are in seconds."""

    count: int
    parked: float
    """How long it did nothing, altogether."""
    helped: float
    """How long it ran tasks, altogether."""
    time: float
    """How long it took altogether, planning included."""
    longest: Waiting

    @property
    def file(self) -> str:
        """The file of the line that waited; empty if it is not known."""
        return self.longest.file

    @property
    def line(self) -> int:
        """The line that waited."""
        return self.longest.line

    @property
    def call(self) -> str:
        """The call that waited."""
        return self.longest.call


def _waiting(raw: _forerun._Wait) -> Waiting:
    (file, line), call, op, (op_file, op_line), parked, helped, time = raw
    return Waiting(file, line, call, op, op_file, op_line, parked, helped, time)


_COLUMNS = (
    Column("waits at"),
    Column("call"),
    Column("count", numeric=True),
    Column("total ms", numeric=True),
    Column("idle ms", numeric=True),
    Column("computing ms", numeric=True),
    Column("longest ms", numeric=True),
    Column("longest for"),
)


class Blockers(list[Blocker]):
    """Every line that waited, longest total wait first. Printing it shows a table."""

    def __str__(self) -> str:
        """Return the table, one row per line."""
        if not self:
            return "nothing waited"
        return as_text(_COLUMNS, self._rows())

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(_COLUMNS, self._rows()) if self else "<p>nothing waited</p>"

    def _rows(self) -> list[list[str]]:
        rows = []
        for b in self:
            wanted = b.longest
            target = f"{wanted.op} at {place(wanted.op_file, wanted.op_line)}" if wanted.op else ""
            times = [milliseconds(seconds) for seconds in (b.time, b.parked, b.helped, wanted.time)]
            rows.append([place(b.file, b.line), b.call, str(b.count), *times, target])
        return rows


def blockers() -> Blockers:
    """Return which lines of the program have waited, for how long, and for which op.

    Only calls that had to wait are listed. Reading a finished value is not a wait, nor is reading one that the calling
    thread computes itself because little work leads to it. A submission that waited because too much was queued is
    listed too. Interrupted waits are not.

    Returns
    -------
    Blockers
        A list of ``Blocker`` records, one per call and line. Printing it shows a table.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> forerun.reset_blockers()
    >>> x = np.ones((500, 500))
    >>> (x @ x).sum().item()
    125000000.0
    >>> [row.call for row in forerun.blockers() if row.longest.op] in ([], ["item"])
    True
    """
    rows = _forerun.blockers()
    return Blockers(
        Blocker(count=count, parked=parked, helped=helped, time=time, longest=_waiting(longest))
        for count, parked, helped, time, longest in rows
    )


def reset_blockers() -> None:
    """Forget the waits so far.

    Examples
    --------
    >>> import forerun
    >>> forerun.reset_blockers()
    >>> forerun.blockers()
    []
    """
    _forerun.reset_blockers()


def last_wait() -> Waiting | None:
    """Return the last wait of the calling thread; None if it never waited.

    Examples
    --------
    >>> import forerun
    >>> wait = forerun.last_wait()
    >>> wait is None or wait.time >= 0
    True
    """
    raw = _forerun.last_wait()
    return None if raw is None else _waiting(raw)


class no_sync:
    """Forbid calls that read values, in the calling thread, inside a ``with`` statement.

    This covers every call that reads a value, even one that is already computed: printing, ``item()``, ``asnumpy()``,
    ``wait_to_read()``, ``waitall()``, ``bool(x)``, and an array where a number is expected, such as
    ``np.full((2,), x)``. Whether a value is already computed depends on timing; a program that passes must pass every
    time. Submitting ops, slicing and shapes are allowed, even if a submission waits because too much is queued. So is
    ``await x``.

    Other threads are not affected. Contexts nest; the innermost one applies.

    Parameters
    ----------
    mode
        ``"error"`` raises ``RuntimeError``; ``"warn"`` issues a ``SyncWarning`` and waits. Both name the
        line, the call, and the op that it would wait for.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> with forerun.no_sync("error"):
    ...     y = np.ones((2,)) + 1
    ...     try:
    ...         y.item(0)
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[0])
    item: waits inside no_sync, for add
    >>> y.item(0)
    2.0
    """

    def __init__(self, mode: Literal["warn", "error"] = "error") -> None:
        if mode not in ("warn", "error"):
            raise ValueError(f"no_sync: expected 'warn' or 'error', not {mode!r}")
        self._mode = mode
        self._former: list[str] = []

    def __enter__(self) -> no_sync:
        """Set the rule."""
        self._former.append(_forerun.set_sync(self._mode))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Restore the former rule."""
        _forerun.set_sync(self._former.pop())


def warn(text: str) -> None:
    """Issue the warning at the user's line that waits."""
    # The extension calls this function: the next frame is the line that waits, or belongs to the package.
    warnings.warn(text, SyncWarning, stacklevel=2)
