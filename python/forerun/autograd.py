"""Automatic differentiation of ops recorded inside ``record``.

Recording and training mode are settings of the current thread. ``attach_grad`` or :func:`mark_variables` gives an array
a gradient; ``backward`` computes it.

Examples
--------
>>> from forerun import autograd, np
>>> x = np.array([1.0, 2.0])
>>> x.attach_grad()
>>> with autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad
array([2., 4.])
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Sequence
from typing import Any

from forerun import _fail, _forerun
from forerun._capturing import object_to_replay
from forerun._forerun import is_recording, is_training, ndarray, set_training
from forerun._missing import module_getattr as _module_getattr

__all__ = [
    "Function",
    "backward",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def set_recording(is_record: bool) -> bool:
    """Turn recording on or off for this thread, and return the former setting.

    Examples
    --------
    >>> from forerun import autograd
    >>> autograd.set_recording(True), autograd.set_recording(False)
    (False, True)
    """
    former = _forerun.set_recording(is_record)
    if former is not is_record:
        object_to_replay("it switches recording on or off")
    return former


class _Scope:
    """Settings of the thread inside a ``with`` block; ``None`` leaves a setting unchanged."""

    __slots__ = ("_former", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        # The previous settings, one entry per nested use: the scope may be entered again inside itself.
        self._former: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._former.append((is_recording(), is_training()))
        if self._recording is not None:
            set_recording(self._recording)
        if self._training is not None:
            set_training(self._training)

    def __exit__(self, *exception: object) -> None:
        recording, training = self._former.pop()
        if self._recording is not None:
            _forerun.set_recording(recording)
        if self._training is not None:
            set_training(training)


def record(train_mode: bool = True) -> _Scope:
    """Record the ops of a ``with`` block, so that they can be differentiated.

    Parameters
    ----------
    train_mode
        Whether layers such as dropout behave as in training.

    Examples
    --------
    >>> from forerun import autograd
    >>> with autograd.record():
    ...     autograd.is_recording(), autograd.is_training()
    (True, True)
    """
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """Pause recording inside a ``with`` block.

    Examples
    --------
    >>> from forerun import autograd
    >>> with autograd.record(), autograd.pause():
    ...     autograd.is_recording(), autograd.is_training()
    (False, False)
    """
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """Set training mode inside a ``with`` block, without changing whether ops are recorded.

    Examples
    --------
    >>> from forerun import autograd
    >>> with autograd.train_mode():
    ...     autograd.is_training(), autograd.is_recording()
    (True, False)
    """
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """Set prediction mode inside a ``with`` block, without changing whether ops are recorded.

    Examples
    --------
    >>> from forerun import autograd
    >>> with autograd.record(), autograd.predict_mode():
    ...     autograd.is_training(), autograd.is_recording()
    (False, True)
    """
    return _Scope(None, False)


def mark_variables(
    variables: ndarray | Sequence[ndarray],
    gradients: ndarray | Sequence[ndarray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Attach existing arrays as gradients.

    Parameters
    ----------
    variables, gradients
        Arrays of equal shapes, one gradient per variable.
    grad_reqs
        What ``backward`` does with a gradient: ``"write"``, ``"add"`` or ``"null"``; one for all, or one per variable.

    Examples
    --------
    >>> from forerun import autograd, np
    >>> x, dx = np.array([3.0]), np.zeros((1,))
    >>> autograd.mark_variables([x], [dx])
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> dx
    array([6.])
    """
    if isinstance(variables, ndarray):
        variables = [variables]
    if isinstance(gradients, ndarray):
        gradients = [gradients]
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    object_to_replay("it marks variables")
    _forerun.mark_variables(variables, gradients, grad_reqs)


def _pair(
    op: str, heads: ndarray | Sequence[ndarray], head_grads: ndarray | Sequence[ndarray | None] | None
) -> tuple[list[ndarray], list[ndarray | None]]:
    """Pair each head with its gradient or None."""
    heads = [heads] if isinstance(heads, ndarray) else list(heads)
    if head_grads is None:
        return heads, [None] * len(heads)
    head_grads = [head_grads] if isinstance(head_grads, ndarray) else list(head_grads)
    if len(heads) != len(head_grads):
        raise ValueError(f"{op}: {len(heads)} heads but {len(head_grads)} head gradients")
    return heads, head_grads


