"""Metrics from functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun._forerun import ndarray
from forerun.gluon.metric.base import Arrays, EvalMetric, check_label_shapes, pairs, register

__all__ = ["CustomMetric", "np"]


@register
class CustomMetric(EvalMetric):
    """The mean of a function's results over batches.

    Parameters
    ----------
    feval
        A function of label and prediction. It returns the value of the batch, or a sum and a count. If it computes
        with arrays and reads none, updates do not wait.
    name, output_names, label_names
        Passed to :class:`EvalMetric`; the default name is the function's.
    allow_extra_outputs
        Whether there may be more predictions than labels; the first ones count.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.CustomMetric(lambda label, pred: np.abs(label - pred).max())
    >>> metric.update(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    >>> metric.get()
    ('custom(<lambda>)', 2.0)
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        if self._allow_extra_outputs:
            labels = [labels] if isinstance(labels, ndarray) else labels
            preds = [preds] if isinstance(preds, ndarray) else preds[: len(labels)]
        else:
            labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in pairs(labels, preds):
            found = self._feval(label, pred)
            self._add(*(found if isinstance(found, tuple) else (found, 1)))

    def get_config(self) -> dict[str, Any]:
        """Raise, because functions cannot be written as a configuration."""
        raise NotImplementedError("CustomMetric: a function cannot be written as a configuration")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Make a :class:`CustomMetric` of a function written with NumPy.

    The function gets arrays of this package, on which NumPy's functions work without a wait.

    Examples
    --------
    >>> import numpy
    >>> from forerun import gluon
    >>> from forerun import np
    >>> def error(label, pred):
    ...     return numpy.mean(numpy.abs(label - pred))
    >>> metric = gluon.metric.np(error)
    >>> metric.update(np.array([1.0, 2.0]), np.array([2.0, 2.0]))
    >>> metric.get()
    ('error', 0.5)
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
