"""Every sample of the catalogue compared with NumPy, under every plan and in the other engine mode."""

from __future__ import annotations

import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from operator import attrgetter
from typing import Any

import ml_dtypes  # noqa: F401  gives NumPy its bfloat16
import numpy
import pytest
from decompositions import DECOMPOSITIONS, reconstructed
from placements import PLACEMENTS
from recurrences import RECURRENCES
from routines import ROUTINES
from special import bessel, digamma, erfinv, gamma, gammaln, polygamma, sinc
from vision import VISION

import forerun
from forerun import _forerun, np, npx

HERE = pathlib.Path(__file__)
SAMPLES: list[dict[str, Any]] = json.loads(HERE.with_name("samples.json").read_text())
CATALOGUE: list[dict[str, Any]] = json.loads((HERE.parents[2] / "docs/catalogue.json").read_text())
ROWS = [op for op in CATALOGUE if op["tier"] == "pointwise"]
# Routines that Python has as they are: the inputs in order, and the function.
FUNCTIONS = {
    op["name"]: (op["inputs"], attrgetter(op["python"] + "." + op["name"])(forerun))
    for op in CATALOGUE
    if op["tier"] == "routine" and op["python"]
}
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
HALVES = ["float16", "bfloat16"]
FLOATS = [*HALVES, "float32", "float64"]
DTYPES = ["bool", *WHOLE, *FLOATS]
COMPLEX = ["complex64", "complex128"]
CASES = [(sample, dtype) for sample in SAMPLES for dtype in sample.get("dtypes", DTYPES)]
GOOD = [(number, *case) for number, case in enumerate(CASES) if "error" not in case[0]]
BAD = [case for case in CASES if "error" in case[0]]

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, 88.0, -104.0, 1e30, -1e30, 1e-40, numpy.inf, -numpy.inf, numpy.nan]
WHOLE_EDGES = [0, 1, -1, 2, -7, 7, 100, -100, 2**31 - 1, -(2**31)]

POINTWISE = {row["name"] for row in ROWS}
# Ops that compute in floats for every dtype.
FLOAT_ONLY = {row["name"] for row in ROWS if row["class"] in ("Float", "Predicate")}
# The tolerance of inexact pointwise ops, in ulp.
LAST_PLACES = {row["name"]: row["ulp"] + 0.5 for row in ROWS if row["ulp"]}
# Sums whose terms are larger than they are.
LONG_SUMS = {"log_softmax_rows_back": 200, "recurrent_scan": 400, "recurrent_scan_back": 400}
# The sign of the larger or smaller of two zeros is unspecified.
ANY_ZERO = {"maximum", "minimum", "fmax", "fmin", "relu", "max", "min", "clip"}
# Ops that NumPy rounds at every step, or that do not accept half floats there.
SINGLE_FIRST = {
    "multiply_add",
    "floor_divide",
    "remainder",
    "sign",
    "rint",
    "relu",
    "fmod",
    "fabs",
    "copysign",
    "heaviside",
}
SINGLE_FIRST |= {"ldexp", "mantissa", "exponent", "positive", "fmax", "fmin"}
FAILURES = (ValueError, TypeError, IndexError, OverflowError, RuntimeError)
RANDOM = {"normal", "uniform", "dropout"} | {
    f"random_{name}" for name in ("bits", "order", "gamma", "poisson", "binomial", "multinomial")
}
SELU = (1.6732632423543772, 1.0507009873554805)


