"""Special functions: PyTorch's names for those of ``torch``, and a few more."""

from __future__ import annotations

from forerun import np, npx
from forerun._missing import module_getattr
from forerun.torch import _pointwise, _reductions
from forerun.torch._pointwise import _unary

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i1",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlogy",
]

digamma = _pointwise.digamma
psi = _pointwise.digamma
erf = _pointwise.erf
erfc = _pointwise.erfc
erfinv = _pointwise.erfinv
exp2 = _pointwise.exp2
expit = _pointwise.sigmoid
expm1 = _pointwise.expm1
gammaln = _pointwise.lgamma
log1p = _pointwise.log1p
log_softmax = _pointwise.log_softmax
logit = _pointwise.logit
logsumexp = _reductions.logsumexp
round = _pointwise.round
sinc = _pointwise.sinc
softmax = _pointwise.softmax
xlogy = _pointwise.xlogy
i0 = _unary("i0", np.i0, "Return the modified Bessel function of order zero.")
i1 = _unary("i1", npx.i1, "Return the modified Bessel function of order one.")

__getattr__ = module_getattr(__name__, globals(), {})
