"""Named parameters: a dict with MXNet's additional methods."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from forerun import _files, _forerun
from forerun._device import DeviceLike
from forerun._forerun import Device, ndarray
from forerun._refused import refused
from forerun._types import ArrayLike
from forerun.gluon.parameter import Constant, Parameter
from forerun.init import Initializer, Uniform

__all__ = ["ParameterDict", "load_into"]


class ParameterDict(dict[str, Parameter]):
    """Parameters by name.

    Examples
    --------
    >>> from forerun import gluon
    >>> parameters = gluon.ParameterDict(weight=gluon.Parameter("weight", shape=(2,)))
    >>> parameters.initialize("ones")
    >>> parameters["weight"].data()
    array([1., 1.])
    >>> parameters
    ParameterDict(
      Parameter weight (shape=(2,), dtype=float32)
    )
    """

    def __init__(self, *items: Any, **named: Parameter) -> None:
        super().__init__(*items, **named)
        # Parameters that `get` created and that are not yet attributes of the block.
        self._unclaimed: set[str] = set()

    def __repr__(self) -> str:
        """Return one line per parameter."""
        lines = [f"  {repr(value).replace(value.name, name, 1)}" for name, value in self.items()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    def get(self, name: str, default: Any = None, /, **attributes: Any) -> Any:
        """Return a parameter; if attributes are given, create it if it does not exist.

        Examples
        --------
        >>> from forerun import gluon
        >>> parameters = gluon.ParameterDict()
        >>> parameters.get("weight", shape=(2, 3))
        Parameter weight (shape=(2, 3), dtype=float32)
        """
        if name in self or not attributes:
            return super().get(name, default)
        made = self[name] = Parameter(name, **attributes)
        self._unclaimed.add(name)
        return made

    def get_constant(self, name: str, value: ArrayLike | None = None) -> Constant:
        """Return a constant; if a value is given, create it if it does not exist.

        Examples
        --------
        >>> from forerun import gluon
        >>> parameters = gluon.ParameterDict()
        >>> parameters.get_constant("scale", [1.0, 2.0])
        Constant scale (shape=(2,), dtype=float32)
        """
        held = super().get(name)
        if held is None:
            if value is None:
                raise KeyError(f"get_constant: no constant is named {name!r}: give its value")
            held = self[name] = Constant(name, value)
            self._unclaimed.add(name)
        elif not isinstance(held, Constant):
            raise TypeError(f"get_constant: {name!r} is a parameter, not a constant")
        return held

    def initialize(
        self,
        init: str | Initializer = Uniform(),  # noqa: B008
        ctx: DeviceLike = None,
        verbose: bool = False,
        force_reinit: bool = False,
        *,
        device: DeviceLike = None,
    ) -> None:
        """Initialise every parameter; this initialiser applies to parameters without their own."""
        seen: set[int] = set()
        for name, parameter in self.items():
            # A shared parameter has several names, and is initialised once.
            if id(parameter) in seen:
                continue
            seen.add(id(parameter))
            parameter._path = name
            parameter.initialize(None, ctx, init, force_reinit, device=device)
            if verbose:
                print(f"{name}: {parameter.init or init}")

    def restore(self) -> int:
        """Restore the last good value of every parameter whose newest value failed; return how many there were.

        Waits. For parameters of a trainer, ``Trainer.restore`` also restores the optimiser's states.

        Examples
        --------
        >>> from forerun import gluon, np
        >>> net = gluon.nn.Dense(2, in_units=3)
        >>> net.initialize("ones")
        >>> net.weight.data()[:] *= np.take(np.ones((2,)), np.array([0, 1, 2]))
        >>> net.collect_params().restore()
        1
        >>> net.weight.data()[0]
        array([1., 1., 1.])
        """
        return sum(1 for parameter in self.values() if parameter._data and parameter._restore())

    def zero_grad(self) -> None:
        """Set every gradient to zero."""
        for parameter in self.values():
            parameter.zero_grad()

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of every parameter, such as ``grad_req`` or ``lr_mult``."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def reset_ctx(self, ctx: DeviceLike = None, *, device: DeviceLike = None) -> None:
        """Move every parameter to another device, or to several."""
        for parameter in self.values():
            parameter.reset_ctx(ctx, device=device)

    reset_device = reset_ctx

    def list_ctx(self) -> list[Device]:
        """Return the devices of the parameters."""
        return list(dict.fromkeys(device for parameter in self.values() for device in parameter.list_ctx()))

    list_device = list_ctx

    def save(self, filename: str | os.PathLike[str], strip_prefix: str = "") -> None:
        """Write the parameters to a file; a parameter on several devices is averaged.

        Parameters
        ----------
        filename
            The file.
        strip_prefix
            A prefix to remove from every name.
        """
        _forerun.save_arrays(filename, {name.removeprefix(strip_prefix): p._reduce() for name, p in self.items()})

    def load(
        self,
        filename: str | os.PathLike[str],
        ctx: DeviceLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
        *,
        device: DeviceLike = None,
    ) -> None:
        """Read the parameters from a file; for the arguments see ``Block.load_parameters``."""
        arrays = {restore_prefix + name: array for name, array in _files.load_parameters(filename).items()}
        load_into(
            self,
            arrays,
            f"load: {os.fspath(filename)}",
            ctx=ctx,
            device=device,
            allow_missing=allow_missing,
            ignore_extra=ignore_extra,
            cast_dtype=cast_dtype,
            dtype_source=dtype_source,
        )


def load_into(
    parameters: Mapping[str, Parameter],
    arrays: Mapping[str, ndarray],
    source: str,
    *,
    ctx: DeviceLike,
    device: DeviceLike,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
) -> None:
    """Set parameters from arrays of the same names. All arrays are checked before any is set."""
    if dtype_source not in ("current", "saved"):
        raise refused(f"{source}: dtype_source is 'current' or 'saved', not {dtype_source!r}")
    # One name of a shared parameter is sufficient.
    given = {id(parameters[name]) for name in arrays if name in parameters}
    missing = [name for name, parameter in parameters.items() if id(parameter) not in given]
    if missing and not allow_missing:
        raise refused(f"{source}: no tensor for {_listed(missing)}; allow_missing=True skips it")
    extra = [name for name in arrays if name not in parameters]
    if extra and not ignore_extra:
        raise refused(f"{source}: no parameter for {_listed(extra)}; ignore_extra=True skips it")
    for name, parameter in parameters.items():
        if name in arrays:
            _check_fit(source, name, parameter, arrays[name], cast_dtype)
    for name, parameter in parameters.items():
        if name not in arrays:
            continue
        array = arrays[name]
        if cast_dtype and dtype_source == "saved":
            parameter.cast(array.dtype)
        if not parameter._data and not parameter._deferred:
            parameter.shape = array.shape
            parameter.initialize("zeros", ctx, device=device)
        elif ctx is not None or device is not None:
            parameter.reset_ctx(ctx, device=device)
        parameter.set_data(array.astype(parameter.dtype, copy=False))


def _check_fit(source: str, name: str, parameter: Parameter, array: ndarray, cast_dtype: bool) -> None:
    shape = parameter.shape
    if shape is not None and (
        len(shape) != len(array.shape) or any(a not in (-1, b) for a, b in zip(shape, array.shape, strict=True))
    ):
        raise refused(f"{source}: tensor {name!r} has shape {array.shape}, the parameter {shape}")
    if array.dtype != parameter.dtype and not cast_dtype:
        raise refused(
            f"{source}: tensor {name!r} is {array.dtype.name}, the parameter {parameter.dtype.name};"
            " cast_dtype=True converts it"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
