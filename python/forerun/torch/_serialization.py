"""Files of tensors: ``save`` and ``load``.

A file is a safetensors file: tensors by name, and a JSON text that says how they lie in dicts, lists and modules.
Nothing in a file is executed. A module's class is looked up among those that the program has already defined.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from forerun import _forerun, npx
from forerun._refused import refused
from forerun.torch._place import device as _device
from forerun.torch._place import to_device
from forerun.torch._size import Size
from forerun.torch._tensor import Parameter, Tensor

__all__ = ["load", "save"]

_NOTE = "forerun.torch"
_PLAIN = (str, int, float, bool, type(None))
# The modules whose functions a file may name, for modules that keep one as an attribute.
_FUNCTIONS = ("forerun.torch.nn.functional",)
_DEPTH = 200


class _Writer:
    """Turns an object into JSON, and collects its tensors."""

    def __init__(self) -> None:
        self.arrays: dict[str, _forerun.ndarray] = {}
        self._names: dict[int, str] = {}

    def write(self, value: Any, path: str) -> Any:
        from forerun._dialect.module import Module

        if isinstance(value, Tensor):
            return self._tensor(value, path)
        if isinstance(value, Module):
            parts = {name: part for name, part in value.__dict__.items() if not _is_hooks(name)}
            state = {name: self.write(part, f"{path}.{name}") for name, part in parts.items()}
            return {"module": f"{type(value).__module__}:{type(value).__qualname__}", "state": state}
        if isinstance(value, float) and value - value != 0:
            return {"float": str(value)}
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, Size):
            return {"size": list(value)}
        if isinstance(value, (list, tuple, set)):
            kind = "list" if isinstance(value, list) else "set" if isinstance(value, set) else "tuple"
            return {kind: [self.write(part, f"{path}.{number}") for number, part in enumerate(value)]}
        if isinstance(value, Mapping):
            kind = "ordered" if isinstance(value, collections.OrderedDict) else "dict"
            rows = [[self.write(key, path), self.write(part, f"{path}.{key}")] for key, part in value.items()]
            return {kind: rows}
        if isinstance(value, _forerun.dtype):
            return {"dtype": value.name}
        if isinstance(value, _device):
            return {"device": str(value)}
        if getattr(value, "__module__", None) in _FUNCTIONS and callable(value):
            return {"function": f"{value.__module__}:{value.__name__}"}
        scalar = getattr(value, "item", None)
        if type(value).__module__ == "numpy" and scalar is not None and getattr(value, "ndim", 1) == 0:
            return self.write(scalar(), path)
        raise TypeError(
            f"save: {path or 'the object'} is a {type(value).__name__}, which a file of tensors cannot hold: "
            "save state_dict(), and numbers, texts, lists and dicts"
        )

    def _tensor(self, tensor: Tensor, path: str) -> Any:
        name = self._names.get(id(tensor))
        if name is None:
            wanted = path.lstrip(".") or "tensor"
            name = wanted
            while name in self.arrays:
                name = f"{wanted}.{len(self.arrays)}"
            self._names[id(tensor)] = name
            self.arrays[name] = tensor._array.detach()
        kind = "parameter" if isinstance(tensor, Parameter) else "tensor"
        return {kind: name, "asks": tensor.requires_grad and tensor.is_leaf}


def _is_hooks(name: str) -> bool:
    return name.endswith("_hooks")


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: Any = None) -> None:
    """Write tensors, state dicts or modules to a file. Waits for their values.

    Parameters
    ----------
    obj : object
        Tensors and modules in dicts, lists and tuples, with numbers and texts.
    f : path or file
        The file. A path is replaced as a whole.
    pickle_module, pickle_protocol
        Have no effect: files are in the safetensors format.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.pth")
    ...     torch.save({"x": torch.ones(2), "epoch": 3}, path)
    ...     torch.load(path)
    {'x': tensor([1., 1.]), 'epoch': 3}
    """
    writer = _Writer()
    form = writer.write(obj, "")
    notes = {_NOTE: json.dumps(form)}
    if not hasattr(f, "write"):
        _forerun.save_arrays(os.fspath(f), writer.arrays, notes)
        return
    with _temporary() as path:
        _forerun.save_arrays(path, writer.arrays, notes)
        with open(path, "rb") as written:
            f.write(written.read())


@contextlib.contextmanager
def _temporary() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "tensors")


class _Reader:
    """Builds an object from JSON and tensors."""

    def __init__(self, where: str, arrays: Mapping[str, _forerun.ndarray], place: Any) -> None:
        self._where, self._arrays, self._place = where, arrays, place
        self._tensors: dict[str, Tensor] = {}

    def _bad(self, what: str) -> ValueError:
        return refused(f"load: {self._where}: {what}")

    def read(self, form: Any, depth: int = 0) -> Any:
        if depth > _DEPTH:
            raise self._bad("the objects are nested too deeply")
        if isinstance(form, _PLAIN):
            return form
        if not isinstance(form, dict) or not form:
            raise self._bad("the description of the objects is malformed")
        kind, value = next(iter(form.items()))
        if kind in ("tensor", "parameter"):
            return self._tensor(kind, value, bool(form.get("asks")))
        if kind == "module":
            return self._module(value, form.get("state"), depth)
        if kind in ("list", "tuple", "set", "size", "dict", "ordered"):
            if not isinstance(value, list):
                raise self._bad("the description of the objects is malformed")
            return self._container(kind, value, depth)
        if not isinstance(value, str):
            raise self._bad("the description of the objects is malformed")
        if kind == "float" and value in ("inf", "-inf", "nan"):
            return float(value)
        if kind == "dtype" and value in {"bool", *_KINDS}:
            return _forerun.dtype(value)
        if kind == "device":
            return _device(value)
        if kind == "function":
            return self._function(value)
        raise self._bad(f"{kind!r} is not known here")

    def _container(self, kind: str, value: list[Any], depth: int) -> Any:
        if kind in ("dict", "ordered"):
            rows = [row for row in value if isinstance(row, list) and len(row) == 2]
            if len(rows) != len(value):
                raise self._bad("the description of the objects is malformed")
            made: dict[Any, Any] = collections.OrderedDict() if kind == "ordered" else {}
            for key, part in rows:
                name = self.read(key, depth + 1)
                if not isinstance(name, (*_PLAIN, tuple)):
                    raise self._bad("the key of a dict is neither a text nor a number")
                made[name] = self.read(part, depth + 1)
            return made
        parts = [self.read(part, depth + 1) for part in value]
        kinds: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "size": Size}
        return kinds[kind](parts)

    def _tensor(self, kind: str, name: Any, asks: bool) -> Tensor:
        if not isinstance(name, str) or name not in self._arrays:
            raise self._bad(f"there is no tensor {name!r}")
        if name not in self._tensors:
            array = self._arrays[name] if self._place is None else self._arrays[name].as_in_ctx(self._place)
            if kind == "parameter":
                self._tensors[name] = Parameter(Tensor._of(array), asks)
            else:
                self._tensors[name] = Tensor._of(array)
                self._tensors[name]._ask(asks)
        return self._tensors[name]

    def _module(self, name: Any, state: Any, depth: int) -> Any:
        from forerun._dialect.module import Module

        if not isinstance(name, str) or not isinstance(state, dict):
            raise self._bad("the description of a module is malformed")
        file, _, path = name.partition(":")
        # Only what the program has defined: nothing is imported because a file says so.
        found: Any = sys.modules.get(file)
        for part in path.split("."):
            found = vars(found).get(part) if found is not None else None
        if not (isinstance(found, type) and issubclass(found, Module)):
            raise self._bad(
                f"it holds a module of class {path} of {file}, which this program has not defined: define or import "
                "the class, or save state_dict()"
            )
        made = object.__new__(found)
        Module.__init__(made)
        for key, part in state.items():
            made.__dict__[key] = self.read(part, depth + 1)
        return made

    def _function(self, name: str) -> Any:
        file, _, attribute = name.partition(":")
        import importlib

        if file not in _FUNCTIONS or attribute not in importlib.import_module(file).__all__:
            raise self._bad(f"it names the function {name}, which is not one of {', '.join(_FUNCTIONS)}")
        return getattr(importlib.import_module(file), attribute)


_KINDS = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip


def _refuse_pickles(path: str) -> None:
    """Raise if a file is one of PyTorch's own."""
    with open(path, "rb") as opened:
        start = opened.read(64)
    zipped = False
    if start.startswith(b"PK\x03\x04"):
        import zipfile

        try:
            with zipfile.ZipFile(path) as archive:
                zipped = any(name.endswith("data.pkl") or name == "constants.pkl" for name in archive.namelist())
        except zipfile.BadZipFile:
            zipped = False
    if zipped or start[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise RuntimeError(
            f"load: {path} was pickled by PyTorch. A pickle can run any program, so it is never read. Convert it where "
            "PyTorch is installed: safetensors.torch.save_file(torch.load(path, weights_only=True), "
            "'model.safetensors')"
            f"\n  read at {_forerun.user_line()}"
        )


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Read what :func:`save` wrote, or the tensors of any safetensors, NumPy or MXNet parameter file.

    Files that PyTorch pickled raise ``RuntimeError``.

    Parameters
    ----------
    f : path or file
        The file. It is validated before memory is allocated for the tensors.
    map_location : device, optional
        Where the tensors are put; the current device if not given.
    pickle_module, weights_only, mmap
        Have no effect: nothing in a file is executed. With ``weights_only`` modules raise.

    Examples
    --------
    >>> import io
    >>> from forerun import torch
    >>> buffer = io.BytesIO()
    >>> torch.save(torch.arange(3), buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    tensor([0, 1, 2])
    """
    if hasattr(f, "read"):
        with _temporary() as path:
            with open(path, "wb") as copied:
                copied.write(f.read())
            return load(path, map_location, weights_only=weights_only)
    path = os.fspath(f)
    _refuse_pickles(path)
    if isinstance(map_location, Mapping):
        raise TypeError("load: map_location must be a device, or None")
    place = None if map_location is None or callable(map_location) else to_device(map_location)
    with open(path, "rb") as opened:
        safe = opened.read(9)[8:] == b"{"
    if not safe:
        made = npx.load(path)
        if isinstance(made, list):
            listed = [Tensor._of(array if place is None else array.as_in_ctx(place)) for array in made]
            return listed[0] if len(listed) == 1 else listed
        return {name: Tensor._of(array if place is None else array.as_in_ctx(place)) for name, array in made.items()}
    arrays, notes = _forerun.load_arrays(path)
    reader = _Reader(path, arrays, place)
    if _NOTE not in notes:
        return {name: reader._tensor("tensor", name, False) for name in arrays}
    try:
        form = json.loads(notes[_NOTE])
    except (ValueError, RecursionError):
        raise refused(f"load: {path}: the description of the objects is malformed") from None
    if weights_only and '"module":' in notes[_NOTE]:
        raise refused(f"load: {path}: it holds a module, and weights_only was requested")
    try:
        return reader.read(form)
    except (TypeError, RuntimeError) as error:
        # What a device, a set or a tensor that asks for gradients does not accept.
        raise refused(f"load: {path}: {error}") from error
