"""Pointwise ops as objects: NumPy's ufuncs, with ``reduce``, ``accumulate``, ``outer``, ``at`` and ``reduceat``.

Calls are implemented in the extension module. The methods are built from reductions, scans and scatters; none loops
over single elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from forerun._convert import to_array
from forerun._forerun import Pointwise, ndarray

if TYPE_CHECKING:
    import inspect

    from forerun._types import ArrayLike, AxisLike, DTypeLike

_Made = TypeVar("_Made", bound="ufunc")

__all__ = ["binary", "called", "ufunc", "unary"]

# The results of reductions over no elements.
_IDENTITIES: dict[str, bool | int | float] = {
    "add": 0,
    "multiply": 1,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
    "bitwise_and": -1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "gcd": 0,
    "hypot": 0,
    "logaddexp": float("-inf"),
}


class ufunc(Pointwise):
    """A pointwise op: called, it computes element by element; a binary one also reduces, scans and scatters.

    Attributes
    ----------
    nin, nout, nargs
        The number of operands, of results, and of both.
    identity
        The result of reducing no elements; None if there is none.

    Examples
    --------
    >>> from forerun import np
    >>> np.add.reduce(np.array([[1, 2], [3, 4]]))
    array([4, 6])
    >>> np.multiply.outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """

    __name__: str
    __qualname__: str
    nout = 1

    def __repr__(self) -> str:
        """Return the name of the op."""
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        """Return the name that pickle looks up in ``forerun.np``."""
        return self.__name__

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the signature for ``inspect.signature``."""
        import inspect

        return inspect.signature(_call)

    @property
    def nargs(self) -> int:
        """The number of operands and results."""
        return self.nin + self.nout

    @property
    def identity(self) -> bool | int | float | None:
        """The result of reducing no elements."""
        return _IDENTITIES.get(self.__name__)

    def reduce(
        self,
        array: ArrayLike,
        axis: AxisLike = 0,
        dtype: DTypeLike | None = None,
        out: ndarray | tuple[ndarray] | None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike = True,
    ) -> ndarray:
        """Reduce axes with a binary op.

        Parameters
        ----------
        array
            The elements.
        axis
            The axes; all of them with None.
        dtype
            The dtype to compute in.
        out
            An array to write the result into.
        keepdims
            Whether to keep the reduced axes with extent 1.
        initial
            The initial value.
        where
            Which elements to include.

        Examples
        --------
        >>> from forerun import np
        >>> np.maximum.reduce(np.array([[1, 5], [3, 2]]), axis=1)
        array([5, 3])
        """
        from forerun import _reducing

        x = to_array(array)
        if x.ndim == 0 and axis in (0, -1):
            axis = None
        return _reducing.reduced(self, x, axis, dtype, out, keepdims, initial, where)

    def accumulate(
        self,
        array: ArrayLike,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: ndarray | tuple[ndarray] | None = None,
    ) -> ndarray:
        """Reduce each element and all before it along an axis.

        Examples
        --------
        >>> from forerun import np
        >>> np.maximum.accumulate(np.array([1, 5, 3]))
        array([1, 5, 5])
        """
        from forerun import _reducing

        return _reducing.accumulated(self, to_array(array), axis, dtype, out)

    def outer(self, A: ArrayLike, B: ArrayLike, /, **options: Any) -> ndarray:
        """Apply a binary op to every pair of elements of two arrays.

        Examples
        --------
        >>> from forerun import np
        >>> np.subtract.outer(np.array([10, 20]), np.array([1, 2]))
        array([[ 9,  8],
               [19, 18]])
        """
        from forerun import _reducing

        _reducing.check_binary(self, "outer")
        first, second = to_array(A), to_array(B)
        made: ndarray = self(first.reshape(*first.shape, *(1,) * second.ndim), second, **options)
        return made

    def at(self, a: ndarray, indices: Any, b: ArrayLike | None = None, /) -> None:
        """Apply the op in place at indices, once per occurrence of an index.

        Unary ops, and binary ops whose order of evaluation matters, wait for the indices. They need one pass per
        occurrence of the most frequent index.

        Examples
        --------
        >>> from forerun import np
        >>> x = np.zeros(3)
        >>> np.add.at(x, np.array([0, 0, 2]), 1)
        >>> x
        array([2., 0., 1.])
        """
        from forerun import _scattering

        _scattering.applied_at(self, a, indices, b)

    def reduceat(
        self,
        array: ArrayLike,
        indices: ArrayLike,
        axis: SupportsIndex = 0,
        dtype: DTypeLike | None = None,
        out: ndarray | tuple[ndarray] | None = None,
    ) -> ndarray:
        """Reduce the slices from each index to the next; if the next is not larger, take one element.

        Examples
        --------
        >>> from forerun import np
        >>> np.add.reduceat(np.arange(8), np.array([0, 4, 6]))
        array([ 6,  9, 13])
        """
        from forerun import _reducing

        return _reducing.reduced_at(self, to_array(array), indices, axis, dtype, out)


class UnaryUfunc(ufunc):
    """A pointwise op on one operand."""

    if TYPE_CHECKING:

        def __call__(
            self,
            x: ArrayLike,
            /,
            out: ndarray | tuple[ndarray] | None = None,
            *,
            where: ArrayLike = True,
            dtype: DTypeLike | None = None,
            casting: str = "same_kind",
            order: str = "K",
            subok: bool = True,
        ) -> ndarray: ...


class BinaryUfunc(ufunc):
    """A pointwise op on two operands."""

    if TYPE_CHECKING:

        def __call__(
            self,
            x1: ArrayLike,
            x2: ArrayLike,
            /,
            out: ndarray | tuple[ndarray] | None = None,
            *,
            where: ArrayLike = True,
            dtype: DTypeLike | None = None,
            casting: str = "same_kind",
            order: str = "K",
            subok: bool = True,
        ) -> ndarray: ...


def _call(*operands: Any, out: Any = None, where: Any = True, dtype: Any = None, casting: str = "same_kind") -> None:
    """Serve as a placeholder with the arguments of every ufunc."""


def unary(described: Callable[[ArrayLike], None]) -> UnaryUfunc:
    """Make the op with the name and docstring of a function."""
    return _described(UnaryUfunc(described.__name__), described)


def binary(described: Callable[[ArrayLike, ArrayLike], None]) -> BinaryUfunc:
    """Make the op with the name and docstring of a function."""
    return _described(BinaryUfunc(described.__name__), described)


def _described(made: _Made, described: Callable[..., None]) -> _Made:
    made.__name__ = made.__qualname__ = described.__name__
    made.__doc__ = described.__doc__
    made.__module__ = "forerun.np"
    return made


def called(op: ufunc, args: tuple[Any, ...], options: dict[str, Any] | None) -> ndarray:
    """Call an op with keyword arguments: ``out``, ``where``, ``dtype`` and those that are ignored."""
    from forerun import _reducing

    return _reducing.called(op, args, dict(options or {}))
