"""Blocks: layers, losses and networks. A block has parameters, children, and a forward computation."""

from __future__ import annotations

import inspect
import itertools
import os
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from forerun._capturing import thread
from forerun._device import DeviceLike
from forerun._forerun import elsewhere, ndarray
from forerun._types import DTypeLike
from forerun.gluon._op_hooks import OpHook, watched
from forerun.gluon._watched import is_same, reads
from forerun.gluon.parameter import DeferredInitializationError, Parameter, epoch
from forerun.gluon.parameters import ParameterDict, load_into
from forerun.init import Initializer, Uniform

__all__ = ["Block", "HookHandle"]

_Self = TypeVar("_Self", bound="Block")
_numbers: dict[str, itertools.count[int]] = {}


class HookHandle:
    """Handle of a registered hook: ``detach``, or the end of a ``with`` block, removes the hook."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        hooks[id(self)] = hook
        epoch.now += 1

    def detach(self) -> None:
        """Remove the hook."""
        if self._hooks.pop(id(self), None) is not None:
            epoch.now += 1

    def __enter__(self) -> HookHandle:
        """Do nothing: the hook is already registered."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the hook."""
        self.detach()


class Block:
    """Base class of layers and networks.

    A subclass creates its children and parameters as attributes in ``__init__``, and defines ``forward``.

    Parameters
    ----------
    prefix
        The prefix of the block's name, as in MXNet 1. Names of parameters follow from the structure.
    params
        Parameters that replace the block's own parameters of the same names.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import Block, nn
    >>> class Twice(Block):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.dense = nn.Dense(3, in_units=3)
    ...
    ...     def forward(self, x):
    ...         return self.dense(self.dense(x))
    >>> net = Twice()
    >>> net.initialize()
    >>> net(np.ones((2, 3))).shape
    (2, 3)
    >>> list(net.collect_params())
    ['dense.weight', 'dense.bias']
    """

    # Whether the block is part of a capture, and the attributes that `forward` itself set during it.
    _captured = False
    _kept: frozenset[str] = frozenset()

    def __init__(self, prefix: str | None = None, params: Mapping[str, Parameter] | None = None) -> None:
        self._children: dict[str, Block] = {}
        self._reg_params = ParameterDict()
        self._forward_hooks: dict[int, Callable[..., Any]] = {}
        self._forward_pre_hooks: dict[int, Callable[..., Any]] = {}
        self._op_hooks: dict[int, OpHook] = {}
        self._prefix = prefix
        self._given = params
        # Whether all parameters of the block itself are initialised.
        self._settled = False

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; register blocks as children and parameters as this block's own."""
        former = self.__dict__.get(name)
        if isinstance(value, ndarray) or isinstance(former, ndarray):
            self._note_array(name)
        elif self._captured or thread.capturing:
            self._note_plain(name, former, value)
        # A replaced block or parameter keeps its position in the order.
        if isinstance(former, (Block, Parameter)) and not isinstance(value, (Block, Parameter)):
            self._unregister(name)
        if isinstance(value, (Block, Parameter)):
            if "_reg_params" not in self.__dict__:
                raise RuntimeError(f"{type(self).__name__}: call super().__init__() before setting attributes")
            if isinstance(value, Block):
                self._reg_params.pop(name, None)
                self.register_child(value, name)
            else:
                self._children.pop(name, None)
                value = self._register_parameter(name, value)
        super().__setattr__(name, value)

    def _note_array(self, name: str) -> None:
        """Invalidate captures, which hold arrays, not attributes; attributes set by ``forward`` do not count."""
        if thread.capturing:
            self._kept |= {name}
        elif self._captured and name not in self._kept:
            epoch.now += 1

    def _note_plain(self, name: str, former: Any, value: Any) -> None:
        """Invalidate captures that read the changed attribute; attributes set by ``forward`` do not count."""
        if thread.capturing:
            self.__dict__["_kept"] = self._kept | {name}
        elif name not in self._kept and not is_same(former, value) and reads(type(self), name):
            epoch.now += 1

    def __delattr__(self, name: str) -> None:
        """Delete an attribute; unregister blocks and parameters."""
        self._unregister(name)
        super().__delattr__(name)

    def _unregister(self, name: str) -> None:
        self._children.pop(name, None)
        self._reg_params.pop(name, None)
        epoch.now += 1

    def _register_parameter(self, name: str, parameter: Parameter) -> Parameter:
        if self._given is not None:
            parameter = self._given.get(name, parameter)
        registered = self._reg_params
        # From now on, parameters created by `params.get` have the name of their attribute.
        for made in [made for made in registered._unclaimed if registered[made] is parameter]:
            registered._unclaimed.discard(made)
            del registered[made]
        registered[name] = parameter
        self._settled = False
        epoch.now += 1
        return parameter

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Register a block as a child, by name or else by its number."""
        self._children[str(len(self._children)) if name is None else name] = block
        epoch.now += 1

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after every forward computation.

        Examples
        --------
        >>> from forerun import np
        >>> from forerun.gluon import nn
        >>> net = nn.Flatten()
        >>> handle = net.register_forward_hook(lambda block, inputs, output: print(output.shape))
        >>> y = net(np.ones((2, 3, 4)))
        (2, 12)
        >>> handle.detach()
        """
        return HookHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before every forward computation."""
        return HookHandle(self._forward_pre_hooks, hook)

    def register_op_hook(self, callback: Callable[[str, str, ndarray], object], monitor_all: bool = False) -> OpHook:
        """Call ``callback(name, opr_name, array)`` for every op that the block and its descendants submit.

        The callback gets the array when the op is submitted. It does not wait: the array may not be computed yet, and
        only a callback that reads it waits. Ops that are submitted while the callback runs are not reported. The array
        has no gradient. While there is a hook, calls are not captured, and reported results are not fused away.

        Parameters
        ----------
        callback
            The function. ``name`` consists of the path of the block, the op, its number in the call of that block, and
            ``_output``; ``opr_name`` is the name of the op in ``docs/reference.md``.
        monitor_all
            Whether to report the inputs of ops too, as ``_input0``, ``_input1`` and so on.

        Returns
        -------
        OpHook
            A handle: ``detach``, or the end of a ``with`` block, removes the hook.

        Examples
        --------
        >>> from forerun import np
        >>> from forerun.gluon import nn
        >>> net = nn.Dense(2, in_units=3, use_bias=False, prefix="net_")
        >>> net.initialize()
        >>> with net.register_op_hook(lambda name, op, array: print(name, op, array.shape)):
        ...     y = net(np.ones((4, 3)))
        net.matmul0_output matmul (4, 2)
        """
        return OpHook(self, callback, monitor_all)

    def __repr__(self) -> str:
        """Return the class and, indented, the children."""
        lines = [f"  ({name}): {_indented(repr(child))}" for name, child in self._children.items()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    @property
    def name(self) -> str:
        """The name of the block: its prefix, or its class in lower case and a number."""
        if self._prefix is None:
            kind = type(self).__name__.lower()
            self._prefix = f"{kind}{next(_numbers.setdefault(kind, itertools.count()))}_"
        return self._prefix.removesuffix("_")

    @property
    def prefix(self) -> str:
        """The name with an underscore, as in MXNet 1."""
        return f"{self.name}_"

    def name_scope(self) -> AbstractContextManager[None]:
        """Return a context manager for compatibility with MXNet 1; it does nothing."""
        return nullcontext()

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without its children's."""
        return self._reg_params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Return the parameters of the block and all its descendants, by their structural names.

        Parameters
        ----------
        select
            A regular expression that the beginning of a name must match.

        Examples
        --------
        >>> from forerun.gluon import nn
        >>> net = nn.Sequential()
        >>> net.add(nn.Dense(4, in_units=3), nn.Dense(2, in_units=4))
        >>> net.collect_params(".*weight")
        ParameterDict(
          Parameter 0.weight (shape=(4, 3), dtype=float32)
          Parameter 1.weight (shape=(2, 4), dtype=float32)
        )
        """
        found = ParameterDict()
        self._collect(found, "")
        if select is None:
            return found
        pattern = re.compile(select)
        return ParameterDict((name, parameter) for name, parameter in found.items() if pattern.match(name))

    def _collect(self, found: ParameterDict, path: str) -> None:
        for name, parameter in self._reg_params.items():
            found[path + name] = parameter
        for name, child in self._children.items():
            child._collect(found, f"{path}{name}.")

    def initialize(
        self,
        init: str | Initializer = Uniform(),  # noqa: B008
        ctx: DeviceLike = None,
        verbose: bool = False,
        force_reinit: bool = False,
        *,
        device: DeviceLike = None,
    ) -> None:
        """Initialise the parameters of the block and all its descendants.

        Parameters
        ----------
        init
            The initialiser for parameters without their own.
        ctx, device
            The device, or several, each of which gets the same numbers.
        verbose
            Whether to print the initialiser of each parameter.
        force_reinit
            Whether to initialise parameters again that are already initialised.

        Examples
        --------
        >>> from forerun import init
        >>> from forerun.gluon import nn
        >>> net = nn.Dense(1, in_units=2)
        >>> net.initialize(init.Constant(3))
        >>> net.weight.data()
        array([[3., 3.]])
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit, device=device)

    def apply(self: _Self, fn: Callable[[Block], object]) -> _Self:
        """Call a function with every descendant block, and then with this one."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of every parameter."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._reg_params.values():
            parameter.cast(dtype)

    def zero_grad(self) -> None:
        """Set every gradient to zero."""
        self.collect_params().zero_grad()

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of every parameter, such as ``grad_req`` or ``lr_mult``."""
        self.collect_params().setattr(name, value)

    def reset_ctx(self, ctx: DeviceLike = None, *, device: DeviceLike = None) -> None:
        """Move every parameter to another device, or to several."""
        self.collect_params().reset_ctx(ctx, device=device)

    reset_device = reset_ctx

    def share_parameters(self: _Self, shared: Mapping[str, Parameter] | None) -> _Self:
        """Share parameters of another block that have the same names; with ``None``, share nothing.

        Examples
        --------
        >>> from forerun.gluon import nn
        >>> first, second = nn.Dense(2, in_units=2), nn.Dense(2, in_units=2)
        >>> second.share_parameters(first.collect_params()).weight is first.weight
        True
        """
        if shared is None:
            return self
        left = set(shared)
        self._share(shared, left, "")
        for name in sorted(left):
            warnings.warn(f"share_parameters: no parameter {name} in {type(self).__name__}", stacklevel=2)
        return self

    def _share(self, shared: Mapping[str, Parameter], left: set[str], path: str) -> None:
        for name in list(self._reg_params):
            if path + name in shared:
                setattr(self, name, shared[path + name])
                left.discard(path + name)
        for name, child in self._children.items():
            child._share(shared, left, f"{path}{name}.")

    def hybridize(self, active: bool = True, **flags: Any) -> None:
        """Make every :class:`HybridBlock` below capture its computation at the first call and replay it afterwards.

        Parameters
        ----------
        active
            Whether to capture.
        **flags
            Accepted for compatibility with MXNet.
        """
        for child in self._children.values():
            child.hybridize(active, **flags)

    def save_parameters(self, filename: str | os.PathLike[str], deduplicate: bool = False) -> None:
        """Write the parameters to a file, in the safetensors format.

        Parameters
        ----------
        filename
            The file. It is replaced atomically.
        deduplicate
            Whether a parameter with several names is written once.
        """
        parameters = self.collect_params()
        if deduplicate:
            first: dict[int, str] = {}
            for name, parameter in parameters.items():
                first.setdefault(id(parameter), name)
            parameters = ParameterDict((name, parameters[name]) for name in first.values())
        parameters.save(filename)

    def load_parameters(
        self,
        filename: str | os.PathLike[str],
        ctx: DeviceLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        *,
        device: DeviceLike = None,
    ) -> None:
        """Read the parameters from a file.

        Parameters
        ----------
        filename
            The file.
        ctx, device
            The device or devices to place them on.
        allow_missing
            Whether parameters may be missing from the file.
        ignore_extra
            Whether the file may contain additional arrays.
        cast_dtype
            Whether a tensor of another dtype is converted.
        dtype_source
            With ``cast_dtype``: whose dtype to keep, the parameter's (``"current"``) or the file's (``"saved"``).
        """
        self.collect_params().load(
            filename,
            ctx,
            allow_missing,
            ignore_extra,
            cast_dtype=cast_dtype,
            dtype_source=dtype_source,
            device=device,
        )

    def save(self, prefix: str | os.PathLike[str]) -> None:
        """Write the structure to ``prefix-model.json`` and the parameters to ``prefix-model.params``.

        Examples
        --------
        >>> import os, tempfile
        >>> from forerun.gluon import nn
        >>> first, second = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
        >>> first.initialize("ones")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first.save(os.path.join(folder, "net"))
        ...     second.load(os.path.join(folder, "net"))
        >>> second.weight.data()[0]
        array([1., 1., 1.])
        """
        from forerun.gluon._structure import write_structure

        self.save_parameters(f"{os.fspath(prefix)}-model.params")
        write_structure(self, f"{os.fspath(prefix)}-model.json")

    def load(self, prefix: str | os.PathLike[str]) -> None:
        """Read the parameters that :meth:`save` wrote for a block of the same structure.

        The classes of the blocks, their children and their parameters are compared first.
        """
        from forerun.gluon._structure import check_structure

        check_structure(self, f"{os.fspath(prefix)}-model.json")
        self.load_parameters(f"{os.fspath(prefix)}-model.params")

    def load_dict(
        self,
        param_dict: Mapping[str, ndarray],
        ctx: DeviceLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        *,
        device: DeviceLike = None,
    ) -> None:
        """Set the parameters from named arrays; for the arguments see :meth:`load_parameters`."""
        load_into(
            self.collect_params(),
            param_dict,
            "load_dict",
            ctx=ctx,
            device=device,
            allow_missing=allow_missing,
            ignore_extra=ignore_extra,
            cast_dtype=cast_dtype,
            dtype_source=dtype_source,
        )

    def summary(self, *inputs: Any) -> None:
        """Call the block and print its layers, their output shapes and numbers of parameters."""
        from forerun.gluon._summary import print_summary

        print_summary(self, inputs)

    def infer_shape(self, *inputs: Any) -> None:
        """Set the shapes of the block's own parameters from its inputs. Subclasses with deferred shapes define this."""
        waiting = [name for name, parameter in self._reg_params.items() if not parameter._known()]
        raise DeferredInitializationError(
            f"{type(self).__name__} does not determine the shape of {', '.join(waiting)}:"
            " give the whole shape, or define infer_shape(self, *inputs)"
        )

    def _settle(self, inputs: tuple[Any, ...]) -> None:
        """Initialise the parameters whose shapes depend on the inputs."""
        parameters = self._reg_params.values()
        if any(parameter._deferred for parameter in parameters):
            self.infer_shape(*inputs)
            for parameter in parameters:
                parameter._finish_deferred_init()
        self._settled = all(parameter._data for parameter in parameters)

    def _signature(self) -> inspect.Signature:
        """Return the signature of a call."""
        return inspect.signature(self.forward)

    def _place(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Convert keyword inputs to positional ones; also return those without a position."""
        try:
            bound = self._signature().bind(*inputs, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        if bound.kwargs:
            # A keyword argument may follow others that have defaults.
            bound.apply_defaults()
        return bound.args, bound.kwargs

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Call the hooks and ``forward``, with the device of the first input as the current device."""
        if named:
            inputs, named = self._place(inputs, named)
        place = elsewhere(inputs)
        if place is None:
            return self._call(inputs, named)
        with place:
            return self._call(inputs, named)

    def _call(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if not self._settled:
            self._settle(inputs)
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, inputs)
        if self._op_hooks:
            output = watched(self, list(self._op_hooks.values()), lambda: self.forward(*inputs, **named))
        else:
            output = self.forward(*inputs, **named)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, inputs, output)
        return output

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the output. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" for line in rest)])
