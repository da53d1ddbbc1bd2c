"""The formats that Forerun reads: valid files, how to read one, how to damage one, and what the errors must contain."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mutations
import numpy
from mutations import Mutation, anywhere, spliced, words

from forerun import autograd, gluon, init, np, npx, onnx, recordio, torch
from forerun.image import imdecode

HERE = pathlib.Path(__file__).parent
# Arrays that reading a short file may allocate, in bytes.
SLACK = 256 << 10


class Format(NamedTuple):
    """A format: valid files, how to read one, how to damage one, and what the errors must contain."""

    files: Sequence[bytes]
    read: Callable[[bytes, random.Random], Any]
    mutations: Sequence[Mutation]
    named: Sequence[str]
    # Arrays that reading a short file may allocate.
    allowance: int = SLACK
    # Further documented exceptions.
    others: tuple[type[BaseException], ...] = ()


Maker = Callable[[pathlib.Path], Format]


def _reading(folder: pathlib.Path, *content: bytes, load: Callable[[str], Any], mutators: Sequence[Mutation]) -> Format:
    """Return a format whose files are read from a path."""
    path = str(folder / "file")

    def read(data: bytes, _: random.Random) -> Any:
        with open(path, "wb") as file:
            file.write(data)
        return load(path)

    return Format(content, read, [anywhere, words, spliced, *mutators], [path])


def _written(folder: pathlib.Path, write: Callable[[pathlib.Path], Any]) -> bytes:
    path = folder / "valid"
    write(path)
    return path.read_bytes()


def network() -> gluon.nn.HybridSequential:
    """Return a small network."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3, in_units=2), gluon.nn.Dense(2, in_units=3))
    net.initialize(init.Normal(1))
    return net


def pictures(kind: str, own: Mutation) -> Maker:
    """Return the format of an image."""

    def maker(_: pathlib.Path) -> Format:
        known = json.loads((HERE / "pictures.json").read_text(encoding="utf-8"))
        files = [base64.b64decode(entry["file"]) for name, entry in known.items() if name.endswith(kind)]

        def read(data: bytes, dice: random.Random) -> Any:
            made = imdecode(data, dice.choice([1, 0, -1]))
            assert made.ndim == 3 and made.dtype == "uint8"

        # A short file may announce some millions of pixels, because files of one colour are short.
        return Format(files, read, [anywhere, words, spliced, own, own], ["imdecode: "], 64 << 20)

    return maker


def record(folder: pathlib.Path) -> Format:
    """Return record files without an index."""
    magic = struct.pack("<I", 0xCED7230A)

    def write(path: pathlib.Path) -> None:
        writer = recordio.MXRecordIO(path, "w")
        for number, text in enumerate((b"abcdefg", magic * 2 + b"xy", b"", bytes(40))):
            label = [1.0, 2.0] if number % 2 else 3.0
            writer.write(recordio.pack(recordio.IRHeader(0, label, number, 0), text))
        writer.close()

    def load(path: str) -> None:
        reader = recordio.MXRecordIO(path, "r")
        try:
            while (each := reader.read()) is not None:
                recordio.unpack(each)
        finally:
            reader.close()

    found = _reading(folder, _written(folder, write), load=load, mutators=[mutations.records])
    return found._replace(named=[*found.named, "unpack: "])


def index(folder: pathlib.Path) -> Format:
    """Return the indices of record files."""
    data = folder / "x.rec"

    def write(path: pathlib.Path) -> None:
        writer = recordio.MXIndexedRecordIO(path, data, "w")
        for number in range(4):
            writer.write_idx(number, bytes(number * 5))
        writer.close()

    def load(path: str) -> None:
        reader = recordio.MXIndexedRecordIO(path, data, "r")
        try:
            for key in reader.keys:
                reader.read_idx(key)
        finally:
            reader.close()

    found = _reading(folder, _written(folder, write), load=load, mutators=[])
    return found._replace(named=[*found.named, str(data)])


def labelled(_: pathlib.Path) -> Format:
    """Return single records: a header, labels and an image."""
    pixels = numpy.zeros((4, 4, 3), "uint8")
    files = [recordio.pack_img(recordio.IRHeader(0, label, 7, 0), pixels, 5, ".png") for label in ([1, 2, 3], 4.0)]
    read = lambda data, _: recordio.unpack_img(data)  # noqa: E731
    return Format(files, read, [anywhere, words, spliced], ["unpack: ", "imdecode: "], 64 << 20)


