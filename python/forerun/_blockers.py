"""Who waits: a report by line, and a rule that forbids it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, NamedTuple

from forerun import _forerun

__all__ = ["Blocker", "Blockers", "SyncWarning", "Waiting", "blockers", "last_wait", "no_sync", "reset_blockers"]


class SyncWarning(UserWarning):
    """A call waited where ``no_sync("warn")`` says that none is meant to."""


class Waiting(NamedTuple):
    """One wait. Times are in seconds."""

    file: str
    """The file of the line that waited; empty if it is not known."""
    line: int
    call: str
    """What it called."""
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


@dataclass(frozen=True)
class Blocker:
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
        """What it called."""
        return self.longest.call


def _waiting(raw: _forerun._Wait) -> Waiting:
    (file, line), call, op, (op_file, op_line), parked, helped, time = raw
    return Waiting(file, line, call, op, op_file, op_line, parked, helped, time)


def _place(file: str, line: int) -> str:
    """Write a line shortly: the last two parts of its file tell files of one name apart."""
    return f"{'/'.join(file.replace(chr(92), '/').split('/')[-2:])}:{line}" if file else ""


class Blockers(list[Blocker]):
    """Every line that waited, the one that took longest altogether first. Printed, it is a table."""

    def __str__(self) -> str:
        """Write one row a line."""
        if not self:
            return "nothing waited"
        head = ("waits at", "call", "count", "parked ms", "helped ms", "longest ms", "longest for")
        rows: list[tuple[str, ...]] = [head]
        for b in self:
            wanted = b.longest
            target = f"{wanted.op} at {_place(wanted.op_file, wanted.op_line)}" if wanted.op else ""
            numbers = [f"{seconds * 1e3:.3f}" for seconds in (b.parked, b.helped, wanted.time)]
            rows.append((_place(b.file, b.line), b.call, str(b.count), *numbers, target))
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        right = {2, 3, 4, 5}

        def cells(row: tuple[str, ...]) -> Iterator[str]:
            for k, (text, width) in enumerate(zip(row, widths, strict=True)):
                yield text.rjust(width) if k in right else text.ljust(width)

        return "\n".join("  ".join(cells(row)).rstrip() for row in rows)


def blockers() -> Blockers:
    """Return which lines of the program waited so far, for how long, and for what.

    Only calls that really had to wait are noted: a value that is there, or that is made on the spot because little
    leads to it, is no wait. A submission that was held because too much was queued is a row too. A wait that was
    interrupted is left out.

    Returns
    -------
    Blockers
        A list of ``Blocker`` records, one for each call and line; printed, it is a table.

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
        Blocker(count, parked, helped, time, _waiting(longest)) for count, parked, helped, time, longest in rows
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
    """Forbid the calling thread to wait for values, in a ``with`` statement.

    Everything that reads a value is refused: printing, ``item()``, ``asnumpy()``, ``wait_to_read()``, ``waitall()``,
    the truth of an array, and an array where a number is wanted, such as ``np.full((2,), x)``. A value that is already
    there may not be read either: whether it is there is a matter of luck, and a program that passes must pass every
    time. Allowed is what submits, slices or asks for a shape, even where the submission is held because too much is
    queued; so is ``await x``.

    The rule is the thread's: other threads wait as before. Contexts nest; the inner one holds.

    Parameters
    ----------
    mode
        ``"error"`` raises ``RuntimeError``; ``"warn"`` issues a ``SyncWarning`` and waits. Both name the line, the
        call, and the op that it would wait for.

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
        """Let the rule hold."""
        self._former.append(_forerun.set_sync(self._mode))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let the former rule hold again."""
        _forerun.set_sync(self._former.pop())


def warn(text: str) -> None:
    """Warn of a wait, at the line of the user that waits."""
    # The call came from the extension: the frame above this one is that of the line that waits, or of the package.
    warnings.warn(text, SyncWarning, stacklevel=2)
