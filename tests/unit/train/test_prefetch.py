"""Batches made ahead come in the stream's order, with the cursor of the last one used."""

from __future__ import annotations

import threading

import pytest

torch = pytest.importorskip("torch")

from dlmrt.train.objective import PackedBatch  # noqa: E402
from dlmrt.train.prefetch import Prefetched  # noqa: E402


class Counting:
    """A stream of numbered batches, three an epoch."""

    def __init__(self, broken_at: int | None = None) -> None:
        self.epoch, self.index, self.made, self.broken_at = 0, 0, 0, broken_at

    def next(self) -> PackedBatch:
        if self.made == self.broken_at:
            raise ValueError("no such row")
        if self.index == 3:
            self.epoch, self.index = self.epoch + 1, 0
        self.made, self.index = self.made + 1, self.index + 1
        return PackedBatch(*(torch.full((1, 1), self.made) for _ in PackedBatch._fields))


def test_order_and_cursor_are_those_of_the_stream() -> None:
    ahead, plain = Prefetched(Counting()), Counting()  # type: ignore[arg-type]
    assert (ahead.epoch, ahead.index) == (0, 0)
    for _ in range(8):
        assert ahead.next().tokens_BL.item() == plain.next().tokens_BL.item()
        assert (ahead.epoch, ahead.index) == (plain.epoch, plain.index)
    ahead.close()


def test_it_is_only_a_little_ahead_and_ends_when_closed() -> None:
    stream = Counting()
    ahead = Prefetched(stream)  # type: ignore[arg-type]
    assert stream.made == 0  # nothing runs before the first batch is wanted
    ahead.next()
    assert stream.made <= 1 + 2 + 1  # used, waiting, and one that waits for room
    ahead.close()
    assert "dlmrt-batches" not in {thread.name for thread in threading.enumerate()}


def test_what_goes_wrong_is_raised_where_the_batch_is_wanted() -> None:
    ahead = Prefetched(Counting(broken_at=1))  # type: ignore[arg-type]
    assert ahead.next().tokens_BL.item() == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="no such row"):
            ahead.next()
    ahead.close()
