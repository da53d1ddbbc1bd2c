"""Inspection of the namespace, as in the array API standard."""

from __future__ import annotations

from forerun import _forerun
from forerun._forerun import Device, current_device, default_float, dtype, num_gpus

__all__ = ["__array_namespace_info__"]

# The kinds of the standard and their dtypes; dtypes that do not exist are omitted from results.
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_GROUPS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


class NamespaceInfo:
    """The result of :func:`__array_namespace_info__`.

    Examples
    --------
    >>> from forerun import np
    >>> info = np.__array_namespace_info__()
    >>> info.default_device()
    cpu(0)
    >>> info.dtypes(kind="bool")
    {'bool': dtype('bool')}
    """

    def capabilities(self) -> dict[str, bool | int]:
        """Return the capabilities of the namespace."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> Device:
        """Return the device on which new arrays are created."""
        return current_device()

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, dtype]:
        """Return the default dtypes."""
        wanted = {
            "real floating": default_float().name,
            "complex floating": "complex128" if default_float() == "float64" else "complex64",
            "integral": "int64",
            "indexing": "int64",
        }
        known = self.dtypes(device=device)
        return {kind: known[name] for kind, name in wanted.items() if name in known}

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, dtype]:
        """Return the dtypes of a kind, of several, or all of them."""
        asked = tuple(_KINDS) if kind is None else (kind,) if isinstance(kind, str) else kind
        names: list[str] = []
        for each in asked:
            for part in _GROUPS.get(each, (each,)):
                if part not in _KINDS:
                    raise ValueError(f"dtypes: kind {each!r} is not known; there are {', '.join([*_KINDS, *_GROUPS])}")
                names += _KINDS[part]
        return {name: getattr(_forerun, name) for name in names if hasattr(_forerun, name)}

    def devices(self) -> list[Device]:
        """Return the available devices."""
        return [Device("cpu"), *(Device("gpu", number) for number in range(num_gpus()))]


def __array_namespace_info__() -> NamespaceInfo:
    """Return the inspection object of the array API standard.

    Examples
    --------
    >>> from forerun import np
    >>> np.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return NamespaceInfo()
