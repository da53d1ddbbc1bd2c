"""User code that the package calls may submit and wait: in gradients, captures, event loops, signal handlers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

# The watchdog: a program that hangs prints where, and ends.
HEAD = """\
import asyncio, faulthandler, os, signal, sys, threading, time, warnings
faulthandler.dump_traceback_later(50, exit=True)
from forerun import _forerun, autograd, gluon, np, npx

def waits(size=200):
    # Large enough for worker threads, small enough to run inline, and both.
    x = np.ones((size, size))
    assert (x @ x)[0, 0].item() == size
    assert (np.ones((2,)) + 1).tolist() == [2.0, 2.0]
    npx.waitall()

def in_threads(body, count=4, rounds=5):
    failures = []
    def work():
        try:
            for _ in range(rounds):
                body()
        except BaseException as failure:
            failures.append(failure)
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    body()
    for thread in threads:
        thread.join()
    assert not failures, failures
"""

CALLBACKS = {
    "a function's forward and backward": """
class Twice(autograd.Function):
    def forward(self, x):
        waits()
        return x * 2
    def backward(self, gradient):
        waits()
        assert gradient.shape == (50, 50)
        return gradient * 2

def body():
    x = np.ones((50, 50))
    x.attach_grad()
    with autograd.record():
        y = Twice()(Twice()(x @ x))
    y.backward()
    assert x.grad[0, 0].item() == 400.0

in_threads(body)
""",
    "a backward inside a backward": """
class Inner(autograd.Function):
    def forward(self, x):
        return x * 3
    def backward(self, gradient):
        waits(100)
        return gradient * 3

class Outer(autograd.Function):
    def forward(self, x):
        return x + 1
    def backward(self, gradient):
        v = np.ones((2,))
        v.attach_grad()
        with autograd.record():
            w = Inner()(v)
        w.backward()
        return gradient * v.grad

def body():
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record():
        y = Outer()(x)
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]

in_threads(body)
""",
    "a block that is captured": """
class Waits(gluon.HybridBlock):
    def forward(self, x):
        y = x @ x
        y.wait_to_read()
        waits(100)
        return y + 1

def body():
    block = Waits()
    block.hybridize()
    warnings.simplefilter("ignore")  # it is not captured, since it waits
    for _ in range(3):
        assert block(np.ones((30, 30)))[0, 0].item() == 31.0

in_threads(body)
""",
    "hooks of a block": """
def body():
    block = gluon.nn.Dense(3)
    block.initialize()
    block.register_forward_pre_hook(lambda block, inputs: waits(100))
    block.register_forward_hook(lambda block, inputs, output: output.wait_to_read())
    assert block(np.ones((2, 4))).shape == (2, 3)

in_threads(body)
""",
    "callbacks of an event loop": """
async def main():
    done = []
    def after(task):
        waits()
        done.append(task.result().shape)
    async def value():
        x = np.ones((300, 300))
        return await (x @ x)
    tasks = [asyncio.ensure_future(value()) for _ in range(5)]
    for task in tasks:
        task.add_done_callback(after)
    await asyncio.gather(*tasks)
    while len(done) < 5:
        await asyncio.sleep(0.001)

in_threads(lambda: asyncio.run(main()), rounds=2)
""",
    "the thread that carries news": """
def body():
    called = threading.Event()
    def back():
        waits()
        called.set()
    x = np.ones((300, 300))
    if not _forerun.settled_or_call(x @ x @ x, back):
        assert called.wait(40)

in_threads(body)
""",
    "the import of NumPy": """
class Reads:
    reads = True
    def find_spec(self, name, path=None, target=None):
        if name.startswith("numpy.") and self.reads:
            self.reads = False
            try:
                (np.ones((2,)) + 1).asnumpy()
            except AttributeError:
                pass  # only half of NumPy is there
sys.meta_path.insert(0, Reads())
assert (np.ones((2,)) + 1).asnumpy().tolist() == [2.0, 2.0]
in_threads(waits)
""",
    "finalisers": """
import gc
class Holder:
    def __init__(self):
        self.me = self
        self.x = np.ones((300, 300)) @ np.ones((300, 300))
    def __del__(self):
        waits(100)
        assert self.x[0, 0].item() == 300.0

def body():
    holders = [Holder() for _ in range(3)]
    del holders
    gc.collect()

in_threads(body)
""",
}

SIGNALS = """
handled = []
def handler(number, frame):
    waits(100)
    handled.append(number)
waits()  # a handler in the middle of an import would find half of NumPy
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
x = np.ones((400, 400)) * 0.01
deadline = time.monotonic() + 1
while len(handled) < 5 or time.monotonic() < deadline:
    y = x
    for _ in range(30):
        y = y @ x
    y.wait_to_read()
    npx.waitall()
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def passes(run: Run, program: str) -> None:
    result = run(HEAD + program)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr


@pytest.mark.parametrize("how", CALLBACKS)
def test_callbacks_may_submit_and_wait(run: Run, how: str) -> None:
    passes(run, CALLBACKS[how])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_signal_handlers_may_submit_and_wait_while_their_thread_waits(run: Run) -> None:
    passes(run, SIGNALS)
