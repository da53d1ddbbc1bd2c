"""Tools around tensors: data sets and batches."""

from forerun.torch.utils import data

__all__ = ["data"]
