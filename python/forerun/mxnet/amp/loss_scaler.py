"""The scale of losses: it is halved when a gradient overflows, and doubled after many steps without an overflow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forerun import np

__all__ = ["LossScaler"]

_MOST = 2.0**24
_STEPS = 2000


class LossScaler:
    """The scale of losses.

    Examples
    --------
    >>> from forerun.mxnet import amp
    >>> amp.LossScaler().loss_scale
    65536.0
    """

    def __init__(self) -> None:
        self.loss_scale = 2.0**16
        # The steps since the last overflow, or since the scale was doubled.
        self._passed = 0

    def has_overflow(self, params: Iterable[Any]) -> bool:
        """Return whether a gradient of the parameters is not finite, and adapt the scale. Waits.

        Parameters
        ----------
        params
            The parameters.
        """
        finite = [
            np.isfinite(grad).all() for each in params if each.grad_req != "null" and each._data for grad in each.list_grad()
        ]
        # The flags are computed together, and read one by one.
        for flag in [flag.astype("bool") for flag in finite]:
            if not flag.item():
                self.loss_scale = max(self.loss_scale / 2, 1.0)
                self._passed = 0
                return True
        self._passed += 1
        if self._passed == _STEPS:
            self._passed = 0
            self.loss_scale = min(self.loss_scale * 2, _MOST)
        return False
