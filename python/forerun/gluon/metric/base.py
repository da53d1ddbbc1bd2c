"""The base class of metrics, metrics made of metrics, and metrics by name."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from forerun._convert import to_array
from forerun._forerun import ndarray

__all__ = ["CompositeEvalMetric", "EvalMetric", "check_label_shapes", "create", "register"]

Arrays: TypeAlias = "Sequence[Any] | ndarray"
_Class = TypeVar("_Class", bound="type[EvalMetric]")
_registered: dict[str, type[EvalMetric]] = {}


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Raise ``ValueError`` unless labels and predictions match.

    Parameters
    ----------
    labels, preds
        Lists of arrays, or arrays.
    wrap
        Whether to return single arrays as lists.
    shape
        Whether the shapes must be equal; otherwise only the lengths.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.metric.check_label_shapes(np.ones(2), np.ones(3))
    Traceback (most recent call last):
        ...
    ValueError: shape of labels 2 does not match shape of predictions 3
    """
    ours, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if ours != theirs:
        raise ValueError(f"shape of labels {ours} does not match shape of predictions {theirs}")
    if wrap:
        labels = [labels] if isinstance(labels, ndarray) else labels
        preds = [preds] if isinstance(preds, ndarray) else preds
    return labels, preds


def pairs(labels: Arrays, preds: Arrays) -> Iterator[tuple[ndarray, ndarray]]:
    """Yield each label with its prediction, outside of the tape and on the device of the prediction."""
    labels, preds = check_label_shapes(labels, preds, True)
    for label, pred in zip(labels, preds, strict=True):
        pred = detached(pred)
        yield on_device_of(pred, detached(label)), pred


def detached(x: Any) -> ndarray:
    """Return an array that does not keep the graph alive in which it was computed."""
    return to_array(x).detach()


def on_device_of(state: Any, term: Any) -> Any:
    """Copy an array to the device of another one, if it is elsewhere."""
    if isinstance(state, ndarray) and isinstance(term, ndarray) and state.device != term.device:
        return term.as_in_ctx(state.device)
    return term


def read(x: Any) -> Any:
    """Wait for a number; larger arrays are returned as they are."""
    return x.item() if isinstance(x, ndarray) and x.ndim == 0 else x