def backward(
    heads: ndarray | Sequence[ndarray],
    head_grads: ndarray | Sequence[ndarray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Compute the gradients of heads with respect to all arrays that have a gradient attached.

    Parameters
    ----------
    heads
        The arrays to differentiate.
    head_grads
        The gradient of each head; ones if not given.
    retain_graph
        Whether to keep the graph for another backward pass.
    train_mode
        Whether training mode is set while the gradients are computed.

    Examples
    --------
    >>> from forerun import autograd, np
    >>> x = np.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y, z = x * 2, x * 3
    >>> autograd.backward([y, z], [np.array([1.0, 10.0]), None])
    >>> x.grad
    array([ 5., 23.])
    """
    heads, head_grads = _pair("backward", heads, head_grads)
    object_to_replay("it computes gradients")
    with _Scope(None, train_mode):
        _forerun.backward(heads, head_grads, retain_graph)


def grad(
    heads: ndarray | Sequence[ndarray],
    variables: ndarray | Sequence[ndarray],
    head_grads: ndarray | Sequence[ndarray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[ndarray]:
    """Return the gradients of heads with respect to variables, without changing ``x.grad``.

    Parameters
    ----------
    heads
        The arrays to differentiate.
    variables
        The arrays to differentiate with respect to. A single array gives a list of one, as in MXNet.
    head_grads
        The gradient of each head; ones if not given.
    retain_graph
        Whether to keep the graph for another backward pass; defaults to ``create_graph``.
    create_graph
        Whether to record the computation of the gradients, so that they can be differentiated.
    train_mode
        Whether training mode is set while the gradients are computed.

    Examples
    --------
    >>> from forerun import autograd, np
    >>> x = np.array([2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * x * x
    ...     dx = autograd.grad(y, x, create_graph=True)[0]
    >>> dx.backward()
    >>> dx, x.grad
    (array([12.]), array([12.]))
    """
    heads, head_grads = _pair("grad", heads, head_grads)
    variables = [variables] if isinstance(variables, ndarray) else list(variables)
    if not variables:
        raise ValueError("grad: no variables")
    retain = create_graph if retain_graph is None else retain_graph
    object_to_replay("it computes gradients")
    with _Scope(None, train_mode):
        return _forerun.gradients(heads, variables, head_grads, retain, create_graph)


class Function:
    """A function with a user-defined gradient.

    Subclasses define ``forward`` and ``backward``. Neither is recorded. Use an object for one call only: it holds the
    values that ``forward`` saved for ``backward``.

    Examples
    --------
    >>> from forerun import autograd, np
    >>> class Clamped(autograd.Function):
    ...     def forward(self, x):
    ...         self.save_for_backward(x)
    ...         return np.maximum(x, 0)
    ...
    ...     def backward(self, dy):
    ...         (x,) = self.saved_tensors
    ...         return dy * (x > 0)
    >>> x = np.array([-1.0, 2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = Clamped()(x)
    >>> y.backward()
    >>> x.grad
    array([0., 1.])
    """

    # Class attributes, so that subclasses need not call ``super().__init__()``.
    _saved: tuple[ndarray, ...] = ()
    _called = False

    def save_for_backward(self, *arrays: ndarray) -> None:
        """Save the current values of arrays for ``backward``; later writes do not change them."""
        self._saved = tuple([_forerun.freeze(array) for array in arrays])

    @property
    def saved_tensors(self) -> tuple[ndarray, ...]:
        """The arrays that ``forward`` saved."""
        return self._saved

    def __call__(self, *inputs: Any) -> Any:
        """Call ``forward``, and record the call as one op if the thread is recording.

        Gradients flow to the inputs that are float or complex arrays. Others, such as index arrays and numbers, are
        passed to ``forward`` alike; ``backward`` returns ``None`` for them.
        """
        if self._called:
            raise RuntimeError(f"{type(self).__name__}: a Function object can be called only once; create another")
        self._called = True
        recording = _forerun.set_recording(False)
        try:
            _fail.point("function.forward")
            result = self.forward(*inputs)
        finally:
            _forerun.set_recording(recording)
        if not recording:
            return result
        object_to_replay(f"{type(self).__name__} has a gradient of its own")
        single = isinstance(result, ndarray)
        places = [place for place, value in enumerate(inputs) if isinstance(value, ndarray)]
        arrays = [inputs[place] for place in places]
        callback = self._gradients(len(inputs), places)
        outputs = _forerun.record_function(arrays, [result] if single else result, callback)
        return outputs[0] if single else type(result)(outputs)

    def _gradients(self, inputs: int, places: list[int]) -> Any:
        """Make the callback that receives the gradients of the outputs and returns those of the arrays."""

        def callback(out_grads: Sequence[ndarray]) -> Sequence[ndarray | None]:
            given = self.backward(*out_grads)
            grads = [given] if given is None or isinstance(given, ndarray) else list(given)
            if len(grads) != inputs:
                name = type(self).__name__
                raise ValueError(f"{name}.backward: {len(grads)} gradients for {inputs} inputs")
            return [grads[place] for place in places]

        return callback

    def forward(self, *inputs: Any) -> Any:
        """Compute the outputs: an array, or a list or tuple of them. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, *out_grads: ndarray) -> Any:
        """Compute the gradient of each input from those of the outputs; ``None`` for none. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no backward")


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
