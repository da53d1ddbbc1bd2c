"""The trainer: applies an optimiser to all parameters in one call per step.

Invariant: the copies of a parameter on several devices stay equal bit for bit. Gradients are summed in the order of the
devices, whichever finishes first, and every device applies the same update.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from forerun import _forerun, _steps, np, optimizer
from forerun._forerun import Device, ndarray
from forerun._refused import refused
from forerun.gluon.block import Block
from forerun.gluon.parameter import Parameter
from forerun.optimizer import states as stored

__all__ = ["Trainer"]


class Trainer:
    """Update parameters with an optimiser.

    Parameters
    ----------
    params
        Parameters, from ``collect_params`` or as a list.
    optimizer
        An optimiser or its name, such as ``"sgd"`` or ``"adam"``: any class of ``forerun.optimizer``.
    optimizer_params
        Arguments of the optimiser.
    kvstore, compression_params, update_on_kvstore
        Accepted for compatibility with MXNet: devices of one process need no store.

    Examples
    --------
    >>> from forerun import autograd, gluon, np
    >>> weight = gluon.Parameter("weight", shape=(2,), init="ones")
    >>> weight.initialize()
    >>> trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.25})
    >>> with autograd.record():
    ...     y = weight.data() * 2
    >>> y.backward()
    >>> trainer.step(batch_size=1)
    >>> weight.data()
    array([0.5, 0.5])
    """

    def __init__(
        self,
        params: Mapping[str, Parameter] | Iterable[Parameter],
        optimizer: str | optimizer.Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = None,
        compression_params: Any = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if isinstance(params, Block):
            raise TypeError(
                f"Trainer: params must be parameters, not the {type(params).__name__} itself: pass its collect_params()"
            )
        if isinstance(params, Mapping):
            params = params.values()
        if not isinstance(params, Iterable):
            raise TypeError(f"Trainer: params are a mapping or a list of parameters, not {type(params).__name__}")
        # A shared parameter has several names, and is updated once per step.
        self._params = list({id(parameter): parameter for parameter in params}.values())
        for parameter in self._params:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"Trainer: params are parameters, not {type(parameter).__name__}")
        # The optimiser's states of each parameter, by device.
        self._states: dict[int, dict[Device, Any]] = {}
        self._optimizer = _make(optimizer, optimizer_params or {})
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._scale = self._unscaled = self._optimizer.rescale_grad
        # Mixed precision: skips steps whose gradients overflow.
        self._loss_scaler: Any = None

    @property
    def optimizer(self) -> optimizer.Optimizer:
        """The optimiser."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; raise if a scheduler controls it."""
        self._optimizer.set_learning_rate(lr)

    def allreduce_grads(self) -> None:
        """Replace the gradient on each device by the sum over all devices.

        For programs that read or change gradients before :meth:`update`; :meth:`step` does both.
        """
        for parameter in self._params:
            if len(parameter._data) < 2 or parameter.grad_req == "null":
                continue
            fresh = _forerun.fresh_gradients(parameter._data)
            # A device without samples in this step has an old gradient, which is ignored.
            grads = [array for array, new in zip(parameter.list_grad(), fresh, strict=True) if new]
            if not grads:
                continue
            total = grads[0]
            for other in grads[1:]:
                total = total + other.as_in_ctx(total.device)
            for grad in parameter.list_grad():
                grad[:] = total

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update the parameters with their gradients divided by the batch size.

        Parameters
        ----------
        batch_size
            The divisor of the gradients.
        ignore_stale_grad
            Whether to skip parameters without a new gradient since the last step, instead of raising.
        """
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update the parameters without summing gradients over devices; for the arguments see :meth:`step`."""
        if not batch_size > 0:
            raise ValueError(f"step: gradients are divided by batch_size, which must be positive, got {batch_size}")
        if self._loss_scaler is not None and self._loss_scaler.has_overflow(self._params):
            _forerun.use_gradients([weight for parameter in self._params for weight in parameter._data])
            _steps.ended()
            return
        self._optimizer.rescale_grad = self._scale / batch_size
        indices: list[int] = []
        weights: list[ndarray] = []
        grads: list[ndarray] = []
        states: list[Any] = []
        for index, parameter in self._with_gradients(ignore_stale_grad):
            data = parameter._data
            indices += [index] * len(data)
            weights += data
            grads += [parameter._grad_of(weight) for weight in data]
            known = self._states.get(index)
            if known is None or list(known) != [weight.device for weight in data]:
                known = self._states[index] = self._new_states(index, known, data)
            states += known.values()
        if weights:
            self._optimizer.update_multi_precision(indices, weights, grads, states)
            _forerun.use_gradients(weights)
        _steps.ended()

    def _new_states(self, index: int, known: dict[Device, Any] | None, data: list[ndarray]) -> dict[Device, Any]:
        """Return new optimiser states of a parameter, one per device."""
        if known is None:
            create = self._optimizer.create_state_multi_precision
            return {weight.device: create(index, weight) for weight in data}
        first = next(iter(known.values()))
        return {weight.device: _copied(first, weight.device) for weight in data}

    def restore(self) -> int:
        """Undo the steps that failed; return how many.

        After a bad batch the weights that it would have updated have failed, and so has every later step. This restores
        the parameters, the optimiser's states and its update counts to the state before the first failed step, so that
        training continues as if the batch had not existed. Waits. A parameter whose gradient did not depend on the
        failure keeps its step.

        Examples
        --------
        >>> from forerun import autograd, gluon, np
        >>> weight = gluon.Parameter("weight", shape=(2,), init="ones")
        >>> weight.initialize()
        >>> trainer = gluon.Trainer([weight], "adam")
        >>> with autograd.record():
        ...     y = np.take(weight.data(), np.array([0, 7]))
        >>> y.backward()
        >>> trainer.step(batch_size=1)
        >>> try:
        ...     print(y)
        ... except IndexError:
        ...     trainer.restore()
        1
        >>> weight.data()
        array([1., 1.])
        """
        counts = self._optimizer.counts
        most = 0
        for index, parameter in enumerate(self._params):
            if not parameter._data:
                continue
            taken = parameter._restore()
            if index not in counts:
                continue
            steps = taken // self._optimizer.writes(index)
            counts[index] -= steps
            most = max(most, steps)
            if counts[index] == self._optimizer.begin_num_update:
                # The step that created the states is undone, so drop them, even if they did not fail.
                self._states.pop(index, None)
            for states in self._states.get(index, {}).values():
                for state in stored.flat(states):
                    state.restore()
        if most:
            self._optimizer.num_update = max(self._optimizer.begin_num_update, *counts.values())
        return most

    def _with_gradients(self, ignore_stale_grad: bool) -> list[tuple[int, Parameter]]:
        """Return the parameters to update and their indices; raise for a gradient from before the last step."""
        learnt = [(i, p) for i, p in enumerate(self._params) if p._grad_req != "null"]
        if ignore_stale_grad:
            # A new gradient on one device is sufficient.
            return [(i, p) for i, p in learnt if any(_forerun.fresh_gradients(p._data))]
        if all(_forerun.fresh_gradients([weight for _, p in learnt for weight in p.list_data()])):
            return learnt
        for _, parameter in learnt:
            data = parameter.list_data()
            fresh = _forerun.fresh_gradients(data)
            if not all(fresh):
                where = f" on {data[fresh.index(False)].device}" if len(data) > 1 else ""
                raise UserWarning(
                    f"step: parameter {parameter._path} got no gradient from backward{where} since the last step:"
                    " was it used in the forward pass? ignore_stale_grad=True skips it"
                )
        return learnt

    def save_states(self, fname: str | os.PathLike[str]) -> None:
        """Write the optimiser's states to a file, in the safetensors format.

        Parameters
        ----------
        fname
            The file. It is replaced atomically.
        """
        # All devices have equal states.
        states = {index: next(iter(own.values())) for index, own in self._states.items()}
        stored.save(fname, self._optimizer, states)

    def load_states(self, fname: str | os.PathLike[str]) -> None:
        """Read the optimiser's states from a file.

        Parameters
        ----------
        fname
            The file, written by a trainer of the same parameters and the same kind of optimiser.
        """
        where = f"load_states: {os.fspath(fname)}"
        arrays, counts, num_update = stored.load(fname, self._optimizer, where)
        if any(not 0 <= index < len(self._params) for index in counts):
            raise refused(f"{where}: {len(counts)} parameters were updated, the trainer has {len(self._params)}")
        states: dict[int, dict[Device, Any]] = {}
        for index, parameter in enumerate(self._params):
            if not parameter._known():
                # Its arrays, if there are any, are reported below.
                continue
            weight = parameter._data[0] if parameter._data else np.zeros(parameter.shape or (), parameter.dtype)
            state = stored.take(self._optimizer, index, weight, arrays, where)
            if state is not None:
                states[index] = {stored.flat(state)[0].device: state}
        if arrays:
            raise refused(f"{where}: {min(arrays)!r} does not belong to a parameter of known shape")
        self._states = states
        self._optimizer.counts = counts
        self._optimizer.num_update = num_update


def _copied(state: Any, device: Device) -> Any:
    return stored.mapped(lambda array: array.copyto(device), state)


def _make(given: str | optimizer.Optimizer, arguments: Mapping[str, Any]) -> optimizer.Optimizer:
    return optimizer.create(given, **arguments)
