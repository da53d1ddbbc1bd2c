"""Groups of nodes that are one ONNX node: batch normalisation by running statistics.

The engine fuses its pointwise ops itself, so graph files list them one by one. Other runtimes merge a
``BatchNormalization`` into the convolution before it, but not these ops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple


class BatchNorm(NamedTuple):
    """References to the arrays of a batch normalisation over axis 1, and the nodes it consists of except the last."""

    x: dict[str, Any]
    gamma: dict[str, Any] | None
    beta: dict[str, Any]
    mean: dict[str, Any]
    variance: dict[str, Any]
    epsilon: float
    nodes: tuple[int, ...]


def batch_norms(tree: dict[str, Any]) -> dict[int, BatchNorm]:
    """Find batch normalisations: ``(x - mean) * reciprocal(sqrt(variance + epsilon)) * gamma + beta``.

    The result maps the number of the last node of each to its parts.
    """
    graph = _Graph(tree)
    return {last: found for last, node in enumerate(tree["nodes"]) if (found := graph.batch_norm(node)) is not None}


class _Graph:
    """The nodes of a graph file, and how often each is read."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._nodes: list[dict[str, Any]] = tree["nodes"]
        self._shapes = [one["shape"] for one in [*tree["inputs"], *tree["parameters"], *tree["nodes"]]]
        self._first = len(self._shapes) - len(self._nodes)
        self._uses = Counter(reference["array"] for reference in _references(tree))

    def _inner(self, reference: dict[str, Any], op: str) -> dict[str, Any] | None:
        """Return the node that a reference is the only one to read, as a whole, if it has this op."""
        array = reference.get("array", -1)
        if array < self._first or "view" in reference or self._uses[array] != 1:
            return None
        node = self._nodes[array - self._first]
        return node if node["op"] == op else None

    def _channels(self, reference: dict[str, Any], node: dict[str, Any]) -> dict[str, Any] | None:
        """Return the vector whose elements belong to the channels of a node, if a reference reads one."""
        shape = node["shape"]
        view = reference.get("view", {"shape": None})
        if len(shape) < 2 or view["shape"] != [1, shape[1], *[1] * (len(shape) - 2)] or view["offset"] != 0:
            return None
        array: int = reference["array"]
        return {"array": array} if self._shapes[array] == [shape[1]] else None

    def batch_norm(self, node: dict[str, Any]) -> BatchNorm | None:
        """Return the batch normalisation that a node ends."""
        if node["op"] != "add":
            return None
        scaled, beta = node["inputs"]
        product = self._inner(scaled, "multiply")
        if product is None:
            return None
        gamma, nodes = None, [scaled["array"]]
        inner = self._inner(product["inputs"][0], "multiply")
        if inner is not None:
            gamma = self._channels(product["inputs"][1], node)
            if gamma is None:
                return None
            nodes.append(product["inputs"][0]["array"])
            product = inner
        apart, factor = product["inputs"]
        nodes += [apart.get("array"), factor.get("array")]
        difference, inverse = self._inner(apart, "subtract"), self._inner(factor, "reciprocal")
        root = inverse and self._inner(inverse["inputs"][0], "sqrt")
        total = root and self._inner(root["inputs"][0], "add")
        if difference is None or inverse is None or not root or not total or "float" not in total["inputs"][1]:
            return None
        nodes += [inverse["inputs"][0]["array"], root["inputs"][0]["array"]]
        x, mean = difference["inputs"]
        beta, mean = self._channels(beta, node), self._channels(mean, node)
        variance, epsilon = self._channels(total["inputs"][0], node), total["inputs"][1]["float"]
        if beta is None or mean is None or variance is None or not isinstance(epsilon, float):
            return None
        if "array" not in x or difference["shape"] != node["shape"]:
            return None
        return BatchNorm(x, gamma, beta, mean, variance, epsilon, tuple(array - self._first for array in nodes))


def _references(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for node in tree["nodes"]:
        yield from (one for one in node["inputs"] if "array" in one)
    yield from tree["outputs"]
