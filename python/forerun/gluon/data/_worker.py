"""The program of a worker process: it makes the batches that its loader asks for."""

from __future__ import annotations

import os
import pickle
import queue
import random
import signal
import threading
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy

from forerun import _forerun, autograd, npx
from forerun.gluon.data._host import mixed
from forerun.gluon.data._recipe import Job, Recipe
from forerun.gluon.data._transport import Sender


class Failure:
    """An error of a worker: the exception if it can be pickled, else None, and the traceback as text."""

    def __init__(self, error: BaseException) -> None:
        self.text = traceback.format_exc()
        self.error: BaseException | None = error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            self.error = None


def serve(connection: Connection, others: Sequence[Connection], recipe: Recipe) -> None:
    """Make batches until the loader closes the connection.

    Parameters
    ----------
    connection
        To the loader.
    others
        Its ends of the connections to this and to earlier workers, if this process is a fork. They are closed:
        otherwise a worker would not notice that the loader's process has ended.
    recipe
        How batches are made.
    """
    # Ctrl-C reaches all processes of a terminal; the loader's decides what happens.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:
        other.close()
    # Workers share the processors among themselves. What a fork inherits from the loop's thread does not concern them.
    _forerun.set_num_threads(1)
    autograd.set_recording(False)
    autograd.set_training(False)
    with npx.cpu(0):
        _serve(connection, recipe)


def _serve(connection: Connection, recipe: Recipe) -> None:
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, jobs), daemon=True).start()
    sender = Sender(connection)
    failure = None
    try:
        recipe.start()
    except Exception as error:
        failure = Failure(error)
    while (message := jobs.get()) is not None:
        ticket, job, released = message
        sender.release(released)
        try:
            made = failure or _made(recipe, job)
        except Exception as error:
            made = Failure(error)
        try:
            sender.send(ticket, made)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            # The batch cannot be pickled.
            sender.send(ticket, Failure(error))


def _made(recipe: Recipe, job: Job) -> Any:
    # The program's own functions draw from these generators. Seeded by batch, they do not depend on the worker.
    random.seed(job.seed)
    numpy.random.seed(mixed(job.seed, 1) & 0xFFFFFFFF)
    return recipe.prepare(job)


def _listen(connection: Connection, jobs: queue.SimpleQueue[Any]) -> None:
    """Pass jobs on. The loader never waits to send one, and this process ends with the loader's, whatever it does."""
    try:
        while (message := connection.recv()) is not None:
            jobs.put(message)
    except (EOFError, OSError):
        os._exit(0)
    jobs.put(None)
