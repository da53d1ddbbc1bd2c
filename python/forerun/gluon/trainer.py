"""The trainer: applies an optimiser to parameters, all of them in one call a step.

Invariant: what a parameter holds on several devices stays equal, bit for bit. Its gradients are summed in the order of
its devices, whichever of them is done first, and every device makes the same update.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from forerun import _forerun, optimizer
from forerun._forerun import Device, ndarray
from forerun._refused import refused
from forerun.gluon.block import Block
from forerun.gluon.parameter import Parameter

__all__ = ["Trainer"]


class Trainer:
    """Changes parameters by their gradients.

    Parameters
    ----------
    params
        Parameters, as ``collect_params`` gives them, or a list.
    optimizer
        An optimiser or its name: ``"sgd"``, ``"adam"``, ``"adamw"``.
    optimizer_params
        Arguments of the optimiser of that name.
    kvstore, compression_params, update_on_kvstore
        Accepted for programs written for MXNet: devices of one process need no store.

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
                f"Trainer: params are those of a block, not the {type(params).__name__} itself: give it "
                "collect_params()"
            )
        if isinstance(params, Mapping):
            params = params.values()
        if not isinstance(params, Iterable):
            raise TypeError(f"Trainer: params are a mapping or a list of parameters, not {type(params).__name__}")
        # A shared parameter has several names, and takes one step.
        self._params = list({id(parameter): parameter for parameter in params}.values())
        for parameter in self._params:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"Trainer: params are parameters, not {type(parameter).__name__}")
        # What the optimiser remembers of each parameter, on each of its devices.
        self._states: dict[int, dict[Device, tuple[ndarray, ...]]] = {}
        self._optimizer = _make(optimizer, optimizer_params or {})
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._scale = self._optimizer.rescale_grad

    @property
    def optimizer(self) -> optimizer.Optimizer:
        """The optimiser."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate of now."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate, unless a scheduler does."""
        self._optimizer.set_learning_rate(lr)

    def allreduce_grads(self) -> None:
        """Make the gradient on each device the sum of those that backward gave on all of them.

        For programs that look at gradients, or change them, between this and :meth:`update`; :meth:`step` does both.
        """
        for parameter in self._params:
            if len(parameter._data) < 2 or parameter.grad_req == "null":
                continue
            fresh = _forerun.fresh_gradients(parameter._data)
            # A device that had no samples this time has an old gradient, which counts for nothing.
            grads = [array for array, new in zip(parameter.list_grad(), fresh, strict=True) if new]
            if not grads:
                continue
            total = grads[0]
            for other in grads[1:]:
                total = total + other.as_in_ctx(total.device)
            for grad in parameter.list_grad():
                grad[:] = total

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Change the parameters by their gradients divided by the size of the batch.

        Parameters
        ----------
        batch_size
            What gradients are divided by.
        ignore_stale_grad
            Whether parameters that got no gradient since the last step are passed over; else they are an error.
        """
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Change the parameters, without summing gradients over devices; the arguments are those of :meth:`step`."""
        if not batch_size > 0:
            raise ValueError(f"step: gradients are divided by batch_size, which must be positive, got {batch_size}")
        self._optimizer.rescale_grad = self._scale / batch_size
        indices: list[int] = []
        weights: list[ndarray] = []
        grads: list[ndarray] = []
        states: list[tuple[ndarray, ...]] = []
        for index, parameter in self._with_gradients(ignore_stale_grad):
            data = parameter._data
            indices += [index] * len(data)
            weights += data
            grads += [parameter._grad_of(weight) for weight in data]
            known = self._states.get(index)
            if known is None or list(known) != [weight.device for weight in data]:
                known = self._states[index] = self._new_states(known, data)
            states += known.values()
        if weights:
            self._optimizer.update(indices, weights, grads, states)
            _forerun.use_gradients(weights)

    def _new_states(
        self, known: dict[Device, tuple[ndarray, ...]] | None, data: list[ndarray]
    ) -> dict[Device, tuple[ndarray, ...]]:
        """Return what the optimiser remembers of a parameter on each of its devices; it follows where that goes."""
        if known is None:
            return {weight.device: self._optimizer.create_state(weight) for weight in data}
        first = next(iter(known.values()))
        return {weight.device: tuple(array.copyto(weight.device) for array in first) for weight in data}

    def restore(self) -> int:
        """Take back the steps that failed; return how many.

        If a batch was bad, the weights it would have changed have failed, and so has every step after it. This gives
        parameters, what the optimiser remembers, and its counts of updates back as they were before the first step that
        failed, so that training goes on as if the batch had not been there. Waits. A parameter whose gradient did not
        depend on what failed keeps its step.

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
                # The step that made the states is gone, whether they were good or not.
                self._states.pop(index, None)
            for states in self._states.get(index, {}).values():
                for state in states:
                    state.restore()
        if most:
            self._optimizer.num_update = max(self._optimizer.begin_num_update, *counts.values())
        return most

    def _with_gradients(self, ignore_stale_grad: bool) -> list[tuple[int, Parameter]]:
        """Return the parameters to change and their numbers; a gradient from before the last step is a mistake."""
        learnt = [(i, p) for i, p in enumerate(self._params) if p._grad_req != "null"]
        if ignore_stale_grad:
            # One device with samples is enough.
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
                    " was it used at all? ignore_stale_grad=True passes over it"
                )
        return learnt

    def save_states(self, fname: str | os.PathLike[str]) -> None:
        """Write what the optimiser remembers to a file, in the safetensors format.

        Parameters
        ----------
        fname
            The file. It is replaced as a whole.
        """
        names = self._optimizer.state_names
        arrays = {
            f"{index}.{name}": array
            for index, states in self._states.items()
            # Every device has the same.
            for name, array in zip(names, next(iter(states.values())), strict=True)
        }
        counts = {str(index): count for index, count in self._optimizer.counts.items()}
        notes = {
            "optimizer": type(self._optimizer).__name__,
            "num_update": str(self._optimizer.num_update),
            "counts": json.dumps(counts),
        }
        _forerun.save_tensors(fname, arrays, notes)

    def load_states(self, fname: str | os.PathLike[str]) -> None:
        """Read what the optimiser remembers from a file.

        Parameters
        ----------
        fname
            The file, written by a trainer of the same parameters and the same kind of optimiser.
        """
        where = f"load_states: {os.fspath(fname)}"
        arrays, notes = _forerun.load_tensors(fname)
        kind, names = type(self._optimizer).__name__, self._optimizer.state_names
        if notes.get("optimizer") != kind:
            raise refused(f"{where}: states of {notes.get('optimizer')}, not of {kind}")
        counts, num_update = _read_counts(notes, len(self._params), where)
        states: dict[int, dict[Device, tuple[ndarray, ...]]] = {}
        for index, parameter in enumerate(self._params):
            found = [arrays.pop(f"{index}.{name}", None) for name in names]
            state = tuple(array for array in found if array is not None)
            if not state:
                continue
            if len(state) != len(names) or any(array.shape != parameter.shape for array in state):
                raise refused(f"{where}: the state of parameter {index} does not fit its shape {parameter.shape}")
            for name, array in zip(names, state, strict=True):
                if array.dtype != parameter.dtype:
                    raise refused(
                        f"{where}: {name} of parameter {index} is {array.dtype.name}, not {parameter.dtype.name}"
                    )
            states[index] = {state[0].device: state}
        if arrays:
            raise refused(f"{where}: {min(arrays)!r} belongs to no parameter")
        self._states = states
        self._optimizer.counts = counts
        self._optimizer.num_update = num_update


def _make(given: str | optimizer.Optimizer, arguments: Mapping[str, Any]) -> optimizer.Optimizer:
    return optimizer.create(given, **arguments)


def _read_counts(notes: Mapping[str, str], parameters: int, where: str) -> tuple[dict[int, int], int]:
    try:
        counts = {int(index): int(count) for index, count in json.loads(notes["counts"]).items()}
        num_update = int(notes["num_update"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise refused(f"{where}: the numbers of updates cannot be read: {error}") from error
    if any(not 0 <= index < parameters for index in counts):
        raise refused(f"{where}: {len(counts)} parameters were updated, the trainer has {parameters}")
    return counts, num_update
