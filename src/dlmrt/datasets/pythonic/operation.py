"""One step of a function: what it says, what it takes and gives, and its code. All of them: ``steps.txt``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Operation:
    """A step. phrases: ways to ask for it, with ``{k}`` and ``{c}`` for what it is given.

    takes, gives: types by name. code: lines with ``{a}`` for the variable it reads, ``{b}`` for the one it
    makes. ks: numbers it may be given; cs: letters or separators.
    """

    key: str
    takes: str
    gives: str
    phrases: tuple[str, ...]
    code: tuple[str, ...]
    ks: tuple[int, ...] = ()
    cs: tuple[str, ...] = ()

    def draw(self, rng: random.Random) -> Step:
        """Choose its numbers and letters."""
        k = rng.choice(self.ks) if self.ks else 0
        c = rng.choice(self.cs) if self.cs else ""
        return Step(self, k, c)


@dataclass(frozen=True)
class Step:
    """An operation with its numbers and letters."""

    operation: Operation
    k: int
    c: str

    def phrase(self, rng: random.Random) -> str:
        """Ask for it."""
        return rng.choice(self.operation.phrases).format(k=self.k, c=self.c)

    def lines(self, a: str, b: str) -> list[str]:
        """Its code, from variable ``a`` to variable ``b``."""
        # Braces of dictionaries stand in the code, so it is no format string.
        values = (("{a}", a), ("{b}", b), ("{k}", str(self.k)), ("{c}", self.c))
        lines = []
        for line in self.operation.code:
            for name, value in values:
                line = line.replace(name, value)
            lines.append(line)
        return lines


@cache
def operations() -> tuple[Operation, ...]:
    """All steps of ``steps.txt``, in its order."""
    text = files(__package__).joinpath("steps.txt").read_text(encoding="utf-8")
    return tuple(_read(text))


def _read(text: str) -> Iterator[Operation]:
    for block in text.split("\n= ")[1:]:
        head, *lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        key, _, types = head.partition(": ")
        takes, _, gives = types.partition(" -> ")
        given = {name: _after(lines, f"{name}: ").split() for name in ("k", "c")}
        phrases = tuple(line[2:] for line in lines if line.startswith("? "))
        code = tuple(line for line in lines if line[:2] != "? " and line[:3] not in ("k: ", "c: "))
        ks, cs = tuple(map(int, given["k"])), tuple(given["c"])
        yield Operation(key, takes, gives, phrases, code, ks, cs)


def _after(lines: list[str], mark: str) -> str:
    return next((line.removeprefix(mark) for line in lines if line.startswith(mark)), "")
