"""Random choices for one item of a split."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dlmrt.datasets.phrasing import Forms

T = TypeVar("T")

TEST = "test"
HELD_OUT_SHARE = 0.35  # of the phrasings of a test item


@dataclass
class Draw:
    """Choices for one item of a split; only ``rng.random`` is used, which no Python version changes.

    held: how many held-out phrasings were taken. facts: what its values share (the currency).
    """

    rng: random.Random
    split: str
    held: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self.rng.random() * len(items))]

    def whole(self, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``, both included."""
        return least + int(self.rng.random() * (most - least + 1))

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self.rng.random() < share

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """``count`` of the items in random order, none twice."""
        pool = list(items)
        for i in range(count):
            j = i + int(self.rng.random() * (len(pool) - i))
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:count]

    def say(self, phrasings: Forms) -> str:
        """A text of one of the phrasings, its slots still open."""
        lines = phrasings.known
        if self.split == TEST and phrasings.held and (not lines or self.rng.random() < HELD_OUT_SHARE):
            lines = phrasings.held
            self.held += 1
        return self.pick(self.pick(lines))
