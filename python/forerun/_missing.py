"""Errors about missing names: they suggest the nearest name, or the module that has it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any

# If no name is near, up to this many names are listed.
_FEW = 25
# The required similarity, and a stricter one if the first letters differ: `sum` is not a correction of `einsum`.
_ALIKE, _VERY_ALIKE = 0.72, 0.85
# The modules that may have a missing name, the most likely first.
_MODULES = (
    "forerun.np",
    "forerun.npx",
    "forerun.gluon.nn",
    "forerun.gluon",
    "forerun.gluon.loss",
    "forerun.np.linalg",
    "forerun.np.random",
    "forerun.np.fft",
    "forerun.autograd",
    "forerun.init",
    "forerun.optimizer",
    "forerun.lr_scheduler",
    "forerun.gluon.data",
    "forerun.gluon.data.vision",
    "forerun.gluon.data.vision.transforms",
    "forerun.gluon.rnn",
    "forerun.gluon.metric",
    "forerun.gluon.model_zoo.vision",
    "forerun.gluon.probability",
    "forerun.gluon.utils",
    "forerun.image",
    "forerun.recordio",
    "forerun.engine",
    "forerun",
)
# Why names of other libraries do not exist, in any module.
_REASONS = {
    name: reason
    for names, reason in (
        ("char chararray strings str_ bytes_ StringDType", "arrays hold numbers and booleans, not text"),
        ("datetime64 timedelta64 busday_count busday_offset is_busday", "arrays hold numbers and booleans, not dates"),
        (
            "rec recarray record void object_ structured_to_unstructured",
            "arrays hold numbers and booleans, not objects",
        ),
        ("matrix asmatrix mat bmat matlib", "a matrix is an array with two dimensions"),
        ("float128 longdouble clongdouble complex256 float96", "the widest dtypes are float64 and complex128"),
        ("alltrue", "use all"),
        ("sometrue", "use any"),
        ("trapz", "use trapezoid"),
        ("financial fv irr mirr nper npv pmt ppmt pv rate", "NumPy moved its financial functions to numpy-financial"),
        ("distutils f2py compat ctypeslib show_config who source", "this belongs to NumPy itself: import numpy"),
        ("memmap nditer nested_iters ndenumerate", "arrays are computed in the background; use asnumpy() and NumPy"),
        ("BitGenerator MT19937 PCG64 PCG64DXSM Philox SFC64 SeedSequence", "there is one kind of generator"),
        (
            "quantize quantize_v2 dequantize requantize quantization quantized quant qat",
            "there are no quantised arrays",
        ),
        ("intgemm_fully_connected intgemm_prepare_data intgemm_prepare_weight", "there are no quantised arrays"),
        (
            "sparse csr_matrix row_sparse_array SparseEmbedding SparseAdam sparse_attention",
            "there are no sparse arrays",
        ),
        ("DataParallel DistributedDataParallel DistributedSampler DistributedBatchSampler", "there is one process"),
        ("distributed fleet launch horovod", "there is one process; parameters may live on several devices"),
        ("SummaryWriter tensorboard", "write logs with the program's own tools; forerun.trace() records a timeline"),
        ("summary flops", "Block.summary of forerun.gluon prints a network"),
        ("callbacks hapi", "write the training loop, or use forerun.gluon.contrib.estimator"),
        (
            "static enable_static disable_static in_dynamic_mode",
            "programs run as they are written; there are no static graphs",
        ),
        ("export", "networks are exported with forerun.gluon and forerun.onnx"),
        ("imshow imwrite", "use matplotlib, or forerun.image.imencode"),
        ("layout memory_format", "tensors have strides, but one layout"),
        ("UntypedStorage TypedStorage storage is_storage", "tensors have no storages of their own"),
        ("nested", "pad sequences with nn.utils.rnn.pad_sequence"),
        ("audio text", "only images have transforms here"),
        ("tvmop subgraph libinfo deferred_compute registry misc", "this belongs to MXNet's own implementation"),
    )
    for name in names.split()
}
# Those that are searched first for a missing name of a dialect.
_VISION = (".vision.transforms", ".vision.datasets", ".vision.models")
_DIALECTS = {
    "torch": (
        "", ".nn", ".nn.functional", ".optim", ".optim.lr_scheduler", ".utils.data", ".nn.utils", ".nn.utils.rnn",
        ".linalg", ".autograd", *_VISION,
    ),
    "paddle": (
        "", ".nn", ".nn.functional", ".nn.initializer", ".optimizer", ".optimizer.lr", ".io", ".metric", *_VISION,
    ),
    "mxnet": ("", ".nd", ".nd.random", ".io", ".util", ".random", ".amp"),
}  # fmt: skip


class _Lazy(Exception):
    """An error whose suggestion is computed lazily: failed lookups are frequent in imports."""

    def __init__(self, text: str, owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> None:
        super().__init__()
        self._text, self._looked = text, (owner, name, names, hints)

    def __str__(self) -> str:
        return self._text + _advice(*self._looked)

    def __repr__(self) -> str:
        return f"{type(self).__mro__[2].__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__mro__[2], (str(self),)


class MissingName(_Lazy, AttributeError):
    """The error for a missing name."""


class MissingImport(_Lazy, ImportError):
    """The error for ``from module import name``; the interpreter would replace an ``AttributeError`` by its own."""


def lacking(owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> AttributeError | ImportError:
    """Make the error for a missing name: an ``ImportError`` if a statement ``from module import name`` needs it.

    Parameters
    ----------
    owner : str
        The object that lacks the name, such as ``module 'forerun.torch'``.
    name : str
        The name.
    names : iterable of str
        The existing names.
    hints : mapping
        Suggestions for names whose nearest neighbour would mislead.

    Examples
    --------
    >>> from forerun._missing import lacking
    >>> lacking("module 'forerun.torch'", "ranb", ["rand", "zeros"], {})
    AttributeError("module 'forerun.torch' has no attribute 'ranb'; did you mean 'rand'?")
    >>> lacking("module 'forerun.torch'", "einsum", ["sum", "zeros"], {})
    AttributeError("module 'forerun.torch' has no attribute 'einsum'; forerun.np has it")
    >>> lacking("module 'forerun.torch'", "jit", [], {"jit": "plain calls are planned and fused already"})
    AttributeError("module 'forerun.torch' has no attribute 'jit': plain calls are planned and fused already")
    >>> lacking("module 'forerun.torch.utils'", "benchmark", ["data"], {})
    AttributeError("module 'forerun.torch.utils' has no attribute 'benchmark'; it has data")
    """
    if _is_imported(owner, name):
        text = f"cannot import name {name!r} from {owner.removeprefix('module ')}"
        return MissingImport(text, owner, name, names, hints)
    return MissingName(f"{owner} has no attribute {name!r}", owner, name, names, hints)


def _is_imported(owner: str, name: str) -> bool:
    """Return whether the program is executing ``from owner import name``."""
    import opcode

    frame: FrameType | None = sys._getframe(2)
    # The functions ``__getattr__`` of the module itself.
    while frame is not None and (frame.f_code is _CODE or _is_getattr_of(owner, frame)):
        frame = frame.f_back
    if frame is None or f"{owner[8:-1]}.{name}" in sys.modules:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return 0 <= at < len(code) and code[at] == opcode.opmap["IMPORT_FROM"]


def _is_getattr_of(owner: str, frame: FrameType) -> bool:
    return frame.f_code.co_name == "__getattr__" and owner == f"module {frame.f_globals.get('__name__')!r}"


def _advice(owner: str, name: str, names: Iterable[str], hints: Mapping[str, str]) -> str:
    """Return what the message says about the right name."""
    if name in hints:
        return f": {hints[name]}"
    # Public names only, each once, ignoring case.
    public = sorted({known for known in names if not known.startswith("_")})
    same = [known for known in public if known.lower() == name.lower()]
    if same:
        return f"; did you mean {same[0]!r}?"
    if name in _REASONS:
        return f": {_REASONS[name]}"
    for module in _searched(owner):
        found = [known for known in _names_of(module) if known.lower() == name.lower()]
        if found and f"'{module}'" not in owner:
            return f"; {module} has {'it' if name in found else repr(found[0])}"
    near = _nearest(name, public)
    if near is not None:
        return f"; did you mean {near!r}?"
    if 0 < len(public) <= _FEW:
        return f"; it has {', '.join(public)}"
    # What objects have depends on the program.
    return f"; {_listed(owner)} lists what there is" if owner.startswith("module ") else ""


def _searched(owner: str) -> list[str]:
    """Return the modules that may have a missing name, those of the same dialect first."""
    dialect = next((name for name in _DIALECTS if owner.startswith(f"module 'forerun.{name}")), None)
    own = [f"forerun.{dialect}{part}" for part in _DIALECTS[dialect]] if dialect is not None else []
    return [*own, *_MODULES]


def _listed(owner: str) -> str:
    """Return where the names of a module are listed."""
    for part in ("torch", "paddle", "mxnet"):
        if owner.startswith(f"module 'forerun.{part}"):
            return f"docs/{part}.md"
    return "docs/functions.md"


def _nearest(name: str, public: Iterable[str]) -> str | None:
    """Return the nearest name, if it is near enough."""
    import difflib

    def alike(first: str, second: str) -> float:
        return difflib.SequenceMatcher(None, first, second).ratio()

    names = list(public)
    for close in difflib.get_close_matches(name.lower(), dict.fromkeys(map(str.lower, names)), n=3, cutoff=_ALIKE):
        if close[0] == name[0].lower() or alike(name.lower(), close) >= _VERY_ALIKE:
            return max((known for known in names if known.lower() == close), key=lambda known: alike(name, known))
    return None


def _names_of(module: str) -> Iterable[str]:
    import importlib

    names: Iterable[str] = importlib.import_module(module).__all__
    return names


def module_getattr(module: str, names: Mapping[str, Any], hints: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module; a package's submodules that are loaded and have none get one too.

    Parameters
    ----------
    module : str
        Its name.
    names : mapping
        Its globals, whose ``__all__`` is searched for the nearest name.
    hints : mapping
        Suggestions for names whose nearest neighbour would mislead.

    Examples
    --------
    >>> from forerun._missing import module_getattr
    >>> module_getattr("forerun.torch", {"zeros": 0}, {})("zeroes")
    Traceback (most recent call last):
        ...
    forerun._missing.MissingName: module 'forerun.torch' has no attribute 'zeroes'; did you mean 'zeros'?
    """

    def getattribute(name: str) -> Any:
        # The interpreter itself looks up dunder names, which need no suggestion.
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise lacking(f"module {module!r}", name, names.get("__all__", names), hints)

    if "__path__" in names:
        cover(module)
    return getattribute