def elements(spec: dict[str, Any], dtype: str, seed: int) -> numpy.ndarray:
    """Return the elements of an input, dense."""
    shape, values = tuple(spec["shape"]), spec.get("values", "ordinary")
    dtype = spec.get("dtype", dtype)
    size = int(numpy.prod(shape))
    generator = numpy.random.default_rng(seed)
    if values in ("index", "beyond"):
        n = spec["extent"]
        cycle = [0, n - 1, -1, n // 2, -n] if values == "index" else [0, n, -n - 1, 2 * n + 1]
        return numpy.array(list(itertools.islice(itertools.cycle(cycle), size)), dtype).reshape(shape)
    if values == "definite":
        rows = numpy.arange(spec["extent"])
        apart = 1.0 / (1 + abs(rows[:, None] - rows)) + numpy.diag(spec["extent"] + rows)
        if dtype in COMPLEX:
            apart = apart + 0.25j * numpy.sign(rows[:, None] - rows)
        return numpy.broadcast_to(apart, shape).astype(dtype)
    if values == "rising":
        return (numpy.arange(size) // 2).astype(dtype).reshape(shape)
    if dtype in COMPLEX:
        return (generator.uniform(0.5, 3, shape) + 1j * generator.uniform(-3, 3, shape)).astype(dtype)
    if dtype == "bool":
        return numpy.ones(shape, dtype) if values == "positive" else generator.integers(0, 2, shape).astype(dtype)
    if values == "special":
        edges = WHOLE_EDGES if dtype in WHOLE else EDGES
        # Coprime strides, so that each edge case meets others.
        picked = [edges[(i * (2 * seed + 1) + i // len(edges)) % len(edges)] for i in range(size)]
        with numpy.errstate(all="ignore"):
            return numpy.array(picked).astype(dtype).reshape(shape)
    low, high = (0.5, 3.5) if values == "positive" else (-3.0, 3.0)
    drawn = generator.uniform(low, high, shape)
    if dtype in WHOLE:
        drawn = numpy.floor(drawn + 0.5)
    return (numpy.abs(drawn) if dtype.startswith("uint") else drawn).astype(dtype)


def operands(sample: dict[str, Any], dtype: str) -> tuple[list[Any], list[Any]]:
    """Return the inputs of a sample twice: as Forerun arrays with the given layout, and as NumPy arrays."""
    ours: list[Any] = []
    theirs: list[Any] = []
    for place, spec in enumerate(sample.get("inputs", [])):
        look = spec.get("look", "dense")
        if look == "tied":
            ours.append(ours[0])
            theirs.append(theirs[0])
            continue
        if look == "number":
            number: Any = True if dtype == "bool" else 2 if dtype in WHOLE else 1.5 - 1j if dtype in COMPLEX else 1.5
            ours.append(number)
            theirs.append(numpy.array(number, dtype))
            continue
        plain = elements(spec, dtype, place)
        if look == "transposed":
            ours.append(np.array(plain.T.copy()).T)
        elif look == "backwards":
            spread = numpy.zeros((*plain.shape[:-1], 2 * plain.shape[-1]), plain.dtype)
            spread[..., ::-2] = plain
            ours.append(np.array(spread)[..., ::-2])
        elif look == "repeated":
            plain = numpy.broadcast_to(plain[:1], plain.shape)
            ours.append(np.broadcast_to(np.array(plain[:1].copy()), plain.shape))
        else:
            ours.append(np.array(plain))
        theirs.append(plain)
    return ours, theirs


def axes(args: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in args.items()}


def updated(base: Any, value: Any) -> Any:
    base = base.copy()
    base[1:] = value
    return base


def batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, **args: Any) -> tuple[Any, ...]:
    """Normalise a batch; the running statistics are part of the result."""
    running = mean.copy(), variance.copy()
    return (*_forerun.batch_norm(x, gamma, beta, *running, **args), *running)


def composed(a: Any, b: Any) -> Any:
    """Make complex numbers from parts, which may be infinite."""
    made = numpy.empty(numpy.broadcast_shapes(numpy.shape(a), numpy.shape(b)), "complex128")
    made.real, made.imag = a, b
    return made


CALLS: dict[str, Callable[..., Any]] = {
    "real": lambda x: _forerun.pointwise(_forerun.point("real"), x),
    "imag": lambda x: _forerun.pointwise(_forerun.point("imag"), x),
    "compose": lambda a, b: _forerun.pointwise(_forerun.point("compose"), a, b),
    "copy": np.copy,
    "cast": lambda x, dtype: x.astype(dtype),
    **{row["name"]: getattr(npx, row["name"]) for row in ROWS if row["python"] == "npx"},
    "mantissa": lambda x: np.frexp(x)[0],
    "exponent": lambda x: _forerun.pointwise(_forerun.point("exponent"), x),
    "view": lambda x, axes: np.transpose(x, axes),
    "update": updated,
    "scatter_add": _forerun.scatter_add,
    "transfer": lambda x, device: x.as_in_ctx(npx.cpu(device) if device >= 0 else npx.Device("gpu", 99)),
    "full": _forerun.full,
    "arange": _forerun.arange,
    "eye": _forerun.eye,
    "normal": _forerun.normal,
    "uniform": _forerun.uniform,
    "concatenate": lambda *arrays, axis: np.concatenate(arrays, axis),
    "clip": lambda x, low=None, high=None: np.clip(x, low, high),
    "softmax": npx.softmax,
    "log_softmax": npx.log_softmax,
    "activation": _forerun.activation,
    "layer_norm": npx.layer_norm,
    "rms_norm": npx.rms_norm,
    "group_norm": lambda *arrays, groups, eps: npx.group_norm(*arrays, num_groups=groups, eps=eps),
    "instance_norm": npx.instance_norm,
    "prelu": _forerun.prelu,
    "batch_norm": batch_norm,
    "dropout": lambda x, **args: _forerun.dropout(x, axes=(), **args),
    "fully_connected": npx.fully_connected,
    "one_hot": npx.one_hot,
    "pick": npx.pick,
    "embedding": npx.embedding,
}


def call(sample: dict[str, Any], dtype: str) -> tuple[np.ndarray, ...]:
    """Call a sample with a dtype; return the first of its results."""
    npx.seed(7)
    op, args = sample["op"], axes(sample.get("args", {}))
    if op in ("full", "arange", "eye", "normal", "uniform"):
        args["dtype"] = dtype
    if sample.get("routine"):
        return (_forerun.routine(op, operands(sample, dtype)[0], **args),)
    made = (CALLS.get(op) or getattr(np, op))(*operands(sample, dtype)[0], **args)
    return made if isinstance(made, tuple) else (made,)


def softmax(x: Any, axis: int) -> Any:
    if x.size == 0:
        return x.astype("float64")
    x = x.astype("float64")
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalised(x: Any, gamma: Any, beta: Any, axis: int, over: tuple[int, ...], eps: float, given: Any = None) -> Any:
    """Normalise over axes, then scale and shift along one; optionally with the running mean and variance."""
    laid = [-1 if place == axis else 1 for place in range(x.ndim)]
    mean, variance = (x.mean(over, keepdims=True), x.var(over, keepdims=True))
    if given:
        mean, variance = (each.reshape(laid) for each in given)
    off = (x - mean) / numpy.sqrt(variance + eps)
    return off * gamma.reshape(laid) + beta.reshape(laid), mean.reshape(-1), variance.reshape(-1)


def along(vector: Any, x: Any, axis: int) -> Any:
    """Lay a vector along one axis of an array."""
    return vector.reshape([-1 if place == axis else 1 for place in range(x.ndim)])


def group_norm(x: Any, gamma: Any, beta: Any, groups: int, eps: float) -> Any:
    """Normalise groups of channels."""
    apart = x.reshape(len(x), groups, -1)
    off = (apart - apart.mean(2, keepdims=True)) / numpy.sqrt(apart.var(2, keepdims=True) + eps)
    return off.reshape(x.shape) * along(gamma, x, 1) + along(beta, x, 1)


def plain_batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, **args: Any) -> tuple[Any, ...]:
    """Normalise a batch in double precision; the running statistics are part of the result."""
    axis, keep = args["axis"], args["momentum"]
    others = tuple(place for place in range(x.ndim) if place != axis)
    gamma = numpy.ones_like(gamma) if args["fix_gamma"] else gamma
    if not args["training"]:
        return (*normalised(x, gamma, beta, axis, others, args["eps"], (mean, variance)), mean, variance)
    made = normalised(x, gamma, beta, axis, others, args["eps"])
    return (*made, keep * mean + (1 - keep) * made[1], keep * variance + (1 - keep) * made[2])


def scatter_add(base: Any, indices: Any, updates: Any, axis: int, mode: str = "raise") -> Any:
    """Add row by row."""
    moved = numpy.moveaxis(base.copy(), axis, 0)
    rows = numpy.moveaxis(numpy.broadcast_to(updates, base.shape), axis, 0)
    for index, row in zip(indices, rows, strict=True):
        moved[index % len(moved) if mode == "wrap" else index] += row
    return numpy.moveaxis(moved, 0, axis)


def picked(x: Any, index: Any, axis: int, keepdims: bool, mode: str) -> Any:
    index = index.astype("int64")
    index = numpy.clip(index, 0, x.shape[axis] - 1) if mode == "clip" else index % x.shape[axis]
    if index.ndim < x.ndim:
        index = numpy.expand_dims(index, axis)
    found = numpy.take_along_axis(x, index, axis)
    return found if keepdims else found.squeeze(axis)


def elu(x: Any, slope: float) -> Any:
    return numpy.where(x > 0, x, slope * numpy.expm1(numpy.minimum(x, 0)))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: numpy.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "tanh": numpy.tanh,
    "softrelu": lambda x: numpy.logaddexp(0, x),
    "softsign": lambda x: x / (1 + numpy.abs(x)),
    "silu": lambda x: x / (1 + numpy.exp(-x)),
    "gelu_erf": lambda x: x / 2 * (1 + numpy.vectorize(math.erf, otypes="d")(x / numpy.sqrt(2))),
    "gelu": lambda x: x / 2 * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3))),
    "leaky": lambda x: numpy.where(x > 0, x, 0.25 * x),
    "elu": lambda x: elu(x, 0.25),
    "selu": lambda x: SELU[1] * elu(x, SELU[0]),
}


