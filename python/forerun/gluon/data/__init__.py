"""Data: datasets, samplers and batches."""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.data import batchify
from forerun.gluon.data.dataset import ArrayDataset, Dataset, SimpleDataset
from forerun.gluon.data.loader import DataLoader
from forerun.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
