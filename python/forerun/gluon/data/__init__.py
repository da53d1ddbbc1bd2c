"""Data: sets of samples, orders to go through them, and batches."""

from __future__ import annotations

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
