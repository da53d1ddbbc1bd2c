"""How arrays are printed: like NumPy, but ``repr`` omits the dtype if it is the default float."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun._forerun import default_float

if TYPE_CHECKING:
    import numpy

    from forerun._forerun import Device

# The dtypes that ``repr`` omits, besides the default float.
_IMPLIED = frozenset({"bool", "int64"})
_OPEN = "array("
# The number of digits that distinguishes bfloat16 numbers.
_FEW = 4


def to_str(values: numpy.ndarray) -> str:
    """Return the text of a bfloat16 array, which NumPy may store in a wider dtype."""
    import numpy

    return numpy.array2string(values.astype(numpy.float32), precision=_FEW)


def to_repr(values: numpy.ndarray, dtype: str, device: Device | None = None) -> str:
    """Return the ``repr`` of an array; it names the device if that is not the host."""
    import numpy

    options = numpy.get_printoptions()
    precision = None
    if dtype == "bfloat16":
        values, precision = values.astype(numpy.float32), _FEW
    body = numpy.array2string(values, separator=", ", prefix=_OPEN, suffix=")", precision=precision)
    notes = []
    if (values.size == 0 and values.shape != (0,)) or values.size > options["threshold"]:
        notes.append(f"shape={values.shape}")
    if not (dtype in _IMPLIED or dtype == default_float().name) or values.size == 0:
        notes.append(f"dtype={dtype}")
    if device is not None:
        notes.append(f"device={device}")
    if not notes:
        return f"{_OPEN}{body})"
    head, tail = f"{_OPEN}{body},", f"{', '.join(notes)})"
    last_line = len(head) - (head.rfind("\n") + 1)
    fits = last_line + 1 + len(tail) <= options["linewidth"]
    return head + (" " if fits else "\n" + " " * len(_OPEN)) + tail


# The maximum number of rows and columns of a table in a notebook; larger arrays show the first and last ones.
_MOST_ROWS, _MOST_COLUMNS = 20, 12


def to_html(values: numpy.ndarray, title: str) -> str | None:
    """Return a 1-d or 2-d array as a small HTML table for notebooks; None for others."""
    import html

    import numpy

    if values.ndim not in (1, 2) or values.size == 0:
        return None
    table = values.reshape(1, -1) if values.ndim == 1 else values
    rows, columns = _shown(table.shape[0], _MOST_ROWS), _shown(table.shape[1], _MOST_COLUMNS)
    precision = numpy.get_printoptions()["precision"]

    def cell(row: int | None, column: int | None) -> str:
        if row is None or column is None:
            return "<td>…</td>"
        value = table[row, column]
        text = f"{value:.{precision}g}" if values.dtype.kind in "fc" else str(value)
        return f"<td>{html.escape(text)}</td>"

    body = "".join(f"<tr>{''.join(cell(row, column) for column in columns)}</tr>" for row in rows)
    return f"<table>{body}</table><p>{html.escape(title)}</p>"


def _shown(count: int, most: int) -> list[int | None]:
    """Return the indices that are shown, and None where some are omitted."""
    if count <= most:
        return list(range(count))
    half = most // 2
    return [*range(half), None, *range(count - half, count)]
