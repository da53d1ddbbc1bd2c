"""Results share elements with their arguments exactly where NumPy's do, and are writable where NumPy's are.

NumPy's diagonals and imaginary parts of real arrays are read-only; Forerun's are writable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from forerun import np

SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (1, 3), (3, 1), (1, 1), (3, 3), (1, 2, 3)]
DTYPES = ["float32", "int64", "bool", "complex64"]


class _Placeholder:
    def __repr__(self) -> str:
        return "x"


X = _Placeholder()
#: Arguments to try; ``X`` stands for the array. Calls that NumPy rejects are skipped.
ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((X,), {}),
    ((X, X), {}),
    ((X, X, X), {}),
    (([X],), {}),
    (([X, X],), {}),
    ((X, 0), {}),
    ((X, 1), {}),
    ((X, 2), {}),
    ((X, 1, 1), {}),
    ((X, 1, 0), {}),
    ((X, 1), {"axis": 0}),
    ((X, 2), {"axis": 0}),
    ((X, 0), {"axis": 0}),
    ((X, [1, 1]), {}),
    ((X, (3, 3)), {}),
    ((X, (1,)), {}),
    ((X, (-1,)), {}),
    ((X, [0]), {}),
    ((X, True), {}),
    ((True, X, X), {}),
    ((1, X), {}),
    ((X,), {"axis": 0}),
    ((X,), {"axis": -1}),
    ((X,), {"axis": ()}),
    ((X,), {"axis": 0, "keepdims": True}),
    ((X,), {"n": 0}),
    ((X,), {"k": 0}),
    ((X, 0, 1), {}),
    ((X, 0, 0), {}),
    ((X,), {"decimals": 0}),
    ((X, "float32"), {}),
    ((X, None, None), {}),
    ((X, -100, 100), {}),
    ((X, 0, 0, "C"), {}),
]
#: Results that are copies here, because views of parts of elements cannot be written.
COPIES = {"diff", "frombuffer", "polyint", "real", "ndarray.conj", "ndarray.real", "linalg.matrix_power"}
COPIES |= {"ndarray.conjugate", "real_if_close", "fft.fft2", "fft.fftn", "fft.ifft2", "fft.ifftn"}
#: Views here, because arrays have only one memory order.
VIEWS = {"asfortranarray"}
#: NumPy reports these as writable, and warns on a write.
READ_ONLY = {"broadcast_arrays"}
#: Callables that are not functions of arrays, write to their arguments, or change settings of the process.
LEFT_OUT = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shares_memory", "may_share_memory"}
LEFT_OUT |= {"set_printoptions", "printoptions", "seterr"}


def functions() -> Iterator[tuple[str, Any, Any]]:
    """Iterate over the functions that both libraries have: a name and the two functions."""
    for prefix, ours, theirs in (("", np, numpy), ("linalg.", np.linalg, numpy.linalg), ("fft.", np.fft, numpy.fft)):
        for name in sorted(set(ours.__all__) & set(dir(theirs)) - LEFT_OUT):
            one, other = getattr(ours, name), getattr(theirs, name)
            if callable(one) and callable(other) and not isinstance(other, type):
                yield prefix + name, one, other
    for name in sorted(name for name in dir(np.ndarray) if not name.startswith("_") and hasattr(numpy.ndarray, name)):
        if name not in {"fill", "put", "sort", "partition", "resize", "setflags", "tofile", "itemset", "dump"}:
            yield f"ndarray.{name}", _attribute(name), _attribute(name)


def _attribute(name: str) -> Any:
    def get(x: Any, *args: Any, **named: Any) -> Any:
        found = getattr(x, name)
        return found(*args, **named) if callable(found) else found

    return get


FUNCTIONS = {name: (ours, theirs) for name, ours, theirs in functions()}


def _fill(value: Any, x: Any) -> Any:
    if value is X:
        return x
    return [_fill(item, x) for item in value] if isinstance(value, list) else value


def _results(result: Any, kind: type) -> list[Any]:
    """Return the arrays of a result."""
    if isinstance(result, kind):
        return [result]
    return [part for part in result if isinstance(part, kind)] if isinstance(result, (tuple, list)) else []


def _said(result: Any, x: Any) -> tuple[bool, bool]:
    """Return whether a result shares elements with its argument, and whether it is writable."""
    before = numpy.array(result)
    # Change all values, whatever the dtype.
    x[...] = ~x if x.dtype.name == "bool" else x + 64
    # Comparing bytes also detects changes of NaN.
    shares = numpy.array(result).tobytes() != before.tobytes()
    try:
        result[...] = 1
    except (ValueError, TypeError):
        return shares, False
    return shares, True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sharing_is_numpys(name: str) -> None:
    wrong = []
    with numpy.errstate(all="ignore"):
        for dtype in DTYPES:
            for shape in SHAPES:
                values = numpy.array(numpy.arange(numpy.prod(shape)).reshape(shape) % 5 + 1, dtype)
                for args, named in ARGUMENTS:
                    difference = _compare(name, values, args, named)
                    if difference:
                        wrong.append(f"{name}(*{args}, **{named}) of {dtype} {shape}: {difference}")
    assert not wrong, "\n".join(wrong)


def _compare(name: str, values: numpy.ndarray, args: Any, named: Any) -> str | None:
    """Call both functions; return the differences of their results."""
    ours, theirs = FUNCTIONS[name]
    theirs_x = values.copy()
    try:
        theirs_result = theirs(*_fill(list(args), theirs_x), **named)
    except Exception:
        return None
    ours_x = np.array(values)
    try:
        ours_result = ours(*_fill(list(args), ours_x), **named)
        [part.wait_to_read() for part in _results(ours_result, np.ndarray)]
    except Exception:
        return None
    wanted, got = _results(theirs_result, numpy.ndarray), _results(ours_result, np.ndarray)
    if len(wanted) != len(got) or [part.shape for part in wanted] != [part.shape for part in got]:
        return None
    for place in range(len(wanted)):
        # Compute the result again each time, because the check writes to the argument.
        theirs_x, ours_x = values.copy(), np.array(values)
        want = _results(theirs(*_fill(list(args), theirs_x), **named), numpy.ndarray)[place]
        have = _results(ours(*_fill(list(args), ours_x), **named), np.ndarray)[place]
        if want.size == 0:
            continue
        expected, found = _said(want, theirs_x), _said(have, ours_x)
        shares = (expected[0] and (found[0] or name not in COPIES)) or (found[0] and name in VIEWS)
        if found[0] != shares or (expected[1] > found[1] and name not in READ_ONLY):
            return f"shares, writeable: {found}, NumPy {expected}"
    return None
