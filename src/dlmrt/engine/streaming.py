"""From calls to a generator: decode in a thread, hand its block events to whoever iterates."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator

from dlmrt.engine.request import BlockEvent


def stream_events(
    decode: Callable[[Callable[[BlockEvent], None]], object],
) -> Generator[BlockEvent, None, None]:
    """Yield the events that ``decode(put)`` puts, while it runs in a thread of its own.

    The thread starts with the first event asked for and doesn't wait for the consumer. Closing the
    generator makes the next ``put`` raise, which ends ``decode``; then the thread is joined. Whatever
    else ``decode`` raises is raised to the consumer.
    """
    events: queue.SimpleQueue[BlockEvent | BaseException | None] = queue.SimpleQueue()
    closed = threading.Event()

    def put(event: BlockEvent) -> None:
        if closed.is_set():
            raise _Closed  # through the backend: ends every row, and the batches to come
        events.put(event)

    def work() -> None:
        try:
            decode(put)
        except _Closed:
            pass
        except BaseException as error:  # whatever it is belongs to the consumer
            events.put(error)
        else:
            events.put(None)

    worker = threading.Thread(target=work, name="dlmrt-stream", daemon=True)
    worker.start()
    try:
        while (item := events.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        closed.set()
        worker.join()


class _Closed(Exception):
    """The consumer of a stream went away; nobody reads what would come."""