def params(folder: pathlib.Path) -> Format:
    """Return MXNet's files of arrays, of every version of an array."""
    data = struct.pack("<QQQ", 0x112, 0, 2)
    data += struct.pack("<Iiiqqiii6f", 0xF993FAC9, 0, 2, 2, 3, 1, 0, 0, *range(6))
    data += struct.pack("<Iiiqiii3i", 0xF993FACA, 0, 1, 3, 1, 0, 4, *range(3))
    data += struct.pack("<QQ4sQ4s", 2, 4, b"0.w_", 4, b"0.b_")
    old = struct.pack("<QQQ", 0x112, 0, 2)
    old += struct.pack("<Iiqiii2d", 0xF993FAC8, 1, 2, 1, 0, 1, 0.5, 1.5)
    old += struct.pack("<IIiii2B", 1, 2, 1, 0, 3, 7, 8)
    old += struct.pack("<Q", 0)
    return _reading(folder, data, old, load=npx.load, mutators=[])


def safetensors(folder: pathlib.Path) -> Format:
    """Return dicts and lists of arrays."""
    mask = np.array([True, False])
    arrays = {"x": np.ones((3, 2)), "empty": np.zeros((0, 4)), "mask": mask, "n": np.arange(5)}
    listed = [np.ones((3,)), np.zeros((2, 2))]
    files = [_written(folder, lambda path, made=made: npx.save(str(path), made)) for made in (arrays, listed)]  # type: ignore[misc]
    return _reading(folder, *files, load=npx.load, mutators=[mutations.safetensors])


def parameters(folder: pathlib.Path) -> Format:
    """Return parameters of a network; a failed load changes nothing."""
    net = network()
    file = _written(folder, net.save_parameters)
    kept = [one.data() for one in net.collect_params().values()]

    def load(path: str) -> None:
        try:
            net.load_parameters(path)
        except ValueError:
            now = [one.data() for one in net.collect_params().values()]
            assert all(x is y for x, y in zip(kept, now, strict=True)), "a failed load replaced a parameter"
            raise
        kept[:] = [one.data() for one in net.collect_params().values()]

    return _reading(folder, file, load=load, mutators=[mutations.safetensors])


def states(folder: pathlib.Path) -> Format:
    """Return states of an optimiser."""
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with autograd.record():
        loss = net(np.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)
    file = _written(folder, lambda path: trainer.save_states(str(path)))
    return _reading(folder, file, load=trainer.load_states, mutators=[mutations.safetensors])


def npy(folder: pathlib.Path) -> Format:
    """Return NumPy's arrays."""

    def written(array: Any) -> bytes:
        def write(path: pathlib.Path) -> None:
            with open(path, "wb") as file:
                np.save(file, array)

        return _written(folder, write)

    files = [written(np.arange(12).reshape(3, 4).T), written(np.ones((2,), dtype="float16"))]
    return _reading(folder, *files, load=np.load, mutators=[mutations.npy])


def npz(folder: pathlib.Path) -> Format:
    """Return NumPy's archives, stored and compressed."""

    def written(save: Callable[..., None]) -> bytes:
        def write(path: pathlib.Path) -> None:
            with open(path, "wb") as file:
                save(file, np.ones((3, 2)), empty=np.zeros((0, 4)), mask=np.array([True, False]))

        return _written(folder, write)

    def load(path: str) -> Any:
        with np.load(path) as found:
            return dict(found)

    return _reading(folder, written(np.savez), written(np.savez_compressed), load=load, mutators=[mutations.archive])


class Pickled(Exception):
    """PyTorch's own files raise a RuntimeError."""


