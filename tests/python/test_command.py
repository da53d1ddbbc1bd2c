"""The command ``forerun``: programs run as from Python, and its other commands print what they promise."""

from __future__ import annotations

import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator

import pytest
from test_chapter import TRAINING, blocks, printed

import forerun
from forerun._command import completions
from forerun._command.parser import parser
from forerun._command.tour import STEPS
from forerun._command.workloads import ABOUT, BENCH, PACKAGES

pytestmark = pytest.mark.usefixtures("once")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, in which Python finds the package as the tests do."""
    monkeypatch.chdir(tmp_path)
    root = str(pathlib.Path(forerun.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    monkeypatch.setenv("NO_COLOR", "1")


def python(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=120, env=os.environ | environment
    )


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return python("-m", "forerun", *words, **environment)


def write(name: str, text: str) -> str:
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return name


# ---- run: as Python -------------------------------------------------------------------------------------------------
#: Prints what a program can see of how it was started.
STARTED = """
import json, pickle, sys, __main__

class Here:
    pass

pickle.loads(pickle.dumps(Here()))
names = ("__name__", "__file__", "__package__", "__doc__", "__cached__", "__builtins__")
seen = {name: repr(getattr(__main__, name, "missing")) for name in names}
seen["spec"] = getattr(__main__.__spec__, "name", None)
seen["loader"] = type(__main__.__loader__).__name__ if sys.argv[0] != "-c" else ""
print(json.dumps([sys.argv, sys.path[0], seen, __main__ is sys.modules["__main__"]]))
"""


@pytest.fixture
def programs() -> None:
    """Write the same program as a file, a package, a module, a folder, an archive and a linked file."""
    for name in ("main.py", "package/__main__.py", "package/module.py", "folder/__main__.py", "real/target.py"):
        write(name, STARTED)
    write("package/__init__.py", "")
    with zipfile.ZipFile("archive.zip", "w") as archive:
        archive.writestr("__main__.py", STARTED)
    pathlib.Path("link.py").symlink_to("real/target.py")


WAYS = [
    ["main.py", "a", "--blockers", "-m"],
    ["./main.py"],
    ["link.py"],
    ["-m", "package", "--flag"],
    ["-m", "package.module", "-h"],
    ["folder", "x"],
    ["archive.zip", "y"],
    ["-c", STARTED, "-x", "z"],
]


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[1] if way[0] == "-m" else way[0])
def test_a_program_sees_what_python_would_show_it(way: list[str]) -> None:
    expected, got = python(*way), command("run", *way)
    assert expected.returncode == got.returncode == 0, got.stderr
    assert json.loads(got.stdout) == json.loads(expected.stdout)


ENDS = {
    "number": "import sys; sys.exit(3)",
    "text": "import sys; sys.exit('said at the end')",
    "nothing": "import sys; sys.exit()",
    "raise": "def f():\n    return 1 / 0\n\nf()\n",
    "chained": "try:\n    {}['x']\nexcept KeyError as error:\n    raise ValueError('v') from error\n",
    "hook": "import sys\nsys.excepthook = lambda *e: print('hook', e[0].__name__, file=sys.stderr)\n1 / 0\n",
    "bad hook": "import sys\nsys.excepthook = lambda *e: 1 / 0\n{}[1]\n",
    "syntax": "x = = 1\n",
    "import": "import no_such_module\n",
    "at exit": "import atexit\natexit.register(print, 'later')\nprint('sooner')\nraise OSError('o')\n",
    "thread": "import threading\nt = threading.Thread(target=print, args=('t',))\nt.start()\nraise OSError('o')\n",
    "killed": "import os\nos._exit(7)\n",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_as_from_python(name: str) -> None:
    write("main.py", ENDS[name])
    expected, got = python("main.py"), command("run", "main.py")
    assert (got.returncode, got.stdout) == (expected.returncode, expected.stdout)
    # Of the hook's own failure, the frames below it differ.
    if name == "bad hook":
        assert got.stderr.startswith("Error in sys.excepthook:")
        assert "Original exception was:" in got.stderr
    else:
        assert got.stderr == expected.stderr


@pytest.mark.parametrize("way", [["nothing.py"], ["-m", "nothing"], ["-m", "email"]], ids=lambda way: way[-1])
def test_a_missing_program_ends_with_pythons_code(way: list[str]) -> None:
    expected, got = python(*way), command("run", *way)
    assert got.returncode == expected.returncode != 0
    assert got.stderr.startswith("forerun run: ") and got.stderr.count("\n") == 1


def test_an_interrupted_program_ends_as_from_python() -> None:
    write("main.py", "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    ends = []
    for words in (["main.py"], ["-m", "forerun", "run", "main.py"]):
        with subprocess.Popen([sys.executable, *words], stdout=-1, stderr=-1, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
            # The signal may arrive before the program sleeps.
            ends.append((process.returncode, re.sub(r"line \d, in <module>\n.*", "", said)))
    assert ends[1] == ends[0]
    assert ends[0][0] == -signal.SIGINT


# ---- run: the tools -------------------------------------------------------------------------------------------------
DIALECTS = {
    "mxnet": """
        import mxnet as mx
        from mxnet import autograd, gluon, np, npx
        from mxnet.gluon import nn

        npx.set_np()
        net = nn.Dense(1)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(np.ones((4, 3))), np.zeros((4, 1)))
        loss.backward()
        trainer.step(4)
        print(type(loss.asnumpy()).__name__, mx.__name__)
        """,
    "torch": """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torchvision.transforms
        from torch.utils.data import DataLoader, TensorDataset

        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(TensorDataset(torch.ones(8, 3), torch.ones(8, 1)), batch_size=4):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
        print(type(loss.detach().numpy()).__name__, torch.__name__)
        """,
    "paddle": """
        import paddle
        import paddle.nn.functional as F
        from paddle.io import DataLoader

        net = paddle.nn.Linear(3, 1)
        optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=net.parameters())
        loss = F.mse_loss(net(paddle.ones([4, 3])), paddle.ones([4, 1]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print(type(loss.numpy()).__name__, paddle.__name__)
        """,
}


@pytest.mark.parametrize("name", DIALECTS)
def test_an_unchanged_program_runs_with_a_dialect(name: str) -> None:
    done = command("run", "--as", name, write("train.py", DIALECTS[name]))
    assert (done.returncode, done.stdout) == (0, f"ndarray forerun.{name}\n"), done.stderr


@pytest.mark.parametrize(
    ("program", "dialect"), [("english", "mxnet"), ("french_pytorch", "torch"), ("chinese_paddle", "paddle")]
)
def test_programs_of_the_book_run_as_printed(program: str, dialect: str) -> None:
    text = "\n".join(printed(block) for block in blocks(program)[:TRAINING])
    assert f"from {dialect}" in text or f"import {dialect}" in text
    assert "forerun" not in text
    done = command("run", "--as", dialect, write("program.py", text))
    assert done.returncode == 0, done.stderr
    assert "Done" in done.stdout


def test_processes_of_a_program_find_the_dialect_too() -> None:
    write(
        "train.py",
        """
        import multiprocessing
        import torch

        def total(n):
            return torch.ones(n).sum().item(), torch.__name__

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(total, [3]))
        """,
    )
    done = command("run", "--as", "torch", "train.py")
    assert done.stdout == "[(3.0, 'forerun.torch')]\n", done.stderr


def test_a_dialect_is_installed_and_removed() -> None:
    program = """
        import sys
        import forerun

        for name in ("torch", "paddle"):
            dialect = getattr(forerun, name)
            dialect.install()
            dialect.install()
            assert __import__(name) is dialect
            assert f"{name}.nn.functional" in sys.modules
            dialect.uninstall()
            assert not [each for each in sys.modules if each.split(".")[0] in (name, "torchvision", "d2l")]
        sys.modules["torch"] = sys
        try:
            forerun.torch.install()
        except RuntimeError as error:
            print(error)
        """
    done = python(write("main.py", program))
    assert done.stdout == "install: another torch is imported already, from an unknown place\n", done.stderr


WAITS = """
from forerun import np

x = np.ones((400, 400))
for _ in range(3):
    y = np.dot(x, x).mean()
    y.item()
raise SystemExit(4)
"""


def test_blockers_are_printed_at_the_end() -> None:
    done = command("run", "--blockers", write("train.py", WAITS), FORERUN_TINY="0")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.search(r"train\.py:7 +item +3 ", done.stderr), done.stderr


def test_waits_are_refused_or_warned_of() -> None:
    write("train.py", WAITS)
    refused = command("run", "--no-sync", "error", "train.py")
    assert refused.returncode == 1
    assert "RuntimeError: item: waits inside no_sync" in refused.stderr
    assert refused.stderr.splitlines()[1].endswith('train.py", line 7, in <module>')
    warned = command("run", "--no-sync", "warn", "train.py")
    assert warned.returncode == 4
    assert "train.py:7: SyncWarning: item: waits inside no_sync" in warned.stderr


def test_the_first_infinity_is_found() -> None:
    write("train.py", "from forerun import np\n\nx = np.zeros(3)\ny = np.log(x)\nz = y + 1\n")
    done = command("run", "--detect-nonfinite", "train.py")
    assert done.returncode == 1
    assert "FloatingPointError: log: " in done.stderr and "train.py:4" in done.stderr
    assert command("run", "train.py").returncode == 0


def test_a_profile_is_written() -> None:
    write("train.py", WAITS)
    done = command("run", "--profile", "step.html", "train.py")
    assert done.returncode == 4, done.stderr
    assert "<html" in pathlib.Path("step.html").read_text(encoding="utf-8")
    missing = command("run", "--profile", "no/step.html", "train.py")
    assert missing.returncode == 2
    assert missing.stderr == "forerun run: --profile no/step.html: the folder does not exist\n"


def test_bad_options_are_refused() -> None:
    write("main.py", "print('ran')")
    for words in (["--as", "keras", "main.py"], ["--blocker", "main.py"], [], ["-m"], ["-c"], ["--", "-x"]):
        done = command("run", *words)
        assert (done.returncode, done.stdout) == (2, ""), words


# ---- the other commands ---------------------------------------------------------------------------------------------
def test_help_and_version() -> None:
    shown = command("--help")
    assert shown.returncode == 0
    for name in ("run", "tour", "doctor", "bench", "completions"):
        assert re.search(rf"^    {name}\b", shown.stdout, re.MULTILINE)
        own = command(name, "--help").stdout
        assert own.startswith(f"usage: forerun {name} ") and "examples:\n  " in own
    assert "exit codes:" in shown.stdout
    assert command("--version").stdout == f"forerun {forerun.__version__}\n"
    alone = command()
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "commands:" in alone.stderr


def on_a_terminal(*words: str, **environment: str) -> str:
    """Return what the command prints to a terminal."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    variables = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | environment
    with subprocess.Popen(
        [sys.executable, "-m", "forerun", *words], stdin=follower, stdout=follower, stderr=follower, env=variables
    ) as process:
        os.close(follower)
        parts = []
        while True:
            try:
                part = os.read(leader, 1 << 16)
            except OSError:
                # Linux reports the end of a terminal as an error.
                break
            if not part:
                break
            parts.append(part)
        os.close(leader)
        assert process.wait(timeout=60) == 0
    return b"".join(parts).decode()


def test_colours_are_for_terminals() -> None:
    assert "\x1b[1m2. " in on_a_terminal("tour", "2")
    assert "\x1b" not in on_a_terminal("tour", "2", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("tour", "2", TERM="dumb")


def test_the_command_is_not_imported_with_the_package() -> None:
    done = python("-c", "import sys, forerun; print([m for m in sys.modules if 'command' in m or m == 'argparse'])")
    assert done.stdout == "[]\n"


def test_the_tour_runs() -> None:
    done = command("tour")
    assert done.returncode == 0, done.stderr
    titles = re.findall(r"^\d+\. (.+)$", done.stdout, re.MULTILINE)
    assert titles == [step.title for step in STEPS]
    for said in ("[[3. 3.]]", "item: waits inside no_sync", "submitted at <step 5>:4", "1 task run", "log: "):
        assert said in done.stdout
    assert "\x1b" not in done.stdout
    alone = command("tour", "2").stdout
    assert "[[3. 3.]]" in alone and "3. " not in alone.replace("[[3. 3.]]", "")
    assert command("tour", "11").returncode == 2


def test_the_doctor_finds_nothing_broken() -> None:
    done = command("doctor")
    assert done.returncode == 0, done.stdout
    for section in ("versions", "processor", "limits", "devices", "settings", "self-test: "):
        assert re.search(rf"^{section}", done.stdout, re.MULTILINE)
    assert "nothing is broken" in done.stdout
    assert "\x1b" not in done.stdout


def findings(report: str) -> dict[str, dict[str, str]]:
    return {finding["name"]: finding for finding in json.loads(report)["findings"]}


def test_the_report_is_for_machines_too() -> None:
    done = command("doctor", "--json", FORERUN_ISA="baseline", FORERUN_NUM_THREADS="1", FORERUN_SIM_GPUS="1")
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (0, True), done.stdout
    found = findings(done.stdout)
    assert found["forerun"]["value"].startswith(forerun.__version__)
    assert found["FORERUN_ISA"]["value"] == "baseline"
    assert found["instruction set"]["value"].startswith("baseline")
    assert found["threads"]["value"].endswith("(FORERUN_NUM_THREADS)")
    assert found["gpu(0)"]["state"] == "ok"
    # The simulated device gives the host's bits.
    tests = [finding for finding in report["findings"] if finding["section"].startswith("self-test: gpu(0)")]
    assert len(tests) > 10
    assert {finding["value"] for finding in tests} == {"equal bit for bit"}


def test_a_wrong_result_is_broken() -> None:
    program = """
        import sys
        from forerun._command import main, selftest

        every = selftest.checks()
        wrong = every[0]._replace(program=lambda m, x, y: x + (m.__name__ == "forerun.np"))
        raises = every[1]._replace(program=lambda m, x: x.no_such_name)
        selftest.checks = lambda: [wrong, raises, *every[2:4]]
        sys.modules.pop("forerun._command.doctor", None)
        sys.exit(main(["doctor", "--json"]))
        """
    done = python(write("main.py", program))
    assert done.returncode == 1, done.stderr
    found = findings(done.stdout)
    assert found["pointwise chain"]["state"] == found["reductions"]["state"] == "broken"
    assert "no_such_name" in found["reductions"]["value"]
    assert found["matrix product"]["state"] == "ok"


class Page(html.parser.HTMLParser):
    """The rows of a page's table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.cell = tag in ("td", "th")
        if tag == "tr":
            self.rows.append([])
        if self.cell:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.cell:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.cell = False


def test_a_benchmark_is_a_table_and_a_page() -> None:
    done = command("bench", "increments", "--rounds", "1", "--html", "bench.html")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["increments", "ahead"], ["increments", "waiting"]]
    rows = Page(pathlib.Path("bench.html").read_text(encoding="utf-8")).rows
    assert [" ".join(row).split() for row in rows] == [line.split() for line in lines[:3]]
    assert rows[0][2] == "forerun ms"
    assert float(rows[1][2]) > 0


def test_benchmarks_are_listed() -> None:
    listed = command("bench", "--list").stdout
    assert all(f"\n{name}" in listed for name in BENCH)
    assert set(ABOUT) == set(BENCH)
    assert {peer for makes in BENCH.values() for peer in makes} == set(PACKAGES)
    assert command("bench", "nothing").returncode == 2
    assert command("bench", "--rounds", "0").returncode == 2
    assert command("bench", "sums", "--html", "no/bench.html").returncode == 2


# ---- completions ----------------------------------------------------------------------------------------------------
def words() -> Iterator[str]:
    for each in completions.commands():
        yield each.name
        for option in each.options:
            yield from option.names
            yield from option.choices


def complete(script: str, line: str) -> list[str]:
    """Return what bash offers for the last word of a line."""
    typed = line.split(" ")
    program = (
        f"{script}\nCOMP_WORDS=({' '.join(repr(word) for word in typed)})\nCOMP_CWORD={len(typed) - 1}\n_forerun\n"
    )
    done = subprocess.run(
        ["bash", "-c", program + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_bash_completes() -> None:
    script = command("completions", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    write("train.py", "")
    assert complete(script, "forerun d") == ["doctor"]
    assert complete(script, "forerun run --as ") == ["mxnet", "torch", "paddle"]
    assert complete(script, "forerun run --as t") == ["torch"]
    assert complete(script, "forerun run --det") == ["--detect-nonfinite"]
    assert complete(script, "forerun run tr") == ["train.py"]
    assert complete(script, "forerun run --profile tr") == ["train.py"]
    assert complete(script, "forerun bench cha") == ["chain", "chains"]
    assert complete(script, "forerun completions ") == ["-h", "--help", "bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_word_of_the_parser_is_completed(shell: str) -> None:
    script = command("completions", shell).stdout
    for word in words():
        name = word.lstrip("-") if shell == "fish" else word
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", script), word
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


def test_every_command_of_the_parser_exists() -> None:
    names = [each.name for each in completions.commands()]
    assert names == re.findall(
        r"^    (\w+)", parser().format_help().split("COMMAND\n")[1].split("\n\n")[0], re.MULTILINE
    )
    for name in names:
        assert (pathlib.Path(forerun.__file__).parent / "_command" / f"{name}.py").is_file()
