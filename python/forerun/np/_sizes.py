"""Sizes that no machine has room for are refused where they are asked for, before anything is built."""

from __future__ import annotations

import os

# What a process can address.
_ADDRESSES = 2**47


def refuse_impossible(op: str, elements: int, itemsize: int, *, held: bool = False) -> None:
    """Raise the ``MemoryError`` of a result that cannot be.

    Parameters
    ----------
    op
        What was asked for.
    elements, itemsize
        How many elements it has, and the bytes of one.
    held
        Whether the call itself builds them, in Python or NumPy: then they must fit in the memory of the machine. Others
        are the engine's, which refuses what does not fit when it runs.

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
    """Give the bytes of memory that this machine has, or those it can address where it does not tell."""
    try:
        return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), _ADDRESSES)
    except (AttributeError, ValueError, OSError):
        return _ADDRESSES
