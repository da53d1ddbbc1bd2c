"""The structure of a block as JSON: classes, children and parameters. It is compared, never executed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from forerun._refused import refused

if TYPE_CHECKING:
    from forerun.gluon.block import Block

_FORMAT = {"format": "forerun-block", "version": 1}
# Maximum size of a file in bytes.
_MOST_BYTES = 16 << 20


def _structure(block: Block) -> dict[str, Any]:
    return {
        "class": type(block).__name__,
        "parameters": list(block.params),
        "children": {name: _structure(child) for name, child in block._children.items()},
    }


def write_structure(block: Block, filename: str) -> None:
    """Write the structure of a block."""
    with open(filename, "w", encoding="utf-8") as file:
        json.dump({**_FORMAT, "block": _structure(block)}, file, indent=1)


def check_structure(block: Block, filename: str) -> None:
    """Raise an error unless a block has the structure in a file."""
    with open(filename, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise refused(f"load: {filename}: more than {_MOST_BYTES} bytes")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise refused(f"load: {filename}: not the structure of a block: {error}") from None
    if not isinstance(found, dict) or {name: found.get(name) for name in _FORMAT} != _FORMAT:
        raise refused(f"load: {filename}: not the structure of a block of version 1")
    _compare(_structure(block), found.get("block"), type(block).__name__, filename)


def _compare(own: dict[str, Any], other: Any, path: str, filename: str) -> None:
    if not isinstance(other, dict) or not isinstance(other.get("children"), dict):
        raise refused(f"load: {filename}: {path} is not described")
    for name in ("class", "parameters"):
        if own[name] != other.get(name):
            raise refused(f"load: {filename}: the {name} of {path}: {other.get(name)!r:.200}, here {own[name]!r:.200}")
    if list(own["children"]) != list(other["children"]):
        names = list(other["children"]), list(own["children"])
        raise refused(f"load: {filename}: the children of {path}: {names[0]!r:.200}, here {names[1]!r:.200}")
    for name, child in own["children"].items():
        _compare(child, other["children"][name], f"{path}.{name}", filename)
