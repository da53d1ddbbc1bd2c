"""How arrays are printed: as NumPy prints them, but that float32 needs no mention here and float64 does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    from forerun._forerun import Device

# The dtypes that a reader may take for granted.
_IMPLIED = frozenset({"bool", "int64", "float32"})
_OPEN = "array("
# Decimals that tell bfloat16 numbers apart.
_FEW = 4


def to_str(values: numpy.ndarray) -> str:
    """Write the elements of a bfloat16 array, which NumPy may hold in a wider dtype."""
    import numpy

    return numpy.array2string(values.astype(numpy.float32), precision=_FEW)


def to_repr(values: numpy.ndarray, dtype: str, device: Device | None = None) -> str:
    """Write an array so that ``np.array`` could read it back; with the device of one that lives elsewhere."""
    import numpy

    options = numpy.get_printoptions()
    precision = None
    if dtype == "bfloat16":
        values, precision = values.astype(numpy.float32), _FEW
    body = numpy.array2string(values, separator=", ", prefix=_OPEN, suffix=")", precision=precision)
    notes = []
    if (values.size == 0 and values.shape != (0,)) or values.size > options["threshold"]:
        notes.append(f"shape={values.shape}")
    if dtype not in _IMPLIED or values.size == 0:
        notes.append(f"dtype={dtype}")
    if device is not None:
        notes.append(f"device={device}")
    if not notes:
        return f"{_OPEN}{body})"
    head, tail = f"{_OPEN}{body},", f"{', '.join(notes)})"
    last_line = len(head) - (head.rfind("\n") + 1)
    fits = last_line + 1 + len(tail) <= options["linewidth"]
    return head + (" " if fits else "\n" + " " * len(_OPEN)) + tail
