"""Helpers for training loops."""

from __future__ import annotations

import hashlib
import os
import typing as _typing
import warnings
from collections.abc import Sequence

from forerun import np
from forerun._forerun import Device, ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun._recurrent import split
from forerun._types import ArrayLike

__all__ = ["check_sha1", "clip_global_norm", "download", "split_and_load", "split_data", "split_rnn_params"]


def split_data(data: ndarray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[ndarray]:
    """Split an array into slices along the batch axis.

    Parameters
    ----------
    data
        The array.
    num_slice
        The number of slices.
    batch_axis
        The axis.
    even_split
        Whether all slices must have the same size; otherwise the first ones have one more.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> [part.shape for part in gluon.utils.split_data(np.ones((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if num_slice < 1 or size < num_slice:
        raise ValueError(f"split_data: {size} samples cannot be split into {num_slice} slices")
    if even_split and size % num_slice:
        raise ValueError(
            f"split_data: {size} samples along axis {batch_axis} of shape {data.shape} cannot be split evenly into"
            f" {num_slice} slices; even_split=False allows it"
        )
    step, extra = divmod(size, num_slice)
    ends = [step * i + min(i, extra) for i in range(1, num_slice + 1)]
    before = (slice(None),) * (batch_axis % data.ndim)
    places = [(*before, slice(begin, end)) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    return [data[place] for place in places]


def split_and_load(
    data: ArrayLike,
    ctx_list: Sequence[Device] | Device | None = None,
    batch_axis: int = 0,
    even_split: bool = True,
    *,
    device_list: Sequence[Device] | Device | None = None,
) -> list[ndarray]:
    """Split an array into one slice per device and copy each to its device.

    Parameters
    ----------
    data
        The array, or something that can be converted to one.
    ctx_list, device_list
        The devices.
    batch_axis, even_split
        As for :func:`split_data`.

    Examples
    --------
    >>> from forerun import gluon, np, npx
    >>> [part.shape for part in gluon.utils.split_and_load(np.ones((4, 2)), [npx.cpu()])]
    [(4, 2)]
    """
    asked = ctx_list if device_list is None else device_list
    if asked is None or (ctx_list is not None and device_list is not None):
        raise TypeError("split_and_load: give the devices once, as ctx_list or device_list")
    devices = [asked] if isinstance(asked, Device) else list(asked)
    array = np.asarray(data)
    if len(devices) == 1:
        return [array.as_in_ctx(devices[0])]
    slices = split_data(array, len(devices), batch_axis, even_split)
    return [part.as_in_ctx(device) for part, device in zip(slices, devices, strict=True)]


def split_rnn_params(
    param: ndarray,
    mode: str,
    num_layers: int,
    input_size: int,
    hidden_size: int,
    bidirectional: bool = False,
    projection_size: int | None = None,
) -> dict[str, ndarray]:
    """Split the vector of parameters that ``npx.rnn`` takes, by the names of the parameters of recurrent layers.

    Parameters
    ----------
    param
        The vector.
    mode
        ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
    num_layers, input_size, hidden_size, bidirectional, projection_size
        The shape of the layer.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> found = gluon.utils.split_rnn_params(np.zeros(32), "rnn_tanh", 1, 2, 4)
    >>> {name: array.shape for name, array in found.items()}
    {'l0_i2h_weight': (4, 2), 'l0_h2h_weight': (4, 4), 'l0_i2h_bias': (4,), 'l0_h2h_bias': (4,)}
    """
    directions = "lr" if bidirectional else "l"
    parts = split(param, mode, input_size, hidden_size, projection_size or 0, num_layers, len(directions))
    names = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")
    places = [f"{direction}{layer}" for layer in range(num_layers) for direction in directions]
    return {
        f"{place}_{name}": array
        for place, own in zip(places, parts, strict=True)
        for name, array in zip(names, own, strict=False)
    }


def clip_global_norm(arrays: Sequence[ndarray], max_norm: float, check_isfinite: bool = True) -> ndarray | float:
    """Scale arrays in place so that their joint norm is at most ``max_norm``.

    Parameters
    ----------
    arrays
        The arrays, such as gradients; they may live on several devices.
    max_norm
        The bound.
    check_isfinite
        Whether to wait for the norm and warn if it is not finite.

    Returns
    -------
    float or ndarray
        The norm before scaling: a number with ``check_isfinite``, else an array.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> x = np.array([3.0, 4.0])
    >>> gluon.utils.clip_global_norm([x], 1.0)
    5.0
    >>> x
    array([0.6, 0.8])
    """
    if not arrays:
        raise ValueError("clip_global_norm: no arrays")
    home = arrays[0].device
    squares = [np.square(array.detach()).sum().as_in_ctx(home) for array in arrays]
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    norm = np.sqrt(total)
    scale = np.minimum(max_norm / (norm + 1e-8), 1.0)
    for array in arrays:
        array *= scale.as_in_ctx(array.device)
    if not check_isfinite:
        return norm
    number: float = norm.item()
    if not abs(number) < float("inf"):
        warnings.warn(f"clip_global_norm: the norm is {number}", stacklevel=2)
    return number


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Return whether a file has this SHA-1 hash, in hexadecimal digits.

    Examples
    --------
    >>> import os
    >>> from forerun import gluon
    >>> gluon.utils.check_sha1(os.devnull, "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    True
    """
    digest = hashlib.sha1()
    with open(filename, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def download(
    url: str,
    path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Return the path of a file that exists already; raise otherwise, because Forerun downloads nothing.

    Parameters
    ----------
    url
        Where the file comes from.
    path
        The file, or the folder with the file of the same name as in ``url``; the current folder if not given.
    overwrite
        Whether an existing file does not count.
    sha1_hash
        The SHA-1 hash that the file must have.
    retries, verify_ssl
        Accepted for compatibility with MXNet.

    Examples
    --------
    >>> from forerun import gluon
    >>> gluon.utils.download("https://example.com/null", "/dev/null")
    '/dev/null'
    """
    place = os.path.expanduser(os.fspath(path)) if path is not None else ""
    if not place or os.path.isdir(place):
        place = os.path.join(place, url.rpartition("/")[2])
    if overwrite or not os.path.exists(place) or (sha1_hash and not check_sha1(place, sha1_hash)):
        raise RuntimeError(f"download: Forerun has no download: save {url} as {place} first")
    return place


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
