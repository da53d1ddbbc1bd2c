"""In IPython, errors and tables name cells, an error is shown once, and the magic shows a profile."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from typing import Any

import pytest

import forerun
from forerun import _cells, np

IPython = pytest.importorskip("IPython")


class Notebook:
    """A shell in this process, with the file names of a terminal or of a kernel."""

    def __init__(self, kernel: bool) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        InteractiveShell.clear_instance()
        self.shell: Any = InteractiveShell.instance(config=config, colors="nocolor")
        # What a kernel displays: text and HTML.
        self.shell.display_formatter.active_types = ["text/plain", "text/html"]
        if kernel:
            self.shell.compile.get_code_name = lambda raw, code, number: f"/tmp/ipykernel_123/{abs(hash(raw))}.py"
        self.shell.run_cell("import forerun; from forerun import np", store_history=True)

    def run(self, cell: str) -> Any:
        """Run a cell and return its number and result."""
        number = self.shell.execution_count
        return number, self.shell.run_cell(cell, store_history=True)


@pytest.fixture(params=[False, True], ids=["terminal", "kernel"])
def notebook(request: pytest.FixtureRequest) -> Iterator[Notebook]:
    yield Notebook(request.param)
    Notebook(False).shell.clear_instance()


FAILED = "m = np.linalg.inv(np.zeros((2, 2)))\nm = m + 1\n"


def test_an_error_names_the_cells_that_submitted_and_read(notebook: Notebook) -> None:
    submitted, _ = notebook.run(FAILED)
    read, result = notebook.run("# one\n# two\nm.asnumpy()")
    text = str(result.error_in_exec)
    assert f"submitted at Cell In[{submitted}], line 1\n" in text
    assert f"read at Cell In[{read}], line 3" in text


def test_a_function_of_an_earlier_cell_keeps_its_cell(notebook: Notebook) -> None:
    defined, _ = notebook.run("def f():\n    return np.linalg.inv(np.zeros((2, 2)))\n")
    _, result = notebook.run("y = f()\ny.asnumpy()")
    assert f"submitted at Cell In[{defined}], line 2\n" in str(result.error_in_exec)


def test_an_error_of_the_call_itself_names_the_cell(notebook: Notebook) -> None:
    number, result = notebook.run("np.ones((2, 3)) @ np.ones((4, 5))")
    assert f"Cell In[{number}], line 1" in str(result.error_in_exec)


@pytest.mark.parametrize("cell", ["m", "m[0]"])
def test_a_failed_last_expression_is_shown_once(
    notebook: Notebook, cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook.run(FAILED)
    capsys.readouterr()
    number, _ = notebook.run(cell)
    shown = "".join(capsys.readouterr())
    assert shown.count("submitted at") == 1
    assert shown.count("Traceback (most recent call last)") == 1
    assert f"read at Cell In[{number}], line 1" in shown
    # Another display of the same array shows it again.
    notebook.run(cell)
    assert "".join(capsys.readouterr()).count("submitted at") == 1


def test_html_alone_shows_the_error(notebook: Notebook) -> None:
    notebook.run(FAILED)
    with pytest.raises(ValueError, match="singular"):
        notebook.shell.user_ns["m"]._repr_html_()


def test_an_array_has_text_and_html(notebook: Notebook) -> None:
    shown, _ = notebook.shell.display_formatter.format(np.ones((2, 2)))
    assert "<table" in shown["text/html"]
    assert shown["text/plain"].startswith("array(")


def test_blockers_traces_and_holders_name_the_cell(notebook: Notebook) -> None:
    code = """forerun.reset_blockers()
with forerun.trace() as t, forerun.engine.set_tiny_limit(0):
    x = np.random.normal(size=(400, 400))
    y = (x @ x).mean()
    y.item()
holders = forerun.memory_stats()["holders"]
"""
    number, result = notebook.run(code)
    assert result.success
    space = notebook.shell.user_ns
    (row,) = forerun.blockers()
    assert (row.file, row.line) == (f"Cell In[{number}]", 5)
    assert f"Cell In[{number}], line 5 " in str(forerun.blockers())
    assert linecache.getline(row.file, row.line) == "    y.item()\n"
    locs = {row.get("args", {}).get("loc") for row in space["t"].timeline()["traceEvents"]}
    assert f"Cell In[{number}], line 3" in locs
    assert ("normal", f"Cell In[{number}]", 3) in {(h["op"], h["file"], h["line"]) for h in space["holders"]}


def test_other_files_keep_their_names(notebook: Notebook) -> None:
    assert _cells.cell_of(__file__) == __file__
    assert _cells.cell_of("<ipython-input-99-0123456789ab>") == "<ipython-input-99-0123456789ab>"


def test_the_magic_shows_a_profile(notebook: Notebook, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    notebook.run("%load_ext forerun")
    published: list[dict[str, str]] = []
    notebook.shell.display_pub.publish = lambda data, *_, **__: published.append(data)
    number, result = notebook.run(
        f"%%forerun_profile {tmp_path / 'page.html'}\nx = np.ones((300, 300))\ny = (x @ x).mean()\ny.item() + 1"
    )
    assert result.success
    assert capsys.readouterr().err == ""
    (bundle,) = published
    assert re.search(rf"matmul +Cell In\[{number}\], line 3 ", bundle["text/plain"])
    assert bundle["text/html"].startswith("<iframe srcdoc=")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"Cell In[{number}]" in page
    assert notebook.shell.user_ns["_oh"][number] == 301.0


def test_the_magic_lets_errors_pass(notebook: Notebook) -> None:
    notebook.run("%load_ext forerun")
    published: list[dict[str, str]] = []
    notebook.shell.display_pub.publish = lambda data, *_, **__: published.append(data)
    number, result = notebook.run(
        "%%forerun_profile\nx = np.ones((300, 300)) + 1\nm = np.linalg.inv(x * 0)\nm.asnumpy()"
    )
    text = str(result.error_in_exec)
    assert re.search(rf"submitted at Cell In\[{number}\], line 3\n +read at Cell In\[{number}\], line 4", text), text
    assert len(published) == 1
