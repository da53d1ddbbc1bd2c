"""Forks: computed values stay readable, pending ones fail with their line, and the child can compute."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

pytestmark = [
    pytest.mark.usefixtures("once"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
]

# A child reports by its exit status: 0 is success.
HEAD = """\
import faulthandler, os, signal, subprocess, sys, threading, time
faulthandler.dump_traceback_later(50, exit=True)
from forerun import np, npx

x = np.random.normal(size=(600, 600))
x.wait_to_read()

def chain(length=40):
    y = x
    for _ in range(length):
        y = y @ x * 0.01
    return y

def computes():
    y = np.ones((300, 300)) @ np.ones((300, 300)) + 1
    npx.waitall()
    return y[0, 0].item() == 301.0 and (x @ x).asnumpy().shape == (600, 600)

def forked(body):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if body() else 2
        except BaseException:
            import traceback
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)
    return pid

def well(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""


def passes(run: Run, program: str, **environment: str) -> str:
    result = run(HEAD + program, **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_what_is_pending_fails_with_its_line(run: Run) -> None:
    program = """
ready = np.arange(5) + 1
line = chain.__code__.co_firstlineno + 3
ready.wait_to_read()
for delay in [0, 0.005, 0.02]:
    y = chain()
    time.sleep(delay)
    def child():
        for _ in range(2):
            try:
                y.asnumpy()
                return False
            except RuntimeError as error:
                text = str(error)
            assert "pending at fork" in text and f"program.py:{line}" in text, text
        return ready.tolist() == [1, 2, 3, 4, 5] and computes()
    pid = forked(child)
    assert well(pid)
    assert y.asnumpy().shape == (600, 600)
"""
    passes(run, program, FORERUN_ENGINE="async")


def test_what_depends_on_it_fails_and_can_be_replaced(run: Run) -> None:
    program = """
y = chain()
def child():
    z = y + 1
    try:
        z.sum().item()
        return False
    except RuntimeError as error:
        assert "pending at fork" in str(error)
    # Pending work of the parent is not an error of the child.
    npx.waitall()
    y[:] = 3
    return y[0, 0].item() == 3.0
assert well(forked(child))
"""
    passes(run, program, FORERUN_ENGINE="async")


@pytest.mark.parametrize("engine", ["async", "sync", "seeded:3"])
def test_children_of_children(run: Run, engine: str) -> None:
    program = """
y = chain()
def child():
    mine = chain(3)
    grandchild = forked(computes)
    return mine.asnumpy().shape == (600, 600) and well(grandchild) and computes()
assert well(forked(child))
assert y.asnumpy().shape == (600, 600)
"""
    passes(run, program, FORERUN_ENGINE=engine)


def test_forks_while_other_threads_wait_and_submit(run: Run) -> None:
    program = """
stop = threading.Event()
def work():
    while not stop.is_set():
        chain(4).wait_to_read()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(10):
    assert well(forked(computes))
stop.set()
for thread in threads:
    thread.join()
assert computes()
"""
    passes(run, program)


def test_a_fork_in_a_signal_handler(run: Run) -> None:
    program = """
seen = []
signal.signal(signal.SIGALRM, lambda number, frame: seen.append(well(forked(computes))))
signal.setitimer(signal.ITIMER_REAL, 0.05)
y = chain(60)
y.wait_to_read()
while not seen:
    time.sleep(0.01)
assert seen == [True]
"""
    passes(run, program)


def test_programs_are_started_while_work_is_in_flight(run: Run) -> None:
    program = """
y = chain(60)
for _ in range(5):
    # With a preexec function, Python forks instead of using posix_spawn.
    subprocess.run([sys.executable, "-c", "pass"], check=True, preexec_fn=lambda: None)
assert y.asnumpy().shape == (600, 600)
"""
    passes(run, program)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run: Run, method: str) -> None:
    program = """
import multiprocessing

def load(number):
    batch = np.full((64, 64), number) @ np.ones((64, 64))
    return number, batch.asnumpy()

if __name__ == "__main__":
    y = chain()
    context = multiprocessing.get_context(sys.argv[1])
    for _ in range(2):
        with context.Pool(2) as pool:
            for number, batch in pool.imap(load, range(12)):
                assert (np.array(batch) == number * 64.0).min()
    assert y.asnumpy().shape == (600, 600)
    assert computes()
"""
    result = run(HEAD + program, method)
    assert result.returncode == 0, result.stdout + result.stderr


# Children print their draws; each line is one process.
DRAWS = """
import os, sys
from forerun import np

def drawn():
    return np.random.uniform(size=(3,)).tolist()

def in_child(body):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, repr(body()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as report:
        said = report.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said

def seeded():
    np.random.seed(7)
    return drawn()

def family():
    return [drawn(), in_child(drawn)]

%s
print(in_child(drawn))
print(in_child(drawn))
print(in_child(family))
print(drawn())
print(in_child(seeded))
np.random.seed(7)
print(drawn())
"""


@pytest.mark.parametrize("first", ["", "np.random.seed(3)", "(np.ones((2,)) + 1).wait_to_read()"])
def test_children_draw_numbers_of_their_own(run: Run, first: str) -> None:
    outputs = [run(DRAWS % first) for _ in range(2)]
    assert [output.stderr for output in outputs] == ["", ""]
    # The same in every run.
    assert outputs[0].stdout == outputs[1].stdout
    child, sibling, family, parent, seeded, seeded_parent = outputs[0].stdout.splitlines()
    inner, grandchild = ast.literal_eval(family)
    assert len({child, sibling, str(inner), grandchild, parent}) == 5
    assert seeded == seeded_parent
    # Children do not affect their parent.
    alone = run(f"from forerun import np\n{first}\nprint(np.random.uniform(size=(3,)).tolist())")
    assert alone.stdout == parent + "\n"