class Own(torch.nn.Module):
    """A module that a file may hold."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.rate = 0.5


def tensors(folder: pathlib.Path) -> Format:
    """Return files of the PyTorch dialect: tensors, and a text that describes the objects that hold them."""
    nested = [1, 2.5, None, "text", (True, float("inf")), {"y": torch.ones(2, dtype=torch.float16)}]
    plain = {"x": torch.arange(3), "nested": nested, 7: torch.Size([2, 3]), "kind": torch.float64, "set": {1, 2}}
    plain["device"] = torch.device("cpu")
    files = [_written(folder, lambda path, made=made: torch.save(made, path)) for made in (plain, Own())]  # type: ignore[misc]

    def described(files: Sequence[bytes], dice: random.Random) -> bytes:
        """Change the text that describes the objects; the file of tensors is valid."""
        data = dice.choice(files)
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        text = header["__metadata__"]["forerun.torch"].encode()
        header["__metadata__"]["forerun.torch"] = objects([text], dice).decode(errors="replace")
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length :]

    def load(path: str) -> Any:
        try:
            return torch.load(path)
        except RuntimeError as error:
            if "was pickled by PyTorch" in str(error):
                raise Pickled from error
            raise

    made = _reading(folder, *files, load=load, mutators=[mutations.safetensors, described, described])
    return made._replace(others=(Pickled,))


_KINDS = ["tensor", "parameter", "module", "list", "tuple", "set", "size", "dict", "ordered", "float", "dtype"]
_KINDS += ["device", "function"]
_VALUES: list[Any] = [
    None,
    -1,
    1.5,
    "x",
    "cpu",
    "cuda:9",
    [],
    {},
    [[]],
    [[{}, 1]],
    [{"list": []}],
    "builtins:eval",
    "os:system",
]


def objects(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the objects that a text describes."""
    if dice.random() < 0.3:
        return anywhere(files, dice)

    def changed(value: Any) -> Any:
        kind = dice.randrange(12)
        if kind == 0:
            return dice.choice(_VALUES)
        if kind == 1:
            return {dice.choice(_KINDS): value}
        if kind == 2:
            return [value]
        if isinstance(value, list) and value:
            at = dice.randrange(len(value))
            return [*value[:at], changed(value[at]), *value[at + 1 :]]
        if isinstance(value, dict) and value:
            key = dice.choice(list(value))
            new = dice.choice(_KINDS) if kind == 3 else key
            return {(new if one == key else one): (changed(of) if one == key else of) for one, of in value.items()}
        return dice.choice(_VALUES)

    return json.dumps(changed(json.loads(dice.choice(files)))).encode()


def graph(folder: pathlib.Path) -> Format:
    """Return graphs of exported networks."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(2, kernel_size=3, padding=1, activation="relu"), gluon.nn.MaxPool2D(), gluon.nn.Dense(2))
    net.initialize()
    files = []
    for made, shape in ((network(), (4, 2)), (net, (4, 1, 4, 4))):
        made.initialize()
        symbol, _ = made.export(folder / "net", inputs=[np.ones(shape)])
        files.append(pathlib.Path(symbol).read_bytes())
    load = lambda path: gluon.SymbolBlock.imports(path, "data")  # noqa: E731
    found = _reading(folder, *files, load=load, mutators=[])
    return found._replace(named=[*found.named, "SymbolBlock"])


def models(folder: pathlib.Path) -> Format:
    """Return ONNX files."""
    import onnx_models

    files = [file for file, _ in onnx_models.small().values()]
    return _reading(folder, *files, load=onnx.import_model, mutators=[mutations.Onnx(files)] * 3)


# What the engine raises for the values of arrays.
FAILED = (ValueError, IndexError, MemoryError)


def calls(folder: pathlib.Path) -> Format:
    """Return ONNX files that are also run; a call may raise what the engine's functions raise."""
    import onnx_models

    from forerun.onnx import _import

    # A damaged loop would run for minutes.
    _import.MOST_STEPS = 2000
    known = list(onnx_models.small().values())
    files = [file for file, _ in known]
    path = str(folder / "file")

    def read(data: bytes, dice: random.Random) -> Any:
        with open(path, "wb") as file:
            file.write(data)
        block = onnx.import_model(path)
        fitting = [inputs for file, inputs in known if file == data]
        fitting = fitting or [inputs for _, inputs in known if len(inputs) == len(block._graph.inputs)]
        given = dice.choice(fitting or [[]])
        try:
            made = block(*given)
        except MemoryError:
            return
        for one in made if isinstance(made, list) else [made]:
            with contextlib.suppress(*FAILED):
                one.wait_to_read()
        # What no output reads fails too.
        try:
            npx.waitall()
        except Exception as error:
            # A group, if there are several.
            if not all(isinstance(one, FAILED) for one in getattr(error, "exceptions", [error])):
                raise

    return Format(files, read, [mutations.Onnx(files)] * 4 + [spliced], [path, "OnnxBlock: "], 2 << 30)


FORMATS: dict[str, Maker] = {
    "jpeg": pictures("jpg", mutations.jpeg),
    "png": pictures("png", mutations.png),
    "webp": pictures("webp", mutations.riff),
    "records": record,
    "index": index,
    "labelled": labelled,
    "params": params,
    "safetensors": safetensors,
    "parameters": parameters,
    "states": states,
    "npy": npy,
    "npz": npz,
    "tensors": tensors,
    "graph": graph,
    "onnx": models,
    "onnx-calls": calls,
}
