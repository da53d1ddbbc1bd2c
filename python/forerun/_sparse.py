"""Arguments about sparse storage: arrays are dense."""

from __future__ import annotations

import warnings


def dense_instead(name: str, **options: str | bool | None) -> None:
    """Warn if an option asks for sparse storage.

    Parameters
    ----------
    name
        What was called.
    **options
        Options of storage: ``None``, ``False`` and ``"default"`` are dense.

    Examples
    --------
    >>> from forerun._sparse import dense_instead
    >>> dense_instead("Parameter", stype="default")
    >>> dense_instead("Parameter", stype="dense")
    Traceback (most recent call last):
        ...
    ValueError: Parameter: stype must be 'default', 'row_sparse' or 'csr', not 'dense'
    """
    for option, value in options.items():
        if isinstance(value, str) and value not in ("default", "row_sparse", "csr"):
            raise ValueError(f"{name}: {option} must be 'default', 'row_sparse' or 'csr', not {value!r}")
        if value and value != "default":
            warnings.warn(f"{name}: {option}={value!r} is stored densely: there are no sparse arrays", stacklevel=3)
