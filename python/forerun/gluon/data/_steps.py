"""Transforms as steps of a pipeline: which of them run on host data, and which wait for the whole batch.

A transform of this package may define, beside ``forward``,

- ``_on_host``, which does on a single image of host data what ``forward`` does with ops,
- ``_elementwise``: each element of the result follows from one element of the image, so it may change whole batches,
- ``_parts``, the transforms that it applies in turn, or ``_host_steps``, functions of host data that do the same.

A subclass that overrides ``forward`` is called like any other function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun.gluon.block import Block
from forerun.gluon.data import _host


def _plain(fn: Any) -> bool:
    """Return whether calling a block does no more than its ``forward``."""
    return not (fn._forward_hooks or fn._forward_pre_hooks or fn._op_hooks)


def _runs(fn: Any, method: str) -> bool:
    return isinstance(fn, Block) and _plain(fn) and _host.faithful(fn, method, "forward")


def on_host(fn: Any) -> Callable[..., Any]:
    """Return a function that does the same as ``fn`` but takes, and where possible returns, host data."""
    if _runs(fn, "_parts") or _runs(fn, "_host_steps"):
        steps = list(map(on_host, fn._parts())) if hasattr(fn, "_parts") else fn._host_steps()

        def chained(x: Any, *more: Any) -> Any:
            for step in steps:
                x = step(x)
            return (x, *more) if more else x

        return chained
    if _runs(fn, "_on_host"):

        def changed(x: Any, *more: Any) -> Any:
            x = fn._on_host(x) if type(x) is _host.Host and x.ndim == 3 else fn(_host.shown(x))
            return (x, *more) if more else x

        return changed
    return lambda *inputs: fn(*map(_host.shown, inputs))


def split(fn: Any) -> tuple[list[Any], list[Any]]:
    """Take a transform apart; also return the steps at its end that may be applied to a whole batch."""
    leaves = _leaves(fn)
    count = 0
    while count < len(leaves) and _runs(leaves[-1 - count], "_elementwise"):
        count += 1
    return leaves[: len(leaves) - count], leaves[len(leaves) - count :]


def _leaves(fn: Any) -> list[Any]:
    return [leaf for part in fn._parts() for leaf in _leaves(part)] if _runs(fn, "_parts") else [fn]


def joined(steps: Sequence[Any]) -> Any:
    """Return one transform that does several steps."""
    if len(steps) == 1:
        return steps[0]
    from forerun.gluon.data.vision.transforms import Compose

    return Compose(list(steps))
