"""Python functions: code that runs, tests that tell, pairs of steps that training never sees."""

from __future__ import annotations

import ast
import itertools
import random
from collections import Counter
from typing import Any

from dlmrt.datasets.pythonic import inputs
from dlmrt.datasets.pythonic.family import FAMILY, HELD_OUT_PERCENT, LENGTHS, held_out, render, run
from dlmrt.datasets.pythonic.operation import operations
from dlmrt.evals.item import Item
from dlmrt.evals.verifiers import find_verifier

TYPES = {*inputs.SOURCES, "groups", "bins", "number", "string", "bins_of_words"}


def functions(split: str, count: int) -> list[dict[str, Any]]:
    found = (FAMILY.sample(random.Random(f"{split}{i}"), split) for i in range(40 * count))
    return list(itertools.islice((each for each in found if each is not None), count))


def test_the_steps_are_well_formed() -> None:
    steps = operations()
    assert len(steps) >= 150 and len({step.key for step in steps}) == len(steps)
    for step in steps:
        assert {step.takes, step.gives} <= TYPES, step.key
        assert len(step.phrases) >= 2 and any("{b}" in line for line in step.code), step.key
        text = " ".join((*step.phrases, *step.code))
        assert ("{k}" in text) == bool(step.ks) and ("{c}" in text) == bool(step.cs), step.key
        # What is asked for names the number or letter that the code has.
        assert all(("{k}" in p) == bool(step.ks) and ("{c}" in p) == bool(step.cs) for p in step.phrases), (
            step.key
        )


def test_every_step_runs_alone_on_every_input() -> None:
    rng = random.Random(1)
    for step in operations():
        if step.takes in inputs.SOURCES:
            code = render(step.takes, [step.draw(rng)])
            assert run(code, [inputs.draw(step.takes, rng, i) for i in range(8)]) is not None, step.key


def test_answers_are_whole_functions_of_the_promised_length() -> None:
    for each in functions("train", 200):
        (function,) = ast.parse(each["answer"]).body
        assert isinstance(function, ast.FunctionDef) and function.name == each["entry_point"] == "solve"
        assert each["prompt"].endswith(each["answer"].splitlines()[0])
        assert LENGTHS[0] <= len(each["answer"]) <= LENGTHS[1]
        assert "tests" not in each


def test_references_pass_their_tests_and_changed_ones_fail() -> None:
    items = functions("test", 12)
    verify = find_verifier("python_tests").verify
    questions = [Item(str(i), e["prompt"], e["answer"], {"tests": e["tests"]}) for i, e in enumerate(items)]
    assert all(v.correct for v in verify(questions, [e["answer"] for e in items], 2))
    broken = [e["answer"].rpartition("\n")[0] + "\n    return None" for e in items]
    assert not any(v.correct for v in verify(questions, broken, 2))


def test_pairs_of_steps_are_held_out_by_name_alone() -> None:
    keys = [step.key for step in operations()]
    share = Counter(held_out(a, b) for a, b in itertools.product(keys, keys))
    assert abs(100 * share[True] / sum(share.values()) - HELD_OUT_PERCENT) < 1
    assert held_out("nums.keep.even", "sum") == held_out("nums.keep.even", "sum")
