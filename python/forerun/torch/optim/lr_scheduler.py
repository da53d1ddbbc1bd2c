"""Schedules of learning rates: each call of ``step`` sets the rates of an optimiser's groups."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.optim import _cycles, _schedules
from forerun.torch.optim._cycles import *  # noqa: F403
from forerun.torch.optim._schedules import *  # noqa: F403

# The old name of the base class.
_LRScheduler = LRScheduler  # noqa: F405

__all__ = sorted([*_cycles.__all__, *_schedules.__all__])

__getattr__ = _module_getattr(__name__, globals(), {})
