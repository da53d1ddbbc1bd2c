"""Tensors as text, in PyTorch's notation."""

from __future__ import annotations

from typing import Any

__all__ = ["set_printoptions", "text_of"]


class _Options:
    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed: digits, when and how much is left out, and the width of lines.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([0.125])
    tensor([0.12])
    >>> torch.set_printoptions(profile="default")
    """
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, 2**62, 3, 80)}
    if profile is not None:
        if profile not in profiles:
            raise ValueError(f"set_printoptions: profile is one of {', '.join(profiles)}, not {profile!r}")
        _Options.precision, _Options.threshold, _Options.edgeitems, _Options.linewidth = profiles[profile]
        _Options.sci_mode = None
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in {**given, "sci_mode": sci_mode}.items():
        if value is not None:
            setattr(_Options, name, value)


def _float_form(values: Any) -> Any:
    """Return the function that formats one float so that all have the same form."""
    import numpy

    finite = values[numpy.isfinite(values)]
    sizes = numpy.abs(finite[finite != 0]).astype(numpy.float64)
    digits = _Options.precision
    whole = bool((finite == numpy.trunc(finite)).all())
    wide = sizes.size and (
        sizes.max() > 1e8 or (not whole and (sizes.max() / sizes.min() > 1000 or sizes.min() < 1e-4))
    )
    scientific = bool(wide) if _Options.sci_mode is None else _Options.sci_mode
    if scientific:
        return lambda x: f"{x:.{digits}e}"
    if whole:
        return lambda x: f"{x:.0f}." if numpy.isfinite(x) else f"{x:.0f}"
    return lambda x: f"{x:.{digits}f}"


def text_of(values: Any, notes: str) -> str:
    """Return the text of an array with notes after it."""
    import numpy

    if values.dtype.name == "bfloat16":
        values = values.astype(numpy.float32)
    options: dict[str, Any] = {"separator": ", ", "prefix": "tensor(", "max_line_width": _Options.linewidth}
    options |= {"threshold": _Options.threshold, "edgeitems": _Options.edgeitems}
    if values.dtype.kind == "f":
        shown = values
        if values.size > _Options.threshold:
            edges = numpy.unique([*range(_Options.edgeitems), *range(-_Options.edgeitems, 0)])
            for axis, extent in enumerate(values.shape):
                if extent > 2 * _Options.edgeitems:
                    shown = numpy.take(shown, edges, axis)
        form = _float_form(shown)
        # PyTorch aligns the finite numbers only.
        finite = shown[numpy.isfinite(shown)]
        width = max(map(len, map(form, finite)), default=0) if values.ndim else 0
        options["formatter"] = {"float_kind": lambda x: form(x).rjust(width)}
    elif values.dtype.kind == "c":
        options["precision"] = _Options.precision
    return f"tensor({numpy.array2string(values, **options)}{notes})"
