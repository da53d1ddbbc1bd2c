"""Parameters: arrays with gradients that a block owns and a trainer updates.

A parameter has one array per device. They start out equal, and a trainer keeps them equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forerun import np
from forerun._device import DeviceLike, all_devices, asked
from forerun._forerun import Device, current_device, dtype, ndarray
from forerun._missing import module_getattr
from forerun._sparse import dense_instead
from forerun._types import ArrayLike, DTypeLike
from forerun.init import Constant as Filled
from forerun.init import Initializer, Load, Uniform, create

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "epoch"]


class DeferredInitializationError(RuntimeError):
    """A parameter was used before its shape is known.

    Examples
    --------
    >>> from forerun import gluon
    >>> from forerun.gluon import nn
    >>> net = nn.Dense(2)
    >>> net.initialize()
    >>> try:
    ...     net.weight.data()
    ... except gluon.DeferredInitializationError as error:
    ...     print(error)
    parameter weight has the unknown shape (2, -1): call its block on data first, or give the shape
    """


class _Epoch:
    """Counts structural changes of blocks, so that outdated captures are not replayed."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


epoch = _Epoch()


class Parameter:
    """An array with a gradient.

    Parameters
    ----------
    name
        The name in error messages.
    grad_req
        What ``backward`` does with the gradient: ``"write"``, ``"add"``, or ``"null"`` for none.
    shape
        The shape; 0 or -1 marks an unknown dimension.
    dtype
        The dtype.
    lr_mult, wd_mult
        Factors of the learning rate and of the weight decay.
    init
        The initialiser; that of the block if not given.
    allow_deferred_init
        Whether ``initialize`` may be called before the shape is known.
    differentiable
        Whether it can have a gradient.
    stype, grad_stype
        Accepted for compatibility with MXNet: ``"row_sparse"`` and ``"csr"`` warn, and storage is dense.

    Examples
    --------
    >>> from forerun import gluon
    >>> weight = gluon.Parameter("weight", shape=(2, 3), init="ones")
    >>> weight.initialize()
    >>> weight.data()
    array([[1., 1., 1.],
           [1., 1., 1.]])
    >>> weight
    Parameter weight (shape=(2, 3), dtype=float32)
    """

    def __init__(
        self,
        name: str = "weight",
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = "float32",
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: str | Initializer | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        dense_instead("Parameter", stype=stype, grad_stype=grad_stype)
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._path = name
        self._dtype = _named(dtype)
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        # One array per device; empty before initialisation.
        self._data: list[ndarray] = []
        # The initialiser and the devices, until the shape is known.
        self._waiting: tuple[str | Initializer, list[Device]] | None = None
        self._grad_req = "null"
        self.grad_req = grad_req

    def __repr__(self) -> str:
        """Return name, shape and dtype."""
        return f"Parameter {self.name} (shape={self.shape}, dtype={self._dtype.name})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return a copy with its own arrays."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if self._data:
            twin._attach([array.detach().copy() for array in self._data])
        memo[id(self)] = twin
        return twin

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape; -1 marks an unknown dimension, ``None`` an unknown shape."""
        return None if self._shape is None else tuple(-1 if size in (0, -1) else size for size in self._shape)

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        known = self.shape
        if known is not None and (
            len(known) != len(shape) or any(a not in (-1, b) for a, b in zip(known, shape, strict=True))
        ):
            raise ValueError(f"parameter {self._path} has shape {known}, not {tuple(shape)}")
        self._shape = tuple(shape)

    @property
    def dtype(self) -> dtype:
        """The dtype; setting it is :meth:`cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def grad_req(self) -> str:
        """What ``backward`` does with the gradient."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, grad_req: str) -> None:
        if grad_req not in ("write", "add", "null"):
            raise ValueError(f"parameter {self._path}: grad_req must be 'write', 'add' or 'null', not {grad_req!r}")
        if not self._differentiable:
            grad_req = "null"
        if grad_req == self._grad_req:
            return
        self._grad_req = grad_req
        if self._data:
            self._attach(self._data)

    def _known(self) -> bool:
        shape = self.shape
        return shape is not None and -1 not in shape

    def _attach(self, data: list[ndarray]) -> None:
        """Attach arrays to the parameter, with gradients if required."""
        for array in data:
            if self._grad_req == "null":
                array.drop_grad()
            else:
                array.attach_grad(self._grad_req)
        self._data = data
        epoch.now += 1

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: DeviceLike = None,
        default_init: str | Initializer = Uniform(),  # noqa: B008
        force_reinit: bool = False,
        *,
        device: DeviceLike = None,
    ) -> None:
        """Initialise the parameter, now or as soon as its shape is known.

        Parameters
        ----------
        init
            The initialiser; the parameter's own if not given.
        ctx, device
            The device, or several, each of which gets the same numbers.
        default_init
            The initialiser if neither ``init`` nor the parameter has one.
        force_reinit
            Whether to initialise again if already initialised.

        Examples
        --------
        >>> from forerun import gluon
        >>> bias = gluon.Parameter("bias", shape=(2,))
        >>> bias.initialize("zeros")
        >>> bias.data()
        array([0., 0.])
        """
        if self._data and not force_reinit:
            warnings.warn(
                f"parameter {self._path} is initialised already: ignored; force_reinit=True starts again", stacklevel=2
            )
            return
        if init is None:
            # Arrays by name take precedence over the initialiser of a bias or of a norm.
            by_name = isinstance(default_init, Load)
            init = default_init if self.init is None or by_name else self.init
        self._waiting = (init, all_devices("initialize", ctx, device))
        if self._known():
            self._fill()
        elif not self._allow_deferred_init:
            self._waiting = None
            raise ValueError(f"initialize: parameter {self._path} has the unknown shape {self.shape}")
        else:
            self._data = []
            epoch.now += 1

    @property
    def _deferred(self) -> bool:
        return self._waiting is not None

    def _finish_deferred_init(self) -> None:
        """Finish a deferred initialisation, if there is one."""
        if self._waiting is not None:
            if not self._known():
                raise DeferredInitializationError(
                    f"parameter {self._path} still has the unknown shape {self.shape} after infer_shape"
                )
            self._fill()

    def _fill(self) -> None:
        assert self._waiting is not None
        init, devices = self._waiting
        # Initialise once, on the host, so that all devices get the same numbers.
        home = next((device for device in devices if device.device_type == "cpu"), Device("cpu"))
        with home:
            data = np.zeros(self._shape or (), self._dtype)
            # `_init_weight` instead of the call: with its own initialiser, the name of the parameter does not matter.
            create(init)._init_weight(self._path, data)
        self._waiting = None
        self._attach([data.as_in_ctx(device) for device in devices])

    def data(self, ctx: Device | None = None, *, device: Device | None = None) -> ndarray:
        """Return the array on a device. Updates write into the same array object.

        Parameters
        ----------
        ctx, device
            The device; without one the only one, and of several the current one. While a block is called, the device
            of its first input is the current one.

        Examples
        --------
        >>> from forerun import gluon, npx
        >>> weight = gluon.Parameter("weight", shape=(1,), init="ones")
        >>> weight.initialize(ctx=[npx.cpu(0), npx.cpu(1)])
        >>> weight.data(npx.cpu(1)) is weight.data(npx.cpu(1))
        True
        >>> weight.data(npx.cpu(1)).device
        cpu(1)
        """
        data = self._data
        if ctx is None and device is None and len(data) == 1:
            return data[0]
        if not data:
            raise self._missing()
        place = asked("data", ctx, device)
        if place is None:
            place = current_device()
        for array in data:
            if array.device == place:
                return array
        raise RuntimeError(f"parameter {self._path} lives on {self._places()}, not on {place}")

    def _places(self) -> str:
        return ", ".join(str(array.device) for array in self._data)

    def _missing(self) -> RuntimeError:
        if self._waiting is not None:
            return DeferredInitializationError(
                f"parameter {self._path} has the unknown shape {self.shape}:"
                " call its block on data first, or give the shape"
            )
        return RuntimeError(f"parameter {self._path} is not initialised: call initialize() on its block first")

    def grad(self, ctx: Device | None = None, *, device: Device | None = None) -> ndarray:
        """Return the gradient on a device, chosen as in :meth:`data`.

        Examples
        --------
        >>> from forerun import gluon
        >>> weight = gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.grad()
        array([0., 0.])
        """
        return self._grad_of(self.data(ctx, device=device))

    def _grad_of(self, array: ndarray) -> ndarray:
        grad = array.grad
        if grad is None:
            raise RuntimeError(f"parameter {self._path} has no gradient: its grad_req is 'null'")
        return grad

    def list_data(self) -> list[ndarray]:
        """Return the arrays, one per device."""
        if not self._data:
            raise self._missing()
        return list(self._data)

    def list_grad(self) -> list[ndarray]:
        """Return the gradients, one per device."""
        return [self._grad_of(array) for array in self.list_data()]

    def list_ctx(self) -> list[Device]:
        """Return the devices of the parameter."""
        if not self._data and self._waiting is not None:
            return list(self._waiting[1])
        return [array.device for array in self.list_data()]

    list_device = list_ctx

    def _reduce(self) -> ndarray:
        """Return one array for those of all devices: their mean, exact where they agree.

        Trained weights agree; running statistics do not.
        """
        first, *others = self.list_data()
        if not others:
            return first
        apart = [other.detach().as_in_ctx(first.device) - first.detach() for other in others]
        total = apart[0]
        for off in apart[1:]:
            total = total + off
        return (first.detach() + total / (1 + len(others))).astype(self._dtype, copy=False)

    def row_sparse_data(self, row_id: ndarray) -> ndarray:
        """Raise: there are no sparse arrays."""
        raise RuntimeError(f"parameter {self._path} is dense, because there are no sparse arrays: use data()")

    def list_row_sparse_data(self, row_id: ndarray) -> list[ndarray]:
        """Raise: there are no sparse arrays."""
        return [self.row_sparse_data(row_id)]

    def set_data(self, data: ArrayLike) -> None:
        """Write values into the arrays of all devices.

        Examples
        --------
        >>> from forerun import gluon
        >>> weight = gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.set_data([1.0, 2.0])
        >>> weight.data()
        array([1., 2.])
        """
        given = np.asarray(data)
        self.shape = given.shape
        if self._data:
            for array in self._data:
                array[...] = given
        elif self._waiting is not None:
            self._waiting = (Filled(given), self._waiting[1])
            self._fill()
        else:
            raise self._missing()

    def _restore(self) -> int:
        """Restore the last good values of the parameter and an accumulated gradient; return the number of writes."""
        if self.grad_req == "add":
            for grad in self.list_grad():
                grad.restore()
        return max(array.restore() for array in self.list_data())

    def zero_grad(self) -> None:
        """Set the gradients to zero."""
        for array in self._data:
            if array.grad is not None:
                array.grad[...] = 0

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of the arrays and of their gradients."""
        self._dtype = _named(dtype)
        if self._data and self._data[0].dtype != self._dtype:
            self._attach([array.detach().astype(self._dtype) for array in self._data])

    def reset_ctx(self, ctx: DeviceLike = None, *, device: DeviceLike = None) -> None:
        """Move to another device, or to several."""
        devices = all_devices("reset_ctx", ctx, device)
        if self._data:
            if self.list_ctx() != devices:
                data = self._reduce().detach()
                self._attach([data.copyto(place) for place in devices])
        elif self._waiting is not None:
            self._waiting = (self._waiting[0], devices)
        else:
            raise self._missing()

    reset_device = reset_ctx


def _named(kind: Any) -> dtype:
    return kind if isinstance(kind, dtype) else dtype(kind)


class Constant(Parameter):
    """A parameter with constant values and no gradient.

    Parameters
    ----------
    name, value
        A name and the values, or the values alone.

    Examples
    --------
    >>> from forerun import gluon
    >>> half = gluon.Constant([0.5, 0.5])
    >>> half.initialize()
    >>> half.data()
    array([0.5, 0.5])
    """

    def __init__(self, name: str | ArrayLike, value: ArrayLike | None = None) -> None:
        if value is None:
            name, value = "constant", name
        value = np.array(value)
        super().__init__(
            str(name), grad_req="null", shape=value.shape, dtype=value.dtype, init=Filled(value), differentiable=False
        )
        self.value = value

    def __repr__(self) -> str:
        """Return name, shape and dtype."""
        return f"Constant {self.name} (shape={self.shape}, dtype={self._dtype.name})"


# Type checkers must report missing names.
if not TYPE_CHECKING:
    _lacking = module_getattr(__name__, globals(), {})

    def __getattr__(name: str) -> Any:
        """Return ``ParameterDict``, which MXNet's module of this name has too."""
        if name == "ParameterDict":
            from forerun.gluon.parameters import ParameterDict

            return ParameterDict
        return _lacking(name)
