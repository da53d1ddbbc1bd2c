"""Batches on their way from a worker process to the loader's.

Large arrays travel in shared memory without a name (``memfd_create``), which the worker makes and whose descriptor it
sends once. The memory is used again for later batches and disappears with the last of the two processes, whatever ends
them. Where the system has no such memory, all bytes go through the pipe.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy

from forerun import np
from forerun._forerun import ndarray
from forerun.gluon.data._host import Host, plain

# Below this many bytes a batch goes through the pipe.
_SMALL = 1 << 15
_ALIGNMENT = 64
_SHARED = hasattr(os, "memfd_create") and hasattr(socket, "send_fds")


def _array(data: Any, dtype: Any, shape: tuple[int, ...]) -> ndarray:
    """Make an array. It copies the elements, so the memory may be used again."""
    return np.array(numpy.ndarray(shape, dtype, data))


def _numpy(data: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Make a NumPy array with memory of its own."""
    return numpy.ndarray(shape, dtype, data).copy()


class _Pickler(pickle.Pickler):
    """Writes arrays as buffers beside the stream."""

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is ndarray or kind is Host:
            return _array, self._parts(numpy.asarray(obj) if kind is ndarray else plain(obj))
        if kind is numpy.ndarray and not obj.dtype.hasobject:
            return _numpy, self._parts(obj)
        return NotImplemented

    @staticmethod
    def _parts(value: Any) -> tuple[Any, ...]:
        flat = numpy.ascontiguousarray(value).reshape(-1)
        # Dtypes that NumPy does not know export no buffer; their bytes do.
        return pickle.PickleBuffer(flat.view(numpy.uint8)), value.dtype, value.shape  # type: ignore[arg-type]


class Sender:
    """The worker's end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._memories: dict[int, mmap.mmap] = {}
        self._free: set[int] = set()
        self._dropped: list[int] = []
        self._made = 0

    def release(self, numbers: list[int]) -> None:
        """Take back memory that the loader has read."""
        self._free.update(numbers)

    def send(self, ticket: int, value: Any) -> None:
        """Send a batch."""
        buffers: list[pickle.PickleBuffer] = []
        stream = io.BytesIO()
        _Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(value)
        raws = [buffer.raw() for buffer in buffers]
        total = sum(_aligned(raw.nbytes) for raw in raws)
        if total < _SMALL or not _SHARED:
            self._connection.send((ticket, None, 0, [], [bytes(raw) for raw in raws], stream.getvalue()))
            return
        number, descriptor = self._memory(total)
        memory = memoryview(self._memories[number])
        places, start = [], 0
        for raw in raws:
            memory[start : start + raw.nbytes] = raw
            places.append((start, raw.nbytes))
            start += _aligned(raw.nbytes)
        new = 0 if descriptor is None else len(memory)
        memory.release()
        dropped, self._dropped = self._dropped, []
        self._connection.send((ticket, number, new, dropped, places, stream.getvalue()))
        if descriptor is not None:
            with socket.socket(fileno=os.dup(self._connection.fileno())) as stream_socket:
                socket.send_fds(stream_socket, [b"m"], [descriptor])
            os.close(descriptor)

    def _memory(self, total: int) -> tuple[int, int | None]:
        """Return the number of a free memory, and its descriptor if it is new."""
        for number in self._free:
            if len(self._memories[number]) >= total:
                self._free.remove(number)
                return number, None
        # Smaller memories that are free would only lie about.
        for number in self._free:
            self._memories.pop(number).close()
        self._dropped += self._free
        self._free.clear()
        size = -(-total * 5 // 4 // mmap.PAGESIZE) * mmap.PAGESIZE
        descriptor = os.memfd_create("forerun-batch", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            memory = mmap.mmap(descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        self._made += 1
        self._memories[self._made] = memory
        return self._made, descriptor


class Receiver:
    """The loader's end, of one worker."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._memories: dict[int, mmap.mmap] = {}
        self._read: list[int] = []

    def released(self) -> list[int]:
        """Return the numbers of the memories that were read since the last call."""
        read, self._read = self._read, []
        return read

    def receive(self) -> tuple[int, Any]:
        """Return the ticket of a batch, and the batch."""
        ticket, number, new, dropped, places, stream = self._connection.recv()
        if number is None:
            return ticket, pickle.loads(stream, buffers=places)
        for old in dropped:
            self._memories.pop(old).close()
        if new:
            with socket.socket(fileno=os.dup(self._connection.fileno())) as stream_socket:
                _, descriptors, _, _ = socket.recv_fds(stream_socket, 1, 1)
            if not descriptors:
                raise EOFError("the worker ended while it sent memory")
            try:
                self._memories[number] = mmap.mmap(descriptors[0], new, prot=mmap.PROT_READ)
            finally:
                os.close(descriptors[0])
        with memoryview(self._memories[number]) as memory:
            parts = [memory[start : start + size] for start, size in places]
            batch = pickle.loads(stream, buffers=parts)
            for part in parts:
                part.release()
        self._read.append(number)
        return ticket, batch


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


if sys.platform == "win32":  # A pipe there is not a socket.
    _SHARED = False
