"""Errors are never lost, are raised where the value is read, and name the user's lines."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from forerun import np, npx

# More bytes than any machine has, so that the op fails at run time.
TOO_MANY = 10**13


def line_of(mark: str) -> int:
    """Return the line of this file that ends with a mark."""
    with open(__file__) as file:
        lines = [number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}")]
    assert len(lines) == 1, mark
    return lines[0]


def lines_in(error: BaseException) -> dict[str, tuple[str, int]]:
    """Return the lines that an error names."""
    return {what: (file, int(line)) for what, file, line in re.findall(r"(submitted|read) at (.*):(\d+)", str(error))}


def test_the_lines_of_a_failed_op() -> None:
    x = np.ones((TOO_MANY,))  # submits too much
    with pytest.raises(MemoryError) as raised:
        x.wait_to_read()  # waits for too much
    assert lines_in(raised.value) == {
        "submitted": (__file__, line_of("submits too much")),
        "read": (__file__, line_of("waits for too much")),
    }


READERS: dict[str, Callable[[Any], object]] = {
    "wait_to_read": lambda x: x.wait_to_read(),
    "asnumpy": lambda x: x.asnumpy(),
    "item": lambda x: x.sum().item(),
    "print": lambda x: str(x),
    "repr": lambda x: repr(x),
    "bool": lambda x: bool(x.max() > 0),
    "float": lambda x: float(x[0]),
    "tolist": lambda x: x.tolist(),
    "array_equal": lambda x: np.array_equal(x, x),
}


@pytest.mark.parametrize("how", READERS)
def test_every_reader_raises_and_names_its_line(how: str) -> None:
    read = READERS[how]
    x = np.ones((TOO_MANY,)) + 1
    with pytest.raises(MemoryError) as raised:
        read(x)
    named = lines_in(raised.value)
    assert named["read"] == (__file__, read.__code__.co_firstlineno)
    assert named["submitted"][0] == __file__


def test_poison_reaches_dependents_and_stays() -> None:
    x = np.ones((TOO_MANY,))  # the cause
    dependents = [x + 1, (x * 2).sum(), x[:2], x.reshape(-1, 10)[0], np.stack([x[:1], np.ones((1,))])]
    healthy = np.ones((2,)) + 1
    for dependent in dependents:
        for _ in range(2):
            with pytest.raises(MemoryError) as raised:
                dependent.wait_to_read()
            assert lines_in(raised.value)["submitted"] == (__file__, line_of("the cause"))
    assert healthy.tolist() == [2.0, 2.0]


def test_submitting_on_a_failed_value_does_not_raise() -> None:
    x = np.ones((TOO_MANY,))
    with pytest.raises(MemoryError):
        x.wait_to_read()
    y = x[0] + 1
    with pytest.raises(MemoryError):
        y.item()


def test_assigning_the_whole_clears_the_poison() -> None:
    x = np.ones((2,))
    x += np.ones((TOO_MANY,))[:2]
    with pytest.raises(MemoryError):
        x.wait_to_read()
    x[:] = 3
    assert x.tolist() == [3.0, 3.0]


def test_waitall_raises_what_nobody_saw() -> None:
    x = np.ones((TOO_MANY,))  # unseen
    with pytest.raises(MemoryError) as raised:
        npx.waitall()
    assert lines_in(raised.value)["submitted"] == (__file__, line_of("unseen"))
    npx.waitall()
    with pytest.raises(MemoryError):
        x.wait_to_read()


def test_waitall_raises_several_as_a_group() -> None:
    x = np.ones((TOO_MANY,))  # first of two
    y = np.zeros((TOO_MANY + 1,))  # second of two
    # Python 3.10 has no exception groups: errors are chained as causes.
    group = getattr(builtins, "ExceptionGroup", None)
    with pytest.raises(group or MemoryError) as raised:
        npx.waitall()
    errors = raised.value.exceptions if group else (raised.value, raised.value.__cause__)
    assert all(isinstance(error, MemoryError) for error in errors)
    found = {lines_in(error)["submitted"][1] for error in errors}
    assert found == {line_of("first of two"), line_of("second of two")}
    del x, y


SUBMISSIONS: list[tuple[type[Exception], Callable[[], object]]] = [
    (ValueError, lambda: np.ones((2,)) + np.ones((3,))),
    (ValueError, lambda: np.dot(np.ones((2, 3)), np.ones((2, 3)))),
    (ValueError, lambda: np.ones((4,)).reshape(3)),
    (TypeError, lambda: ~np.ones((2,))),
    (TypeError, lambda: np.array([True]) - np.array([True])),
    (IndexError, lambda: np.ones((2,))[5]),
    (IndexError, lambda: np.ones((2,)).sum(axis=3)),
]


@pytest.mark.parametrize(("kind", "submit"), SUBMISSIONS)
def test_mistakes_in_shapes_and_dtypes_raise_at_once(kind: type[Exception], submit: Callable[[], object]) -> None:
    with pytest.raises(kind) as raised:
        submit()
    frames = [entry for entry in raised.traceback if str(entry.path) == __file__]
    assert frames[-1].lineno + 1 == submit.__code__.co_firstlineno


def test_the_line_is_the_users_also_through_functions_of_ours() -> None:
    x = np.full_like(np.zeros((1,)), 1)
    y = np.ones_like(np.broadcast_to(x, (TOO_MANY,)))  # through two functions
    with pytest.raises(MemoryError) as raised:
        np.add(y, 1).wait_to_read()
    assert lines_in(raised.value)["submitted"] == (__file__, line_of("through two functions"))


def test_lines_far_down_in_a_long_function() -> None:
    filler = "".join(f"    a{number} = {number}\n" for number in range(3000))
    source = f"def long(np, n):\n{filler}    return np.ones((n,))\n"
    scope: dict[str, Any] = {}
    exec(compile(source, "long.py", "exec"), scope)
    with pytest.raises(MemoryError, match=r"submitted at long\.py:3002"):
        scope["long"](np, TOO_MANY).wait_to_read()


def test_code_that_is_gone_keeps_its_name() -> None:
    for number in range(50):
        scope: dict[str, Any] = {"np": np}
        exec(compile(f"x = np.ones(({TOO_MANY},))", f"gone{number}.py", "exec"), scope)
        with pytest.raises(MemoryError, match=rf"submitted at gone{number}\.py:1"):
            scope["x"].wait_to_read()


def test_a_loop_of_failures_leaves_the_engine_usable() -> None:
    for _ in range(100):
        with pytest.raises(MemoryError):
            (np.ones((TOO_MANY,)) * 2).wait_to_read()
    assert (np.ones((1000, 1000)) + 1).sum().item() == 2e6


def test_this_file_is_where_it_says() -> None:
    assert inspect.getsourcefile(line_of) == __file__
