"""Blocks that can be captured: ops are recorded at the first call and replayed in one call afterwards."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from forerun import _forerun
from forerun._capturing import thread
from forerun._forerun import Captured, Device, dtype, is_detached, ndarray
from forerun.gluon._watched import Incomparable, Watched, changed, watch
from forerun.gluon.block import Block
from forerun.gluon.functions import F
from forerun.gluon.parameter import epoch

__all__ = ["HybridBlock"]


class _Node(NamedTuple):
    """Placeholder for a list or tuple."""

    kind: type[Any]
    items: tuple[Any, ...]


class _Fixed(NamedTuple):
    """A value that is the same at every call, with its type, because 1 and True compare equal."""

    kind: type[Any]
    value: Any


class _Opaque(Exception):
    """An object may contain arrays that cannot be found."""


# The maximum number of traces per block; the least recently replayed one is evicted.
_MOST_TRACES = 64
_clock = itertools.count()
# After this many captures for other values without a replay in between, a block is no longer captured.
_MOST_CHANGES = 8


def _flatten(value: Any, arrays: dict[int, tuple[int, ndarray]]) -> Any:
    """Extract the arrays from nested lists and tuples, each once, by identity.

    Return the remaining structure, which is hashable; numbers stand for arrays.
    """
    kind = type(value)
    if kind is ndarray:
        return arrays.setdefault(id(value), (len(arrays), value))[0]
    if kind is tuple or kind is list:
        return _Node(kind, tuple([_flatten(item, arrays) for item in value]))
    if value is None or kind in (bool, int, float, str):
        return _Fixed(kind, value)
    raise _Opaque(f"{kind.__name__} goes in or comes out")


def _restore(form: Any, arrays: Sequence[ndarray]) -> Any:
    """Put arrays back into a structure."""
    if type(form) is int:
        return arrays[form]
    if type(form) is _Node:
        return form.kind([_restore(item, arrays) for item in form.items])
    return form.value


# Why a capture fails, if nothing else is known.
UNREPEATABLE = "it reads a value, writes into its inputs, or computes gradients"


class _Recorded(NamedTuple):
    """A capture if there is one, the result of the call, the structure of the result, and what prevents a replay."""

    captured: Captured | None
    result: Any
    form: Any
    obstacle: str | None


class _Trace:
    """A captured computation, the structure of its result, and when it was last replayed."""

    __slots__ = ("captured", "form", "used")

    def __init__(self, captured: Captured, form: Any, used: int) -> None:
        self.captured = captured
        self.form = form
        self.used = used


class HybridBlock(Block):
    """A block whose computation can be captured.

    A subclass defines ``forward(self, x)``, or ``hybrid_forward(self, F, x, **parameters)`` as in MXNet 1. After
    :meth:`hybridize`, the first call with given shapes and dtypes captures the ops that it submits, and later calls
    submit all of them at once. If a replay might give different results, because a value is read or because there are
    hooks, calls are not captured, and a warning gives the reason.

    A replay only submits ops. Captures are renewed when something that ``forward`` reads changes: parameters, children,
    hooks, attributes, global variables, variables of enclosing functions, and the contents of lists, dictionaries and
    objects among them. If something cannot be compared between calls, calls are not captured, and a warning names it.
    Side effects are not repeated: after ``self.last = x * 2`` the attribute keeps the value of the captured call. A
    result that is a view of an input becomes a copy. An array that ``forward`` reads both as an input and as a global
    variable counts as the input.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import HybridBlock
    >>> class Doubled(HybridBlock):
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(x) * 2
    >>> net = Doubled()
    >>> net.hybridize()
    >>> net(np.array([-1.0, 1.0])), net(np.array([2.0, -2.0]))
    (array([0., 2.]), array([4., 0.]))
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        self._traces: dict[Any, _Trace] = {}
        # The epoch of the traces.
        self._traced_at = -1
        # The reason why calls are not captured, if known.
        self._plain: str | None = None
        # Values that may change without notice, and how often they did since the last replay.
        self._watched: list[Watched] = []
        self._changes = 0
        # The structure, shapes, dtypes and devices of the inputs that were captured last.
        self._example: tuple[Any, list[tuple[tuple[int, ...], dtype, Device]]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omit captures: a copy has its own arrays."""
        return {**self.__dict__, "_traces": {}, "_traced_at": -1, "_watched": []}

    def hybridize(self, active: bool = True, **flags: Any) -> None:
        """Set whether to capture the computation at the first call and replay it afterwards.

        Parameters
        ----------
        active
            Whether to capture.
        **flags
            Accepted for compatibility with MXNet: ``static_alloc``, ``static_shape`` and others. Ignored.
        """
        self._active = active
        self._plain = None
        self._traced_at = -1
        super().hybridize(active, **flags)

    def optimize_for(self, x: Any, *inputs: Any, backend: str | None = None, clear: bool = False, **flags: Any) -> Any:
        """Capture the computation for these inputs, and return its result.

        Parameters
        ----------
        x, *inputs
            The inputs.
        backend
            ``None``: the engine itself fuses and plans ops. There are no other backends.
        clear
            Whether to drop earlier captures.
        **flags
            Accepted for compatibility with MXNet, as in :meth:`hybridize`.

        Examples
        --------
        >>> from forerun import np
        >>> from forerun.gluon import nn
        >>> net = nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.optimize_for(np.ones((4, 3))).shape
        (4, 2)
        """
        if backend:
            raise ValueError(f"optimize_for: there is no backend {backend!r}; the engine needs none")
        if clear or not self._active:
            self.hybridize(True, **flags)
        # The first call may initialise parameters, and is not captured then.
        self(x, *inputs)
        return self(x, *inputs)

    def infer_type(self, *inputs: Any) -> None:
        """Change the dtype of the parameters to that of the first float input, as :meth:`cast` does.

        Examples
        --------
        >>> from forerun import np
        >>> from forerun.gluon import nn
        >>> net = nn.Dense(2, in_units=3)
        >>> net.infer_type(np.ones((4, 3), "float16"))
        >>> net.weight
        Parameter weight (shape=(2, 3), dtype=float16)
        """
        found: dict[int, tuple[int, ndarray]] = {}
        _flatten(inputs, found)
        for _, array in found.values():
            if array.dtype.kind == "f":
                self.cast(array.dtype)
                return
        raise ValueError(f"infer_type: {type(self).__name__} got no float array")

    def infer_shape(self, *inputs: Any) -> None:
        """Set the shapes of all parameters, the children's included, from inputs. No parameter is initialised.

        Examples
        --------
        >>> from forerun import np
        >>> from forerun.gluon import nn
        >>> net = nn.HybridSequential()
        >>> net.add(nn.Dense(4), nn.Dense(2))
        >>> net.infer_shape(np.ones((8, 3)))
        >>> net[0].weight.shape, net[1].weight.shape
        ((4, 3), (2, 4))
        """
        if any(not parameter._known() for parameter in self._reg_params.values()):
            super().infer_shape(*inputs)
        from forerun.gluon._inference import infer_shapes

        infer_shapes(self, inputs)

    def export(
        self,
        path: str | os.PathLike[str],
        epoch: int = 0,
        remove_amp_cast: bool = True,
        *,
        inputs: Sequence[Any] | None = None,
        batch_axis: int | Sequence[int | None] | None = 0,
    ) -> tuple[str, str]:
        """Write the computation and the parameters to files that :class:`SymbolBlock` and Rust programs run.

        The block is traced in prediction mode: dropout does nothing, and batch normalisation uses its running
        statistics. ``docs/export.md`` describes the files, ``path-symbol.json`` and ``path-0000.params``.

        Parameters
        ----------
        path
            The beginning of the names of the files.
        epoch
            The number in the name of the parameter file.
        remove_amp_cast
            Accepted for compatibility with MXNet. Ignored.
        inputs
            Example inputs. Without them the block must have been hybridized and called.
        batch_axis
            The axis of the inputs along which the batch size may change, or one for each input, or ``None`` for fixed
            shapes. A single axis applies to the inputs whose extent there equals that of the first input. If the
            computation does not allow other batch sizes, a warning names the line, and the shapes are fixed.

        Returns
        -------
        tuple
            The names of the two files.

        Examples
        --------
        >>> import os, tempfile
        >>> from forerun import gluon, np
        >>> net = gluon.nn.Dense(2, in_units=3)
        >>> net.initialize("ones")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     symbol, params = net.export(os.path.join(folder, "net"), inputs=[np.ones((4, 3))])
        ...     again = gluon.SymbolBlock.imports(symbol, ["data"], params)
        >>> again(np.ones((1, 3)))
        array([[3., 3.]])
        """
        from forerun.gluon._export import export

        return export(self, os.fspath(path), epoch, inputs, batch_axis)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Replay the capture, or call ``forward``."""
        if named:
            inputs, named = self._place(inputs, named)
        if not self._active or thread.capturing or named:
            return super().__call__(*inputs, **named)
        if self._traced_at != epoch.now and not self._prepare():
            # Parameters get their shapes in this call. It is not captured, but it shows what inputs look like.
            found: dict[int, tuple[int, ndarray]] = {}
            with contextlib.suppress(_Opaque):
                self._remember(_flatten(inputs, found), [array for _, array in found.values()])
            return super().__call__(*inputs)
        if self._plain is not None or (self._watched and not self._is_unchanged()):
            return super().__call__(*inputs)
        found = {}
        try:
            form = _flatten(inputs, found)
        except _Opaque as opaque:
            self._stay_plain(str(opaque))
            return super().__call__(*inputs)
        arrays = [array for _, array in found.values()]
        metas = tuple([(array.shape, array.dtype, array.device, is_detached(array)) for array in arrays])
        # The device for arrays created inside: by default that of the inputs.
        place = None if arrays else _forerun.current_device()
        key = (form, metas, place, _forerun.is_training(), _forerun.is_recording())
        trace = self._traces.get(key)
        if trace is None:
            # A capture identifies arrays by their elements: it would mistake the block's own array for the input.
            if any(_forerun.shares_cell(own, array) for own in self._own_arrays() for array in arrays):
                return super().__call__(*inputs)
            return self._capture(key, form, arrays)
        trace.used = next(_clock)
        if self._changes:
            self._changes = 0
        return _restore(trace.form, trace.captured.replay(arrays))

    def _remember(self, form: Any, arrays: list[ndarray]) -> None:
        """Keep what the inputs of a call look like, for ``export``."""
        self._example = (form, [(array.shape, array.dtype, array.device) for array in arrays])

    def _is_unchanged(self) -> bool:
        """Drop captures if what they read has changed; return whether calls may still be captured."""
        where = changed(self._watched)
        if where is None:
            return True
        self._traces.clear()
        self._watched = []
        self._changes += 1
        if self._changes > _MOST_CHANGES:
            self._stay_plain(f"{where} changes at every call")
            return False
        return True

    def _prepare(self) -> bool:
        """Drop captures of an earlier epoch; return whether the block is ready to be captured."""
        self._traces.clear()
        self._watched = []
        # A call that initialises parameters is not captured, because a replay would initialise them again.
        if any(not parameter._data for parameter in self.collect_params().values()):
            return False
        self._traced_at = epoch.now
        hooked = [
            block for block in self._blocks() if block._forward_hooks or block._forward_pre_hooks or block._op_hooks
        ]
        if hooked:
            self._stay_plain(f"{type(hooked[0]).__name__} has hooks, which see every call")
        else:
            self._plain = None
        return True

    def _blocks(self) -> list[Block]:
        blocks: list[Block] = []
        self.apply(blocks.append)
        return blocks

    def _own_arrays(self) -> list[ndarray]:
        """Return the arrays of parameters and attributes, of this block and all its descendants."""
        own = [array for parameter in self.collect_params().values() for array in parameter.list_data()]
        return own + [value for block in self._blocks() for value in vars(block).values() if type(value) is ndarray]

    def _stay_plain(self, why: str) -> None:
        if self._plain is None:
            warnings.warn(f"{type(self).__name__} is not captured: {why}", stacklevel=4)
        self._plain = why

    def _record(self, form: Any, arrays: list[ndarray]) -> _Recorded:
        """Call ``forward`` and capture the submitted ops."""
        result: Any = None
        result_form: Any = None
        opaque: str | None = None

        def function(*given: ndarray) -> list[ndarray]:
            nonlocal result, result_form, opaque
            outputs: dict[int, tuple[int, ndarray]] = {}
            result = Block.__call__(self, *_restore(form, given))
            try:
                result_form = _flatten(result, outputs)
            except _Opaque as error:
                opaque = str(error)
            return [array for _, array in outputs.values()]

        thread.capturing, thread.obstacle = True, None
        try:
            captured, _ = _forerun.capture(function, arrays)
        finally:
            thread.capturing = False
        return _Recorded(captured, result, result_form, thread.obstacle or opaque)

    def _capture(self, key: Any, form: Any, arrays: list[ndarray]) -> Any:
        """Call ``forward`` and keep the submitted ops if they can be replayed."""
        self._remember(form, arrays)
        captured, result, result_form, obstacle = self._record(form, arrays)
        if captured is None and obstacle is None:
            if any(_forerun.shares_cell(x, y) for x, y in itertools.combinations(arrays, 2)):
                # It is unknown which of them was read. The next call may be captured.
                return result
            obstacle = UNREPEATABLE
        if obstacle is not None:
            self._stay_plain(obstacle)
        elif captured is not None and self._traced_at == epoch.now and self._watch():
            if len(self._traces) == _MOST_TRACES:
                del self._traces[min(self._traces, key=lambda key: self._traces[key].used)]
            self._traces[key] = _Trace(captured, result_form, next(_clock))
            for block in self._blocks():
                block._captured = True
        return result

    def _watch(self) -> bool:
        """Record what the computation reads; return whether it can be compared between calls."""
        try:
            self._watched = watch(self._blocks())
        except Incomparable as error:
            self._stay_plain(str(error))
            return False
        return True

    def _signature(self) -> inspect.Signature:
        """Return the signature of a call: with ``hybrid_forward``, without the namespace and parameters."""
        if type(self).forward is not HybridBlock.forward:
            return super()._signature()
        signature = inspect.signature(self.hybrid_forward)
        _, *rest = signature.parameters.values()
        return signature.replace(parameters=[given for given in rest if given.name not in self._reg_params])

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the output, by default with ``hybrid_forward``."""
        parameters = {name: parameter.data() for name, parameter in self._reg_params.items()}
        return self.hybrid_forward(F, *inputs, **named, **parameters)

    def hybrid_forward(self, F: Any, *inputs: Any, **parameters: Any) -> Any:
        """Compute the output from a namespace of functions, the inputs and the parameters' arrays, as in MXNet 1."""
        raise NotImplementedError(f"{type(self).__name__} has neither forward nor hybrid_forward")
