"""What functions are called with: values of every source type, edge cases among them."""

from __future__ import annotations

import copy as _copy
import random
from typing import Any

SOURCES = ("nums", "words", "text", "pairs", "table", "grid")
PARAMETERS = {
    "nums": "xs",
    "words": "words",
    "text": "text",
    "pairs": "pairs",
    "table": "table",
    "grid": "rows",
}
NAMES = {
    "nums": "a list of integers",
    "words": "a list of lower-case words",
    "text": "a string of lower-case words",
    "pairs": "a list of (name, number) pairs",
    "table": "a dictionary from names to numbers",
    "grid": "a list of rows of integers",
}
VOCABULARY = (
    "apple river stone eagle orange tile level window noon radar lamp tree engine ocean idea salt star "
    "area ant echo blue train rotor mill sun else tent kayak letter error note onion rain east axle city"
).split()


def draw(source: str, rng: random.Random, index: int) -> Any:
    """The ``index``-th value for a function: the first ones are edge cases."""
    size = (0, 1)[index] if index < 2 else rng.randint(4, 9)
    return _DRAW[source](rng, size)


def copy(value: Any) -> Any:
    """A value of its own for each call."""
    return _copy.deepcopy(value)


def _nums(rng: random.Random, size: int) -> list[int]:
    values = [rng.randint(-9, 20) for _ in range(size)]
    if size > 3:  # repeats and neighbours, which some steps look for
        values[1] = values[0]
        values[-1] = values[rng.randrange(size - 1)]
    return values


def _words(rng: random.Random, size: int) -> list[str]:
    words = [rng.choice(VOCABULARY) for _ in range(size)]
    if size > 3:
        words[-1] = words[0]
    return words


def _pairs(rng: random.Random, size: int) -> list[tuple[str, int]]:
    return [(word, rng.randint(-3, 15)) for word in _words(rng, size)]


def _grid(rng: random.Random, size: int) -> list[list[int]]:
    width = rng.randint(2, 4)
    return [[rng.randint(-9, 20) for _ in range(width)] for _ in range(min(size, 5))]


_DRAW = {
    "nums": _nums,
    "words": _words,
    "text": lambda rng, size: " ".join(_words(rng, size)),
    "pairs": _pairs,
    "table": lambda rng, size: dict(_pairs(rng, size)),
    "grid": _grid,
}
