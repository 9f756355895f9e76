"""The family of Python functions: two to four steps, described in English, with tests from running them."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from dlmrt.datasets.pythonic import inputs
from dlmrt.datasets.pythonic.operation import Operation, Step, operations

STEPS = (2, 5)
STEP_WEIGHTS = (0.15, 0.35, 0.35, 0.15)
BACKWARDS = 0.4  # share of descriptions that begin with the last step
HELD_OUT_PERCENT = 8  # of the pairs of neighbouring steps: in test only
TESTS = 7
LENGTHS = (90, 480)  # of an answer, in characters
FINAL = frozenset(("number", "string", "bins_of_words"))  # nothing goes on from these
OPENINGS = (
    "Given {what}, {steps}.",
    "Take {what}: {steps}.",
    "For {what}, {steps}.",
    "The function gets {what}. It should {steps}.",
)
LINKS = ((", then ", " and return "), (", ", " and finally return "), (", after that ", " and give back "))
VARIABLES = ("p", "q", "r", "s", "t")  # no step uses these names itself


def held_out(first: str, second: str) -> bool:
    """Whether this pair of neighbouring operations occurs in test only; fixed by the names alone."""
    digest = hashlib.sha256(f"dlmrt.python:{first}>{second}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % 100 < HELD_OUT_PERCENT


@cache
def _by_input() -> dict[str, list[Operation]]:
    table: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations():
        table[operation.takes].append(operation)
    return dict(table)


class PythonFunctions:
    """Functions on lists, words, text, pairs, dictionaries and grids."""

    name = "python"
    version = 1
    prefix = "python: "
    split_rule = (
        "by pair of neighbouring steps: sha256('dlmrt.python:' + first + '>' + second), first 8 bytes mod "
        f"100, below {HELD_OUT_PERCENT} test only; every test item has such a pair, no train or dev item one"
    )
    splits = ("train", "dev", "test")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one function; None where it is of another split, degenerate or too short or long."""
        source = rng.choice(inputs.SOURCES)
        steps = self._steps(rng, source)
        if steps is None:
            return None
        keys = [step.operation.key for step in steps]
        if any(itertools.starmap(held_out, itertools.pairwise(keys))) != (split == "test"):
            return None
        code = render(source, steps)
        if not LENGTHS[0] <= len(code) <= LENGTHS[1]:
            return None
        examples = [inputs.draw(source, rng, i) for i in range(TESTS if split != "train" else 4)]
        outputs = run(code, examples)
        if outputs is None or len({repr(output) for output in outputs}) < 3 or outputs == examples:
            return None
        if split != "train" and not _discriminates(source, steps, examples, outputs):
            return None
        record = {
            "prompt": f"{describe(rng, source, steps)}\n{signature(source)}",
            "answer": code,
            "verifier": "python_tests",
            "entry_point": "solve",
            "level": len(steps),
        }
        if split != "train":
            pairs = zip(examples, outputs, strict=True)
            record["tests"] = [f"assert solve({value!r}) == {output!r}" for value, output in pairs]
        return record

    def _steps(self, rng: random.Random, source: str) -> list[Step] | None:
        wanted = rng.choices(range(STEPS[0], STEPS[1] + 1), STEP_WEIGHTS)[0]
        steps: list[Step] = []
        kind = source
        while len(steps) < wanted:
            last = len(steps) == wanted - 1
            choices = [op for op in _by_input().get(kind, ()) if last or op.gives not in FINAL]
            if not choices:
                return None
            step = rng.choice(choices).draw(rng)
            if steps and step.operation.key == steps[-1].operation.key:
                return None
            steps.append(step)
            kind = step.operation.gives
        return steps


def signature(source: str) -> str:
    """The line that opens the function."""
    return f"def solve({inputs.PARAMETERS[source]}):"


def render(source: str, steps: Sequence[Step]) -> str:
    """The function's code."""
    lines, before = [signature(source)], inputs.PARAMETERS[source]
    for step, variable in zip(steps, VARIABLES, strict=False):
        lines += [f"    {line}" for line in step.lines(before, variable)]
        before = variable
    return "\n".join([*lines, f"    return {before}"])


def describe(rng: random.Random, source: str, steps: Sequence[Step]) -> str:
    """What the function is to do, in English."""
    phrases = [step.phrase(rng) for step in steps]
    if rng.random() < BACKWARDS:
        return _backwards(rng, inputs.NAMES[source], phrases)
    link, end = rng.choice(LINKS)
    parts = [phrase if _is_command(phrase) else f"make {phrase}" for phrase in phrases]
    last = f"{link}{parts[-1]}{end}the result" if _is_command(phrases[-1]) else f"{end}{phrases[-1]}"
    text = link.join(parts[:-1]) + last
    return rng.choice(OPENINGS).format(what=inputs.NAMES[source], steps=text)


def _backwards(rng: random.Random, what: str, phrases: Sequence[str]) -> str:
    """The last step first, as in: Return the sum. Before that, ..."""
    *earlier, last = phrases
    first = f"{last[0].upper()}{last[1:]} and return the result" if _is_command(last) else f"Return {last}"
    link = rng.choice(("Before that, ", "But first, ", "Ahead of this, "))
    back = [phrase if _is_command(phrase) else f"make {phrase}" for phrase in reversed(earlier)]
    return f"{first}. {' '.join(f'{link}{phrase}.' for phrase in back)} The input is {what}."


def _is_command(phrase: str) -> bool:
    return phrase.split()[0] not in ("a", "an", "the", "how", "one", "them", "lists", "its")


def run(code: str, values: Sequence[Any]) -> list[Any] | None:
    """What our own function gives for each value; None when it fails on one."""
    space: dict[str, Any] = {}
    exec(compile(code, "<function>", "exec"), space)
    solve: Callable[[Any], Any] = space["solve"]
    try:
        return [solve(inputs.copy(value)) for value in values]
    except (TypeError, ValueError, IndexError, KeyError):
        return None


def _discriminates(source: str, steps: Sequence[Step], values: Sequence[Any], outputs: Sequence[Any]) -> bool:
    """Whether the tests fail when any one step is left out (where the others still fit together)."""
    for i, step in enumerate(steps):
        if step.operation.takes != step.operation.gives:
            continue
        shorter = [*steps[:i], *steps[i + 1 :]]
        if run(render(source, shorter), values) == list(outputs):
            return False
    return True


FAMILY = PythonFunctions()
