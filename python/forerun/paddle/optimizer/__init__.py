"""Optimisers with Paddle's names; their rules are those of the PyTorch dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forerun._missing import module_getattr as _module_getattr
from forerun.paddle._tensor import Tensor
from forerun.paddle.optimizer import lr
from forerun.torch import optim as _optim

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Momentum", "Optimizer", "RMSProp", "lr"]


def _decay_of(value: Any) -> float:
    """Return the coefficient of a weight decay: a number, or an object such as ``L2Decay`` that has one."""
    return float(getattr(value, "_coeff", value) or 0.0)


class Optimizer:
    """Base class of optimisers.

    Parameters
    ----------
    learning_rate : float or lr.LRScheduler
        The learning rate.
    parameters : iterable of Tensor
        The parameters to update.
    weight_decay : float, optional
        The weight decay (L2 penalty).
    grad_clip : optional
        Changes the gradients before each step, such as ``nn.ClipGradByGlobalNorm``.
    """

    _kind: type[_optim.Optimizer]

    def __init__(
        self,
        learning_rate: Any,
        parameters: Iterable[Tensor] | None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        **settings: Any,
    ) -> None:
        if parameters is None:
            raise AttributeError(f"{type(self).__name__}: parameters= is required: pass net.parameters()")
        self._learning_rate, self._clip = learning_rate, grad_clip
        self._parameters = list(parameters)
        if type(self)._kind is not _optim.Rprop:
            settings["weight_decay"] = _decay_of(weight_decay)
        self._inner = self._kind(self._parameters, lr=self.get_lr(), **settings)  # type: ignore[call-arg]

    def step(self) -> None:
        """Update the parameters that have a gradient."""
        if self._clip is not None:
            self._clip(self._parameters)
        for group in self._inner.param_groups:
            group["lr"] = self.get_lr()
        self._inner.step()

    def minimize(self, loss: Tensor) -> None:
        """Update the parameters; the gradients must have been computed by ``loss.backward()``."""
        self.step()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Set the parameters' gradients to zero, or drop them."""
        for parameter in self._parameters:
            parameter.clear_grad(set_to_zero)

    def get_lr(self) -> float:
        """Return the learning rate."""
        rate = self._learning_rate
        return float(rate() if isinstance(rate, lr.LRScheduler) else rate)

    def set_lr(self, value: float) -> None:
        """Change the learning rate."""
        if isinstance(self._learning_rate, lr.LRScheduler):
            raise RuntimeError("set_lr: the learning rate is a schedule")
        self._learning_rate = value

    def set_lr_scheduler(self, scheduler: lr.LRScheduler) -> None:
        """Follow a schedule of learning rates."""
        self._learning_rate = scheduler

    def state_dict(self) -> dict[str, Any]:
        """Return the states of the parameters, the settings, and the state of the schedule."""
        state = self._inner.state_dict()
        if isinstance(self._learning_rate, lr.LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state."""
        if isinstance(self._learning_rate, lr.LRScheduler) and "LR_Scheduler" in state_dict:
            self._learning_rate.set_state_dict(state_dict["LR_Scheduler"])
        self._inner.load_state_dict(state_dict)


class Momentum(Optimizer):
    """Stochastic gradient descent with momentum.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip
        As for :class:`Optimizer`.
    momentum : float
        The momentum factor.
    use_nesterov : bool
        Whether to use Nesterov momentum.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> optimizer = paddle.optimizer.Momentum(learning_rate=0.25, parameters=[w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item()
    0.5
    """

    _kind = _optim.SGD

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Tensor] | None = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, momentum=momentum, nesterov=use_nesterov)


class SGD(Optimizer):
    """Stochastic gradient descent.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> optimizer = paddle.optimizer.SGD(learning_rate=0.5, parameters=[w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item()
    0.0
    """

    _kind = _optim.SGD

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip)


class _Moments(Optimizer):
    _decay: float | None = None

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
    ) -> None:
        decay = self._decay if weight_decay is None else weight_decay
        super().__init__(learning_rate, parameters, decay, grad_clip, betas=(beta1, beta2), eps=epsilon)


class Adam(_Moments):
    """The Adam optimiser.

    Parameters
    ----------
    learning_rate, parameters, weight_decay, grad_clip
        As for :class:`Optimizer`.
    beta1, beta2 : float
        Decay rates of the mean gradient and of the mean squared gradient.
    epsilon : float
        Added to the divisor for numerical stability.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> optimizer = paddle.optimizer.Adam(learning_rate=0.5, parameters=[w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.5
    """

    _kind = _optim.Adam


class AdamW(_Moments):
    """Adam whose weights decay by themselves, by 0.01 times the learning rate if not given.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> paddle.optimizer.AdamW(parameters=[w]).get_lr()
    0.001
    """

    _kind = _optim.AdamW
    _decay = 0.01


class Adamax(_Moments):
    """Adam with the largest gradient in place of the mean square.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> paddle.optimizer.Adamax(parameters=[w]).get_lr()
    0.001
    """

    _kind = _optim.Adamax


class Adagrad(Optimizer):
    """Adagrad: gradients divided by the root of the sum of their squares.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> paddle.optimizer.Adagrad(0.1, parameters=[w]).get_lr()
    0.1
    """

    _kind = _optim.Adagrad

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        start = {"initial_accumulator_value": initial_accumulator_value}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, eps=epsilon, **start)


class Adadelta(Optimizer):
    """Adadelta: steps of the size of the last steps.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> paddle.optimizer.Adadelta(parameters=[w]).get_lr()
    0.001
    """

    _kind = _optim.Adadelta

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, eps=epsilon, rho=rho)


class RMSProp(Optimizer):
    """RMSProp: gradients divided by the root of their running mean square.

    ``epsilon`` is added to the root; Paddle adds it to the mean square.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> paddle.optimizer.RMSProp(0.1, parameters=[w]).get_lr()
    0.1
    """

    _kind = _optim.RMSprop

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
    ) -> None:
        settings = {"alpha": rho, "eps": epsilon, "momentum": momentum, "centered": centered}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, **settings)


__getattr__ = _module_getattr(__name__, globals(), {"Lamb": "forerun.optimizer has LAMB"})
