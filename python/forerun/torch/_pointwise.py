"""Pointwise functions. Each is also a method, and a method that writes in place, such as ``exp_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.torch._tensor import Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "div",
    "divide",
    "eq",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "gcd",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "heaviside",
    "hypot",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "ldexp",
    "le",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "nan_to_num",
    "ne",
    "neg",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "rad2deg",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "rsub",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "softmax",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "where",
    "xlogy",
]

# The functions that also exist as methods that write in place.
IN_PLACE = [name for name in __all__ if name not in ("isclose", "log_softmax", "rsub", "softmax", "where")]


def into(made: Tensor, out: Tensor | None) -> Tensor:
    """Return a result, or write it to the tensor given as ``out`` and return that."""
    return made if out is None else out.copy_(made)


def _unary(name: str, function: Callable[[Any], Any], doc: str) -> Callable[..., Tensor]:
    def pointwise(input: Any, *, out: Tensor | None = None) -> Tensor:
        return into(Tensor._run(function, input), out)

    pointwise.__name__ = pointwise.__qualname__ = name
    pointwise.__doc__ = doc
    return pointwise


def _binary(name: str, function: Callable[[Any, Any], Any], doc: str) -> Callable[..., Tensor]:
    def pointwise(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        return into(Tensor._run(function, input, other), out)

    pointwise.__name__ = pointwise.__qualname__ = name
    pointwise.__doc__ = doc
    return pointwise


def _erfc(x: ndarray) -> ndarray:
    return 1 - npx.erf(x)


def _frac(x: ndarray) -> ndarray:
    return x - np.trunc(x)


def _ldexp(x: ndarray, exponent: Any) -> ndarray:
    return x * np.exp2(exponent)


def _rsqrt(x: ndarray) -> ndarray:
    return 1 / np.sqrt(x)


def _xlogy(x: Any, y: Any) -> ndarray:
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0.0, x * np.log(np.where(np.equal(x, 0), 1.0, y)))


abs = _unary("abs", np.abs, "Return the absolute value of every element.")
acos = _unary("acos", np.acos, "Return the inverse cosine of every element.")
acosh = _unary("acosh", np.acosh, "Return the inverse hyperbolic cosine of every element.")
angle = _unary("angle", np.angle, "Return the angle of every complex number.")
asin = _unary("asin", np.asin, "Return the inverse sine of every element.")
asinh = _unary("asinh", np.asinh, "Return the inverse hyperbolic sine of every element.")
atan = _unary("atan", np.atan, "Return the inverse tangent of every element.")
atanh = _unary("atanh", np.atanh, "Return the inverse hyperbolic tangent of every element.")
bitwise_not = _unary("bitwise_not", np.invert, "Invert the bits of every integer, or negate every truth value.")
ceil = _unary("ceil", np.ceil, "Round every element up.")
conj = _unary("conj", np.conj, "Return the complex conjugate of every element.")
cos = _unary("cos", np.cos, "Return the cosine of every element.")
cosh = _unary("cosh", np.cosh, "Return the hyperbolic cosine of every element.")
deg2rad = _unary("deg2rad", np.radians, "Convert degrees to radians.")
digamma = _unary("digamma", npx.digamma, "Return the derivative of the logarithm of the gamma function.")
erf = _unary("erf", npx.erf, "Return the error function of every element.")
erfc = _unary("erfc", _erfc, "Return one minus the error function of every element.")
erfinv = _unary("erfinv", npx.erfinv, "Return the inverse error function of every element.")
exp = _unary("exp", np.exp, "Return the exponential of every element.")
exp2 = _unary("exp2", np.exp2, "Return two to the power of every element.")
expm1 = _unary("expm1", np.expm1, "Return the exponential of every element, minus one.")
floor = _unary("floor", np.floor, "Round every element down.")
frac = _unary("frac", _frac, "Return the fractional part of every element, with its sign.")
isfinite = _unary("isfinite", np.isfinite, "Return which elements are finite.")
isinf = _unary("isinf", np.isinf, "Return which elements are infinite.")
isnan = _unary("isnan", np.isnan, "Return which elements are NaN.")
lgamma = _unary("lgamma", npx.gammaln, "Return the logarithm of the absolute value of the gamma function.")
log = _unary("log", np.log, "Return the natural logarithm of every element.")
log10 = _unary("log10", np.log10, "Return the logarithm to the base ten of every element.")
log1p = _unary("log1p", np.log1p, "Return the natural logarithm of one plus every element.")
log2 = _unary("log2", np.log2, "Return the logarithm to the base two of every element.")
logical_not = _unary("logical_not", np.logical_not, "Return which elements are zero.")
neg = _unary("neg", np.negative, "Return the negative of every element.")
positive = _unary("positive", np.positive, "Return the elements as they are.")
rad2deg = _unary("rad2deg", np.degrees, "Convert radians to degrees.")
reciprocal = _unary("reciprocal", np.reciprocal, "Return one divided by every element.")
relu = _unary("relu", npx.relu, "Replace negative elements by zero.")
rsqrt = _unary("rsqrt", _rsqrt, "Return one divided by the square root of every element.")
sigmoid = _unary("sigmoid", npx.sigmoid, "Apply the logistic function to every element.")
sign = _unary("sign", np.sign, "Return the sign of every element: -1, 0 or 1.")
signbit = _unary("signbit", np.signbit, "Return which elements have their sign bit set.")
sin = _unary("sin", np.sin, "Return the sine of every element.")
sinc = _unary("sinc", np.sinc, "Return the normalised sinc function of every element.")
sinh = _unary("sinh", np.sinh, "Return the hyperbolic sine of every element.")
sqrt = _unary("sqrt", np.sqrt, "Return the square root of every element.")
square = _unary("square", np.square, "Return the square of every element.")
tan = _unary("tan", np.tan, "Return the tangent of every element.")
tanh = _unary("tanh", np.tanh, "Return the hyperbolic tangent of every element.")
trunc = _unary("trunc", np.trunc, "Round every element towards zero.")

atan2 = _binary("atan2", np.atan2, "Return the angle of every point (other, input).")
bitwise_and = _binary("bitwise_and", np.bitwise_and, "Combine bits by and, or truth values by and.")
bitwise_left_shift = _binary("bitwise_left_shift", np.left_shift, "Shift the bits of every integer to the left.")
bitwise_or = _binary("bitwise_or", np.bitwise_or, "Combine bits by or, or truth values by or.")
bitwise_right_shift = _binary("bitwise_right_shift", np.right_shift, "Shift the bits of every integer to the right.")
bitwise_xor = _binary("bitwise_xor", np.bitwise_xor, "Combine bits by exclusive or.")
copysign = _binary("copysign", np.copysign, "Give every element the sign of another.")
eq = _binary("eq", np.equal, "Return where two tensors are equal.")
floor_divide = _binary("floor_divide", np.floor_divide, "Divide and round down.")
fmax = _binary("fmax", np.fmax, "Return the larger of two elements, ignoring NaN.")
fmin = _binary("fmin", np.fmin, "Return the smaller of two elements, ignoring NaN.")
fmod = _binary("fmod", np.fmod, "Return the remainder of a division, with the sign of the dividend.")
gcd = _binary("gcd", np.gcd, "Return the greatest common divisor of two integers.")
ge = _binary("ge", np.greater_equal, "Return where the first tensor is at least the second.")
gt = _binary("gt", np.greater, "Return where the first tensor is greater.")
heaviside = _binary("heaviside", np.heaviside, "Return the step function; the second tensor is its value at zero.")
hypot = _binary("hypot", np.hypot, "Return the length of the hypotenuse.")
lcm = _binary("lcm", np.lcm, "Return the least common multiple of two integers.")
ldexp = _binary("ldexp", _ldexp, "Multiply by two to the power of another tensor.")
le = _binary("le", np.less_equal, "Return where the first tensor is at most the second.")
logaddexp = _binary("logaddexp", np.logaddexp, "Return the logarithm of the sum of two exponentials.")
logical_and = _binary("logical_and", np.logical_and, "Return where both elements are nonzero.")
logical_or = _binary("logical_or", np.logical_or, "Return where any of two elements is nonzero.")
logical_xor = _binary("logical_xor", np.logical_xor, "Return where one of two elements is nonzero.")
lt = _binary("lt", np.less, "Return where the first tensor is less.")
maximum = _binary("maximum", np.maximum, "Return the larger of two elements.")
minimum = _binary("minimum", np.minimum, "Return the smaller of two elements.")
mul = _binary("mul", np.multiply, "Multiply two tensors.")
ne = _binary("ne", np.not_equal, "Return where two tensors differ.")
nextafter = _binary("nextafter", np.nextafter, "Return the next float after an element in the direction of another.")
pow = _binary("pow", np.power, "Raise to a power.")
remainder = _binary("remainder", np.remainder, "Return the remainder of a division, with the sign of the divisor.")
true_divide = _binary("true_divide", np.true_divide, "Divide two tensors.")
xlogy = _binary(
    "xlogy", _xlogy, "Return the first tensor times the logarithm of the second; zero where the first is zero."
)

# PyTorch's other names for the same functions.
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
fix = trunc
greater = gt
greater_equal = ge
less = lt
less_equal = le
multiply = mul
negative = neg
not_equal = ne


def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Add two tensors, the second times ``alpha``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.add(torch.ones(2), torch.ones(2), alpha=3)
    tensor([4., 4.])
    """
    return into(Tensor._run(np.add, input, other if alpha == 1 else other * alpha), out)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Subtract the second tensor, times ``alpha``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.sub(torch.ones(2), torch.ones(2), alpha=3)
    tensor([-2., -2.])
    """
    return into(Tensor._run(np.subtract, input, other if alpha == 1 else other * alpha), out)


subtract = sub


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """Divide two tensors; ``rounding_mode`` may be ``"floor"`` or ``"trunc"``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.div(torch.tensor([-3.0]), 2), torch.div(torch.tensor([-3.0]), 2, rounding_mode="trunc")
    (tensor([-1.5000]), tensor([-1.]))
    """
    ways: dict[str | None, Callable[[Any, Any], Any]] = {
        None: np.true_divide,
        "floor": np.floor_divide,
        "trunc": _truncated,
    }
    if rounding_mode not in ways:
        raise ValueError(f"div: rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    return into(Tensor._run(ways[rounding_mode], input, other), out)


divide = div


def _truncated(x: Any, y: Any) -> ndarray:
    whole = np.trunc(np.true_divide(x, y))
    kind = np.result_type(x, y)
    return whole.astype(kind, copy=False)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Subtract the first tensor, times ``alpha``, from the second.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.rsub(torch.ones(2), 3.0)
    tensor([2., 2.])
    """
    return Tensor._run(np.subtract, other, input if alpha == 1 else input * alpha)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round every element to the nearest number with ``decimals`` places; halves to even.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.25])), torch.round(torch.tensor([2.25]), decimals=1)
    (tensor([0., 2., 2.]), tensor([2.2000]))
    """
    return Tensor._run(lambda x: np.round(x, decimals), input)


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit every element to an interval, whose ends may be tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 9.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise ValueError("clamp: needs min or max")
    made = input
    if min is not None:
        made = Tensor._run(np.maximum, made, min)
    if max is not None:
        made = Tensor._run(np.minimum, made, max)
    return into(made, out)


clip = clamp


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Limit every element from below.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.clamp_min(torch.tensor([-1.0, 2.0]), 0)
    tensor([0., 2.])
    """
    return clamp(input, min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Limit every element from above.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.clamp_max(torch.tensor([-1.0, 2.0]), 0)
    tensor([-1.,  0.])
    """
    return clamp(input, None, max)


def lerp(input: Tensor, end: Any, weight: Any) -> Tensor:
    """Interpolate between two tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.lerp(torch.zeros(1), torch.ones(1) * 4, 0.25)
    tensor([1.])
    """
    return Tensor._run(lambda x, y, w: x + w * (y - x), input, end, weight)


def addcmul(input: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """Add ``value`` times the product of two tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.addcmul(torch.ones(1), torch.ones(1), torch.ones(1), value=2)
    tensor([3.])
    """
    return Tensor._run(lambda x, a, b: x + value * (a * b), input, tensor1, tensor2)


def addcdiv(input: Tensor, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
    """Add ``value`` times the quotient of two tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.addcdiv(torch.ones(1), torch.ones(1), torch.ones(1) * 2, value=2)
    tensor([2.])
    """
    return Tensor._run(lambda x, a, b: x + value * (a / b), input, tensor1, tensor2)


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Replace NaN and infinities by numbers.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nan_to_num(torch.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    return Tensor._run(lambda x: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf), input)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Return the inverse of the logistic function; ``eps`` limits the elements to its distance from 0 and 1.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.logit(torch.tensor([0.5]))
    tensor([0.])
    """
    inside = input if eps is None else clamp(input, eps, 1 - eps)
    return Tensor._run(lambda x: np.log(x / (1 - x)), inside)


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Compute the softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.softmax(torch.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return Tensor._run(lambda x: npx.softmax(x, axis=dim), input.to(dtype=dtype))


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Compute the logarithm of the softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.log_softmax(torch.zeros(1), dim=0)
    tensor([0.])
    """
    return Tensor._run(lambda x: npx.log_softmax(x, axis=dim), input.to(dtype=dtype))


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Choose from two tensors, element by element; with a condition only, return the indices where it holds.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is None and other is None:
        return tuple(Tensor._of(place) for place in np.nonzero(condition._array))
    return Tensor._run(np.where, condition, input, other)


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return where two tensors agree up to a tolerance.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.isclose(torch.ones(2), torch.tensor([1.0, 2.0]))
    tensor([ True, False])
    """
    return Tensor._run(lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), input, other)
