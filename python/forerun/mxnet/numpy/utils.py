"""``mxnet.numpy.utils``: groups of dtypes, and constants that older programs use."""

from __future__ import annotations

import math

from forerun.np import bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

__all__ = ["NAN", "NINF", "NZERO", "PINF", "PZERO", "NaN", "boolean_dtypes", "floating_dtypes", "integer_dtypes"]
__all__ += ["numeric_dtypes"]

PZERO, NZERO, PINF, NINF = 0.0, -0.0, math.inf, -math.inf
NAN = NaN = math.nan

integer_dtypes = [int8, int16, int32, int64, uint8, uint16, uint32, uint64]
floating_dtypes = [float16, float32, float64]
numeric_dtypes = [*integer_dtypes, *floating_dtypes]
boolean_dtypes = [bool_]
