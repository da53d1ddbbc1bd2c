"""Checks that reject impossible sizes at the call, before anything is allocated."""

from __future__ import annotations

import os

# The size of the address space.
_ADDRESSES = 2**47


def refuse_impossible(op: str, elements: int, itemsize: int, *, held: bool = False) -> None:
    """Raise ``MemoryError`` if a result cannot fit into memory.

    Parameters
    ----------
    op
        The name of the function.
    elements, itemsize
        The number of elements, and the size of one in bytes.
    held
        Whether the call itself allocates them, in Python or NumPy: then they must fit into the machine's memory. The
        engine checks its own allocations at run time.

    Examples
    --------
    >>> from forerun.np._sizes import refuse_impossible
    >>> refuse_impossible("tile", 2**62, 4)
    Traceback (most recent call last):
    MemoryError: tile: cannot allocate 18446744073709551616 bytes for 4611686018427387904 elements
    """
    if elements * itemsize >= (_memory() if held else _ADDRESSES):
        raise MemoryError(f"{op}: cannot allocate {elements * itemsize} bytes for {elements} elements")


def _memory() -> int:
    """Return the machine's memory in bytes, or the address space if that is unknown."""
    try:
        return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), _ADDRESSES)
    except (AttributeError, ValueError, OSError):
        return _ADDRESSES
