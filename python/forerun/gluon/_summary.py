"""The table that ``Block.summary`` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from forerun._capturing import thread
from forerun._forerun import ndarray

if TYPE_CHECKING:
    from forerun.gluon.block import Block, HookHandle

# As MXNet's table, 80 characters wide.
_WIDTHS = (20, 43, 15)


def print_summary(block: Block, inputs: tuple[Any, ...]) -> None:
    """Call a block and print one line per layer."""
    rows: list[tuple[str, str, int]] = [("Input", _shapes(inputs if len(inputs) > 1 else inputs[0]), 0)]
    seen: set[int] = set()
    # Parameters of layers that are called, counted once per call; and those that a layer counted before has.
    total, trainable, shared = 0, 0, 0
    handles: dict[int, HookHandle] = {}

    def note(layer: Block, inputs: tuple[Any, ...], output: Any) -> None:
        nonlocal total, trainable, shared
        own = 0
        for parameter in layer.params.values():
            count = math.prod(parameter.shape or ())
            own += count
            trainable += 0 if parameter.grad_req == "null" else count
            shared += count if id(parameter) in seen else 0
            seen.add(id(parameter))
        total += own
        rows.append((f"{type(layer).__name__}-{len(rows)}", _shapes(output), own))

    def watch(layer: Block) -> None:
        # A shared layer is visited several times.
        if id(layer) not in handles:
            handles[id(layer)] = layer.register_forward_hook(note)

    # Within a capture, hybridized blocks run as plain ones, without a warning about the hooks.
    capturing, thread.capturing = thread.capturing, True
    try:
        block.apply(watch)
        block(*inputs)
    finally:
        thread.capturing = capturing
        for handle in handles.values():
            handle.detach()
    ruler = "-" * (sum(_WIDTHS) + 2)
    print(ruler)
    print(_line("Layer (type)", "Output Shape", "Param #"))
    print(ruler.replace("-", "="))
    for kind, shape, count in rows:
        print(_line(kind, shape, str(count)))
    print(ruler.replace("-", "="))
    print(f"Parameters in forward computation graph, duplicate included\n   Total params: {total}")
    print(f"   Trainable params: {trainable}\n   Non-trainable params: {total - trainable}")
    print(f"Shared params in forward computation graph: {shared}\nUnique parameters in model: {total - shared}")
    print(ruler)


def _line(*cells: str) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))


def _shapes(output: Any) -> str:
    if isinstance(output, ndarray):
        return str(output.shape)
    if isinstance(output, (list, tuple)):
        return f"[{', '.join(_shapes(item) for item in output)}]"
    return type(output).__name__
