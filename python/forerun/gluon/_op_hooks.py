"""Hooks that see every op of a block and its descendants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun._forerun import ndarray
from forerun.gluon.parameter import epoch

if TYPE_CHECKING:
    from forerun.gluon.block import Block


class OpHook:
    """Handle of a hook for ops: ``detach``, or the end of a ``with`` block, removes the hook."""

    def __init__(self, root: Block, callback: Callable[[str, str, ndarray], object], monitor_all: bool) -> None:
        self._root = root
        self._callback = callback
        self._monitor_all = monitor_all
        # The paths of the blocks, and the blocks whose calls are in progress with their numbers of each op so far.
        self._paths: dict[int, str] = {}
        self._stack: list[tuple[str, dict[str, int]]] = []
        self._blocks: list[Block] = []
        self._add(root, root.name)
        epoch.now += 1

    def _add(self, block: Block, path: str) -> None:
        # A shared block has the first of its paths.
        if id(block) in self._paths:
            return
        self._paths[id(block)] = path
        self._blocks.append(block)
        block._op_hooks[id(self)] = self
        for name, child in block._children.items():
            self._add(child, f"{path}.{name}")

    def detach(self) -> None:
        """Remove the hook."""
        for block in self._blocks:
            block._op_hooks.pop(id(self), None)
        self._blocks = []
        epoch.now += 1

    def __enter__(self) -> OpHook:
        """Do nothing: the hook is already registered."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the hook."""
        self.detach()

    def around(self, block: Block, call: Callable[[], Any]) -> Any:
        """Call a block; ops are reported under its path. Ops of a descendant that is called alone are not reported."""
        if block is not self._root and not self._stack:
            return call()
        self._stack.append((self._paths[id(block)], {}))
        try:
            return _forerun.observed(call, self._report) if len(self._stack) == 1 else call()
        finally:
            self._stack.pop()

    def _report(self, op: str, inputs: list[ndarray], output: ndarray) -> None:
        path, counts = self._stack[-1]
        number = counts[op] = counts.get(op, -1) + 1
        if self._monitor_all:
            for place, array in enumerate(inputs):
                self._callback(f"{path}.{op}{number}_input{place}", op, array)
        self._callback(f"{path}.{op}{number}_output", op, output)


def watched(block: Block, hooks: list[OpHook], call: Callable[[], Any]) -> Any:
    """Call a block under its hooks for ops."""
    for hook in hooks:
        call = _bound(hook, block, call)
    return call()


def _bound(hook: OpHook, block: Block, call: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: hook.around(block, call)