# The code of the functions that the above makes.
_CODE: CodeType = module_getattr("", {}, {}).__code__


def cover(package: str) -> None:
    """Give the loaded public modules of a package that have no ``__getattr__`` the one of :func:`module_getattr`.

    Examples
    --------
    >>> from forerun import gluon
    >>> from forerun._missing import cover
    >>> cover("forerun.gluon")
    >>> gluon.trainer.Trainr
    Traceback (most recent call last):
        ...
    forerun._missing.MissingName: module 'forerun.gluon.trainer' has no attribute 'Trainr'; did you mean 'Trainer'?
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and "._" not in name and module.__name__ == name:
            module.__dict__.setdefault("__getattr__", module_getattr(name, module.__dict__, {}))


class Submodules:
    """Explains why a submodule of the package cannot be imported; the last entry of ``sys.meta_path``."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise the error for a module that no other finder found."""
        parent, _, child = name.rpartition(".")
        module = sys.modules.get(parent)
        known = getattr(module, "__name__", "")
        if not (known == "forerun" or known.startswith("forerun.")) or child.startswith("_"):
            return
        # Programs that only ask whether there is a module get no error.
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return
        try:
            getattr(module, child)
            advice = f": it is not a module; use from {parent} import {child}"
        except (AttributeError, ImportError) as error:
            advice = str(error).partition(repr(child))[2]
        raise ModuleNotFoundError(f"No module named {name!r}{advice}", name=name)
