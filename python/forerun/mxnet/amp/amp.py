"""The functions of ``mxnet.amp``."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from forerun import np
from forerun.gluon import HybridBlock, Trainer
from forerun.gluon.nn import Dense
from forerun.gluon.nn.convolutions import Conv1D, Conv2D, Conv3D
from forerun.mxnet.amp import _casts
from forerun.mxnet.amp.loss_scaler import LossScaler

__all__ = [
    "bfloat16",
    "convert_hybrid_block",
    "init",
    "init_trainer",
    "list_fp32_ops",
    "list_lp16_ops",
    "reset",
    "scale_loss",
    "unscale",
]

bfloat16 = np.bfloat16


def _name(dtype: Any) -> str:
    name = str(np.dtype(dtype).name)
    if name not in ("float16", "bfloat16"):
        raise ValueError(f"amp: target_dtype must be float16 or bfloat16, got {name}")
    return name


def init(
    target_dtype: Any = "float16",
    target_precision_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Any = None,
    fp32_ops: Iterable[str] | None = None,
    layout_optimization: bool = False,
) -> None:
    """Run products in a dtype of 16 bits from now on, in the whole process.

    Parameters
    ----------
    target_dtype
        ``"float16"`` or ``"bfloat16"``.
    target_precision_ops
        The functions that run in that dtype, such as ``"npx.convolution"``; see :func:`list_lp16_ops`.
    conditional_fp32_ops, layout_optimization
        Accepted for compatibility.
    fp32_ops
        The functions that run in float32; see :func:`list_fp32_ops`.

    Notes
    -----
    The casts are around functions of ``np`` and ``npx``, and so around layers. Operators such as ``x @ y`` and methods
    compute in the dtype of their operands.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.amp.init("bfloat16")
    >>> mx.np.dot(mx.np.ones((2, 2)), mx.np.ones((2, 2))).dtype
    dtype('bfloat16')
    >>> mx.amp.reset()
    """
    target = _name(target_dtype)
    _casts.install(
        _casts.LOW if target_precision_ops is None else target_precision_ops,
        _casts.WIDE if fp32_ops is None else fp32_ops,
    )
    _casts.set_everywhere(target)


def reset() -> None:
    """Undo :func:`init`.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.amp.reset()
    """
    _casts.set_everywhere(None)
    _casts.remove()


def list_lp16_ops(target_dtype: Any = "float16") -> list[str]:
    """Return the functions that run in the target dtype.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> "npx.convolution" in mx.amp.list_lp16_ops("float16")
    True
    """
    _name(target_dtype)
    return list(_casts.LOW)


def list_fp32_ops(target_dtype: Any = "float16") -> list[str]:
    """Return the functions that run in float32.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> "npx.softmax" in mx.amp.list_fp32_ops("float16")
    True
    """
    _name(target_dtype)
    return list(_casts.WIDE)


def _trainer(optimizer_or_trainer: Any) -> Trainer:
    if not isinstance(optimizer_or_trainer, Trainer):
        raise TypeError(f"amp: a gluon.Trainer is needed, not {type(optimizer_or_trainer).__name__}")
    return optimizer_or_trainer


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Let a trainer skip the steps whose gradients overflow, and adapt the scale of losses.

    Such a trainer waits in every step, for the gradients.

    Parameters
    ----------
    optimizer_or_trainer
        A ``gluon.Trainer``.
    """
    trainer = _trainer(optimizer_or_trainer)
    trainer._loss_scaler = LossScaler()
    trainer._unscaled = trainer._scale


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """Return a context manager that gives the loss, multiplied by the current scale.

    The trainer divides the gradients by the scale again.

    Parameters
    ----------
    loss
        An array, or a list of them.
    optimizer_or_trainer
        The trainer, after :func:`init_trainer`.
    """
    trainer = _trainer(optimizer_or_trainer)
    scaler = trainer._loss_scaler
    if scaler is None:
        raise RuntimeError("scale_loss: call init_trainer() first")
    trainer._scale = trainer._unscaled / scaler.loss_scale
    scaled = [each * scaler.loss_scale for each in (loss if isinstance(loss, (list, tuple)) else [loss])]
    yield scaled if isinstance(loss, (list, tuple)) else scaled[0]


def unscale(optimizer_or_trainer: Any) -> None:
    """Divide the gradients by the scale now, for programs that read or clip them before the step.

    Parameters
    ----------
    optimizer_or_trainer
        The trainer, after :func:`scale_loss`.
    """
    trainer = _trainer(optimizer_or_trainer)
    if trainer._loss_scaler is None:
        raise RuntimeError("unscale: call init_trainer() first")
    factor = trainer._scale / trainer._unscaled
    for parameter in trainer._params:
        if parameter.grad_req != "null" and parameter._data:
            for grad in parameter.list_grad():
                grad[...] = grad * factor
    trainer._scale = trainer._unscaled


class _Converted(HybridBlock):
    """A block whose ops run with casts."""

    def __init__(self, block: HybridBlock, target: str) -> None:
        super().__init__()
        self.block = block
        self._low = target

    def forward(self, *inputs: Any) -> Any:
        with _casts.casting(self._low):
            return self.block(*inputs)


def convert_hybrid_block(
    block: HybridBlock,
    data_example: Any = None,
    target_dtype: Any = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Any = None,
    excluded_sym_names: Sequence[str] = (),
    device: Any = None,
    cast_params_offline: bool = False,
) -> HybridBlock:
    """Return a copy of a network whose products run in a dtype of 16 bits.

    Parameters
    ----------
    block
        The network. Its parameters must be initialised, or ``data_example`` given.
    data_example
        An input or a list of inputs, with which the network is called once.
    target_dtype
        ``"float16"`` or ``"bfloat16"``.
    target_dtype_ops, fp32_ops
        The functions that run in that dtype, and in float32, for the whole process.
    conditional_fp32_ops, excluded_sym_names
        Accepted for compatibility.
    device
        Where to put the parameters.
    cast_params_offline
        Whether dense and convolution layers keep their parameters in the dtype of 16 bits, which halves their memory.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> half = mx.amp.convert_hybrid_block(net, mx.np.ones((1, 3)), "float16")
    >>> half(mx.np.ones((1, 3))).dtype
    dtype('float16')
    >>> net(mx.np.ones((1, 3))).dtype
    dtype('float32')
    """
    if not isinstance(block, HybridBlock):
        raise TypeError(f"convert_hybrid_block: a HybridBlock is needed, not {type(block).__name__}")
    target = _name(target_dtype)
    if data_example is not None:
        block(*(data_example if isinstance(data_example, (list, tuple)) else [data_example]))
    if target_dtype_ops is not None or fp32_ops is not None or not _casts.installed():
        _casts.install(
            _casts.LOW if target_dtype_ops is None else target_dtype_ops,
            _casts.WIDE if fp32_ops is None else fp32_ops,
        )
    converted = copy.deepcopy(block)
    if device is not None:
        converted.reset_device(device)
    if cast_params_offline:

        def cast(layer: Any) -> None:
            if isinstance(layer, (Dense, Conv1D, Conv2D, Conv3D)):
                for parameter in layer._reg_params.values():
                    parameter.cast(target)

        converted.apply(cast)
    return _Converted(converted, target)
