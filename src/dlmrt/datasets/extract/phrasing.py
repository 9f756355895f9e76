"""Choosing among phrases of which the last ones are held out for the test split."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
HELD_OUT_SPLIT = "test"


@dataclass
class Chooser:
    """Chooses for one item. used: how many held-out phrases it took so far."""

    rng: random.Random
    split: str
    used: int = 0

    def pick(self, items: Sequence[T], held: int) -> T:
        """One of ``items``; one of the last ``held`` only in the test split, and there half of the time."""
        known = len(items) - held
        if held and self.split == HELD_OUT_SPLIT and self.rng.random() < 0.5:
            self.used += 1
            return items[self.rng.randrange(known, len(items))]
        return items[self.rng.randrange(known)]
