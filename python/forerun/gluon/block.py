"""Blocks: what layers, losses and networks are. A block has parameters, children, and a forward computation."""

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
from forerun.gluon._watched import is_same, reads
from forerun.gluon.parameter import DeferredInitializationError, Parameter, epoch
from forerun.gluon.parameters import ParameterDict, load_into
from forerun.init import Initializer, Uniform

__all__ = ["Block", "HookHandle"]

_Self = TypeVar("_Self", bound="Block")
_numbers: dict[str, itertools.count[int]] = {}


class HookHandle:
    """What registering a hook returns: ``detach`` takes the hook away, and so does the end of a ``with`` block."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        hooks[id(self)] = hook
        epoch.now += 1

    def detach(self) -> None:
        """Take the hook away."""
        if self._hooks.pop(id(self), None) is not None:
            epoch.now += 1

    def __enter__(self) -> HookHandle:
        """Do nothing: the hook is there already."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Take the hook away."""
        self.detach()


class Block:
    """The base of layers and networks.

    A subclass makes its children and parameters in ``__init__``, as attributes, and defines ``forward``.

    Parameters
    ----------
    prefix
        What the block's name is made of, as in MXNet 1. Names of parameters come from the structure.
    params
        Parameters to use in place of the block's own ones of the same names.

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

    # Whether a capture was taken that this block is part of, and the attributes that `forward` itself set meanwhile.
    _captured = False
    _kept: frozenset[str] = frozenset()

    def __init__(self, prefix: str | None = None, params: Mapping[str, Parameter] | None = None) -> None:
        self._children: dict[str, Block] = {}
        self._reg_params = ParameterDict()
        self._forward_hooks: dict[int, Callable[..., Any]] = {}
        self._forward_pre_hooks: dict[int, Callable[..., Any]] = {}
        self._prefix = prefix
        self._given = params
        # Whether every parameter of the block itself is known to hold data.
        self._settled = False

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a block becomes a child, a parameter one of this block's."""
        former = self.__dict__.get(name)
        if isinstance(value, ndarray) or isinstance(former, ndarray):
            self._note_array(name)
        elif self._captured or thread.capturing:
            self._note_plain(name, former, value)
        # What is replaced by its like keeps its place in the order.
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
        """Let captures be taken anew: they read arrays, not attributes. What ``forward`` keeps, they do not read."""
        if thread.capturing:
            self._kept |= {name}
        elif self._captured and name not in self._kept:
            epoch.now += 1

    def _note_plain(self, name: str, former: Any, value: Any) -> None:
        """Let captures be taken anew if they read what changes. What ``forward`` keeps, they do not read."""
        if thread.capturing:
            self.__dict__["_kept"] = self._kept | {name}
        elif name not in self._kept and not is_same(former, value) and reads(type(self), name):
            epoch.now += 1

    def __delattr__(self, name: str) -> None:
        """Delete an attribute; a block is no child any more, a parameter none of this block's."""
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
        # What `params.get` made is known by the name of its attribute from now on.
        for made in [made for made in registered._unclaimed if registered[made] is parameter]:
            registered._unclaimed.discard(made)
            del registered[made]
        registered[name] = parameter
        self._settled = False
        epoch.now += 1
        return parameter

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block a child of this one; without a name, under its number."""
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

    def __repr__(self) -> str:
        """Write the class and, indented, the children."""
        lines = [f"  ({name}): {_indented(repr(child))}" for name, child in self._children.items()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    @property
    def name(self) -> str:
        """A name of the block's own: its prefix, or its class in lower case and a number."""
        if self._prefix is None:
            kind = type(self).__name__.lower()
            self._prefix = f"{kind}{next(_numbers.setdefault(kind, itertools.count()))}_"
        return self._prefix.removesuffix("_")

    @property
    def prefix(self) -> str:
        """The name with an underscore, as in MXNet 1."""
        return f"{self.name}_"

    def name_scope(self) -> AbstractContextManager[None]:
        """Accept the ``with`` block around children that MXNet 1 asks for. Nothing changes."""
        return nullcontext()

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without its children's."""
        return self._reg_params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Return the parameters of the block and of everything below it, by their names in the structure.

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
        """Initialise the parameters of the block and of everything below it.

        Parameters
        ----------
        init
            The initialiser of parameters that have none of their own.
        ctx, device
            Where they live: a device, or several, each of which gets the same numbers.
        verbose
            Whether to print what each is initialised with.
        force_reinit
            Whether to start again those that are initialised already.

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
        """Call a function with every block below this one, and then with this one."""
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

    def share_parameters(self: _Self, shared: Mapping[str, Parameter]) -> _Self:
        """Use parameters of another block in place of this one's of the same names.

        Examples
        --------
        >>> from forerun.gluon import nn
        >>> first, second = nn.Dense(2, in_units=2), nn.Dense(2, in_units=2)
        >>> second.share_parameters(first.collect_params()).weight is first.weight
        True
        """
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
        """Let every :class:`HybridBlock` below capture its computation at the first call and replay it after.

        Parameters
        ----------
        active
            Whether to do so.
        **flags
            Accepted for programs written for MXNet.
        """
        for child in self._children.values():
            child.hybridize(active, **flags)

    def save_parameters(self, filename: str | os.PathLike[str], deduplicate: bool = False) -> None:
        """Write the parameters to a file, in the safetensors format.

        Parameters
        ----------
        filename
            The file. It is replaced as a whole.
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
            Where they shall live: a device, or several.
        allow_missing
            Whether parameters may be absent from the file.
        ignore_extra
            Whether the file may hold more.
        cast_dtype
            Whether a tensor of another dtype is converted.
        dtype_source
            With ``cast_dtype``: whose dtype stays, the parameter's (``"current"``) or the file's (``"saved"``).
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
        """Set the parameters from arrays by name; the arguments are those of :meth:`load_parameters`."""
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
        """Call the block and print its layers, the shapes of what they give, and how many parameters they have."""
        from forerun.gluon._summary import print_summary

        print_summary(self, inputs)

    def infer_shape(self, *inputs: Any) -> None:
        """Set the shapes of the block's own parameters from its inputs. Defined by a subclass that defers them."""
        waiting = [name for name, parameter in self._reg_params.items() if not parameter._known()]
        raise DeferredInitializationError(
            f"{type(self).__name__} does not say the shape of {', '.join(waiting)}:"
            " give the whole shape, or define infer_shape(self, *inputs)"
        )

    def _settle(self, inputs: tuple[Any, ...]) -> None:
        """Fill the parameters that waited for the shapes of the inputs."""
        parameters = self._reg_params.values()
        if any(parameter._deferred for parameter in parameters):
            self.infer_shape(*inputs)
            for parameter in parameters:
                parameter._finish_deferred_init()
        self._settled = all(parameter._data for parameter in parameters)

    def _signature(self) -> inspect.Signature:
        """Return what a call accepts."""
        return inspect.signature(self.forward)

    def _place(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give inputs that came by name their positions; return also those that have none."""
        try:
            bound = self._signature().bind(*inputs, **named)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        if bound.kwargs:
            # One of them may stand behind others that have defaults.
            bound.apply_defaults()
        return bound.args, bound.kwargs

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Call the hooks and ``forward``, with the device of the first input as the current one."""
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
        output = self.forward(*inputs, **named)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, inputs, output)
        return output

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the output. Defined by a subclass."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" for line in rest)])