class EvalMetric:
    """The base class of metrics: the mean of values over samples.

    A subclass defines :meth:`update`, which adds to ``sum_metric`` and ``num_inst``. These may be arrays. The metrics
    of this package keep arrays of float64 and int64, so that :meth:`update` does not wait and long runs lose no
    precision.

    Parameters
    ----------
    name
        The name in results.
    output_names, label_names
        The predictions and labels that :meth:`update_dict` uses; all by default.
    **options
        The subclass's options, for :meth:`get_config`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> class Largest(gluon.metric.EvalMetric):
    ...     def update(self, labels, preds):
    ...         self.sum_metric = np.maximum(self.sum_metric, preds.max())
    ...         self.num_inst = 1
    >>> metric = Largest("largest")
    >>> metric.update(None, np.array([1.0, 3.0]))
    >>> metric.get()
    ('largest', 3.0)
    """

    # The name if none is given; a class without one needs a name.
    default_name: str | None = None

    def __init__(
        self,
        name: str | None = None,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        name = self.default_name if name is None else name
        if name is None:
            raise TypeError(f"{type(self).__name__}: a name is needed")
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._options = options
        self.num_inst: Any = 0
        self.sum_metric: Any = 0.0
        self.reset()

    def __str__(self) -> str:
        """Write names and values."""
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """Return the options; ``create(**options)`` makes an equal metric."""
        names = {"name": self.name, "output_names": self.output_names, "label_names": self.label_names}
        return {**self._options, "metric": type(self).__name__, **names}

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Update with labels and predictions by name."""
        preds = pred.values() if self.output_names is None else [pred[name] for name in self.output_names]
        labels = label.values() if self.label_names is None else [label[name] for name in self.label_names]
        self.update(list(labels), list(preds))

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch: arrays, or lists with one array per device or output."""
        raise NotImplementedError(f"{type(self).__name__}: update is not defined")

    def reset(self) -> None:
        """Forget all batches."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value so far, NaN before the first batch. This waits."""
        count = read(self.num_inst)
        return self.name, float("nan") if count == 0 else read(self.sum_metric / count)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Return pairs of names and values."""
        name, value = self.get()
        names = name if isinstance(name, list) else [name]
        values = value if isinstance(value, list) else [value]
        return list(zip(names, values, strict=True))

    def _add(self, total: Any, count: Any) -> None:
        """Add to the sum, in float64, and to the count."""
        if isinstance(total, ndarray):
            total = total.astype("float64")
        self.sum_metric = self.sum_metric + on_device_of(self.sum_metric, total)
        self.num_inst = self.num_inst + on_device_of(self.num_inst, count)


def register(cls: _Class, *names: str) -> _Class:
    """Register a class under its name in lower case, so that :func:`create` finds it.

    Examples
    --------
    >>> from forerun import gluon
    >>> @gluon.metric.register
    ... class Nothing(gluon.metric.EvalMetric):
    ...     def update(self, labels, preds):
    ...         pass
    >>> gluon.metric.create("nothing", name="none").get()
    ('none', nan)
    """
    if not issubclass(cls, EvalMetric):
        raise TypeError(f"register: not a subclass of EvalMetric: {cls}")
    for name in names or [cls.__name__]:
        known = _registered.get(name.lower())
        if known is not None and known.__qualname__ != cls.__qualname__:
            text = f"register: {cls.__module__}.{cls.__name__} replaces {known.__module__}.{known.__name__} as {name}"
            warnings.warn(text, UserWarning, stacklevel=2)
        _registered[name.lower()] = cls
    return cls


def alias(*names: str) -> Callable[[_Class], _Class]:
    """Register a class under its own name and others."""
    return lambda cls: register(cls, cls.__name__, *names)


def create(metric: Any, *arguments: Any, **options: Any) -> EvalMetric:
    """Make a metric.

    Parameters
    ----------
    metric
        A name, a metric, a configuration (a dictionary or its JSON text), a function of label and prediction, or a
        list of these.
    *arguments, **options
        Passed to the constructor.

    Examples
    --------
    >>> from forerun import gluon
    >>> gluon.metric.create(["acc", "rmse"]).get()
    (['accuracy', 'rmse'], [nan, nan])
    """
    if isinstance(metric, EvalMetric):
        if arguments or options:
            raise ValueError("create: a metric that exists already takes no arguments")
        return metric
    if isinstance(metric, list):
        return CompositeEvalMetric([create(each, *arguments, **options) for each in metric])
    if isinstance(metric, Mapping):
        return create(**{**metric, **options})
    if callable(metric):
        from forerun.gluon.metric.custom import CustomMetric

        return CustomMetric(metric, *arguments, **options)
    if not isinstance(metric, str):
        raise TypeError(f"create: a metric must be a name, a function or a configuration, not {type(metric).__name__}")
    if metric.startswith("{"):
        return create(json.loads(metric))
    if metric.lower() not in _registered:
        raise ValueError(f"create: no metric is named {metric!r}; there are {', '.join(sorted(_registered))}")
    return _registered[metric.lower()](*arguments, **options)


@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics of the same predictions.

    Parameters
    ----------
    metrics
        Metrics, or whatever :func:`create` accepts.
    name, output_names, label_names
        Passed to :class:`EvalMetric`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.CompositeEvalMetric(["acc", "f1"])
    >>> metric.update(np.array([0, 1, 1]), np.array([[0.3, 0.7], [0.0, 1.0], [0.4, 0.6]]))
    >>> metric.get()
    (['accuracy', 'f1'], [0.6666666666666666, 0.8])
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names)
        # Added last, because the constructor above resets.
        self.metrics += [create(metric) for metric in metrics or []]

    def add(self, metric: Any) -> None:
        """Add a metric."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return one of the metrics."""
        if not -len(self.metrics) <= index < len(self.metrics):
            raise ValueError(f"get_metric: index {index} is out of range for {len(self.metrics)} metrics")
        return self.metrics[index]

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Update with labels and predictions by name."""
        if self.label_names is not None:
            label = {name: array for name, array in label.items() if name in self.label_names}
        if self.output_names is not None:
            pred = {name: array for name, array in pred.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch to each metric."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Forget all batches."""
        for metric in self.metrics:
            metric.reset()

    def get(self) -> tuple[Any, Any]:
        """Return the names and the values. This waits."""
        found = [each for metric in self.metrics for each in metric.get_name_value()]
        return [name for name, _ in found], [value for _, value in found]

    def get_config(self) -> dict[str, Any]:
        """Return the options; ``create(**options)`` makes an equal metric."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}