erf = numpy.vectorize(math.erf, otypes="d")


def dense(x: Any, weight: Any, bias: Any = 0, *, flatten: bool) -> Any:
    return (x.reshape(len(x), weight.shape[1]) if flatten else x) @ weight.T + bias


REFERENCES: dict[str, Callable[..., Any]] = {
    "compose": composed,
    "multiply_add": lambda a, b, c: a * b + c,
    "relu": lambda x: numpy.maximum(x, numpy.zeros((), x.dtype)),
    "sigmoid": lambda x: numpy.exp(-numpy.logaddexp(0.0, -x)),
    "erf": erf,
    "gamma": numpy.vectorize(gamma, otypes="d"),
    "gammaln": numpy.vectorize(gammaln, otypes="d"),
    "digamma": numpy.vectorize(digamma, otypes="d"),
    "polygamma": numpy.vectorize(polygamma, otypes="d"),
    "erfinv": numpy.vectorize(erfinv, otypes="d"),
    "i0": numpy.vectorize(bessel(0), otypes="d"),
    "i1": numpy.vectorize(bessel(1), otypes="d"),
    "sinc": numpy.vectorize(sinc, otypes="d"),
    "softsign": lambda x: x / (1 + numpy.abs(x)),
    "mantissa": lambda x: numpy.frexp(x)[0],
    "exponent": lambda x: numpy.where(numpy.isfinite(x), numpy.frexp(x)[1], 0).astype(x.dtype),
    "ldexp": lambda x, n: numpy.where(
        numpy.isnan(n), n, numpy.ldexp(x, numpy.clip(numpy.trunc(numpy.nan_to_num(n)), -5000, 5000).astype(int))
    ),
    # A negative float saturates to 0 as an unsigned integer.
    "cast": lambda x, dtype: (x if x.dtype.name in DTYPES[:9] or dtype[0] != "u" else numpy.maximum(x, 0)).astype(
        dtype
    ),
    "view": lambda x, axes: numpy.transpose(x, axes),
    "update": updated,
    "scatter_add": scatter_add,
    "transfer": lambda x, device: x,
    "full": lambda shape, value, dtype: numpy.full(shape, value, dtype),
    "arange": lambda start, stop, step, dtype: numpy.arange(start, stop, step, dtype=dtype),
    "eye": lambda rows, columns, diagonal, dtype: numpy.eye(rows, columns, diagonal, dtype),
    "concatenate": lambda *arrays, axis: numpy.concatenate(arrays, axis),
    "clip": lambda x, low=None, high=None: numpy.clip(x, low, high),
    "softmax": softmax,
    "log_softmax": lambda x, axis: numpy.log(softmax(x, axis)),
    "activation": lambda x, kind: ACTIVATIONS[kind](
        x.astype("int64") if x.dtype.kind in "iu" and kind != "relu" else x
    ),
    "rint": lambda x: x if x.dtype.kind in "iu" else numpy.rint(x),
    "layer_norm": lambda x, gamma, beta, axis, eps: normalised(x, gamma, beta, axis, (axis,), eps)[0],
    "rms_norm": lambda x, gamma, axis, eps: (
        x / numpy.sqrt((x * x).mean(axis, keepdims=True) + eps) * along(gamma, x, axis)
    ),
    "group_norm": group_norm,
    "instance_norm": lambda x, gamma, beta, axis, eps: normalised(
        x, gamma, beta, axis, tuple(place for place in range(1, x.ndim) if place != axis), eps
    )[0],
    "prelu": lambda x, slope: numpy.where(x > 0, x, x * (along(slope, x, 1) if slope.size > 1 else slope)),
    "batch_norm": plain_batch_norm,
    "fully_connected": dense,
    "one_hot": lambda index, depth, on_value, off_value, dtype: numpy.choose(
        index[..., None] == numpy.arange(depth), [off_value, on_value]
    ).astype(dtype),
    "pick": picked,
    "embedding": lambda index, table: table[index],
    **ROUTINES,
    **DECOMPOSITIONS,
    **PLACEMENTS,
    **RECURRENCES,
    **VISION,
}


