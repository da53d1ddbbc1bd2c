"""The names of notebook cells, and how source lines read. IPython compiles each cell under a file name of its own."""

from __future__ import annotations

import linecache
import sys


def cell_of(file: str) -> str:
    """Return the name of the cell whose code has this file name, such as ``Cell In[3]``; else the file name.

    Examples
    --------
    >>> from forerun._cells import cell_of
    >>> cell_of("train.py")
    'train.py'
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    if name is None:
        return file
    cell = " ".join(name)
    if file in linecache.cache:
        # Reports quote the lines of their files.
        linecache.cache[cell] = linecache.cache[file]
    return cell


def line_of(file: str, line: int) -> str:
    """Return a source line as text: file and number, or cell and line.

    Examples
    --------
    >>> from forerun._cells import line_of
    >>> line_of("/home/ada/net/train.py", 3)
    '/home/ada/net/train.py:3'
    >>> line_of("Cell In[3]", 2)
    'Cell In[3], line 2'
    """
    if file.startswith("Cell In["):
        return f"{file}, line {line}"
    return f"{file}:{line}" if file else ""
