"""Names of MXNet 1 for functions of ``mxnet.np``, ``npx`` and ``mxnet.nd.random``."""

from __future__ import annotations

import importlib
from typing import Any

# Layers and others whose name differs.
_ELSEWHERE = {
    "Activation": "npx.activation",
    "BlockGrad": "npx.stop_gradient",
    "CTCLoss": "npx.ctc_loss",
    "Convolution": "npx.convolution",
    "Custom": "operator.custom",
    "Deconvolution": "npx.deconvolution",
    "Embedding": "npx.embedding",
    "Flatten": "npx.batch_flatten",
    "FullyConnected": "npx.fully_connected",
    "GroupNorm": "npx.group_norm",
    "InstanceNorm": "npx.instance_norm",
    "LayerNorm": "npx.layer_norm",
    "LeakyReLU": "npx.leaky_relu",
    "Pad": "npx.pad",
    "Pooling": "npx.pooling",
    "RNN": "npx.rnn",
    "ROIPooling": "npx.roi_pooling",
    "SequenceLast": "npx.sequence_last",
    "SequenceMask": "npx.sequence_mask",
    "SequenceReverse": "npx.sequence_reverse",
    "SoftmaxActivation": "npx.softmax",
    "crop": "npx.slice",
    "modulo": "numpy.mod",
    "pad": "npx.pad",
    "random_exponential": "ndarray.random.exponential",
    "random_gamma": "ndarray.random.gamma",
    "random_normal": "ndarray.random.normal",
    "random_poisson": "ndarray.random.poisson",
    "random_randint": "ndarray.random.randint",
    "random_uniform": "ndarray.random.uniform",
    "sample_exponential": "ndarray.random.exponential",
    "sample_gamma": "ndarray.random.gamma",
    "sample_multinomial": "ndarray.random.categorical",
    "sample_normal": "ndarray.random.normal",
    "sample_poisson": "ndarray.random.poisson",
    "sample_uniform": "ndarray.random.uniform",
    "shuffle": "ndarray.random.shuffle",
    "slice": "npx.slice",
    "uniform": "ndarray.random.uniform",
    "normal": "ndarray.random.normal",
}

hints = {
    "sparse": "there are no sparse arrays",
    "cast_storage": "there are no sparse arrays",
    "csr_matrix": "there are no sparse arrays",
    "row_sparse_array": "there are no sparse arrays",
    "CachedOp": "hybridize() captures and replays calls",
    "SoftmaxOutput": "use gluon.loss.SoftmaxCrossEntropyLoss",
}


def found(name: str) -> Any:
    """Return what a name stands for, or None."""
    if name.startswith("__"):
        return None
    if name in _ELSEWHERE:
        module, _, function = _ELSEWHERE[name].rpartition(".")
        return getattr(_module(module), function, None)
    for known in (name, name.removeprefix("broadcast_")):
        for module in ("ndarray", "numpy", "npx"):
            place = _module(module)
            names = place.__all__ if hasattr(place, "__all__") else dir(place)
            if known in names:
                return getattr(place, known)
    return None


def _module(name: str) -> Any:
    return importlib.import_module("forerun.npx" if name == "npx" else f"forerun.mxnet.{name}")