def computed_in(op: str, dtype: str) -> str:
    """Return the dtype that NumPy computes in, for a comparison with ``dtype``."""
    if dtype in COMPLEX:
        return "complex128"
    if op in POINTWISE:
        narrow = "float32" if op in FLOAT_ONLY and dtype not in FLOATS else dtype
        # Half floats are computed in single precision and rounded once.
        inexact = (op in LAST_PLACES and narrow in FLOATS) or (op in SINGLE_FIRST and narrow in HALVES)
        return "float64" if inexact else narrow
    return "float64" if dtype in FLOATS else dtype


def expected(sample: dict[str, Any], dtype: str) -> tuple[numpy.ndarray, ...]:
    """Compute a sample with NumPy."""
    op, args = sample["op"], axes(sample.get("args", {}))
    if op in ("full", "arange", "eye"):
        args["dtype"] = dtype
    wide = computed_in(op, dtype)
    # Ops that compute in floats round their operands first.
    narrow = "float32" if op in FLOAT_ONLY and dtype not in (*FLOATS, *COMPLEX) else dtype
    inputs = [x.astype(narrow).astype(wide) if x.dtype == dtype else x for x in operands(sample, dtype)[1]]
    with numpy.errstate(all="ignore"):
        found = REFERENCES.get(op) or getattr(numpy, op, None) or getattr(numpy.linalg, op)
        made = found(*inputs, **args)
    return tuple(map(numpy.asarray, made if isinstance(made, tuple) else (made,)))


