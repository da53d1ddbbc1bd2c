"""Polynomials with the lowest power first, compared with ``numpy.polynomial``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import np

A, B = [1.0, -2.0, 3.0, 0.5], [2.0, 1.0, -1.0]
M = numpy.arange(1.0, 7.0).reshape(3, 2)


def same(ours: Any, theirs: Any, rtol: float = 1e-4) -> None:
    if isinstance(theirs, (tuple, list)):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, rtol)
        return
    if isinstance(theirs, numpy.polynomial.Polynomial):
        same(ours.coef, theirs.coef, rtol)
        same(ours.domain, theirs.domain, rtol)
        return
    numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=rtol, atol=1e-4)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "polyadd": lambda p, a: p.polyadd(a(A), a(B)),
    "polysub": lambda p, a: p.polysub(a(B), a(A)),
    "polymul": lambda p, a: p.polymul(a(A), a(B)),
    "polymulx": lambda p, a: p.polymulx(a(A)),
    "polydiv": lambda p, a: p.polydiv(a(A), a(B)),
    "polypow": lambda p, a: p.polypow(a(B), 5),
    "polypow of zero": lambda p, a: p.polypow(a(B), 0),
    "polyder": lambda p, a: p.polyder(a(A), 2, 3.0),
    "polyder to nothing": lambda p, a: p.polyder(a(B), 3),
    "polyder of columns": lambda p, a: p.polyder(a(M)),
    "polyder of rows": lambda p, a: p.polyder(a(M), axis=1),
    "polyint": lambda p, a: p.polyint(a(A), 2, [1.0, 2.0]),
    "polyint from": lambda p, a: p.polyint(a(A), 1, 3.0, lbnd=2.0, scl=0.5),
    "polyint of columns": lambda p, a: p.polyint(a(M)),
    "polyval": lambda p, a: p.polyval(a([0.5, -1.0]), a(A)),
    "polyval of columns": lambda p, a: p.polyval(a([0.5, -1.0, 2.0]), a(M)),
    "polyval2d": lambda p, a: p.polyval2d(a([1.0, 2.0]), a([3.0, -1.0]), a(M)),
    "polyval3d": lambda p, a: p.polyval3d(a([1.0]), a([3.0]), a([0.5]), a(numpy.arange(8.0).reshape(2, 2, 2))),
    "polyvander": lambda p, a: p.polyvander(a([[1.0, 2.0], [3.0, 4.0]]), 3),
    "polyfromroots": lambda p, a: p.polyfromroots(a([1.0, -2.0, 3.0])),
    "polyroots": lambda p, a: p.polyroots(a([6.0, -5.0, 1.0])),
    "polycompanion": lambda p, a: p.polycompanion(a(A)),
    "polyfit": lambda p, a: p.polyfit(a([0.0, 1.0, 2.0, 3.0]), a([1.0, 0.0, 4.0, 2.0]), 2),
    "polyfit full": lambda p, a: p.polyfit(a([0.0, 1.0, 2.0, 3.0]), a([1.0, 0.0, 4.0, 2.0]), 2, full=True)[0],
    "polyfit weighted": lambda p, a: p.polyfit(a([0.0, 1.0, 2.0]), a([1.0, 0.0, 4.0]), 1, w=a([1.0, 2.0, 1.0])),
    "polytrim": lambda p, a: p.polytrim(a([1.0, 2.0, 1e-9, 0.0]), 1e-6),
    "polytrim of zeros": lambda p, a: p.polytrim(a([0.0, 0.0])),
    "polyline": lambda p, a: p.polyline(1.0, 2.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_numpys(name: str) -> None:
    theirs = FUNCTIONS[name](numpy.polynomial.polynomial, numpy.array)
    same(FUNCTIONS[name](np.polynomial.polynomial, np.array), theirs)


WORK: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda P, a: P(A)(a([0.5, 2.0])),
    "call of a domain": lambda P, a: P(A, domain=[0, 4])(a([0.5, 2.0])),
    "sum": lambda P, a: P(A) + P(B),
    "sum with a number": lambda P, a: 2 + P(A) - 1,
    "from a number": lambda P, a: 2 - P(A),
    "product": lambda P, a: P(A) * P(B) * 2,
    "quotient": lambda P, a: P(A) // P(B),
    "remainder": lambda P, a: P(A) % P(B),
    "divmod": lambda P, a: divmod(P(A), P(B)),
    "scaled": lambda P, a: -P(A) / 2,
    "power": lambda P, a: P(B) ** 3,
    "deriv": lambda P, a: P(A, domain=[0, 4]).deriv(),
    "integ": lambda P, a: P(A, domain=[0, 4]).integ(1, 2.0, 1.0),
    "roots": lambda P, a: P([6.0, -5.0, 1.0], domain=[0, 2]).roots(),
    "fromroots": lambda P, a: P.fromroots([1.0, 2.0]),
    "identity": lambda P, a: P.identity([0, 4]),
    "basis": lambda P, a: P.basis(3),
    "fit": lambda P, a: P.fit(a([0.0, 1.0, 2.0, 5.0]), a([1.0, 0.0, 4.0, 2.0]), 2),
    "fit and convert": lambda P, a: P.fit(a([0.0, 1.0, 2.0, 5.0]), a([1.0, 0.0, 4.0, 2.0]), 2).convert(),
    "fit over a domain": lambda P, a: P.fit(a([0.0, 1.0, 2.0]), a([1.0, 0.0, 4.0]), 1, domain=[0, 10]),
    "convert": lambda P, a: P(A, domain=[0, 4]).convert(domain=[-2, 2]),
    "composed": lambda P, a: P(A)(P(B)),
    "trim": lambda P, a: P([1.0, 2.0, 0.0]).trim(),
    "truncate": lambda P, a: P(A).truncate(2),
    "cutdeg": lambda P, a: P(A).cutdeg(2),
    "linspace": lambda P, a: P(A, domain=[0, 4]).linspace(5),
    "mapped": lambda P, a: P(A, domain=[0, 4]).convert(window=[0, 1])(a([1.0])),
}


@pytest.mark.parametrize("name", WORK)
def test_the_class_is_numpys(name: str) -> None:
    same(WORK[name](np.polynomial.Polynomial, np.array), WORK[name](numpy.polynomial.Polynomial, numpy.array))


def test_attributes_and_refusals() -> None:
    p = np.polynomial.Polynomial([1.0, 2.0])
    assert p.degree() == 1 and len(p) == 2 and [float(c) for c in p] == [1.0, 2.0]
    assert p == p.copy() and p != np.polynomial.Polynomial([1.0, 3.0]) and p != 3
    assert repr(p) == "Polynomial([1.0, 2.0], domain=[-1.0, 1.0], window=[-1.0, 1.0])"
    assert str(np.polynomial.Polynomial([1.0, -2.0, 3.0])) == "1.0 - 2.0 x + 3.0 x**2"
    with pytest.raises(TypeError, match="domains and windows of operands differ"):
        p + np.polynomial.Polynomial([1.0], domain=[0, 1])
    with pytest.raises(TypeError, match="/ divides by numbers"):
        p / p
    with pytest.raises(ValueError, match="must be two numbers"):
        np.polynomial.Polynomial([1.0], domain=[1])
    with pytest.raises(ValueError, match="coefficients must be a vector"):
        np.polynomial.Polynomial(np.ones((2, 2)))
