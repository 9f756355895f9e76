"""Batches made ahead of the step that uses them, so that a GPU does not wait for packing and copying."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass

from dlmrt.train.data import BatchStream
from dlmrt.train.objective import PackedBatch

_AHEAD = 2


@dataclass(frozen=True)
class _Made:
    batch: PackedBatch
    epoch: int
    index: int


class Prefetched:
    """The batches of ``stream``, in its order, made in a thread that the first :meth:`next` starts.

    epoch, index: the cursor behind the last batch that :meth:`next` returned, as a resumed run needs
    it; batches made ahead don't count. pin: keep them in page-locked memory, from which a copy to a
    GPU runs beside its work. The thread ends with :meth:`close`, or with the process.
    """

    def __init__(self, stream: BatchStream, *, pin: bool = False) -> None:
        self.epoch, self.index = stream.epoch, stream.index
        self._pin = pin
        self._made: queue.Queue[_Made | BaseException] = queue.Queue(_AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._fill, args=(stream,), name="dlmrt-batches", daemon=True)

    def next(self) -> PackedBatch:
        """The next batch; raises what making it raised, now and on every later call."""
        if self._thread.ident is None:
            self._thread.start()
        made = self._made.get()
        if isinstance(made, BaseException):
            self._made.put(made)
            raise made
        self.epoch, self.index = made.epoch, made.index
        return made.batch

    def close(self) -> None:
        """Let the thread end; what it made ahead is dropped."""
        self._closed.set()
        while self._thread.is_alive():
            try:
                self._made.get(timeout=0.05)
            except queue.Empty:
                continue

    def _fill(self, stream: BatchStream) -> None:
        try:
            while not self._closed.is_set():
                batch = stream.next()
                if self._pin:
                    batch = PackedBatch(*(x.pin_memory() for x in batch))
                self._made.put(_Made(batch, stream.epoch, stream.index))
        except BaseException as error:  # the loop that waits for a batch must hear of it
            self._made.put(error)
