"""Data: datasets, samplers and batches."""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.data import batchify
from forerun.gluon.data.dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from forerun.gluon.data.loader import DataLoader
from forerun.gluon.data.sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "vision",
]

# Imported lazily, as NumPy would be imported with it. Type checkers must report missing names.
if _typing.TYPE_CHECKING:
    from forerun.gluon.data import vision as vision
else:
    _lacking = _module_getattr(__name__, globals(), {})

    def __getattr__(name: str) -> _typing.Any:
        if name == "vision":
            import importlib

            return importlib.import_module("forerun.gluon.data.vision")
        return _lacking(name)
