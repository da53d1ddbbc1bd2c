"""Worker processes of a loader, seen from the loader's process.

The workers are forked where the system can fork: the program's functions need not be importable then, and its data is
shared instead of copied. The engine supports forks at any time. Values that are pending in the parent would fail in the
child, so all are waited for first. Where forking is not the safe default (macOS) or not possible (Windows), workers are
spawned and get a pickled copy of the dataset.

One worker serves one job at a time and has the next one waiting. The loader reads results when it needs one; there is
no thread in between. A worker that dies is noticed by its sentinel, and the death of the loader's process by the end of
the connection, so no process is left over. Shared memory has no name: see ``_transport``.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from forerun import _forerun
from forerun.gluon.data._recipe import Job, Recipe
from forerun.gluon.data._transport import Receiver
from forerun.gluon.data._worker import Failure, serve

# How many jobs a worker has at most: the one it works on, and the next.
_DEEP = 2
# Seconds that a worker has to end by itself, then after SIGTERM.
_GRACE = 0.5


class WorkerTraceback(Exception):
    """The traceback of an error in a worker process."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        """Set the text apart."""
        return f'\n"""\n{self.text}"""'


class _Worker:
    """A process, the connection to it, and its jobs."""

    def __init__(self, number: int, context: Any, recipe: Recipe, earlier: Sequence[_Worker]) -> None:
        self.number = number
        self.connection, theirs = context.Pipe(duplex=True)
        forked = context.get_start_method() == "fork"
        others = [self.connection, *(worker.connection for worker in earlier)] if forked else []
        self.process = context.Process(
            target=serve, args=(theirs, others, recipe), name=f"forerun-loader-{number}", daemon=True
        )
        try:
            self._start(recipe)
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        self.receiver = Receiver(self.connection)
        self.jobs: deque[tuple[int, Job]] = deque()

    def _start(self, recipe: Recipe) -> None:
        with warnings.catch_warnings():
            # Python warns of forks beside other threads; those of the engine stop for a fork.
            warnings.filterwarnings("ignore", message=".*multi-threaded.*", category=DeprecationWarning)
            try:
                self.process.start()
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise TypeError(
                    f"DataLoader: the dataset cannot be pickled for a process that is spawned: {error}; use"
                    " thread_pool=True, or functions and classes that can be imported"
                ) from error

    def death(self) -> str:
        """Describe how the process ended."""
        self.process.join(1)
        code = self.process.exitcode
        kind = ""
        if code is not None and code < 0:
            try:
                kind = f" ({signal.Signals(-code).name})"
            except ValueError:
                kind = " (a signal)"
        what = f" while it made batch {self.jobs[0][1].number}" if self.jobs else ""
        return f"DataLoader: worker {self.number} (process {self.process.pid}) ended with exit code {code}{kind}{what}"


class Processes:
    """Worker processes that stay alive between epochs."""

    def __init__(self, recipe: Recipe, count: int, method: str | None) -> None:
        if method is None:
            method = "fork" if sys.platform not in ("win32", "darwin") else "spawn"
        context = multiprocessing.get_context(method)
        self._owner = os.getpid()
        self._tickets = 0
        self._results: dict[int, Any] = {}
        self._dropped: set[int] = set()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._workers: list[_Worker] = []
        if method == "fork":
            _forerun.wait_all()
        try:
            for number in range(count):
                self._workers.append(_Worker(number, context, recipe, self._workers))
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether there are workers."""
        return bool(self._workers)

    def submit(self, job: Job) -> int:
        """Ask for a batch; return its ticket."""
        if not self._workers:
            raise RuntimeError("DataLoader: the workers have ended")
        ticket = self._tickets
        self._tickets += 1
        self._waiting.append((ticket, job))
        self._hand_out()
        return ticket

    def _hand_out(self) -> None:
        while self._waiting:
            worker = min(self._workers, key=lambda worker: len(worker.jobs))
            if len(worker.jobs) >= _DEEP:
                return
            ticket, job = self._waiting.popleft()
            try:
                worker.connection.send((ticket, job, worker.receiver.released()))
            except OSError:
                raise self._broken(worker) from None
            worker.jobs.append((ticket, job))

    def drop(self, tickets: Sequence[int]) -> None:
        """Forget batches that nobody wants any more."""
        gone = set(tickets)
        self._waiting = deque(each for each in self._waiting if each[0] not in gone)
        for worker in self._workers:
            self._dropped.update(ticket for ticket, _ in worker.jobs if ticket in gone)
        for ticket in gone:
            self._results.pop(ticket, None)

    def collect(self, ticket: int, number: int, timeout: float) -> Any:
        """Return a batch, or raise what its worker raised."""
        end = time.monotonic() + timeout
        while ticket not in self._results:
            self._receive(ticket, number, end, timeout)
        made = self._results.pop(ticket)
        if isinstance(made, Failure):
            raise _error(made)
        return made

    def _receive(self, ticket: int, number: int, end: float, timeout: float) -> None:
        """Wait for a result of any worker, or the end of one."""
        left = end - time.monotonic()
        sources: dict[Any, _Worker] = {}
        for worker in self._workers:
            sources[worker.connection] = sources[worker.process.sentinel] = worker
        ready = wait(list(sources), max(left, 0))
        if not ready:
            owner = next((w for w in self._workers if any(ticket == each for each, _ in w.jobs)), self._workers[0])
            named = f"worker {owner.number} (process {owner.process.pid})"
            self.close(0)
            raise TimeoutError(
                f"DataLoader: batch {number} was not ready after {timeout:g} seconds; {named} was ended. Give a longer"
                " timeout if samples take that long"
            )
        for source in ready:
            worker = sources[source]
            # The last results of a worker that has ended may still be in the connection.
            if source is not worker.connection and worker.connection.poll():
                continue
            try:
                if source is not worker.connection:
                    raise EOFError
                found, made = worker.receiver.receive()
            except (EOFError, ConnectionError):
                raise self._broken(worker) from None
            worker.jobs.popleft()
            if found in self._dropped:
                self._dropped.remove(found)
            else:
                self._results[found] = made
        self._hand_out()

    def _broken(self, worker: _Worker) -> RuntimeError:
        text = worker.death()
        self.close()
        return RuntimeError(text)

    def close(self, grace: float = _GRACE) -> None:
        """End the workers. Does nothing in a forked child, which does not own them."""
        if os.getpid() != self._owner:
            return
        workers, self._workers = self._workers, []
        self._waiting.clear()
        for worker in workers:
            try:
                if grace:
                    worker.connection.send(None)
            except OSError:
                pass
        for step in (lambda process: None, lambda process: process.terminate(), lambda process: process.kill()):
            end = time.monotonic() + grace
            for worker in workers:
                step(worker.process)
            for worker in workers:
                worker.process.join(max(end - time.monotonic(), 0))
        for worker in workers:
            worker.process.join()
            worker.process.close()
            worker.connection.close()


def _error(failure: Failure) -> BaseException:
    error = failure.error
    if error is None or isinstance(error, StopIteration):
        return RuntimeError(f"DataLoader: a worker failed:\n{failure.text}")
    error.__cause__ = WorkerTraceback(failure.text)
    return error
