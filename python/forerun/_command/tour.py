"""``forerun tour``: ten examples, run on this machine, each with its code and its output."""

from __future__ import annotations

import argparse
import linecache
import sys
import textwrap
from typing import Any, NamedTuple

from forerun._command.terminal import paint


class Step(NamedTuple):
    """An example."""

    title: str
    text: str
    code: str


def _code(text: str) -> str:
    return textwrap.dedent(text).strip() + "\n"


STEPS = [
    Step(
        "Calls return at once",
        "Every operation returns a handle immediately; background threads compute. The loop takes as long as "
        "it takes to submit ten products, the wait as long as they take to compute.",
        _code("""
        import time
        from forerun import np

        start = time.perf_counter()
        x = y = np.random.normal(size=(1000, 1000)) / 32
        for _ in range(10):
            y = np.dot(y, x)
        print(f"submitted after {time.perf_counter() - start:.4f} s")
        y.wait_to_read()
        print(f"computed after  {time.perf_counter() - start:.4f} s")
        """),
    ),
    Step(
        "Reading waits",
        "The program waits where it uses a value: in print, item(), asnumpy(), bool(), wait_to_read(). Shapes and "
        "dtypes are known without a wait.",
        _code("""
        from forerun import np

        z = np.ones((1, 2)) * np.ones((1, 2)) + 2
        print(z.shape, z.dtype)  # no wait
        print(z)  # waits for z
        """),
    ),
    Step(
        "Which lines wait",
        "forerun.blockers() lists every line that waited, for how long, and for which operation. `forerun run "
        "--blockers program.py` prints it at the end of any program.",
        _code("""
        import forerun
        from forerun import np

        forerun.reset_blockers()
        x = np.random.normal(size=(1000, 1000))
        for step in range(3):
            loss = np.dot(x, x).mean()
            loss.item()  # waits in every round
        print(forerun.blockers())
        """),
    ),
    Step(
        "Forbid waits",
        "Inside no_sync a call that reads a value raises, or warns, and names the line.",
        _code("""
        import forerun
        from forerun import np

        with forerun.no_sync("error"):
            y = np.ones((2,)) + 1
            try:
                y.item(0)
            except RuntimeError as error:
                print(error)
        """),
    ),
    Step(
        "Errors name both lines",
        "An operation may fail long after its call. The error names the line that submitted it and the line that read "
        "the result.",
        _code("""
        from forerun import np

        singular = np.zeros((2, 2))
        inverse = np.linalg.inv(singular)  # submitted here
        total = inverse.sum()
        try:
            print(total)  # read here
        except ValueError as error:
            print(f"{type(error).__name__}: {error}")
        """),
    ),
    Step(
        "Chains become one pass",
        "The engine sees which operations come next and fuses pointwise ones into one loop over memory. "
        "Nothing is decorated or compiled by hand.",
        _code("""
        import forerun
        from forerun import np

        x = np.random.normal(size=(1000, 1000))
        x.wait_to_read()
        before = forerun.stats()
        y = np.tanh(x) * x + x * 2 - x / 3
        y.wait_to_read()
        after = forerun.stats()
        print(after["records"] - before["records"], "operations submitted")
        print(after["tasks"] - before["tasks"], "task run")
        """),
    ),
    Step(
        "Gradients and training",
        "autograd.record() records what is computed, backward() submits the gradients. The interface is MXNet Gluon's. "
        "No line of the loop waits.",
        _code("""
        from forerun import autograd, gluon, np
        from forerun.gluon import nn

        net = nn.Sequential()
        net.add(nn.Dense(32, activation="relu"), nn.Dense(1))
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        loss = gluon.loss.L2Loss()
        losses = []
        for _ in range(100):
            X = np.random.normal(size=(128, 4))
            with autograd.record():
                l = loss(net(X), X.sum(axis=1))
            l.backward()
            trainer.step(len(X))
            losses.append(l.mean())
        print("first", losses[0], "last", losses[-1])
        """),
    ),
    Step(
        "Memory is bounded",
        "A loop that never waits runs ahead only as far as memory allows. memory_stats() lists the lines that hold it.",
        _code("""
        import forerun
        from forerun import np

        kept = np.ones((1000, 1000))
        for _ in range(200):
            y = kept * 2 + 1
        y.wait_to_read()
        stats = forerun.memory_stats(holders=2)
        print("live bytes", stats["live"])
        for holder in stats["holders"]:
            print(f"{holder['op']} in line {holder['line']}: {holder['bytes']} bytes")
        """),
    ),
    Step(
        "Find the first NaN",
        "detect_nonfinite() names the operation and the line that made the first NaN or infinity out of finite "
        "numbers.",
        _code("""
        import forerun
        from forerun import np

        try:
            with forerun.detect_nonfinite():
                x = np.array([1.0, 0.0, 4.0])
                y = np.sqrt(x) + 1
                z = np.log(x) * y  # the logarithm of zero
                z.wait_to_read()
        except FloatingPointError as error:
            print(error)
        """),
    ),
    Step(
        "Programs for other libraries",
        "Programs written for MXNet, PyTorch or PaddlePaddle run with these dialects; "
        "`forerun run --as torch program.py` needs no change of the program.",
        _code("""
        from forerun import torch

        x = torch.ones((1, 2), requires_grad=True)
        (x * x + 2).sum().backward()
        print(x.grad)
        """),
    ),
]


def main(options: argparse.Namespace) -> int:
    """Show and run the steps; return 1 if one of them fails."""
    numbers = range(1, len(STEPS) + 1) if options.step is None else [options.step]
    pauses = options.step is None and not options.no_pause and sys.stdin.isatty() and sys.stdout.isatty()
    for number in numbers:
        show(number)
        if pauses and number != numbers[-1]:
            try:
                input(paint("\nEnter for the next step, Ctrl-D to end ", "dim"))
            except EOFError:
                print()
                return 0
    if options.step is None:
        print("\nNext: `forerun doctor` checks this machine, `forerun bench` measures it, and")
        print("`forerun run --blockers program.py` shows where a program of yours waits.")
    return 0


def show(number: int) -> None:
    """Print a step, run it, and print its output."""
    step = STEPS[number - 1]
    print(("" if number == 1 else "\n") + paint(f"{number}. {step.title}", "bold"))
    print(textwrap.fill(step.text, 88) + "\n")
    for count, line in enumerate(step.code.splitlines(), 1):
        print(paint(f"{count:4} ", "dim") + paint(line, "cyan"))
    print(flush=True)
    name = f"<step {number}>"
    linecache.cache[name] = (len(step.code), None, step.code.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(step.code, name, "exec", dont_inherit=True), space)
