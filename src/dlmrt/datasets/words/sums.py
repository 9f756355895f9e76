"""The family of plain calculations: what word problems come down to, without the words.

A chain of additions, subtractions, multiplications and divisions over whole numbers, told in signs or in
words and solved one equation after the other. It is practice for a model of word problems more than a test.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

from dlmrt.datasets.words import settings as hard
from dlmrt.datasets.words.family import equations_hold
from dlmrt.datasets.words.operations import draw_number

STEPS = (1, 5)
FORMS = ("{}", "What is {}?", "Work out {}.", "Calculate {}.", "{} = ?", "How much is {}?")
WORDS = {
    "+": ("add {}", "plus {}", "then add {}"),
    "-": ("subtract {}", "minus {}", "take away {}"),
    "*": ("multiply by {}", "times {}", "take that {} times"),
    "/": ("divide by {}", "divided by {}", "split it by {}"),
}
_PARTS = {"test": range(2), "dev": range(2, 4), "train": range(4, 100)}

Step = tuple[str, int]


class Sums:
    """Calculations of one to five equations."""

    name = "sums"
    version = 1
    prefix = "solve: "
    split_rule = (
        "by calculation: sha256 of its signs and numbers mod 100; below 2 test, below 4 dev, else train"
    )
    splits = ("train", "dev", "test")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one calculation; None where it belongs to another split."""
        start = draw_number(rng, hard.START)
        steps = _draw_steps(rng, start, rng.randint(*STEPS))
        if _share(start, steps) not in _PARTS[split]:
            return None
        lines, value = [], start
        for sign, number in steps:
            after = _apply(value, sign, number)
            lines.append(f"{value}{sign}{number}={after}.")
            value = after
        solution = " ".join(lines)
        assert equations_hold(solution), solution
        return {
            "prompt": _told(rng, start, steps),
            "answer": f"{solution}\n#### {value}",
            "verifier": "number",
            "level": len(steps),
        }


def _draw_steps(rng: random.Random, value: int, count: int) -> list[Step]:
    steps: list[Step] = []
    while len(steps) < count:
        sign = rng.choice("+-*/")
        number = rng.choice((*range(2, 10), 10, 20)) if sign in "*/" else draw_number(rng, hard.CHANGE)
        after = _apply(value, sign, number)
        if 1 <= after <= 10 * hard.MOST and not (sign == "/" and value % number):
            steps.append((sign, number))
            value = after
    return steps


def _apply(value: int, sign: str, number: int) -> int:
    if sign == "+":
        return value + number
    if sign == "-":
        return value - number
    return value * number if sign == "*" else value // number


def _share(start: int, steps: list[Step]) -> int:
    return int(hashlib.sha256(f"{start}{steps}".encode()).hexdigest(), 16) % 100


def _told(rng: random.Random, start: int, steps: list[Step]) -> str:
    if rng.random() < 0.4:
        told = ", ".join(rng.choice(WORDS[sign]).format(number) for sign, number in steps)
        return f"Start with {start}, {told}."
    text, weak = str(start), False  # weak: a sum that a product may not follow without brackets
    space = rng.choice(("", " "))
    for sign, number in steps:
        if sign in "*/" and weak:
            text = f"({text})"
        text += f"{space}{sign}{space}{number}"
        weak = sign in "+-"
    return rng.choice(FORMS).format(text)


FAMILY = Sums()
