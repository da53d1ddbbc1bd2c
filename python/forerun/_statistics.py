"""Statistics: dictionaries that print as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun._tables import Column, as_html, as_text, megabytes, place, size

__all__ = ["Counters", "MemoryReport"]

_COUNTERS = {
    "records": "ops submitted, views included",
    "inlined": "ops run at once by the thread that planned them",
    "tasks": "tasks, each of one op or of several fused ones",
    "segments": "parts of the program that were planned together",
    "plan_hits": "plans found in the cache",
    "plan_misses": "plans made",
    "dropped": "ops skipped because nobody could read their results",
    "donated": "results written into the memory of an input",
    "system_calls": "system calls that put threads to sleep or woke them",
    "live_bytes": "memory of arrays now",
    "peak_bytes": "maximum of the memory of arrays",
    "cached_bytes": "memory kept for reuse",
}
_MEMORY = {
    "live": "arrays now",
    "peak": "maximum of the arrays since the start or reset_peak()",
    "cached": "kept for reuse; empty_cache() releases it",
    "promised": "planned work will allocate this when it starts",
    "budget": "limit for running ahead",
    "capacity": "available for arrays",
    "prefetch allowance": "random numbers and host copies may use this ahead of the oldest unfinished work",
    "prefetch used": "what random numbers use of it",
    "queued_records": "ops submitted and not yet planned",
    "queued_host": "copies of host data that only pending ops read",
    "held window": "submissions waited because the queue of ops was full",
    "held host": "submissions waited because too many host copies were queued",
    "allocated bytes": "all allocations so far",
    "allocated count": "number of allocations so far",
}
_ROWS = (Column("name"), Column("value", numeric=True), Column("meaning"))
_HOLDERS = (Column("line"), Column("op"), Column("MB", numeric=True), Column("arrays", numeric=True))


class Counters(dict[str, int]):
    """Counters of the engine; a dictionary that prints as a table."""

    def _rows(self) -> list[list[str]]:
        return [[name, str(value), _COUNTERS.get(name, "")] for name, value in self.items()]

    def __str__(self) -> str:
        """Return the table."""
        return as_text(_ROWS, self._rows())

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(_ROWS, self._rows())


class MemoryReport(dict[str, Any]):
    """Memory statistics of a device; a dictionary that prints as tables."""

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, value in self.items():
            if isinstance(value, dict):
                rows += [_row(f"{name} {part}", inner) for part, inner in value.items()]
            elif name not in ("holders", "description"):
                rows.append(_row(name, value))
        return rows

    def _holders(self) -> Sequence[Sequence[str]]:
        return [
            [place(line["file"], line["line"]), line["op"], megabytes(line["bytes"]), str(line["arrays"])]
            for line in self["holders"]
        ]

    def __str__(self) -> str:
        """Return the tables: amounts, and the lines that hold the most."""
        tables = [as_text(_ROWS, self._rows())]
        if self["holders"]:
            tables.append(as_text(_HOLDERS, self._holders()))
        return "\n\n".join(tables)

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        return as_html(_ROWS, self._rows()) + as_html(_HOLDERS, self._holders())


def _row(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        shown = f"{value['times']} times, {value['seconds'] * 1e3:.1f} ms"
    elif name in ("queued_records", "allocated count"):
        shown = str(value)
    else:
        shown = size(value)
    return [name, shown, _MEMORY.get(name, "")]
