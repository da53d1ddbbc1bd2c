"""Files of pretrained weights in a local folder. Nothing is downloaded."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import typing as _typing

from forerun._device import DeviceLike, asked
from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.block import Block

__all__ = ["get_model_file"]


def get_model_file(name: str, root: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the file with a network's weights.

    The file is the first of these that exists: ``NAME-HASH.params``, as MXNet names it, ``NAME.params`` and
    ``NAME.safetensors``. ``HASH`` is the beginning of the SHA-1 checksum, eight hexadecimal digits, and is verified.

    Parameters
    ----------
    name
        The name of the network, as :func:`~forerun.gluon.model_zoo.vision.get_model` accepts it.
    root
        The folder. The default is ``models`` in the folder that the environment variable ``MXNET_HOME`` names, or else
        ``~/.mxnet/models``.

    Raises
    ------
    FileNotFoundError
        If there is no such file. The message says where to put it.
    ValueError
        If the checksum differs, or there are several files with checksums.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun.gluon.model_zoo import model_store, vision
    >>> net = vision.squeezenet1_1(classes=2)
    >>> net.initialize()
    >>> net.infer_shape(np.ones((1, 3, 224, 224)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     net.save_parameters(os.path.join(folder, "squeezenet1.1.params"))
    ...     os.path.basename(model_store.get_model_file("squeezenet1.1", root=folder))
    'squeezenet1.1.params'
    """
    folder = _folder(root)
    pattern = re.compile(re.escape(name) + r"-([0-9a-f]{8})\.params")
    present = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    hashed = [match for match in map(pattern.fullmatch, present) if match]
    if len(hashed) > 1:
        several = ", ".join(match[0] for match in hashed)
        raise ValueError(f"get_model_file: {folder} has several files for {name}: {several}; keep one")
    if hashed:
        path = folder / hashed[0][0]
        checksum = hashlib.sha1(usedforsecurity=False)
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                checksum.update(piece)
        if not checksum.hexdigest().startswith(hashed[0][1]):
            found = checksum.hexdigest()[:8]
            raise ValueError(f"get_model_file: {path} is damaged: its SHA-1 checksum begins with {found}")
        return str(path)
    for ending in (".params", ".safetensors"):
        if f"{name}{ending}" in present:
            return str(folder / f"{name}{ending}")
    raise FileNotFoundError(
        f"get_model_file: no weights of {name} in {folder}: put {name}-HASH.params from MXNet's model zoo,"
        f" {name}.params or {name}.safetensors there; nothing is downloaded"
    )


def _folder(root: str | os.PathLike[str] | None) -> pathlib.Path:
    home = os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet"))
    return pathlib.Path(os.path.join(home, "models") if root is None else root).expanduser()


_Net = _typing.TypeVar("_Net", bound=Block)


def _prepared(
    net: _Net,
    name: str,
    pretrained: bool,
    root: str | os.PathLike[str] | None,
    ctx: DeviceLike,
    device: DeviceLike,
) -> _Net:
    """Load the pretrained weights of a network if asked to, and return it."""
    place = asked(name, ctx, device)
    if pretrained:
        net.load_parameters(get_model_file(name, root), place)
    return net


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(
        __name__, globals(), {"purge": "nothing is downloaded, so no files are to be removed"}
    )
