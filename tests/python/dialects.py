"""Write the pages of the dialects: what each has, under which name, and what it has not, with the reason.

Usage::

    python tests/python/dialects.py docs

The tables are made from the modules; ``test_dialect_pages.py`` compares the pages with what this makes.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import sys

BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"
PAGES = {
    "torch": (
        "forerun.torch",
        (
            "", "autograd", "autograd.functional", "accelerator", "backends", "cuda", "hub", "linalg", "nn",
            "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "optim", "optim.lr_scheduler", "special", "utils",
            "utils.data", "vision", "vision.datasets", "vision.io", "vision.models", "vision.transforms",
            "vision.utils",
        ),
    ),
    "paddle": (
        "forerun.paddle",
        (
            "", "device", "device.cuda", "io", "metric", "nn", "nn.functional", "nn.initializer", "nn.utils",
            "optimizer", "optimizer.lr", "vision", "vision.datasets", "vision.models", "vision.transforms",
        ),
    ),
}  # fmt: skip


def hints_of(module: object) -> dict[str, str]:
    """Return the reasons for missing names that a module knows."""
    lookup = vars(module).get("_lookup") or vars(module).get("__getattr__")
    cells = dict(zip(lookup.__code__.co_freevars, lookup.__closure__ or (), strict=True))
    return dict(cells["hints"].cell_contents)


def tables(package: str, modules: tuple[str, ...]) -> str:
    """Return the tables of a dialect."""
    lines = ["## What there is", "", "| module | names |", "|---|---|"]
    reasons = []
    for name in modules:
        path = f"{package}.{name}" if name else package
        module = importlib.import_module(path)
        names = sorted(module.__all__, key=lambda name: (name.lower(), name))
        lines.append(f"| `{path.removeprefix('forerun.')}` | {', '.join(f'`{each}`' for each in names)} |")
        reasons += [(f"{path.removeprefix('forerun.')}.{missing}", why) for missing, why in hints_of(module).items()]
    tensor = importlib.import_module(package).Tensor
    methods = sorted(name for name in dir(tensor) if not name.startswith("_"))
    lines += ["", "Methods and attributes of tensors: " + ", ".join(f"`{name}`" for name in methods) + "."]
    layer = importlib.import_module(package).nn
    base = layer.Module if package.endswith("torch") else layer.Layer
    kept = sorted(name for name, _ in inspect.getmembers(base) if not name.startswith("_"))
    lines += ["", f"Of `{base.__name__}`: " + ", ".join(f"`{name}`" for name in kept) + "."]
    reasons += [(f"Tensor.{name}", why) for name, why in tensor._hints.items()]
    lines += ["", "## What there is not", "", "| name | reason, or what to use |", "|---|---|"]
    lines += [f"| `{name}` | {why} |" for name, why in sorted(reasons)]
    lines += ["", "Any other missing name raises an error that names the nearest one, or the module that has it."]
    lines[-1] += " Imports of missing names and modules do too."
    return "\n".join(lines)


def page(text: str, made: str) -> str:
    """Replace the tables of a page."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def main() -> None:
    """Write the pages."""
    for name, (package, modules) in PAGES.items():
        path = pathlib.Path(sys.argv[1]) / f"{name}.md"
        path.write_text(page(path.read_text(encoding="utf-8"), tables(package, modules)), encoding="utf-8")


if __name__ == "__main__":
    main()
