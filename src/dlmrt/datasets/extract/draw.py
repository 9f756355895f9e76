"""Random choices for one item, and phrasings of which some are held out for the test split.

A phrasing is one line. ``(a|b|)`` in it is one of its alternatives, ``{name}`` a slot; a line that starts
with ``*`` is held out: no training or dev item uses it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

T = TypeVar("T")

TEST = "test"
HELD_OUT_SHARE = 0.35  # of the phrasings of a test item
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_SPACES = re.compile(r" +( |[.,:;?!])")  # left by an empty alternative
_Lines = tuple[tuple[str, ...], ...]


def expand(line: str) -> tuple[str, ...]:
    """All texts of a phrasing: one for each combination of its alternatives."""
    parts = _CHOICE.split(line)  # text, choice, text, choice, ..., text
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    texts = (_SPACES.sub(r"\1", "".join(each)).strip() for each in product(*choices))
    return tuple(dict.fromkeys(texts))


@dataclass(frozen=True)
class Forms:
    """Phrasings: for each its texts (see :func:`expand`). ``held`` ones occur in test items only."""

    known: _Lines
    held: _Lines = ()

    @classmethod
    def of(cls, lines: Iterable[str]) -> Forms:
        """Read lines; ``*`` marks those held out, blank ones are skipped."""
        known, held = [], []
        for line in lines:
            text = line.strip()
            if text.startswith("*"):
                held.append(expand(text[1:].strip()))
            elif text:
                known.append(expand(text))
        return cls(tuple(known), tuple(held))

    def __add__(self, other: Forms) -> Forms:
        return Forms(self.known + other.known, self.held + other.held)

    def __len__(self) -> int:
        return len(self.known) + len(self.held)


def forms(text: str) -> Forms:
    """The phrasings of a text, one a line."""
    return Forms.of(text.splitlines())


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
