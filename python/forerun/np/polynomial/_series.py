"""The class of polynomials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike, Number
from forerun.np._creation import linspace
from forerun.np.polynomial import polynomial as functions


class Polynomial:
    """A polynomial: coefficients, lowest power first, of a variable that is mapped from ``domain`` to ``window``.

    The number of coefficients of a result follows from its operands: trailing zeros stay until :meth:`trim`.

    Parameters
    ----------
    coef
        The coefficients.
    domain, window
        Two numbers each: the domain is mapped linearly to the window. The default is [-1, 1].
    symbol
        The name of the variable when it is printed.

    Examples
    --------
    >>> from forerun import np
    >>> p = np.polynomial.Polynomial([1.0, 2.0, 3.0])
    >>> p(2.0)
    array(17.)
    >>> (p * p).degree()
    4
    >>> p.deriv().coef
    array([2., 6.])
    """

    def __init__(
        self,
        coef: ArrayLike,
        domain: Sequence[Any] | ndarray | None = None,
        window: Sequence[Any] | ndarray | None = None,
        symbol: str = "x",
    ) -> None:
        made = to_array(coef)
        if made.ndim != 1 or made.size == 0:
            raise ValueError(f"Polynomial: coefficients must be a vector with elements, got shape {made.shape}")
        self.coef = made
        self._domain, self._window = _ends("domain", domain), _ends("window", window)
        self.symbol = symbol

    @property
    def domain(self) -> ndarray:
        """The ends of the domain."""
        return _joined(self._domain)

    @property
    def window(self) -> ndarray:
        """The ends of the window."""
        return _joined(self._window)

    @classmethod
    def fit(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        deg: SupportsIndex,
        domain: Sequence[Any] | ndarray | None = None,
        rcond: float | None = None,
        full: bool = False,
        w: ArrayLike | None = None,
        window: Sequence[Any] | ndarray | None = None,
        symbol: str = "x",
    ) -> Any:
        """Fit a polynomial to points, by least squares; the domain is that of the points unless given."""
        at = to_array(x)
        ends = (at.min(), at.max()) if domain is None else _ends("domain", domain)
        made = cls([0.0], ends, window, symbol)
        found = functions.polyfit(made._mapped(at), y, deg, rcond, full, w)
        if full:
            return cls(found[0], ends, window, symbol), found[1]
        return cls(found, ends, window, symbol)

    @classmethod
    def fromroots(cls, roots: ArrayLike, domain: Any = None, window: Any = None, symbol: str = "x") -> Polynomial:
        """Return the polynomial with these roots."""
        made = cls([0.0], domain, window, symbol)
        return made._like(functions.polyfromroots(made._mapped(to_array(roots))))

    @classmethod
    def identity(cls, domain: Any = None, window: Any = None, symbol: str = "x") -> Polynomial:
        """Return the polynomial that is x itself."""
        made = cls([0.0], domain, window, symbol)
        off, scl = made.mapparms()
        return made._like(to_array([-off / scl, 1 / scl]))

    @classmethod
    def basis(cls, deg: SupportsIndex, domain: Any = None, window: Any = None, symbol: str = "x") -> Polynomial:
        """Return a power of x."""
        return cls([0.0] * deg.__index__() + [1.0], domain, window, symbol)

    def mapparms(self) -> tuple[Any, Any]:
        """Return the offset and the factor that map the domain to the window."""
        (a, b), (c, d) = self._domain, self._window
        if not any(isinstance(each, ndarray) for each in (a, b, c, d)) and (a, b) == (c, d):
            return 0.0, 1.0
        return (b * c - a * d) / (b - a), (d - c) / (b - a)

    def _mapped(self, x: ndarray) -> ndarray:
        off, scl = self.mapparms()
        return x if not isinstance(off, ndarray) and (off, scl) == (0.0, 1.0) else x * scl + off

    def _like(self, coef: ndarray) -> Polynomial:
        return type(self)(coef, self._domain, self._window, self.symbol)

    def _other(self, other: Any) -> Any:
        """Return the coefficients of a compatible operand."""
        if not isinstance(other, Polynomial):
            return other
        if not (_same(self._domain, other._domain) and _same(self._window, other._window)):
            raise TypeError("Polynomial: domains and windows of operands differ")
        if self.symbol != other.symbol:
            raise ValueError(f"Polynomial: symbols of operands differ: {self.symbol} and {other.symbol}")
        return other.coef

    def __call__(self, arg: Any) -> Any:
        """Evaluate the polynomial; for a polynomial argument return the composition."""
        if isinstance(arg, Polynomial):
            off, scl = self.mapparms()
            inner = arg * scl + off
            made = arg._like(self.coef[-1:])
            for place in range(self.coef.size - 2, -1, -1):
                made = made * inner + self.coef[place]
            return made
        return functions.polyval(self._mapped(to_array(arg)), self.coef)

    def degree(self) -> int:
        """Return the highest power."""
        return self.coef.size - 1

    def deriv(self, m: SupportsIndex = 1) -> Polynomial:
        """Differentiate ``m`` times."""
        return self._like(functions.polyder(self.coef, m, self.mapparms()[1]))

    def integ(self, m: SupportsIndex = 1, k: Any = (), lbnd: Number | None = None) -> Polynomial:
        """Integrate ``m`` times, with constants; ``lbnd`` is where the integrals have their values."""
        off, scl = self.mapparms()
        bound = 0 if lbnd is None else off + scl * lbnd
        return self._like(functions.polyint(self.coef, m, k, bound, 1 / scl))

    def roots(self) -> ndarray:
        """Return the roots of the polynomial. Waits for the coefficients."""
        off, scl = self.mapparms()
        found: ndarray = (functions.polyroots(self.coef) - off) / scl
        return found

    def trim(self, tol: float = 0) -> Polynomial:
        """Remove trailing coefficients of absolute value at most ``tol``. Waits for the coefficients."""
        return self._like(functions.polytrim(self.coef, tol))

    def truncate(self, size: SupportsIndex) -> Polynomial:
        """Keep the first ``size`` coefficients."""
        count = size.__index__()
        if count < 1:
            raise ValueError(f"truncate: size must be positive, got {count}")
        return self._like(self.coef[:count])

    def cutdeg(self, deg: SupportsIndex) -> Polynomial:
        """Keep powers up to a degree."""
        return self.truncate(deg.__index__() + 1)

    def convert(self, domain: Any = None, window: Any = None) -> Polynomial:
        """Return the same polynomial over another domain and window; the default is [-1, 1]."""
        made: Polynomial = self(type(self).identity(domain, window, self.symbol))
        return made

    def linspace(self, n: int = 100, domain: Any = None) -> tuple[ndarray, ndarray]:
        """Evaluate the polynomial at evenly spaced points of its domain."""
        start, stop = self._domain if domain is None else _ends("domain", domain)
        at = linspace(start, stop, n)
        return at, self(at)

    def copy(self) -> Polynomial:
        """Return a copy."""
        return self._like(self.coef.copy())

    def __add__(self, other: Any) -> Polynomial:
        """Add."""
        return self._like(functions.polyadd(self.coef, self._other(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Polynomial:
        """Subtract."""
        return self._like(functions.polysub(self.coef, self._other(other)))

    def __rsub__(self, other: Any) -> Polynomial:
        """Subtract from something."""
        return self._like(functions.polysub(self._other(other), self.coef))

    def __mul__(self, other: Any) -> Polynomial:
        """Multiply."""
        return self._like(functions.polymul(self.coef, self._other(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Polynomial:
        """Divide by a number."""
        if isinstance(other, Polynomial) or not isinstance(other, (int, float, complex, ndarray)):
            raise TypeError(f"Polynomial: / divides by numbers; // divides by {type(other).__name__}")
        return self._like(self.coef / other)

    def __divmod__(self, other: Any) -> tuple[Polynomial, Polynomial]:
        """Divide: quotient and remainder."""
        quotient, rest = functions.polydiv(self.coef, self._other(other))
        return self._like(quotient), self._like(rest)

    def __floordiv__(self, other: Any) -> Polynomial:
        """Divide: the quotient."""
        return self.__divmod__(other)[0]

    def __mod__(self, other: Any) -> Polynomial:
        """Divide: the remainder."""
        return self.__divmod__(other)[1]

    def __pow__(self, power: SupportsIndex) -> Polynomial:
        """Raise to a power."""
        return self._like(functions.polypow(self.coef, power))

    def __neg__(self) -> Polynomial:
        """Negate."""
        return self._like(-self.coef)

    def __pos__(self) -> Polynomial:
        """Return the polynomial itself."""
        return self

    def __eq__(self, other: object) -> bool:
        """Compare domains, windows and coefficients. Waits for them."""
        return (
            isinstance(other, Polynomial)
            and _same(self._domain, other._domain)
            and _same(self._window, other._window)
            and self.symbol == other.symbol
            and self.coef.shape == other.coef.shape
            and bool((self.coef == other.coef).min())
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        """Return the number of coefficients."""
        return self.coef.size

    def __iter__(self) -> Iterator[ndarray]:
        """Iterate over the coefficients."""
        return iter(self.coef)

    def __repr__(self) -> str:
        """Return the constructor call as text. Waits for the coefficients."""
        return f"Polynomial({self.coef.tolist()}, domain={self.domain.tolist()}, window={self.window.tolist()})"

    def __str__(self) -> str:
        """Return the polynomial as a sum. Waits for the coefficients."""
        values, name = self.coef.tolist(), self.symbol
        text = f"{values[0]}"
        for power, value in enumerate(values[1:], 1):
            negative = not isinstance(value, complex) and value < 0
            term = name if power == 1 else f"{name}**{power}"
            text += f" {'-' if negative else '+'} {-value if negative else value} {term}"
        return text


def _ends(name: str, given: Sequence[Any] | ndarray | None) -> tuple[Any, Any]:
    if given is None:
        return (-1.0, 1.0)
    if len(given) != 2:
        raise ValueError(f"Polynomial: {name} must be two numbers, got {len(given)}")
    first, last = given
    return tuple(each if isinstance(each, ndarray) else float(each) for each in (first, last))  # type: ignore[return-value]


def _joined(ends: tuple[Any, Any]) -> ndarray:
    return _forerun.stack([to_array(each) for each in ends], 0)


def _same(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Compare two pairs of numbers; waits if they are arrays."""
    return all(a is b or bool(a == b) for a, b in zip(one, other, strict=True))
