"""Metrics of predictions, accumulated over batches.

``update`` submits ops and never waits, so that evaluation overlaps with training; ``get`` waits. Counts are integers
and sums are float64, on the device of the predictions. Predictions on several devices are added up on the first one.

Examples
--------
>>> from forerun import gluon, np
>>> metric = gluon.metric.Accuracy()
>>> metric.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]))
>>> metric.get()
('accuracy', 0.5)
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.metric.base import CompositeEvalMetric, EvalMetric, check_label_shapes, create, register
from forerun.gluon.metric.classification import F1, MCC, PCC, Accuracy, BinaryAccuracy, Fbeta, TopKAccuracy
from forerun.gluon.metric.custom import CustomMetric, np
from forerun.gluon.metric.likelihood import CrossEntropy, Loss, NegativeLogLikelihood, Perplexity, Torch
from forerun.gluon.metric.regression import (
    MAE,
    MSE,
    RMSE,
    MeanCosineSimilarity,
    MeanPairwiseDistance,
    PearsonCorrelation,
)

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "BinaryAccuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Fbeta",
    "Loss",
    "MeanCosineSimilarity",
    "MeanPairwiseDistance",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "check_label_shapes",
    "create",
    "np",
    "register",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
