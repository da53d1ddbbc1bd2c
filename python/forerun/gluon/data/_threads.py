"""Worker threads of a loader."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as _TimeoutError
from typing import Any

from forerun import _forerun
from forerun.gluon.data._recipe import Job, Recipe


class Threads:
    """Worker threads of one epoch: daemons, as a sample that never comes must not keep the program from ending."""

    def __init__(self, recipe: Recipe, count: int) -> None:
        self._recipe = recipe
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = queue.SimpleQueue()
        # Ops that the threads submit are attributed to the line that iterates over the loader.
        line = _forerun.user_line_id()
        self._threads = [
            threading.Thread(target=self._work, args=(line,), name=f"forerun-loader-{number}", daemon=True)
            for number in range(count)
        ]
        self._pending: dict[int, tuple[Job, Future[Any]]] = {}
        self._tickets = 0
        for thread in self._threads:
            thread.start()

    def _work(self, line: int) -> None:
        _forerun.work_for_line(line)
        while (task := self._jobs.get()) is not None:
            job, future = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                made = self._recipe.finish(self._recipe.prepare(job))
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(made)
            # The batch must not live on in this frame while the thread waits.
            del job, future, task
            made = None

    def submit(self, job: Job) -> int:
        """Ask for a batch; return its ticket."""
        future: Future[Any] = Future()
        ticket = self._tickets
        self._tickets += 1
        self._pending[ticket] = job, future
        self._jobs.put((job, future))
        return ticket

    def collect(self, ticket: int, number: int, timeout: float) -> Any:
        """Return a batch, or raise what its thread raised."""
        _, future = self._pending[ticket]
        try:
            made = future.result(timeout)
        except _TimeoutError:
            if future.done():
                raise
            self.close(wait=False)
            raise TimeoutError(f"DataLoader: batch {number} was not ready after {timeout:g} seconds") from None
        del self._pending[ticket]
        return made

    def close(self, wait: bool = True) -> None:
        """End the threads, after the batches that they are making."""
        threads, self._threads = self._threads, []
        for _, future in self._pending.values():
            future.cancel()
        self._pending.clear()
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            if wait and thread is not threading.current_thread():
                thread.join()
