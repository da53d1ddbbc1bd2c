"""Functions with gradients of their own."""

from __future__ import annotations

from typing import Any

from forerun import _forerun
from forerun._dialect.link import Link
from forerun._dialect.mode import MODE, GradMode, recorded
from forerun._dialect.tensor import is_float
from forerun.torch._tensor import Tensor

__all__ = ["Function", "FunctionCtx"]


class FunctionCtx:
    """What the forward pass of a function keeps for its backward pass.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        Which inputs require gradients.
    """

    def __init__(self, needs: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs
        self._saved: tuple[Any, ...] = ()
        self._given: tuple[Any, ...] = ()
        self._without: set[int] = set()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors; later writes to them do not change what is kept."""
        self._given = tensors
        self._saved = tuple(
            Tensor._of(_forerun.freeze(tensor._array)) if isinstance(tensor, Tensor) else tensor for tensor in tensors
        )

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were kept."""
        # Gradients of gradients need the tensors themselves; the kept values have no gradients.
        return self._given if _forerun.is_recording() else self._saved

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self._without |= {id(tensor) for tensor in tensors}

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Raise: a function must not write into its inputs."""
        raise RuntimeError("mark_dirty: a function must return new tensors instead of writing into its inputs")

    def set_materialize_grads(self, value: bool) -> None:
        """Do nothing: missing gradients of outputs are zeros."""


class Function:
    """A function with a gradient of its own: a subclass defines ``forward`` and ``backward``, and ``apply`` calls it.

    Examples
    --------
    >>> from forerun import torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 3 * x**2
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor([12.])
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs. Subclasses define this, with a context first, or with ``setup_context`` without."""
        raise NotImplementedError("a Function needs a static method forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what the backward pass needs. Subclasses define this if their ``forward`` takes no context."""
        raise NotImplementedError("this Function has no setup_context")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradient of each input from those of the outputs. Subclasses define this."""
        raise NotImplementedError("a Function needs a static method backward")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the function."""
        needs = tuple(isinstance(arg, Tensor) and arg._link is not None for arg in args)
        ctx = FunctionCtx(needs)
        with GradMode(False):
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        links = [arg._link for arg, need in zip(args, needs, strict=True) if need]
        if not (links and MODE.grad):
            return result
        outputs = list(result) if isinstance(result, tuple) else [result]
        places = [place for place, need in enumerate(needs) if need]
        smooth = [isinstance(out, Tensor) and is_float(out.dtype) and id(out) not in ctx._without for out in outputs]

        def callback(grads: list[Any]) -> list[Any]:
            # While a graph of gradients is recorded, what `backward` computes must be recorded too.
            link = Link(links) if _forerun.is_recording() else None
            passed = iter(grads)
            wrapped = [Tensor._of(next(passed), link) if each else None for each in smooth]
            given = cls.backward(ctx, *wrapped)
            parts = list(given) if isinstance(given, tuple) else [given]
            if len(parts) < len(args) or any(part is not None for part in parts[len(args) :]):
                raise RuntimeError(f"{cls.__name__}.backward: {len(parts)} gradients for {len(args)} inputs")
            return [None if parts[place] is None else parts[place]._array for place in places]

        arrays = [out._array.detach() for out, each in zip(outputs, smooth, strict=True) if each]
        inputs = [args[place]._array for place in places]
        on_tape = iter(recorded(_forerun.record_function, inputs, arrays, callback))
        link = Link(links, name=cls.__name__)
        made = [Tensor._of(next(on_tape), link) if each else out for out, each in zip(outputs, smooth, strict=True)]
        return tuple(made) if isinstance(result, tuple) else made[0]
