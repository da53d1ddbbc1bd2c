"""ONNX nodes that contain graphs: ``Scan``, ``Loop`` and ``If``. Loops are unrolled while the block runs.

A condition or count that is an array of the engine is read, so it is waited for. Those on the host never wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun.onnx._reading import Graph
from forerun.onnx._values import is_host, library, placed

# Computes the outputs of a graph for some inputs.
Body = Callable[[Graph, Sequence[Any]], list[Any]]


def scan(run: Body, attributes: Any, *given: Any) -> list[Any]:
    """Compute ``Scan``: each step maps states and slices of arrays to states and slices of results."""
    body: Graph = attributes["body"]
    count = attributes["num_scan_inputs"]
    if not 0 < count <= len(given):
        raise ValueError(f"{count} arrays of {len(given)} are scanned")
    states, arrays = list(given[:-count]), given[-count:]
    outputs = len(body.outputs) - len(states)
    if outputs < 0:
        raise ValueError(f"the body returns {len(body.outputs)} arrays for {len(states)} states")
    axes = _numbers(attributes, "scan_input_axes", count)
    moved = [library(x).moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)]
    steps = {x.shape[0] for x in moved}
    if len(steps) > 1:
        raise ValueError(f"the scanned arrays have {sorted(steps)} steps")
    ways = _numbers(attributes, "scan_input_directions", count)
    moved = [x[::-1] if way else x for x, way in zip(moved, ways, strict=True)]
    results = []
    for step in range(steps.pop()):
        made = run(body, [*states, *(x[step] for x in moved)])
        states = made[: len(states)]
        results.append(made[len(states) :])
    ways = _numbers(attributes, "scan_output_directions", outputs)
    axes = _numbers(attributes, "scan_output_axes", outputs)
    return [*states, *_stacked(results, outputs, axes, ways)]


def loop(run: Body, attributes: Any, count: Any = None, going: Any = None, *states: Any) -> list[Any]:
    """Compute ``Loop``: a body is repeated as often as a count and a condition say."""
    body: Graph = attributes["body"]
    carried = list(states)
    outputs = len(body.outputs) - 1 - len(carried)
    if outputs < 0:
        raise ValueError(f"the body returns {len(body.outputs)} arrays for a condition and {len(carried)} states")
    limit = None if count is None else int(_one(count))
    results: list[list[Any]] = []
    while (limit is None or len(results) < limit) and (going is None or _truth(going)):
        made = run(body, [numpy.array(len(results), "int64"), numpy.array(True) if going is None else going, *carried])
        # A loop without a condition ignores what the body returns.
        going = going if going is None else made[0]
        carried = made[1 : len(carried) + 1]
        results.append(made[len(carried) + 1 :])
    return [*carried, *_stacked(results, outputs, [0] * outputs, [0] * outputs)]


def branch(run: Body, attributes: Any, condition: Any) -> list[Any]:
    """Compute ``If``: one of two graphs."""
    return run(attributes["then_branch" if _truth(condition) else "else_branch"], [])


def _truth(condition: Any) -> bool:
    return bool(_one(condition))


def _one(x: Any) -> Any:
    """Return the element of an array, which has one."""
    if x.size != 1:
        raise ValueError(f"a count or a condition of shape {x.shape} is not one number")
    return x.reshape(()).item()


def _numbers(attributes: Any, name: str, count: int) -> list[int]:
    given = list(attributes.get(name, [0] * count))
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} numbers for {count} arrays")
    return given


def _stacked(results: list[list[Any]], count: int, axes: Sequence[int], ways: Sequence[int]) -> list[Any]:
    """Return the results of all steps, stacked along an axis each."""
    if count and not results:
        raise ValueError("the results of a loop without iterations have no known shape")
    made = []
    for at in range(count):
        rows = [row[at] for row in results][:: -1 if ways[at] else 1]
        rows = rows if all(map(is_host, rows)) else [placed(row) for row in rows]
        made.append(library(*rows).stack(rows, axes[at]))
    return made


CONTROL: dict[str, Callable[..., list[Any]]] = {"If": branch, "Loop": loop, "Scan": scan}
