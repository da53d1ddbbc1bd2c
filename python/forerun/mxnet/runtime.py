"""``mxnet.runtime``: which optional features are present."""

from __future__ import annotations

import importlib.util
from collections import OrderedDict
from typing import NamedTuple

__all__ = ["Feature", "Features", "feature_list"]


class Feature(NamedTuple):
    """A feature by name, and whether it is present.

    Examples
    --------
    >>> from forerun.mxnet import runtime
    >>> runtime.Feature("CUDA", False)
    [off] CUDA
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        """Write the state and the name."""
        return f"[{'on' if self.enabled else 'off'}] {self.name}"


def feature_list() -> list[Feature]:
    """Return the features that MXNet knows, and whether this package has them.

    Examples
    --------
    >>> from forerun.mxnet import runtime
    >>> "CUDA" in [feature.name for feature in runtime.feature_list()]
    True
    """
    import os
    import platform

    from forerun import _forerun

    gpus = _forerun.num_gpus() > 0
    x86 = platform.machine() in ("x86_64", "AMD64")
    present = {
        "CUDA": gpus,
        "CUDNN": False,
        "NCCL": False,
        "CUDA_RTC": gpus,
        "TENSORRT": False,
        "CUTENSOR": False,
        "CPU_SSE": x86,
        "CPU_SSE2": x86,
        "CPU_SSE3": False,
        "CPU_SSE4_1": False,
        "CPU_SSE4_2": False,
        "CPU_SSE4A": False,
        "CPU_AVX": False,
        "CPU_AVX2": x86 and os.environ.get("FORERUN_ISA") != "baseline",
        "OPENMP": False,
        "SSE": x86,
        "F16C": True,
        "JEMALLOC": False,
        "BLAS_OPEN": False,
        "BLAS_ATLAS": False,
        "BLAS_MKL": False,
        "BLAS_APPLE": False,
        "LAPACK": True,
        "ONEDNN": False,
        "OPENCV": importlib.util.find_spec("forerun.mxnet.image") is not None,
        "DIST_KVSTORE": False,
        "INT64_TENSOR_SIZE": True,
        "SIGNAL_HANDLER": True,
        "DEBUG": hasattr(_forerun, "fail_sites"),
        "TVM_OP": False,
    }
    return [Feature(name, enabled) for name, enabled in present.items()]


class Features(OrderedDict[str, Feature]):
    """The features by name; there is one object.

    Examples
    --------
    >>> from forerun.mxnet import runtime
    >>> features = runtime.Features()
    >>> features.is_enabled("INT64_TENSOR_SIZE")
    True
    >>> features is runtime.Features()
    True
    """

    _instance: Features | None = None

    def __new__(cls) -> Features:
        """Return the one object."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self) -> None:
        if not self:
            super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        """Write the features."""
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Return whether a feature is present; raise for unknown names."""
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"is_enabled: feature {name!r} is not known; there are {', '.join(self)}")
        return self[name].enabled
