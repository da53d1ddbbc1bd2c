"""Blocks made from exported graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from forerun._device import DeviceLike
from forerun._forerun import Graph, ndarray
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block whose computation comes from a file that ``HybridBlock.export`` wrote; :meth:`imports` reads one.

    It has the parameters of the exported block, with their names. It can be trained, hybridized, saved and exported
    again. The computation is that of prediction mode, whatever the mode of the thread.

    Parameters
    ----------
    graph
        The computation.
    input_names
        The names of the inputs, in the order in which the block takes them.
    """

    def __init__(self, graph: Graph, input_names: Sequence[str]) -> None:
        super().__init__()
        known = [name for name, _, _ in graph.inputs]
        if sorted(input_names) != sorted(known):
            raise ValueError(f"SymbolBlock: the graph has the inputs {known}, not {list(input_names)}")
        self._graph = graph
        self._order = [list(input_names).index(name) for name in known]
        for name, shape, kind, role in graph.parameters:
            trained = role == "trained"
            self._reg_params[name] = Parameter(
                name, grad_req="write" if trained else "null", shape=shape, dtype=kind, differentiable=trained
            )

    @classmethod
    def imports(
        cls,
        symbol_file: str | os.PathLike[str],
        input_names: str | Sequence[str],
        param_file: str | os.PathLike[str] | None = None,
        device: DeviceLike = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        *,
        ctx: DeviceLike = None,
    ) -> SymbolBlock:
        """Read a graph and its parameters. Both files may come from strangers: nothing in them is executed.

        Parameters
        ----------
        symbol_file
            The graph, ``path-symbol.json``.
        input_names
            The names of the inputs, in the order in which the block takes them.
        param_file
            The parameters, ``path-0000.params``. Without them, call ``initialize`` or ``load_parameters``.
        device, ctx
            The device or devices of the parameters.
        allow_missing
            Whether parameters may be missing from the file.
        ignore_extra
            Whether the file may contain additional arrays.

        Examples
        --------
        >>> import os, tempfile
        >>> from forerun import gluon, np
        >>> net = gluon.nn.Dense(1, in_units=2)
        >>> net.initialize("ones")
        >>> net.hybridize()
        >>> y = net(np.ones((8, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = net.export(os.path.join(folder, "net"))
        ...     again = gluon.SymbolBlock.imports(files[0], "data", files[1])
        >>> again(np.ones((3, 2))).shape, list(again.collect_params())
        ((3, 1), ['weight', 'bias'])
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = cls(Graph.open(symbol_file), names)
        if param_file is not None:
            block.load_parameters(param_file, ctx, allow_missing, ignore_extra, device=device)
        return block

    def forward(self, *inputs: Any) -> Any:
        """Run the graph on arrays, nested or not; return its output, or a list if there are several."""
        found: list[ndarray] = []
        _collect(inputs, found)
        if len(found) != len(self._order):
            raise ValueError(f"SymbolBlock: takes {len(self._order)} arrays, not {len(found)}")
        arrays = [found[place] for place in self._order]
        outputs = self._graph.run(arrays, [parameter.data() for parameter in self._reg_params.values()])
        return outputs[0] if len(outputs) == 1 else outputs

    def __repr__(self) -> str:
        """Return the inputs and the number of ops."""
        names = ", ".join(name for name, _, _ in self._graph.inputs)
        return f"SymbolBlock({names}: {len(self._graph)} ops)"


def _collect(value: Any, found: list[ndarray]) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)
    elif isinstance(value, ndarray):
        found.append(value)
    else:
        raise TypeError(f"SymbolBlock: takes arrays, not {type(value).__name__}")
