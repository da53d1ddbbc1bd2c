"""The base class of optimisers, and their names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from forerun import _forerun, np
from forerun._forerun import ndarray
from forerun.optimizer.states import flat

if TYPE_CHECKING:
    from forerun.gluon.parameter import Parameter

__all__ = ["Optimizer", "create", "register"]

_Class = TypeVar("_Class", bound="type[Optimizer]")
_BY_NAME: dict[str, type[Optimizer]] = {}
_HALVES = ("float16", "bfloat16")


def register(cls: _Class) -> _Class:
    """Register a class by its name in lower case.

    Examples
    --------
    >>> from forerun import np, optimizer
    >>> @optimizer.register
    ... class Signs(optimizer.Optimizer):
    ...     def step(self, indices, weights, grads, states):
    ...         self._update_count(indices)
    ...         for weight, grad, lr in zip(weights, grads, self._get_lrs(indices)):
    ...             weight -= lr * np.sign(grad)
    >>> type(optimizer.create("signs")).__name__
    'Signs'
    """
    _BY_NAME[cls.__name__.lower()] = cls
    return cls


def create(name: str | Optimizer, **arguments: Any) -> Optimizer:
    """Return an optimiser by its name, or the one given.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.create("adam").learning_rate
    0.001
    """
    if isinstance(name, Optimizer):
        if arguments:
            raise ValueError(f"{type(name).__name__} already exists: arguments cannot be given")
        return name
    cls = _BY_NAME.get(name.lower())
    if cls is None:
        raise ValueError(f"unknown optimiser {name!r}; available: {', '.join(sorted(_BY_NAME))}")
    return cls(**arguments)


class Optimizer:
    """Base class of optimisers: learning rate, weight decay, scaling and clipping of gradients, update counts.

    A subclass defines ``step``, and ``create_state`` if it has states.

    Parameters
    ----------
    learning_rate
        The learning rate; with a scheduler, its base.
    wd
        The weight decay.
    rescale_grad
        A factor for the gradients.
    clip_gradient
        The maximum absolute value of each element of a rescaled gradient.
    lr_scheduler
        A function from the number of updates to the learning rate.
    begin_num_update
        The initial number of updates.
    param_dict
        The parameters by index, for their ``lr_mult`` and ``wd_mult``.
    multi_precision
        Whether weights of float16 or bfloat16 are updated through a master copy in float32.
    param_idx2name
        The names of parameters by index, for :meth:`set_lr_mult` and :meth:`set_wd_mult`.
    aggregate_num, use_fused_step
        Accepted for compatibility with MXNet: one call updates all weights, and fuses each update.

    Examples
    --------
    >>> from forerun import optimizer
    >>> sgd = optimizer.SGD(learning_rate=0.5)
    >>> sgd.set_learning_rate(0.25)
    >>> sgd.learning_rate
    0.25
    """

    default_lr = 0.01
    state_names: tuple[str, ...] = ()
    # The native rule, the attributes that are its options, and its other options.
    _rule = ""
    _options: tuple[str, ...] = ()
    _fixed: ClassVar[Mapping[str, float]] = {}

    register = staticmethod(register)
    create = create_optimizer = staticmethod(create)

    def __init__(
        self,
        learning_rate: float | None = None,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        param_dict: Mapping[int, Parameter] | None = None,
        multi_precision: bool = False,
        param_idx2name: Mapping[int, str] | None = None,
        aggregate_num: float | None = None,
        use_fused_step: bool | None = None,
    ) -> None:
        if clip_gradient is not None and not clip_gradient > 0:
            raise ValueError(f"{type(self).__name__}: clip_gradient must be positive, got {clip_gradient}")
        self.lr_scheduler = lr_scheduler
        self.lr = self.default_lr if learning_rate is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate  # type: ignore[attr-defined]
        self.wd = wd
        self.rescale_grad = rescale_grad
        self.clip_gradient = clip_gradient
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self.multi_precision = multi_precision
        self.aggregate_num = 1 if aggregate_num is None else aggregate_num
        self.use_fused_step = bool(use_fused_step)
        self.param_dict: dict[int, Parameter] = dict(param_dict or {})
        self.idx2name = dict(param_idx2name or {})
        self.lr_mult: dict[int | str, float] = {}
        self.wd_mult: dict[int | str, float] = {}
        self.counts: dict[int, int] = {}

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    @learning_rate.setter
    def learning_rate(self, lr: float) -> None:
        self.set_learning_rate(lr)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; raise if a scheduler controls it."""
        if self.lr_scheduler is not None:
            raise UserWarning("the scheduler of the optimiser sets the learning rate")
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Mapping[int | str, float]) -> None:
        """Set factors of the learning rate, by index or name of the parameter.

        They multiply the ``lr_mult`` of a ``gluon.Parameter``. A name is one in ``param_idx2name``, or the parameter's
        own, with or without the names of its blocks.

        Examples
        --------
        >>> from forerun import np, optimizer
        >>> sgd = optimizer.SGD(1.0, param_idx2name={0: "weight", 1: "bias"})
        >>> sgd.set_lr_mult({"bias": 0.5})
        >>> weights = [np.zeros((1,)), np.zeros((1,))]
        >>> sgd.update([0, 1], weights, [np.ones((1,)), np.ones((1,))], [(), ()])
        >>> [weight.item() for weight in weights]
        [-1.0, -0.5]
        """
        self.lr_mult = dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Mapping[int | str, float]) -> None:
        """Set factors of the weight decay, by index or name of the parameter; see :meth:`set_lr_mult`."""
        self.wd_mult = dict(args_wd_mult)

    def create_state(self, index: int, weight: ndarray) -> Any:
        """Create the optimiser's states of a parameter: zeros of its shape, one per name in ``state_names``."""
        return tuple(np.zeros_like(weight) for _ in self.state_names)

    def create_state_multi_precision(self, index: int, weight: ndarray) -> Any:
        """Create the states of a parameter; with a master copy ``(master, states)`` if the weight needs one."""
        if weight.dtype.name not in _HALVES:
            return self.create_state(index, weight)
        if self.multi_precision:
            master = weight.detach().astype("float32")
            return master, self.create_state(index, master)
        warnings.warn(
            f"{type(self).__name__}: updates in {weight.dtype.name} lose accuracy; multi_precision=True keeps master"
            " copies of the weights in float32",
            stacklevel=2,
        )
        return self.create_state(index, weight)

    def writes(self, index: int) -> int:
        """Return how often one step writes a parameter; ``Trainer.restore`` undoes as many writes per step."""
        return 1

    def update(
        self, indices: Sequence[int], weights: Sequence[ndarray], grads: Sequence[ndarray], states: Sequence[Any]
    ) -> None:
        """Update parameters in place with their gradients, by :meth:`step` or :meth:`fused_step`.

        Parameters
        ----------
        indices
            The indices of the parameters, by which updates are counted. One that lives on several devices has its
            number several times, and is counted once.
        weights, grads, states
            One of each per parameter.
        """
        (self.fused_step if self.use_fused_step else self.step)(indices, weights, grads, states)

    def update_multi_precision(
        self, indices: Sequence[int], weights: Sequence[ndarray], grads: Sequence[ndarray], states: Sequence[Any]
    ) -> None:
        """Update parameters whose states are made by :meth:`create_state_multi_precision`; see :meth:`update`."""
        native = type(self).step is Optimizer.step and type(self).fused_step is Optimizer.fused_step
        if native or not self.multi_precision:
            self.update(indices, weights, grads, states)
            return
        wide = [weight.dtype.name in _HALVES for weight in weights]
        self.update(
            indices,
            [state[0] if has else weight for has, weight, state in zip(wide, weights, states, strict=True)],
            [grad.astype("float32") if has else grad for has, grad in zip(wide, grads, strict=True)],
            [state[1] if has else state for has, state in zip(wide, states, strict=True)],
        )
        for has, weight, state in zip(wide, weights, states, strict=True):
            if has:
                weight[:] = state[0]

    def step(
        self, indices: Sequence[int], weights: Sequence[ndarray], grads: Sequence[ndarray], states: Sequence[Any]
    ) -> None:
        """Count the update and apply the rule; see :meth:`update`. Subclasses with a rule of their own define this."""
        if not self._rule:
            raise NotImplementedError(f"{type(self).__name__} has no rule: define step")
        self._update_count(indices)
        counts = self.counts
        _forerun.update_weights(
            self._rule,
            weights,
            grads,
            [flat(state) for state in states],
            self._get_lrs(indices),
            self._get_wds(indices),
            [counts[index] for index in indices],
            {**self._fixed, **{name: getattr(self, name) for name in self._options}},
            self.rescale_grad,
            self.clip_gradient,
            self._adapts(indices),
        )

    def fused_step(
        self, indices: Sequence[int], weights: Sequence[ndarray], grads: Sequence[ndarray], states: Sequence[Any]
    ) -> None:
        """Do the same as :meth:`step`, which is fused already."""
        self.step(indices, weights, grads, states)

    def _adapts(self, indices: Sequence[int]) -> list[bool] | None:
        """Return whether the rates of parameters may depend on norms; ``None`` for all of them."""
        return None

    # The names that optimisers written for MXNet call.

    @property
    def _index_update_count(self) -> dict[int, int]:
        return self.counts

    def _update_count(self, index: int | Sequence[int]) -> None:
        """Count an update of parameters."""
        indices = (index,) if isinstance(index, int) else dict.fromkeys(index)
        counts, begin = self.counts, self.begin_num_update
        for each in indices:
            counts[each] = counts.get(each, begin) + 1
            self.num_update = max(self.num_update, counts[each])

    def _get_lrs(self, indices: Sequence[int]) -> list[float]:
        """Return the learning rates of parameters."""
        lr, parameters = self.learning_rate, self.param_dict
        lrs = [lr * parameters[index].lr_mult if index in parameters else lr for index in indices]
        return self._multiplied(lrs, indices, self.lr_mult) if self.lr_mult else lrs

    def _get_lr(self, index: int) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[int]) -> list[float]:
        """Return the weight decays of parameters."""
        wd, parameters = self.wd, self.param_dict
        wds = [wd * parameters[index].wd_mult if index in parameters else wd for index in indices]
        return self._multiplied(wds, indices, self.wd_mult) if self.wd_mult else wds

    def _get_wd(self, index: int) -> float:
        return self._get_wds([index])[0]

    def _multiplied(
        self, values: list[float], indices: Sequence[int], factors: Mapping[int | str, float]
    ) -> list[float]:
        def factor(index: int) -> float:
            keys: list[int | str] = [index, *self._names(index)]
            return next((factors[key] for key in keys if key in factors), 1.0)

        return [value * factor(index) for value, index in zip(values, indices, strict=True)]

    def _names(self, index: int) -> list[str]:
        """Return the names of a parameter, the most specific first."""
        names = [self.idx2name[index]] if index in self.idx2name else []
        parameter = self.param_dict.get(index)
        return names if parameter is None else [*names, parameter._path, parameter.name]
