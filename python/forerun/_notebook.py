"""The extension for notebooks: ``%load_ext forerun`` adds the magic ``%%forerun_profile``."""

from __future__ import annotations

import ast
import html
import os
import re
import sys
import tempfile
from typing import Any

from forerun._cells import cell_of

_FRAME = '<iframe srcdoc="{}" style="width: 100%; height: 640px; border: 1px solid #8886" title="profile"></iframe>'


def load(shell: Any) -> None:
    """Add the magic to an IPython shell."""

    def forerun_profile(line: str, cell: str) -> None:
        """Run the cell under ``forerun.profile`` and show the profile: its tables, and in a notebook its page.

        ``%%forerun_profile step.html`` also keeps the page in that file.
        """
        profile_cell(shell, line, cell)

    shell.register_magic_function(forerun_profile, "cell")


def profile_cell(shell: Any, line: str, cell: str) -> None:
    """Run a cell and show its profile, also if the cell fails."""
    import forerun

    kept = os.path.abspath(os.path.expanduser(line.strip())) if line.strip() else None
    with tempfile.TemporaryDirectory(prefix="forerun-") as folder:
        path = kept or os.path.join(folder, "profile.html")
        profile = forerun.profile(path)
        try:
            with profile:
                run_cell(shell, f"%%forerun_profile{line}", cell)
        finally:
            _show(str(profile), path)


def run_cell(shell: Any, head: str, cell: str) -> None:
    """Run the body of a cell in the shell's namespace, with the line numbers of the whole cell.

    The value of a last expression is displayed, as without the magic.
    """
    # The first line of the cell is that of the magic.
    code = "\n" + shell.transform_cell(cell)
    name = shell.compile.cache(code, _number(shell), raw_code=f"{head}\n{cell}")
    body = shell.transform_ast(shell.compile.ast_parse(code, filename=name)).body
    last = [body.pop()] if body and isinstance(body[-1], ast.Expr) else []
    exec(shell.compile(ast.Module(body, []), name, "exec"), shell.user_ns)
    exec(shell.compile(ast.Interactive(last), name, "single"), shell.user_ns)


def _number(shell: Any) -> int:
    """Return the number of the cell that calls this. Some versions of IPython count it as run already."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        found = re.fullmatch(r"Cell In\[(\d+)\]", cell_of(frame.f_code.co_filename))
        if found is not None:
            return int(found[1])
    return int(shell.execution_count)


def _show(text: str, path: str) -> None:
    from IPython.display import display

    bundle = {"text/plain": text}
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            bundle["text/html"] = _FRAME.format(html.escape(file.read()))
    display(bundle, raw=True)  # type: ignore[no-untyped-call, unused-ignore]
