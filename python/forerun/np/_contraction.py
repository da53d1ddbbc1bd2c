"""Einstein summation: a sum of products over labelled axes, as a sequence of pairwise products.

Each pairwise product is a matrix product of transposed views, or an elementwise product; the next pair is the one whose
product saves the most. The steps depend on labels and shapes alone: they are planned once, on placeholders that only
have a shape, and cached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from itertools import combinations
from math import prod
from operator import attrgetter, index, mul
from typing import Any, TypeAlias

from forerun import _forerun
from forerun._convert import to_arrays
from forerun._forerun import ndarray
from forerun.np._diagonals import diagonal

__all__ = ["einsum"]

Labels: TypeAlias = "list[Hashable]"


def einsum(*operands: Any, optimize: bool | str = True) -> ndarray:
    """Evaluate an Einstein summation over labelled axes.

    Parameters
    ----------
    operands
        Labels such as ``"ij,jk->ik"`` and the arrays; or each array followed by the list of its labels, and finally the
        list of the result's labels. Labels missing from the result are summed over. Without ``->`` the result has the
        labels that occur once, in alphabetical order. ``...`` stands for any axes, which are broadcast together.
    optimize
        Accepted for compatibility with NumPy; the order is always optimised.

    Examples
    --------
    >>> from forerun import np
    >>> a = np.array([[1, 2], [3, 4]])
    >>> np.einsum("ij,kj->ik", a, a)
    array([[ 5, 11],
           [11, 25]])
    >>> np.einsum("ii", a)
    array(5)
    """
    if operands and isinstance(operands[0], str):
        text, *arrays = operands
        for x in arrays:
            if not isinstance(x, ndarray):
                arrays = to_arrays(*arrays)
                break
        return _planned_text(text, *map(_shape, arrays))(*arrays)
    terms, result, arrays = _read(operands)
    return _planned(terms, result, tuple(x.shape for x in arrays))(*arrays)


#: A step: a function, the indices of one or two operands, and its arguments. Its result gets the next index.
Step: TypeAlias = "tuple[Callable[..., ndarray], int, int | None, tuple[Any, ...]]"


_shape = attrgetter("shape")
_turned = attrgetter("T")

#: The function that evaluates a call with its arrays.
Plan: TypeAlias = "Callable[..., ndarray]"


def _plan(steps: list[Step], inputs: int) -> Plan:
    """Combine the steps into one function."""
    call, first, second, arguments = steps[0]
    if len(steps) == 1 and (first, second) == (0, None if inputs == 1 else 1) and inputs <= 2:
        return (lambda *arrays: call(*arrays, *arguments)) if arguments else call
    return partial(_run, tuple(steps))


def _run(steps: tuple[Step, ...], *arrays: ndarray) -> ndarray:
    """Run the steps; the arrays of the call are the first values."""
    values = [*arrays]
    made = values[0]
    for call, first, second, arguments in steps:
        made = call(values[first], *arguments) if second is None else call(values[first], values[second], *arguments)
        values.append(made)
    return made


@lru_cache(maxsize=1024)
def _planned_text(text: str, *shapes: tuple[int, ...]) -> Plan:
    bare = text.replace(" ", "")
    inputs, arrow, output = bare.partition("->")
    terms = [_letters(term) for term in inputs.split(",")]
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: {len(terms)} terms in {bare!r} for {len(shapes)} arrays")
    return _planned(terms, _letters(output) if arrow else None, shapes)


def _planned(terms: list[list[Any]], result: list[Any] | None, shapes: tuple[tuple[int, ...], ...]) -> Plan:
    """Plan the steps for arrays of these shapes."""
    labels = [_spread(term, len(shape)) for term, shape in zip(terms, shapes, strict=True)]
    wide = max((sum(isinstance(label, int) and label < 0 for label in one) for one in labels), default=0)
    if result is None:
        counts = Counter(label for one in labels for label in one)
        once = [label for label, count in counts.items() if count == 1 and label not in range(-wide, 0)]
        output: Labels = [*range(-wide, 0), *sorted(once, key=_order)]
    else:
        output = [*result]
        if Ellipsis in output:
            place = output.index(Ellipsis)
            output[place : place + 1] = range(-wide, 0)
    _check(output, labels)
    steps: list[Step] = []
    given = [_Planned(steps, len(shapes), place, shape) for place, shape in enumerate(shapes)]
    _contracted(given, labels, output)
    return _plan(steps, len(shapes))


class _Planned:
    """A placeholder array with a shape and an index that records operations."""

    def __init__(self, steps: list[Step], inputs: int, place: int, shape: Sequence[int]) -> None:
        self.steps, self.inputs, self.place, self.shape = steps, inputs, place, tuple(shape)

    def then(self, shape: Sequence[int], call: Callable[..., ndarray], *arguments: Any) -> _Planned:
        return self.noted(shape, call, None, arguments)

    def noted(
        self, shape: Sequence[int], call: Callable[..., ndarray], other: _Planned | None, arguments: tuple[Any, ...]
    ) -> _Planned:
        self.steps.append((call, self.place, None if other is None else other.place, arguments))
        return _Planned(self.steps, self.inputs, self.inputs + len(self.steps) - 1, shape)

    def diagonal(self, first: int, second: int) -> _Planned:
        rest = [extent for place, extent in enumerate(self.shape) if place not in (first, second)]
        return self.then([*rest, self.shape[first]], diagonal, 0, first, second)

    def squeeze(self, axes: list[int]) -> _Planned:
        rest = [extent for place, extent in enumerate(self.shape) if place not in axes]
        return self.then(rest, ndarray.squeeze, tuple(axes))

    def expand_dims(self, axis: int) -> _Planned:
        return self.then([*self.shape[:axis], 1, *self.shape[axis:]], _forerun.expand_dims, axis)

    def transpose(self, axes: list[int]) -> _Planned:
        if axes == [*range(len(axes))]:
            return self
        shape = [self.shape[axis] for axis in axes]
        if axes == [*reversed(range(len(axes)))]:
            return self.then(shape, _turned)
        return self.then(shape, ndarray.transpose, *axes)

    def reshape(self, shape: list[int]) -> _Planned:
        return self if self.shape == tuple(shape) else self.then(shape, ndarray.reshape, tuple(shape))

    def sum(self, axes: list[int]) -> _Planned:
        rest = [extent for place, extent in enumerate(self.shape) if place not in axes]
        return self.then(rest, _sum, axes[0] if len(axes) == 1 else tuple(axes))

    def multiply(self, other: _Planned) -> _Planned:
        shape = [max(a, b) if a and b else 0 for a, b in zip(self.shape, other.shape, strict=True)]
        return self.noted(shape, mul, other, ())

    def multiply_over(self, other: _Planned, axes: tuple[int, ...]) -> _Planned:
        rest = [extent for place, extent in enumerate(self.shape) if place not in axes]
        return self.noted(rest, _forerun.sum_of_products, other, (axes,))

    def matmul(self, other: _Planned) -> _Planned:
        """Multiply matrices; either may be a vector."""
        rows = self.shape[:-1]
        columns = other.shape[-1:] if len(other.shape) > 1 else ()
        return self.noted([*rows, *columns], _forerun.matmul, other, ())


def _sum(x: ndarray, axes: int | tuple[int, ...]) -> ndarray:
    # Sums of small integers are wider, but a product of arrays keeps its dtype.
    total = x.sum(axes)
    return total if total.dtype is x.dtype else total.astype(x.dtype, copy=False)


def _order(label: Hashable) -> int:
    return label if isinstance(label, int) else ord(str(label))


def _read(operands: tuple[Any, ...]) -> tuple[list[list[Any]], list[Any] | None, list[ndarray]]:
    """Parse arrays with a list of labels each: return the labels, those of the result if given, and the arrays."""
    last = operands[-1] if len(operands) % 2 else None
    arrays = to_arrays(*operands[: 2 * (len(operands) // 2) : 2])
    terms = [_numbers(term) for term in operands[1::2]]
    if not arrays:
        raise ValueError("einsum: needs labels and at least one array")
    return terms, None if last is None else _numbers(last), arrays


def _letters(term: str) -> list[Any]:
    before, dots, after = term.partition("...")
    labels: list[Any] = [*before, *([Ellipsis] if dots else []), *after]
    wrong = [label for label in labels if label is not Ellipsis and not label.isalpha()]
    if wrong:
        raise ValueError(f"einsum: {wrong[0]!r} in {term!r} is no label")
    return labels


def _numbers(term: Sequence[Any]) -> list[Any]:
    labels = [label if label is Ellipsis else index(label) for label in term]
    if any(label is not Ellipsis and label < 0 for label in labels):
        raise ValueError(f"einsum: a label must not be negative, got {term}")
    return labels


def _spread(term: list[Any], ndim: int) -> Labels:
    """Label the axes of an ellipsis by negative numbers, counted from the last."""
    named = len(term) - term.count(Ellipsis)
    if term.count(Ellipsis) > 1 or named > ndim or (Ellipsis not in term and named != ndim):
        raise ValueError(f"einsum: {len(term)} labels for an array of {ndim} dimensions")
    if Ellipsis not in term:
        return term
    place = term.index(Ellipsis)
    return [*term[:place], *range(named - ndim, 0), *term[place + 1 :]]


def _check(output: Labels, labels: list[Labels]) -> None:
    known = {label for one in labels for label in one}
    for label, count in Counter(output).items():
        if count > 1 or label not in known:
            raise ValueError(f"einsum: label {label!r} of the result is {'twice in it' if count > 1 else 'in no term'}")


def _contracted(arrays: list[_Planned], labels: list[Labels], output: Labels) -> None:
    extents: dict[Hashable, int] = {}
    for x, one in zip(arrays, labels, strict=True):
        for label, extent in zip(one, x.shape, strict=True):
            known = extents.setdefault(label, extent)
            if known == 1:
                extents[label] = extent
            elif extent not in (1, known):
                raise ValueError(f"einsum: label {label!r} has extents {known} and {extent}")
    parts = [_plain(x, one, extents) for x, one in zip(arrays, labels, strict=True)]
    while len(parts) > 1:
        first, second = min(combinations(range(len(parts)), 2), key=lambda pair: _cost(parts, pair, output, extents))
        b, a = parts.pop(second), parts.pop(first)
        needed = {*output, *(label for _, one in parts for label in one)}
        parts.append(_product(a, b, needed))
    x, left = _summed(*parts[0], set(output))
    missing = [label for label in output if label not in left]
    x = x.transpose([left.index(label) for label in output if label in left])
    # Labels of extent 1 everywhere may have been dropped.
    for label in missing:
        x = x.expand_dims(output.index(label))
    if x.place != x.inputs + len(x.steps) - 1 or not x.steps:
        # The result is one of the arguments: return a view of it, like NumPy.
        x.then(x.shape, ndarray.transpose, tuple(range(len(x.shape))))


def _plain(x: _Planned, labels: Labels, extents: dict[Hashable, int]) -> tuple[_Planned, Labels]:
    """Return a view in which each label occurs once and no axis is broadcast."""
    labels = [*labels]
    for label in [label for label, count in Counter(labels).items() if count > 1]:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                short = first if x.shape[first] == 1 else second
                x = x.squeeze([short])
                labels.pop(short)
                continue
            x = x.diagonal(first, second)
            labels = [one for place, one in enumerate(labels) if place not in (first, second)] + [label]
    short_ones = [place for place, label in enumerate(labels) if x.shape[place] == 1 and extents[label] != 1]
    if short_ones:
        x = x.squeeze(short_ones)
        labels = [label for place, label in enumerate(labels) if place not in short_ones]
    return x, labels


def _cost(
    parts: list[tuple[_Planned, Labels]], pair: tuple[int, int], output: Labels, extents: dict[Hashable, int]
) -> tuple[int, int]:
    """Rate a pair: how much larger its product is than the two, then how much work it is."""
    a, b = parts[pair[0]][1], parts[pair[1]][1]
    others = {label for place, (_, one) in enumerate(parts) if place not in pair for label in one}
    union = {*a, *b}

    def size(labels: Any) -> int:
        return prod(extents[label] for label in labels)

    return size(union & {*output, *others}) - size(a) - size(b), size(union)


def _summed(x: _Planned, labels: Labels, needed: set[Hashable]) -> tuple[_Planned, Labels]:
    """Sum over labels that are no longer needed."""
    gone = [place for place, label in enumerate(labels) if label not in needed]
    if not gone:
        return x, labels
    return x.sum(gone), [label for label in labels if label in needed]


def _product(a: tuple[_Planned, Labels], b: tuple[_Planned, Labels], needed: set[Hashable]) -> tuple[_Planned, Labels]:
    """Multiply two operands and sum over labels that only they have and that are no longer needed."""
    (x, first), (y, second) = _summed(*a, needed | {*b[1]}), _summed(*b, needed | {*a[1]})
    both = [label for label in first if label in second and label in needed]
    gone = [label for label in first if label in second and label not in needed]
    left = [label for label in first if label not in second]
    right = [label for label in second if label not in first]
    extents = dict(zip([*first, *second], [*x.shape, *y.shape], strict=True))

    def laid(z: _Planned, labels: Labels, *groups: Labels) -> _Planned:
        return z.transpose([labels.index(label) for group in groups for label in group])

    def shape(*groups: Labels) -> list[int]:
        return [extents[label] for group in groups for label in group]

    labels = [*both, *left, *right]
    if gone and not (left or right):
        # A sum over shared labels only.
        axes = tuple(range(len(both), len(both) + len(gone)))
        return laid(x, first, both, gone).multiply_over(laid(y, second, both, gone), axes), labels
    if not gone:
        x = laid(x, first, both, left).reshape([*shape(both, left), *[1] * len(right)])
        y = laid(y, second, both, right).reshape([*shape(both), *[1] * len(left), *shape(right)])
        return x.multiply(y), labels
    batch, rows, columns, inner = (prod(shape(group)) for group in (both, left, right, gone))
    # A matrix or vector each, or, if both keep labels, stacks of matrices.
    x = laid(x, first, both, left, gone).reshape([batch, rows, inner] if both else [*([rows] if left else []), inner])
    y = laid(y, second, both, gone, right).reshape(
        [batch, inner, columns] if both else [inner, *([columns] if right else [])]
    )
    return x.matmul(y).reshape(shape(labels)), labels
