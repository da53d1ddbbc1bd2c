"""References for special functions that NumPy lacks or computes less accurately, for single numbers."""

from __future__ import annotations

import math
from collections.abc import Callable


def is_pole(x: float) -> bool:
    """Return whether the gamma function has a pole there."""
    return x <= 0 and math.floor(x) == x if math.isfinite(x) else x < 0


def gamma(x: float) -> float:
    """Return the gamma function with IEEE special cases."""
    if x == 0:
        return math.copysign(math.inf, x)
    if is_pole(x):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def gammaln(x: float) -> float:
    """Return the logarithm of the gamma function."""
    return math.inf if is_pole(x) else math.lgamma(x)


def digamma(x: float) -> float:
    """Return the digamma function: a series for large arguments, otherwise the recurrence."""
    if x == 0:
        return math.copysign(math.inf, -x)
    if is_pole(x):
        return math.nan
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    steps = []
    while x < 40:
        steps.append(-1 / x)
        x += 1
    return math.fsum([*steps, math.log(x), -1 / (2 * x), -1 / (12 * x**2), 1 / (120 * x**4), -1 / (252 * x**6)])


def polygamma(n: float, x: float) -> float:
    """Return a derivative of the digamma function: a sum, and its remainder by the Euler-Maclaurin formula."""
    if not (n >= 1 and n == int(n) and x > 0):
        return math.nan
    s, steps = n + 1, []
    while x < 60:
        steps.append(x**-s)
        x += 1
    rest = [x ** (1 - s) / n, 0.5 * x**-s, s / 12 * x ** (-s - 1), -s * (s + 1) * (s + 2) / 720 * x ** (-s - 3)]
    return float((-1) ** (int(n) + 1) * math.gamma(s) * math.fsum([*steps, *rest]))


def erfinv(y: float) -> float:
    """Invert the error function by bisection, with the complementary function where that is small."""
    if abs(y) >= 1 or math.isnan(y):
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    if abs(y) < 1e-8:
        return y * math.sqrt(math.pi) / 2
    low, high = 0.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        too_small = math.erf(middle) < abs(y) if abs(y) < 0.5 else math.erfc(middle) > 1 - abs(y)
        low, high = (middle, high) if too_small else (low, middle)
    return math.copysign(low, y)


def bessel(order: int) -> Callable[[float], float]:
    """Return a modified Bessel function of the first kind, by its series."""

    def function(x: float) -> float:
        if abs(x) > 700 or math.isnan(x):
            return math.inf if x > 0 or (x < 0 and order == 0) else -math.inf if x < 0 else x
        terms, term, k = [], (x / 2) ** order, 0
        while k < 2000 and (k < abs(x) or abs(term) > 0):
            terms.append(term)
            k += 1
            term *= (x / 2) ** 2 / (k * (k + order))
        return math.fsum(terms)

    return function


def sinc(x: float) -> float:
    """Return sinc(x), with the argument reduced before it is rounded."""
    if x == 0 or not math.isfinite(x):
        return 1.0 if x == 0 else math.nan
    turned = math.fmod(x, 2)
    if abs(turned) in (0, 1):
        return 0.0
    return math.sin(math.pi * turned if abs(turned) < 0.5 else math.pi * (math.copysign(1, turned) - turned)) / (
        math.pi * x
    )
