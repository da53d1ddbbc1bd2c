"""Datasets, samplers and loaders of batches."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.utils.data._collate import default_collate, default_convert
from forerun.torch.utils.data._datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from forerun.torch.utils.data._loader import DataLoader, get_worker_info
from forerun.torch.utils.data._samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "distributed": "there is one process: use RandomSampler",
        "DistributedSampler": "there is one process: use RandomSampler",
        "datapipes": "write an IterableDataset",
    },
)
