"""Arguments to run a program on: random ones, and the edges (empty, single, repeated, boundary values)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dlmrt.datasets.pythonic.ops import LETTERS, SEPARATORS
from dlmrt.datasets.pythonic.plan import Plan

_WORDS = (
    "a on at sea tree apple orange level noon civic Anna Bob Rome Oslo stone letter mirror coffee banana ice "
    "under river table income order noodle action tin also dim cold moon drill access esteem Eve UNO x9 7 42"
    " 3a lane said data idea creed roared lemon ember castle mosaic nine dined almost bell Ada radar era tea"
).split()
_KEYS = "ann bob cy Dora ed flo tea x1 kim lee Max no oreo Pat rose sam".split()
_MARKS = ("", "", "", "", ",", ".", "!", "?")
#: sizes of collections: the range of most, those of the first candidates, and a few long ones
TYPICAL, EDGES, LONG = (3, 9), (0, 1, 1, 2), (11, 13, 15)


def constants(plan: Plan) -> tuple[int, ...]:
    """The integers of the program, with their neighbours: comparisons change there."""
    steps = (plan.source, *plan.stages, plan.collect, *plan.after)
    found = {
        int(text) + shift
        for step in steps
        for fill in step.fills
        for text in fill.code.values()
        if text.lstrip("-").isdigit()
        for shift in (-1, 0, 1)
    }
    return tuple(sorted(found))


def draw_arguments(rng: random.Random, plan: Plan, near: Sequence[int], size: int | None) -> tuple[Any, ...]:
    """Arguments for one call; ``size`` elements (None: a typical number)."""
    draw = _Draw(rng, near, rng.randint(*TYPICAL) if size is None else size)
    source = plan.source.ops[0].arguments
    found = [_MAKERS[kind](draw) for kind in source]
    return (*found, *(_parameter(draw, slot) for slot in plan.parameters.values()))


class _Draw:
    """Draws of one call."""

    def __init__(self, rng: random.Random, near: Sequence[int], size: int) -> None:
        self.rng, self.near, self.size = rng, near, size

    def number(self) -> int:
        rng = self.rng
        if self.near and rng.random() < 0.25:
            return rng.choice(self.near)
        return int(rng.random() * 56) - 16

    def ints(self) -> list[int]:
        found = [self.number() for _ in range(self.size)]
        if len(found) > 2 and self.rng.random() < 0.5:
            found[-1] = found[0]
            if self.rng.random() < 0.4:
                found[1] = found[0]
        return found

    def words(self) -> list[str]:
        found = self.rng.choices(_WORDS, k=self.size)
        if len(found) > 2 and self.rng.random() < 0.5:
            found[-1] = found[0]
        return found

    def text(self) -> str:
        return " ".join(word + self.rng.choice(_MARKS) for word in self.words())

    def lines(self) -> list[str]:
        return [_Draw(self.rng, (), int(self.rng.random() * 5)).text() for _ in range(min(self.size, 4))]

    def grid(self) -> list[list[int]]:
        side = min(self.size, 4)
        return [[self.number() for _ in range(side)] for _ in range(side)]

    def small(self) -> int:
        return int(self.rng.random() * 60) + 1 if self.size > 2 else self.size + 1

    def big(self) -> int:
        return int(10 ** (1 + self.rng.random() * 5)) if self.size > 2 else self.size

    def keys(self) -> list[str]:
        return self.rng.sample(_KEYS, min(self.size, 10))

    def counts(self) -> dict[str, int]:
        return {key: self.number() for key in self.keys()}

    def groups(self) -> dict[str, list[int]]:
        return {key: [self.number() for _ in range(int(self.rng.random() * 5))] for key in self.keys()[:4]}

    def teams(self) -> dict[str, list[str]]:
        return {key: self.rng.choices(_WORDS, k=int(self.rng.random() * 4)) for key in self.keys()[:4]}

    def pairs(self) -> list[tuple[str, int]]:
        return [(self.rng.choice(_KEYS[:9]), self.number()) for _ in range(self.size)]


_MAKERS: Mapping[str, Callable[[_Draw], Any]] = MappingProxyType(
    {
        "ints": _Draw.ints, "words": _Draw.words, "text": _Draw.text, "lines": _Draw.lines,
        "grid": _Draw.grid, "n": _Draw.small, "big": _Draw.big, "counts": _Draw.counts,
        "groups": _Draw.groups, "teams": _Draw.teams, "pairs": _Draw.pairs,
    }
)  # fmt: skip


def _parameter(draw: _Draw, slot: str) -> Any:
    rng = draw.rng
    if slot == "k":
        return rng.randint(2, 7)
    if slot == "t":
        return rng.choice((rng.randint(-3, 25), draw.number()))
    return rng.choice(LETTERS if slot == "c" else SEPARATORS)