def compare_complex(got: numpy.ndarray, want: numpy.ndarray) -> None:
    """Compare complex results with NumPy: within a number of ulp of their magnitude."""
    assert got.shape == want.shape and got.dtype.kind == want.dtype.kind
    if got.dtype.kind in "biu":
        numpy.testing.assert_array_equal(got, want)
    else:
        assert (numpy.abs(got - want) <= 500 * float(np.finfo(got.dtype).eps) * (1 + numpy.abs(want))).all(), (
            got,
            want,
        )


def compare(op: str, got: numpy.ndarray, want: numpy.ndarray) -> None:
    """Compare a result with NumPy: exactly, or within the rounding error."""
    assert got.shape == want.shape
    dtype = got.dtype.name
    assert dtype == want.dtype.name or want.dtype in (numpy.float64, numpy.complex128), (dtype, want.dtype)
    with numpy.errstate(all="ignore"):
        rounded = want.astype(dtype)
    if dtype not in FLOATS or (op in POINTWISE and op not in LAST_PLACES):
        if dtype == "bfloat16":
            got, rounded = got.astype("float32"), rounded.astype("float32")
        numpy.testing.assert_array_equal(got, rounded)
        if dtype in FLOATS and op not in ANY_ZERO:
            numbers = ~numpy.isnan(rounded)
            numpy.testing.assert_array_equal(numpy.signbit(got[numbers]), numpy.signbit(rounded[numbers]))
        return
    places = 1 if op in LAST_PLACES and dtype in HALVES else LAST_PLACES.get(op, LONG_SUMS.get(op, 40))
    # Near their zeros, sums and functions that are sums have an error relative to their terms.
    least = 0 if LAST_PLACES.get(op, 40) < 8 else 1
    unit = numpy.spacing(numpy.maximum(numpy.abs(rounded), least).astype(dtype))
    with numpy.errstate(all="ignore"):
        near = numpy.abs(got.astype("float64") - want) <= places * unit.astype("float64")
        # Near the largest number, one ulp may overflow.
        beyond = numpy.abs(want) > 0.9999 * np.finfo(dtype).max
    same = (got == rounded) | (numpy.isnan(got) & numpy.isnan(rounded)) | beyond
    assert (near | same).all(), (got, want)


def bits(results: tuple[np.ndarray, ...]) -> list[numpy.ndarray]:
    """Return the bits of results; all NaNs are equal."""
    read = [result.asnumpy() for result in results]
    return [numpy.where(numpy.isnan(x), numpy.nan, x) if x.dtype.name in FLOATS else x for x in read]


