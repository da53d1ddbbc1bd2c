"""Einstein's sums: any product of arrays over labelled axes, as a row of products of two.

Each product of two is a matrix product of transposed views; which two come next is chosen by what is left to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from itertools import combinations
from math import prod
from operator import index
from typing import Any, TypeAlias

from forerun import _forerun
from forerun._convert import to_arrays
from forerun._forerun import ndarray
from forerun.np.diagonals import diagonal

__all__ = ["einsum"]

Labels: TypeAlias = "list[Hashable]"


def einsum(*operands: Any, optimize: bool | str = True) -> ndarray:
    """Add up products of arrays over labelled axes.

    Parameters
    ----------
    operands
        Labels such as ``"ij,jk->ik"`` and the arrays; or each array followed by the list of its labels, and at the end
        the list of those of the result. Labels that the result does not have are summed over. Without ``->`` the result
        has those that occur once, in order. ``...`` stands for any axes, which are broadcast together.
    optimize
        Taken for NumPy's sake: the order is chosen in any case.

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
        given = to_arrays(*operands[1:])
        recipe = _recipe(operands[0], tuple(x.shape for x in given))
        if recipe is not None:
            return recipe(*given)
    terms, result, arrays = _read(operands)
    labels = [_spread(term, x.ndim) for term, x in zip(terms, arrays, strict=True)]
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
    return _contracted(arrays, labels, output)


