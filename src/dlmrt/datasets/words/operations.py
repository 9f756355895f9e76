"""What can happen to a quantity: its numbers, its equations, and the lines that solve it.

An operation turns a value ``v`` into another. :meth:`Event.after` is its meaning in exact fractions, kept
apart from the equations of :meth:`Event.solve`, so that one checks the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dlmrt.datasets.words import settings as hard

# Equations that solving one takes; a part a/b with a > 1 takes one more. Percents are taken as parts, because
# a small model multiplies by one digit at a time.
EQUATIONS = {
    "gain": 1, "lose": 1, "times": 1, "share": 1,
    "packs": 2, "daily": 2, "percent_up": 2, "percent_down": 2, "fraction": 2,
}  # fmt: skip
REVERSIBLE = ("gain", "lose", "times", "share", "packs", "daily")


@dataclass(frozen=True)
class Event:
    """One thing that happens. k, n: its numbers, by the operation's phrases; fraction: of a part."""

    kind: str
    k: int = 0
    n: int = 0
    fraction: tuple[int, int] = (0, 1)

    @property
    def equations(self) -> int:
        """How many equations solve it."""
        return EQUATIONS[self.kind] + (self._part()[0] > 1)

    def _part(self) -> tuple[int, int]:
        """The part a/b in lowest terms that it takes of the value; a is 0 where it takes none."""
        if self.kind in ("percent_up", "percent_down"):
            share = Fraction(self.k, 100)
            return share.numerator, share.denominator
        return self.fraction

    def after(self, value: Fraction) -> Fraction:
        """The value afterwards."""
        changes: dict[str, Callable[[], Fraction]] = {
            "gain": lambda: value + self.k,
            "lose": lambda: value - self.k,
            "times": lambda: value * self.n,
            "share": lambda: value / self.n,
            "packs": lambda: value + sum([self.k] * self.n),
            "daily": lambda: value + sum([self.k] * self.n),
            "percent_up": lambda: value * (1 + Fraction(self.k, 100)),
            "percent_down": lambda: value * (1 - Fraction(self.k, 100)),
            "fraction": lambda: value * (1 - Fraction(*self.fraction)),
        }
        return changes[self.kind]()

    def solve(self, v: int, name: str, pack: str, things: str) -> tuple[list[str], int]:
        """The solution's lines from the value before, and the value after."""
        k, n = self.k, self.n
        if self.kind in ("gain", "lose"):
            sign, word = ("+", f"gets {k} more") if self.kind == "gain" else ("-", f"loses {k}")
            r = v + k if self.kind == "gain" else v - k
            return [f"{name} {word}: {v}{sign}{k}={r}."], r
        if self.kind == "times":
            return [f"{n} times as many are {v}*{n}={v * n}."], v * n
        if self.kind == "share":
            return [f"One part in {n} is {v}/{n}={v // n}."], v // n
        if self.kind in ("packs", "daily"):
            return [self._bulk(pack, things), f"{name} then has {v}+{n * k}={v + n * k}."], v + n * k
        a, b = self._part()
        part = v // b
        lines = [f"One of {b} parts is {v}/{b}={part}."]
        if a > 1:
            lines.append(f"{a} parts are {part}*{a}={part * a}.")
        if self.kind != "fraction":
            lines[0] = f"{k} percent are {a} of {b} parts. " + lines[0]
        sign, r = ("+", v + part * a) if self.kind == "percent_up" else ("-", v - part * a)
        return [*lines, f"{name} then has {v}{sign}{part * a}={r}."], r

    def undo(self, r: int, name: str, pack: str, things: str) -> tuple[list[str], int]:
        """The lines that go back from the value after, and the value before."""
        k, n = self.k, self.n
        if self.kind == "gain":
            return [f"Before getting {k} there were {r}-{k}={r - k}."], r - k
        if self.kind == "lose":
            return [f"Before losing {k} there were {r}+{k}={r + k}."], r + k
        if self.kind == "times":
            return [f"Before there were {r}/{n}={r // n}."], r // n
        if self.kind == "share":
            return [f"All {n} parts were {r}*{n}={r * n}."], r * n
        return [self._bulk(pack, things), f"Before there were {r}-{n * k}={r - n * k}."], r - n * k

    def _bulk(self, pack: str, things: str) -> str:
        what = f"{self.n} {pack} of {self.k}" if self.kind == "packs" else f"{self.n} times {self.k}"
        return f"{what} are {self.n}*{self.k}={self.n * self.k} {things}."


def draw_number(rng: random.Random, table: tuple[tuple[float, int, int], ...]) -> int:
    """A number from a table of (cumulative share, least, most)."""
    u = rng.random()
    least, most = next((low, high) for share, low, high in table if u <= share)
    return rng.randint(least, most)


def draw_event(rng: random.Random, value: int, room: int, allowed: tuple[str, ...]) -> Event | None:
    """An event that keeps the value a whole number from 1 to MOST, in at most ``room`` equations."""
    kind = rng.choice(allowed)
    event = _DRAW[kind](rng, value)
    if event is None or event.equations > room:
        return None
    after = event.after(Fraction(value))
    return event if after.denominator == 1 and 1 <= after <= hard.MOST else None


def _change(kind: str) -> Callable[[random.Random, int], Event]:
    def draw(rng: random.Random, value: int) -> Event:
        k = draw_number(rng, hard.CHANGE)
        if rng.random() < 0.4:  # a round value, of which parts and percents can be taken
            k += -(value + k) % 20 if kind == "gain" else (value - k) % 20
        return Event(kind, k)

    return draw


def _times(rng: random.Random, value: int) -> Event:
    return Event("times", n=rng.randint(*hard.FACTOR))


def _share(rng: random.Random, value: int) -> Event | None:
    fits = [n for n in range(hard.SHARE[0], hard.SHARE[1] + 1) if value % n == 0 and value // n >= 3]
    return Event("share", n=rng.choice(fits)) if fits else None


def _bulk(kind: str) -> Callable[[random.Random, int], Event]:
    return lambda rng, value: Event(kind, k=rng.randint(*hard.PACKS[1]), n=rng.randint(*hard.PACKS[0]))


def _percent(kind: str) -> Callable[[random.Random, int], Event | None]:
    def draw(rng: random.Random, value: int) -> Event | None:
        fits = [p for p in hard.PERCENTS if value % Fraction(p, 100).denominator == 0]
        return Event(kind, k=rng.choice(fits)) if fits else None

    return draw


def _fraction(rng: random.Random, value: int) -> Event | None:
    fits = [f for f in hard.FRACTIONS if value % f[1] == 0 and value // f[1] >= 2]
    return Event("fraction", fraction=rng.choice(fits)) if fits else None


_DRAW: dict[str, Callable[[random.Random, int], Event | None]] = {
    **{kind: _change(kind) for kind in ("gain", "lose")},
    **{kind: _bulk(kind) for kind in ("packs", "daily")},
    **{kind: _percent(kind) for kind in ("percent_up", "percent_down")},
    "times": _times,
    "share": _share,
    "fraction": _fraction,
}