def name_of(sample: dict[str, Any], dtype: str) -> str:
    return f"{sample['op']} of {dtype}: {sample}"


@pytest.mark.parametrize("op", sorted({sample["op"] for sample in SAMPLES}))
def test_against_numpy(op: str) -> None:
    for _, sample, dtype in GOOD:
        if sample["op"] != op or op in RANDOM:
            continue
        try:
            for ours, theirs in zip(call(sample, dtype), expected(sample, dtype), strict=True):
                got, want = (reconstructed(op, sample, x) for x in (ours.asnumpy(), theirs))
                if dtype in COMPLEX or (got.dtype.kind == "c" and op not in POINTWISE):
                    compare_complex(got, want)
                else:
                    compare(op, got, want)
        except Exception as error:
            raise AssertionError(name_of(sample, dtype)) from error


def test_dropout_keeps_or_drops() -> None:
    for _, sample, dtype in GOOD:
        if sample["op"] == "dropout":
            x, got = operands(sample, dtype)[1][0], call(sample, dtype)[0].asnumpy()
            p = sample["args"]["p"] if sample["args"]["training"] else 0.0
            kept = got != 0
            assert kept.all() == (p == 0) and kept.any() == (p < 1)
            with numpy.errstate(all="ignore"):
                close = {"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
                numpy.testing.assert_allclose(got, numpy.where(kept, x / (1 - p), 0).astype(got.dtype), rtol=close)


def plans() -> list[tuple[bool, int]]:
    """Return the plans to test: whether ops are fused, and the size limit of inline records."""
    return [(True, 0), (False, 0), (True, 1 << 20)]


def run(sample: dict[str, Any], dtype: str, fuse: bool, tiny: int) -> list[numpy.ndarray]:
    former = _forerun.set_fuse(fuse), _forerun.set_tiny_limit(tiny)
    try:
        return bits(call(sample, dtype))
    finally:
        _forerun.set_fuse(former[0])
        _forerun.set_tiny_limit(former[1])


@pytest.mark.parametrize("op", sorted({sample["op"] for sample in SAMPLES}))
def test_plans_do_not_show(op: str) -> None:
    for _, sample, dtype in GOOD:
        if sample["op"] == op:
            first, *others = (run(sample, dtype, *plan) for plan in plans())
            for other in others:
                for got, want in zip(other, first, strict=True):
                    assert got.tobytes() == want.tobytes(), name_of(sample, dtype)


@pytest.mark.parametrize("op", sorted(FUNCTIONS))
def test_functions_call_their_routines(op: str) -> None:
    names, function = FUNCTIONS[op]
    for _, sample, dtype in GOOD:
        if sample["op"] == op:
            arrays, parameters = operands(sample, dtype)[0], signature(function).parameters
            given = dict(zip(names, arrays, strict=True)) | sample.get("args", {})
            first = [given.pop(p.name) for p in parameters.values() if p.kind == p.POSITIONAL_ONLY]
            for got, want in zip(bits((function(*first, **given),)), bits(call(sample, dtype)), strict=True):
                assert got.tobytes() == want.tobytes(), name_of(sample, dtype)


@pytest.mark.parametrize("op", sorted({sample["op"] for sample, _ in BAD}))
def test_what_fails(op: str) -> None:
    for sample, dtype in BAD:
        if sample["op"] == op:
            with pytest.raises(FAILURES, match=re.escape(sample["error"])):
                for result in call(sample, dtype):
                    result.wait_to_read()


def results() -> dict[str, numpy.ndarray]:
    """Return all results by the number of the case."""
    made = {}
    for number, sample, dtype in GOOD:
        for place, result in enumerate(bits(call(sample, dtype))):
            made[f"{number}.{place}"] = result
    return made


def test_the_other_engine_gives_the_same(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "results.npz"
    mode = "async" if os.environ.get("FORERUN_ENGINE") == "sync" else "sync"
    command = [sys.executable, __file__, str(file)]
    subprocess.run(command, env={**os.environ, "FORERUN_ENGINE": mode}, check=True)
    other = numpy.load(file)
    mine = results()
    assert set(mine) == set(other)
    for name, result in mine.items():
        assert result.tobytes() == other[name].tobytes(), CASES[int(name.split(".")[0])]


if __name__ == "__main__":
    with npx.gpu(0) if os.environ.get("FORERUN_TEST_DEVICE") == "gpu" else npx.cpu():
        numpy.savez(sys.argv[1], **results())  # type: ignore[arg-type]
