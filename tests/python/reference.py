"""Print ``docs/functions.md``: the functions of the Python face with their first sentence and their example.

Usage::

    python tests/python/reference.py > docs/functions.md

The page is made from the sources, and for functions of the extension from their docstrings. What is public is said by
``blocking.txt``, whose test knows all names but those of the generated modules. ``cargo xtask test`` executes the
examples as doctests.
"""

from __future__ import annotations

import ast
import inspect
import pathlib
import types

from forerun import np

ROOT = pathlib.Path(__file__).parents[2] / "python" / "forerun"
OPENING = """\
# Functions

The functions of the Python face, with an example each. This page is printed by `python tests/python/reference.py`: do
not edit it. What each op of the catalogue takes and gives is in [reference.md](reference.md).
"""
# Where each module's functions are found by users.
MODULES = {
    "_pointwise.py": "np",
    "np": "np",
    "np/linalg": "np.linalg",
    "np/fft": "np.fft",
    "np/testing.py": "np.testing",
    "np/lib/stride_tricks.py": "np.lib.stride_tricks",
    "np/polynomial/polynomial.py": "np.polynomial.polynomial",
    **dict.fromkeys(
        [
            "np/random.py",
            "np/_distributions.py",
            "np/_choosing.py",
            "np/_counts.py",
            "np/_samplers.py",
            "np/_vectors.py",
        ],
        "np.random",
    ),
    **dict.fromkeys(["npx.py", "_layers.py", "_pointwise_npx.py", "_sequences.py", "_files.py"], "npx"),
    "autograd.py": "autograd",
}


def public() -> set[str]:
    """List the public names."""
    lines = pathlib.Path(__file__).with_name("blocking.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if not line.startswith("#")}


def home(path: pathlib.Path) -> str | None:
    """Name the module that a source's functions belong to."""
    name = path.relative_to(ROOT).as_posix()
    above = name.split("/")[:-1]
    folders = ["/".join(above[:depth]) for depth in range(len(above), 0, -1)]
    return next((MODULES[known] for known in (name, *folders) if known in MODULES), None)


def signature(function: ast.FunctionDef) -> str:
    """Write the arguments without their types."""
    bare = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(bare, ast.FunctionDef)
    every = [*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs, bare.args.vararg, bare.args.kwarg]
    for argument in every:
        if argument is not None:
            argument.annotation = None
    return f"{function.name}({ast.unparse(bare.args)})"


def example(doc: str) -> list[str]:
    """Take the first example out of a docstring, dedented."""
    lines = doc.splitlines()
    start = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None)
    if start is None:
        return []
    before = len(lines[start]) - len(lines[start].lstrip())
    end = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
    return [line[before:] for line in lines[start:end]]


def functions() -> dict[str, list[tuple[str, str, list[str]]]]:
    """Find every public function: signature, first sentence, example; by module."""
    found: dict[str, dict[str, tuple[str, str, list[str]]]] = {}
    known = public()
    for path in sorted(ROOT.rglob("*.py")):
        module = home(path)
        if module is None:
            continue
        generated = path.name.startswith("_pointwise")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and (generated or f"{module}.{node.name}" in known):
                doc = ast.get_docstring(node) or ""
                summary = " ".join(doc.split("\n\n")[0].split())
                found.setdefault(module, {})[node.name] = (signature(node), summary, example(doc))
    for name, function in vars(np).items():
        # Functions of the extension have no source in Python.
        if isinstance(function, types.BuiltinFunctionType) and f"np.{name}" in known:
            doc = inspect.cleandoc(function.__doc__ or "")
            summary = " ".join(doc.split("\n\n")[0].split())
            found["np"].setdefault(name, (f"{name}{function.__text_signature__}", summary, example(doc)))
    return {module: [entry for _, entry in sorted(entries.items())] for module, entries in sorted(found.items())}


def page() -> str:
    """Write the whole page."""
    lines = [OPENING]
    for module, entries in functions().items():
        lines.append(f"## {module}\n")
        for called, summary, code in entries:
            lines.append(f"### `{called}`\n\n{summary}\n")
            if code:
                lines.append("```python\n" + "\n".join(code) + "\n```\n")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
