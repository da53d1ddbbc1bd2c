"""Shapes of parameters from those of the inputs, without initialising any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun.autograd import pause
from forerun.gluon.parameter import Parameter, epoch

if TYPE_CHECKING:
    from forerun.gluon.block import Block


def infer_shapes(block: Block, inputs: tuple[Any, ...]) -> None:
    """Call a block with parameters of zeros that are removed afterwards; only their shapes stay."""
    from forerun.gluon.block import Block as Plain

    unset = [parameter for parameter in block.collect_params().values() if not parameter._data]
    blocks: list[Block] = []
    block.apply(blocks.append)
    former: list[tuple[Parameter, Any]] = [(parameter, parameter._waiting) for parameter in unset]
    try:
        for parameter in unset:
            parameter._waiting = ("zeros", [_forerun.current_device()])
            if parameter._known():
                parameter._fill()
        with pause():
            Plain.__call__(block, *inputs)
    finally:
        for parameter, waiting in former:
            parameter._data = []
            parameter._waiting = waiting
        for one in blocks:
            one._settled = False
        epoch.now += 1