@lru_cache(1024)
def _recipe(text: str, shapes: tuple[tuple[int, ...], ...]) -> Callable[..., ndarray] | None:
    """Work out once what labels ask of one or two arrays of such shapes; none for dots, diagonals and what is wrong."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not (len(terms) == len(shapes) <= 2) or not all(term.isalpha() for term in terms if term):
        return None
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(set(term)) != len(term) or len(term) != len(shape):
            return None
        if any(extents.setdefault(label, extent) != extent for label, extent in zip(term, shape, strict=True)):
            return None
    if not arrow:
        output = "".join(sorted(label for label in extents if inputs.count(label) == 1))
    if len(set(output)) != len(output) or not set(output) <= extents.keys():
        return None
    return _one(terms[0], output) if len(terms) == 1 else _two(terms[0], terms[1], output, extents)


def _laid(labels: str, wanted: str) -> tuple[int, ...] | None:
    """Give the order of axes that brings labels to where they are wanted, or none if they are there."""
    return None if labels == wanted else tuple(labels.index(label) for label in wanted)


def _one(term: str, output: str) -> Callable[[ndarray], ndarray]:
    gone = [place for place, label in enumerate(term) if label not in output]
    order = _laid("".join(label for label in term if label in output), output)

    def run(x: ndarray) -> ndarray:
        made = x
        if gone:
            # A sum of small integers is wider; the result keeps the dtype.
            made = x.sum(gone).astype(x.dtype, copy=False)
        if order is not None:
            made = made.transpose(order)
        return x.copy() if made is x else made

    return run


def _two(first: str, second: str, output: str, extents: dict[str, int]) -> Callable[[ndarray, ndarray], ndarray] | None:
    both = "".join(label for label in first if label in second and label in output)
    gone = "".join(label for label in first if label in second and label not in output)
    left = "".join(label for label in first if label not in second)
    right = "".join(label for label in second if label not in first)
    if not set(left + right) <= set(output):
        # Something is summed over before the product.
        return None
    made = both + left + right
    last = _laid(made, output)

    def shape(*groups: str) -> list[int]:
        return [extents[label] for label in "".join(groups)]

    if not gone or not (left or right):
        # No sum, or of nothing but what both have: element by element.
        shape_x = [*shape(both, left), *[1] * len(right), *shape(gone)]
        shape_y = [*shape(both), *[1] * len(left), *shape(right, gone)]
        order_x, order_y = _laid(first, both + left + gone), _laid(second, both + right + gone)
        axes = list(range(len(made), len(made) + len(gone)))

        def multiply(x: ndarray, y: ndarray) -> ndarray:
            x = x if order_x is None else x.transpose(order_x)
            y = y if order_y is None else y.transpose(order_y)
            x = x.reshape(shape_x) if right else x
            y = y.reshape(shape_y) if left else y
            product = x * y
            if axes:
                product = product.sum(axes).astype(product.dtype, copy=False)
            return product if last is None else product.transpose(last)

        return multiply
    batch, rows, columns, inner = (prod(shape(group)) for group in (both, left, right, gone))
    stack = [batch] if both else []
    order_x, order_y = _laid(first, both + left + gone), _laid(second, both + gone + right)
    shape_x, shape_y, shape_made = [*stack, rows, inner], [*stack, inner, columns], shape(made)
    plain_x, plain_y = len(shape_x) == len(first), len(shape_y) == len(second)
    plain_made = len(shape_made) == len(stack) + 2

    def matmul(x: ndarray, y: ndarray) -> ndarray:
        x = x if order_x is None else x.transpose(order_x)
        y = y if order_y is None else y.transpose(order_y)
        x = x if plain_x and left and gone else x.reshape(shape_x)
        y = y if plain_y and right and gone else y.reshape(shape_y)
        product = _forerun.matmul(x, y)
        product = product if plain_made and left and right else product.reshape(shape_made)
        return product if last is None else product.transpose(last)

    return matmul


def _order(label: Hashable) -> int:
    return label if isinstance(label, int) else ord(str(label))


def _read(operands: tuple[Any, ...]) -> tuple[list[list[Any]], list[Any] | None, list[ndarray]]:
    """Read both forms of arguments: labels of each array, labels of the result if there are any, arrays."""
    if operands and isinstance(operands[0], str):
        text = operands[0].replace(" ", "")
        inputs, arrow, output = text.partition("->")
        terms = [_letters(term) for term in inputs.split(",")]
        arrays = to_arrays(*operands[1:])
        if len(terms) != len(arrays):
            raise ValueError(f"einsum: {len(terms)} terms in {text!r} for {len(arrays)} arrays")
        return terms, _letters(output) if arrow else None, arrays
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
    """Name the axes that dots stand for by negative numbers, counted from the last."""
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


def _contracted(arrays: list[ndarray], labels: list[Labels], output: Labels) -> ndarray:
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
    # A label that was nowhere longer than 1 may have been dropped.
    for label in missing:
        x = _forerun.expand_dims(x, output.index(label))
    return x.copy() if any(x is given for given in arrays) else x


def _plain(x: ndarray, labels: Labels, extents: dict[Hashable, int]) -> tuple[ndarray, Labels]:
    """Give a view where each label occurs once, and none that the array does not have in full."""
    labels = [*labels]
    for label in [label for label, count in Counter(labels).items() if count > 1]:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                short = first if x.shape[first] == 1 else second
                x = x.squeeze(short)
                labels.pop(short)
                continue
            x = diagonal(x, 0, first, second)
            labels = [one for place, one in enumerate(labels) if place not in (first, second)] + [label]
    short_ones = [place for place, label in enumerate(labels) if x.shape[place] == 1 and extents[label] != 1]
    if short_ones:
        x = x.squeeze(short_ones)
        labels = [label for place, label in enumerate(labels) if place not in short_ones]
    return x, labels


def _cost(
    parts: list[tuple[ndarray, Labels]], pair: tuple[int, int], output: Labels, extents: dict[Hashable, int]
) -> tuple[int, int]:
    """Rate a pair: how much larger its product is than the two, then how much work it is."""
    a, b = parts[pair[0]][1], parts[pair[1]][1]
    others = {label for place, (_, one) in enumerate(parts) if place not in pair for label in one}
    union = {*a, *b}

    def size(labels: Any) -> int:
        return prod(extents[label] for label in labels)

    return size(union & {*output, *others}) - size(a) - size(b), size(union)


def _summed(x: ndarray, labels: Labels, needed: set[Hashable]) -> tuple[ndarray, Labels]:
    """Sum over what nobody needs any more."""
    gone = [place for place, label in enumerate(labels) if label not in needed]
    if not gone:
        return x, labels
    made = x.sum(gone)
    # A sum of small integers is wider; a product of arrays keeps their dtype.
    return made.astype(x.dtype, copy=False), [label for label in labels if label in needed]


def _product(a: tuple[ndarray, Labels], b: tuple[ndarray, Labels], needed: set[Hashable]) -> tuple[ndarray, Labels]:
    """Multiply two, summed over what only they have and nobody needs."""
    (x, first), (y, second) = _summed(*a, needed | {*b[1]}), _summed(*b, needed | {*a[1]})
    both = [label for label in first if label in second and label in needed]
    gone = [label for label in first if label in second and label not in needed]
    left = [label for label in first if label not in second]
    right = [label for label in second if label not in first]
    extents = dict(zip([*first, *second], [*x.shape, *y.shape], strict=True))

    def laid(z: ndarray, labels: Labels, *groups: Labels) -> ndarray:
        return z.transpose([labels.index(label) for group in groups for label in group])

    def shape(*groups: Labels) -> list[int]:
        return [extents[label] for group in groups for label in group]

    labels = [*both, *left, *right]
    if not gone or not (left or right):
        # No sum, or of nothing but what both have: element by element.
        x = laid(x, first, both, left, gone).reshape([*shape(both, left), *[1] * len(right), *shape(gone)])
        y = laid(y, second, both, right, gone).reshape([*shape(both), *[1] * len(left), *shape(right, gone)])
        return _summed(x * y, [*labels, *gone], {*labels})
    batch, rows, columns, inner = (prod(shape(group)) for group in (both, left, right, gone))
    x = laid(x, first, both, left, gone).reshape([*([batch] if both else []), rows, inner])
    y = laid(y, second, both, gone, right).reshape([*([batch] if both else []), inner, columns])
    return _forerun.matmul(x, y).reshape(shape(labels)), labels
