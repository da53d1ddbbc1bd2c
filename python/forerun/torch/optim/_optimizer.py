"""The base class of optimisers: groups of parameters, their states, and the engine's update rules."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from forerun import _forerun, _steps, np
from forerun._dialect.mode import GradMode
from forerun._dialect.tensor import Tensor as _Tensor
from forerun._forerun import ndarray
from forerun.torch._graph import RemovableHandle
from forerun.torch._tensor import Tensor

__all__ = ["Optimizer"]


class Optimizer:
    """Base class of optimisers.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        The parameters to update; a dict holds some under ``"params"`` with settings of their own.
    defaults : dict
        The settings of groups that have none of their own.

    Attributes
    ----------
    param_groups : list of dict
        Groups with parameters under ``"params"`` and their settings, which may be changed at any time.
    state : dict
        What the optimiser keeps of each parameter.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, _Tensor):
            raise TypeError(f"{type(self).__name__}: needs a list of parameters, not a tensor")
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._step_pre_hooks: dict[int, Any] = {}
        self._step_post_hooks: dict[int, Any] = {}
        given = list(params)
        if not given:
            raise ValueError(f"{type(self).__name__}: got an empty list of parameters")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own."""
        name = type(self).__name__
        unknown = set(param_group) - set(self.defaults) - {"params", "initial_lr", "param_names", "name"}
        if unknown:
            raise TypeError(f"{name}: unknown setting {sorted(unknown)[0]!r}")
        chosen = param_group["params"]
        listed = [chosen] if isinstance(chosen, _Tensor) else list(chosen)
        listed = [part[1] if isinstance(part, tuple) else part for part in listed]
        for parameter in listed:
            if not isinstance(parameter, _Tensor):
                raise TypeError(f"{name}: a {type(parameter).__name__} is not a parameter")
            if not parameter.is_leaf:
                raise ValueError(f"{name}: can only update leaves, not tensors that operations made")
        known = {id(parameter) for group in self.param_groups for parameter in group["params"]}
        if known & {id(parameter) for parameter in listed}:
            raise ValueError(f"{name}: a parameter appears in more than one group")
        self.param_groups.append({**self.defaults, **param_group, "params": listed})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter._clear_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters that have a gradient.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and the gradients; called once before the update.

        Returns
        -------
        What ``closure`` returned.
        """
        for hook in list(self._step_pre_hooks.values()):
            hook(self, (), {})
        loss = None
        if closure is not None:
            with GradMode(True):
                loss = closure()
        with GradMode(False):
            for group in self.param_groups:
                changed = [parameter for parameter in group["params"] if parameter.grad is not None]
                if changed:
                    self._update(changed, group)
        for hook in list(self._step_post_hooks.values()):
            hook(self, (), {})
        _steps.ended()
        return loss

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no rule")

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step."""
        return RemovableHandle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle(self._step_post_hooks, hook)

    # States.

    def _states(self, parameters: Sequence[Tensor], names: Sequence[str], first: float = 0.0) -> list[tuple[Any, ...]]:
        """Return the named arrays of each parameter, made at first use, and count a step."""
        found = []
        for parameter in parameters:
            state = self.state[parameter]
            if "step" not in state:
                state["step"] = 0
            for name in names:
                if name not in state:
                    state[name] = Tensor._of(np.full_like(parameter._array.detach(), first))
            state["step"] += 1
            found.append(tuple(state[name]._array for name in names))
        return found

    def _steps(self, parameters: Sequence[Tensor]) -> list[int]:
        return [int(self.state[parameter]["step"]) for parameter in parameters]

    @staticmethod
    def _gradients(parameters: Sequence[Tensor], maximize: bool) -> list[ndarray]:
        grads = [parameter.grad._array for parameter in parameters]
        return [-grad for grad in grads] if maximize else grads

    def _native(
        self,
        rule: str,
        parameters: Sequence[Tensor],
        group: dict[str, Any],
        states: Sequence[tuple[Any, ...]],
        options: dict[str, Any],
        *,
        lrs: list[float] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        """Update parameters by one of the engine's rules: one call for any number of them."""
        count = len(parameters)
        decay = float(group["weight_decay"] if weight_decay is None else weight_decay)
        _forerun.update_weights(
            rule,
            [parameter._array for parameter in parameters],
            self._gradients(parameters, bool(group.get("maximize"))),
            states,
            [float(group["lr"])] * count if lrs is None else lrs,
            [decay] * count,
            self._steps(parameters) if all("step" in self.state[p] for p in parameters) else [1] * count,
            options,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the states by the numbers of the parameters, and the settings of the groups."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append({**packed, "params": [numbers[id(parameter)] for parameter in group["params"]]})
        states = {numbers[id(parameter)]: dict(state) for parameter, state in self.state.items()}
        return {"state": states, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state; it is copied."""
        groups = state_dict["param_groups"]
        lengths = [len(group["params"]) for group in self.param_groups]
        if lengths != [len(group["params"]) for group in groups]:
            raise ValueError(f"{type(self).__name__}: the state has other groups of parameters than the optimiser")
        own = [parameter for group in self.param_groups for parameter in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        self.state.clear()
        for parameter, number in zip(own, numbers, strict=True):
            if number in state_dict["state"]:
                self.state[parameter] = {
                    name: _copied(value, parameter) for name, value in state_dict["state"][number].items()
                }
        for group, given in zip(self.param_groups, groups, strict=True):
            group.update({name: copy.deepcopy(value) for name, value in given.items() if name != "params"})

    def __repr__(self) -> str:
        """Write the settings of the groups."""
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _copied(value: Any, parameter: Tensor) -> Any:
    if not isinstance(value, _Tensor):
        return copy.deepcopy(value)
    if value.ndim == 0 and parameter.ndim:
        # PyTorch keeps the number of steps in a tensor.
        return int(value.item())
    return Tensor._of(value._array.detach().as_in_ctx(parameter._array.device).copy())
