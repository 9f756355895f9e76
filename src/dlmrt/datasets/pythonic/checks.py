"""Run a program, judge whether it does anything, and choose asserts that tell it from near misses."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from dlmrt.datasets.pythonic import levels
from dlmrt.datasets.pythonic.inputs import EDGES, LONG, constants, draw_arguments
from dlmrt.datasets.pythonic.plan import Plan, weaker
from dlmrt.datasets.pythonic.render import Names, write_code

MAX_VALUE_CHARS, CANDIDATES, TRAIN_RUNS = 160, 24, 4
_CHANGED = {" > ": " >= ", " >= ": " > ", " < ": " <= ", " <= ": " < ", " == ": " != ", " + ": " - "}
_CHANGEABLE = re.compile("|".join([*map(re.escape, sorted(_CHANGED, reverse=True)), r"\b\d+\b"]))
FAILED = "raised"

Arguments = tuple[Any, ...]


def load(code: str, name: str) -> Callable[..., Any]:
    """The function that the code defines. It is code of this package, so it runs in this process."""
    space: dict[str, Any] = {}
    exec(compile(code, "<function>", "exec", dont_inherit=True), space)
    function: Callable[..., Any] = space[name]
    return function


def is_alive(rng: random.Random, plan: Plan, function: Callable[..., Any]) -> bool:
    """Whether the program runs on an empty input and gives different, non-trivial results on others."""
    near = constants(plan)
    seen = set()
    for size in (0, *[None] * TRAIN_RUNS):
        given = draw_arguments(rng, plan, near, size)
        result = _run(function, given)
        if result == FAILED or len(result) > MAX_VALUE_CHARS:
            return False
        if size is None and result != repr(given[0]):
            seen.add(result)
    return len(seen) > 1


def choose_tests(rng: random.Random, plan: Plan, names: Names, code: str) -> list[str] | None:
    """Asserts that no program with an operation left out passes, or None if there are none."""
    function = load(code, names.function)
    near = constants(plan)
    sizes = [*EDGES, *LONG, *[None] * (CANDIDATES - len(EDGES) - len(LONG))]
    inputs = [draw_arguments(rng, plan, near, size) for size in sizes]
    outputs = [_run(function, given) for given in inputs]
    short = [
        i for i, output in enumerate(outputs) if len(output) + len(repr(inputs[i])) <= 2 * MAX_VALUE_CHARS
    ]
    if FAILED in outputs or len(short) < levels.MAX_TESTS:
        return None
    musts = [write_code(other, names) for other in weaker(plan)]
    kills = [_killed(load(other, names.function), inputs, outputs, short) for other in musts if other != code]
    trivial = {i for i in short if outputs[i] != repr(inputs[i][0])}
    if not all((trivial, *kills)):
        return None
    wishes = [_killed(load(other, names.function), inputs, outputs, short) for other in _mutants(code)]
    chosen = _cover([trivial, *kills], [wish for wish in wishes if wish], short, outputs)
    if chosen is None or len({outputs[i] for i in chosen}) < 2:
        return None
    return [f"assert {names.function}({_listed(inputs[i])}) == {outputs[i]}" for i in chosen]


def _run(function: Callable[..., Any], given: Arguments) -> str:
    try:  # no operation changes its argument, so a call leaves what was given as it was
        return repr(function(*given))
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, NameError):
        return FAILED


def _killed(
    function: Callable[..., Any], inputs: Sequence[Arguments], outputs: Sequence[str], among: Sequence[int]
) -> set[int]:
    return {i for i in among if _run(function, inputs[i]) != outputs[i]}


def _mutants(code: str) -> list[str]:
    """The code with one comparison, sum or number changed; none with a ``while``, which might not end."""
    if "while" in code:
        return []
    return [
        code[: match.start()] + _changed(match.group()) + code[match.end() :]
        for match in _CHANGEABLE.finditer(code, code.index("\n"))
    ]


def _changed(text: str) -> str:
    return str(int(text) + 1) if text.isdigit() else _CHANGED[text]


def _cover(
    needs: Sequence[set[int]], wishes: Sequence[set[int]], among: Sequence[int], outputs: Sequence[str]
) -> list[int] | None:
    """Few inputs that kill every needed mutant, then as many of the wished for as fit, then variety."""
    chosen = [among[0], among[1]]
    for goals in (needs, wishes):
        left = [goal for goal in goals if not goal & set(chosen)]
        while left and len(chosen) < levels.MAX_TESTS:
            best = max(among, key=lambda i: sum(i in goal for goal in left))
            chosen.append(best)
            left = [goal for goal in left if best not in goal]
        if left and goals is needs:
            return None
    for i in reversed(among):
        if len(chosen) >= levels.MAX_TESTS:
            break
        if i not in chosen and (
            outputs[i] not in {outputs[j] for j in chosen} or len(chosen) < levels.MIN_TESTS
        ):
            chosen.append(i)
    return sorted(chosen)


def _listed(given: Arguments) -> str:
    return ", ".join(map(repr, given))
