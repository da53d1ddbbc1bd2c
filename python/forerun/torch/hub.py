"""The folder of weights. Nothing is downloaded."""

from __future__ import annotations

import os

from forerun._missing import module_getattr

__all__ = ["get_dir", "set_dir"]

_CHOSEN: list[str] = []


def get_dir() -> str:
    """Return the folder whose subfolder ``checkpoints`` holds files of weights.

    It is what :func:`set_dir` was given, or ``hub`` in the folder that the environment variable ``TORCH_HOME`` names,
    or in ``~/.cache/torch``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.hub.set_dir("/data/hub")
    >>> torch.hub.get_dir()
    '/data/hub'
    """
    if _CHOSEN:
        return _CHOSEN[-1]
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache"))
    return os.path.join(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.hub.set_dir("/data/hub")
    """
    _CHOSEN[:] = [os.fspath(d)]


__getattr__ = module_getattr(
    __name__,
    globals(),
    {
        "load": "nothing is downloaded: build the network, and load its weights with torch.load",
        "load_state_dict_from_url": "nothing is downloaded: load the weights of a local file with torch.load",
        "download_url_to_file": "nothing is downloaded",
    },
)
