"""Phrasings with alternatives, of which some are held out for test splits.

A phrasing is one line. ``(a|b|)`` in it is one of its alternatives, ``{name}`` a slot; a line that starts
with ``*`` is held out: no training or dev item uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

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
